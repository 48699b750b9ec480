"""Every setting changes something: each test sets one variable and shows what is different."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import Closed, MemoryConfig, MemoryManager, Unavailable, create_session
from memoranda.testing.fakes import HashEmbedder

Set = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for spec in fields(MemoryConfig):
        monkeypatch.delenv(spec.metadata["variable"], raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def put(monkeypatch: pytest.MonkeyPatch) -> Set:
    return lambda name, value: monkeypatch.setenv(name, str(value))


def opened() -> MemoryManager:
    return MemoryManager(embedder=HashEmbedder(16))


def test_memory_db_url(put: Set) -> None:
    put("MEMORY_DB_URL", "sqlite:///other.db")
    with opened():
        assert Path("other.db").exists()


def test_memory_storage_dir(put: Set) -> None:
    put("MEMORY_STORAGE_DIR", "data/memory")
    with opened():
        assert Path("data/memory/memories.db").exists()


def test_faiss_index_path(put: Set) -> None:
    put("FAISS_INDEX_PATH", "graphs.faiss")
    assert _index_file() == Path("graphs.faiss")


def test_memory_vector_store(put: Set) -> None:
    put("MEMORY_VECTOR_STORE", "agent_memory")
    assert _index_file() == Path("agent_memory.faiss")


def _index_file() -> Path:
    from memoranda import get_settings
    from memoranda.settings import index_path

    return index_path(get_settings().memory, Path("memories.db"))


def test_embedding_model(put: Set) -> None:
    put("EMBEDDING_MODEL", "fast")
    with MemoryManager() as manager:
        assert "static" in str(manager.health().embedder)


def test_use_gpu(put: Set) -> None:
    put("USE_GPU", "true")
    with MemoryManager() as manager, pytest.raises(Unavailable, match="onnxruntime-gpu"):
        manager.add_memory("tea")


def test_memory_enable_vector_search(put: Set) -> None:
    put("MEMORY_ENABLE_VECTOR_SEARCH", "false")
    with opened() as manager:
        manager.add_memory("tea")
        assert manager.health().embedder is None
        assert manager.recall("tea")[0].content == "tea"


def test_memory_durability(put: Set) -> None:
    put("MEMORY_DURABILITY", "normal")
    with opened() as manager:
        assert manager.health().durability == "normal"


def test_memory_llm(put: Set, tmp_path: Path) -> None:
    answer = [{"message": 1, "quote": "bees in Porto", "fact": "Somebody keeps bees in Porto."}]
    (tmp_path / "answers.json").write_text(json.dumps([json.dumps(answer)]))
    put("MEMORY_LLM", f"scripted:{tmp_path / 'answers.json'}")
    with opened() as manager:
        said, read = manager.remember({"role": "user", "content": "I keep bees in Porto."})
        assert (said.status, read.memory and read.memory.content) == ("stored", "Somebody keeps bees in Porto.")


@pytest.mark.parametrize(("extraction", "status"), [("true", "rejected"), ("false", "stored")])
def test_memory_extraction(put: Set, extraction: str, status: str) -> None:
    put("MEMORY_EXTRACTION", extraction)
    with opened() as manager:
        assert manager.remember({"role": "user", "content": "Hello there!"})[0].status == status


@pytest.mark.parametrize(("size", "kept"), [(1, None), (2, 1)])
def test_memory_max_cache_size(put: Set, size: int, kept: int | None) -> None:
    put("MEMORY_MAX_CACHE_SIZE", size)
    with opened() as manager:
        manager.save("a", "first", 1)
        manager.save("a", "second", 2)
        assert manager.retrieve("a", "first") == kept


@pytest.mark.parametrize(("enabled", "runs"), [("true", 1), ("false", 2)])
def test_memory_cache_enabled(put: Set, monkeypatch: pytest.MonkeyPatch, enabled: str, runs: int) -> None:
    from memoranda.embedding.static import StaticEmbedder

    put("MEMORY_CACHE_ENABLED", enabled)
    put("EMBEDDING_MODEL", "fast")
    seen: list[str] = []
    plain = StaticEmbedder.embed

    def counting(self: StaticEmbedder, texts: list[str], *, kind: str) -> object:
        seen.extend(texts)
        return plain(self, texts, kind=kind)  # type: ignore[arg-type]

    monkeypatch.setattr(StaticEmbedder, "embed", counting)
    with MemoryManager() as manager:
        manager.recall("tea")
        manager.recall("tea")
    assert len(seen) == runs


def test_memory_short_term_ttl(put: Set) -> None:
    put("MEMORY_SHORT_TERM_TTL", 60)
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    with MemoryManager(embedder=HashEmbedder(16), clock=lambda: now[0]) as manager:
        manager.save("a", "k", 1)
        manager.add_memory("tea", "short_term")
        assert (manager.retrieve("a", "k"), len(manager.recall("tea"))) == (1, 1)
        now[0] += timedelta(seconds=61)
        assert (manager.retrieve("a", "k"), len(manager.recall("tea"))) == (None, 0)


def test_memory_use_redis_and_its_url(put: Set) -> None:
    put("MEMORY_USE_REDIS", "true")
    put("MEMORY_REDIS_URL", "redis://localhost:1/0")
    with pytest.raises(Unavailable, match="localhost:1"), opened() as manager:
        manager.save("a", "k", 1)


def test_memory_redis_fallback(put: Set) -> None:
    put("MEMORY_USE_REDIS", "true")
    put("MEMORY_REDIS_URL", "redis://localhost:1/0")
    put("MEMORY_REDIS_FALLBACK", "true")
    with opened() as manager:
        manager.save("a", "k", 1)
        assert manager.retrieve("a", "k") == 1
        assert manager.health().status == "degraded"


def test_memory_session_timeout(put: Set) -> None:
    put("MEMORY_SESSION_TIMEOUT", 0.05)
    with opened() as manager:
        session = create_session("w", manager)
        time.sleep(0.15)
        with pytest.raises(Closed):
            session.save_agent_memory("a", "k", 1)


@pytest.mark.parametrize(("clean", "left"), [("true", []), ("false", ["hello"])])
def test_memory_auto_cleanup(put: Set, clean: str, left: list[str]) -> None:
    put("MEMORY_AUTO_CLEANUP", clean)
    with opened() as manager:
        with create_session("w", manager) as session:
            session.add_conversation_message("a", "user", "hello")
        assert [message["content"] for message in manager.get_conversation_history("w")] == left


def test_memory_max_conversation_history(put: Set) -> None:
    put("MEMORY_MAX_CONVERSATION_HISTORY", 2)
    with opened() as manager, create_session("w", manager) as session:
        for number in range(5):
            session.add_conversation_message("a", "user", f"turn {number}")
        assert [message["content"] for message in session.get_conversation_history()] == ["turn 3", "turn 4"]


def test_memory_execution_records_dir(put: Set) -> None:
    put("MEMORY_EXECUTION_RECORDS_DIR", "records")
    with opened() as manager:
        manager.save_execution_record("strategy_agent", {"status": "success"})
        assert Path("records/strategy_agent.jsonl").read_text(encoding="utf-8").count("\n") == 1


def test_memory_audit_key(put: Set) -> None:
    put("MEMORY_AUDIT_KEY", "a secret of at least thirty-two characters")
    with opened() as manager:
        manager.save_execution_record("a", {"status": "success"})
        assert not Path("memories.db.key").exists()


@pytest.mark.parametrize(("redact", "kept"), [("true", False), ("false", True)])
def test_memory_redact(put: Set, redact: str, kept: bool) -> None:
    put("MEMORY_REDACT", redact)
    with opened() as manager:
        manager.save_execution_record("a", {"status": "success", "password": "hunter2"})
        (record,) = manager.get_execution_records("a")
        assert ("hunter2" in str(record)) is kept


def test_each_setting_has_a_test_here() -> None:
    tests = {name for name in globals() if name.startswith("test_")}
    missing = [
        spec.metadata["variable"]
        for spec in fields(MemoryConfig)
        if not any(
            spec.metadata["variable"].lower() in name.replace("_and_its_url", "_memory_redis_url") for name in tests
        )
    ]
    assert missing == []
