from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoranda import MemoryManager, PersistentMemory
from memoranda.integrations.mem0 import import_mem0, read
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
def mem0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A real mem0 on its default local store, with a local embedder in place of one that calls a service."""
    monkeypatch.setenv("MEM0_TELEMETRY", "False")
    monkeypatch.setenv("MEM0_DIR", str(tmp_path / "home"))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    from mem0 import Memory
    from mem0.embeddings.base import EmbeddingBase

    class Embedding(EmbeddingBase):
        def embed(self, text: str, memory_action: str | None = None) -> list[float]:
            rng = random.Random(" ".join(sorted(set(text.lower().split()))))
            return [rng.gauss(0, 1) for _ in range(32)]

    store = {"path": str(tmp_path / "qdrant"), "embedding_model_dims": 32, "on_disk": True}
    config = {
        "vector_store": {"provider": "qdrant", "config": store},
        "history_db_path": str(tmp_path / "history.db"),
    }
    memory = Memory.from_config(config)
    memory.embedding_model = Embedding()
    yield memory
    memory.vector_store.client.close()
    memory.close()


def test_persistent_memory_methods_run_on_mem0(mem0: Any) -> None:
    memory = PersistentMemory("a", user_name="ann", mem0_config=mem0)
    saved = memory.save_to_memory("a preference", ["Ann likes tea", "Ann lives in Berlin"])
    assert (saved["success"], len(saved["memory_ids"])) == (True, 2)
    assert memory.recall_from_memory(["Ann likes tea"], limit=1)["memories"] == ["Ann likes tea"]
    assert "Ann likes tea" in memory.retrieve("Ann likes tea", limit=1)
    other = PersistentMemory("a", user_name="bob", mem0_config=mem0)
    assert other.recall_from_memory(["Ann likes tea"])["memories"] == []


def test_store_written_by_mem0_is_read_and_imported(mem0: Any, tmp_path: Path) -> None:
    mem0.add(
        [{"role": "user", "content": "I live in Berlin", "name": "ann"}, {"role": "assistant", "content": "Noted."}],
        user_id="ann",
        agent_id="a1",
        infer=False,
        metadata={"topic": "home"},
    )
    (added,) = mem0.add("Ann likes tea", user_id="ann", infer=False)["results"]
    mem0.update(added["id"], "Ann likes green tea")
    mem0.vector_store.client.close()
    found = read(tmp_path / "qdrant", history=tmp_path / "history.db")
    assert [memory.content for memory in found] == ["I live in Berlin", "Noted.", "Ann likes green tea"]
    assert (found[0].user, found[0].agent, found[0].speaker, found[0].metadata) == (
        "ann",
        "a1",
        "ann",
        {"topic": "home"},
    )
    assert found[2].earlier == ("Ann likes tea",)
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        assert import_mem0(manager, tmp_path / "qdrant").stored == 3
        assert manager.recall("green tea", user="ann", limit=1)[0].content == "Ann likes green tea"


def test_telemetry_is_off_when_mem0_was_imported_first() -> None:
    program = (
        "import os; os.environ.pop('MEM0_TELEMETRY', None)\n"
        "import mem0.memory.telemetry as telemetry\n"
        "import mem0.memory.main as main\n"
        "from memoranda.persistent.backends import load_mem0\n"
        "load_mem0()\n"
        "print(telemetry.MEM0_TELEMETRY, main.MEM0_TELEMETRY, telemetry.client_telemetry.posthog)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False False None"
