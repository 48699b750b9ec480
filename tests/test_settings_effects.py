"""Each test sets one variable and checks what it changes."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import fields
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select

from memoranda import (
    Closed,
    EncryptionKeyError,
    InvalidInput,
    MemoryConfig,
    MemoryManager,
    NotFound,
    PersistentMemory,
    Unavailable,
    create_session,
)
from memoranda.server.keys import open_keys
from memoranda.storage.schema import changes
from memoranda.testing.fakes import HashEmbedder

SetVariable = Callable[[str, object], None]


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for spec in fields(MemoryConfig):
        monkeypatch.delenv(spec.metadata["variable"], raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def set_variable(monkeypatch: pytest.MonkeyPatch) -> SetVariable:
    return lambda name, value: monkeypatch.setenv(name, str(value))


def open_manager() -> MemoryManager:
    return MemoryManager(embedder=HashEmbedder(16))


def test_memory_db_url(set_variable: SetVariable) -> None:
    set_variable("MEMORY_DB_URL", "sqlite:///other.db")
    with open_manager():
        assert Path("other.db").exists()


KEY = "0123456789abcdef" * 4


def _open_encrypted() -> None:
    with open_manager() as manager:
        manager.add_memory("the river")
        assert manager.health().encrypted
    assert not Path("memories.db").read_bytes().startswith(b"SQLite")
    with MemoryManager(embedder=HashEmbedder(16)) as manager:
        assert manager.get(1).content == "the river"


def test_memory_encryption_key(set_variable: SetVariable, monkeypatch: pytest.MonkeyPatch) -> None:
    set_variable("MEMORY_ENCRYPTION_KEY", KEY)
    _open_encrypted()
    assert KEY not in repr(MemoryConfig(encryption_key=KEY, encryption_key_command=f"echo {KEY}"))
    monkeypatch.delenv("MEMORY_ENCRYPTION_KEY")
    with pytest.raises(EncryptionKeyError, match="MEMORY_ENCRYPTION_KEY"), open_manager():
        pass
    with MemoryManager(embedder=HashEmbedder(16), encryption_key=KEY) as manager:
        assert manager.get(1).content == "the river"


def test_memory_encryption_key_file(set_variable: SetVariable, tmp_path: Path) -> None:
    (tmp_path / "key").write_text(f"{KEY}\n")
    set_variable("MEMORY_ENCRYPTION_KEY_FILE", tmp_path / "key")
    _open_encrypted()


def test_memory_encryption_key_command(set_variable: SetVariable) -> None:
    set_variable("MEMORY_ENCRYPTION_KEY_COMMAND", f"echo {KEY}")
    _open_encrypted()


def test_memory_encryption_key_named_twice_is_refused(set_variable: SetVariable) -> None:
    set_variable("MEMORY_ENCRYPTION_KEY", KEY)
    set_variable("MEMORY_ENCRYPTION_KEY_COMMAND", f"echo {KEY}")
    with pytest.raises(InvalidInput, match="only one"), open_manager():
        pass


def test_encryption_key_reaches_every_front_end(set_variable: SetVariable) -> None:
    set_variable("MEMORY_ENCRYPTION_KEY", KEY)
    with PersistentMemory("agent", embedding_backend=HashEmbedder(16)) as memory:
        memory.save_to_memory("thinking", ["the zanzibarquokka sleeps"])
        assert memory.recall_from_memory(["zanzibarquokka"])["count"] == 1
    with MemoryManager(embedder=HashEmbedder(16), retention_policy="persistent") as manager:
        manager.get_memory("agent").add_message({"role": "user", "content": "about the zanzibarquokka"})
    with open_keys() as keys:
        assert keys.create("test").info.name == "test"
    files = [path for path in Path().iterdir() if path.is_file()]
    assert "memories.db" in {path.name for path in files}
    assert [path.name for path in files if b"zanzibarquokka" in path.read_bytes()] == []


def test_memory_storage_dir(set_variable: SetVariable) -> None:
    set_variable("MEMORY_STORAGE_DIR", "data/memory")
    with open_manager():
        assert Path("data/memory/memories.db").exists()


def test_faiss_index_path(set_variable: SetVariable) -> None:
    set_variable("FAISS_INDEX_PATH", "graphs.faiss")
    assert _index_path() == Path("graphs.faiss")


def test_memory_vector_store(set_variable: SetVariable) -> None:
    set_variable("MEMORY_VECTOR_STORE", "agent_memory")
    assert _index_path() == Path("agent_memory.faiss")


def _index_path() -> Path:
    from memoranda import get_settings
    from memoranda.settings import index_path

    return index_path(get_settings().memory, Path("memories.db"))


def test_embedding_model(set_variable: SetVariable) -> None:
    set_variable("EMBEDDING_MODEL", "fast")
    with MemoryManager() as manager:
        assert "static" in str(manager.health().embedder)


def test_use_gpu(set_variable: SetVariable) -> None:
    set_variable("USE_GPU", "true")
    with MemoryManager() as manager:
        manager.add_memory("tea")
        assert manager.recall("tea")[0].content == "tea"
        problems = manager.health().problems
    assert any("searched on the processor" in problem for problem in problems)
    assert any("onnxruntime-gpu" in problem for problem in problems)


def test_memory_index_bytes(set_variable: SetVariable) -> None:
    set_variable("MEMORY_INDEX_BYTES", 20_000)
    with MemoryManager(embedder=HashEmbedder(64)) as manager:
        for user in ("ann", "ben", "cat"):
            manager.add_memories([f"tea number {number}" for number in range(20)], user=user)
            assert manager.recall("tea", user=user)
        health = manager.health()
    assert health.index_limit == 20_000
    assert 0 < health.index_bytes <= 20_000


def test_memory_enable_vector_search(set_variable: SetVariable) -> None:
    set_variable("MEMORY_ENABLE_VECTOR_SEARCH", "false")
    with open_manager() as manager:
        manager.add_memory("tea")
        assert manager.health().embedder is None
        assert manager.recall("tea")[0].content == "tea"


def test_memory_durability(set_variable: SetVariable) -> None:
    set_variable("MEMORY_DURABILITY", "normal")
    with open_manager() as manager:
        assert manager.health().durability == "normal"


def test_memory_llm(set_variable: SetVariable, tmp_path: Path) -> None:
    answer = [{"message": 1, "quote": "keep bees in Porto", "fact": "User keeps bees in Porto."}]
    (tmp_path / "answers.json").write_text(json.dumps([json.dumps(answer)]))
    set_variable("MEMORY_LLM", f"scripted:{tmp_path / 'answers.json'}")
    with open_manager() as manager:
        said, read = manager.remember({"role": "user", "content": "I keep bees in Porto."})
        assert (said.status, read.memory and read.memory.content) == ("stored", "User keeps bees in Porto.")


@pytest.mark.parametrize(("extraction", "status"), [("true", "rejected"), ("false", "stored")])
def test_memory_extraction(set_variable: SetVariable, extraction: str, status: str) -> None:
    set_variable("MEMORY_EXTRACTION", extraction)
    with open_manager() as manager:
        assert manager.remember({"role": "user", "content": "Hello there!"})[0].status == status


@pytest.mark.parametrize(("size", "kept"), [(1, None), (2, 1)])
def test_memory_max_cache_size(set_variable: SetVariable, size: int, kept: int | None) -> None:
    set_variable("MEMORY_MAX_CACHE_SIZE", size)
    with open_manager() as manager:
        manager.save("a", "first", 1)
        manager.save("a", "second", 2)
        assert manager.retrieve("a", "first") == kept


@pytest.mark.parametrize(("enabled", "runs"), [("true", 1), ("false", 2)])
def test_memory_cache_enabled(
    set_variable: SetVariable, monkeypatch: pytest.MonkeyPatch, enabled: str, runs: int
) -> None:
    from memoranda.embedding.local import StaticEmbedder

    set_variable("MEMORY_CACHE_ENABLED", enabled)
    set_variable("EMBEDDING_MODEL", "fast")
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


def test_memory_short_term_ttl(set_variable: SetVariable) -> None:
    set_variable("MEMORY_SHORT_TERM_TTL", 60)
    now = [datetime(2026, 1, 1, tzinfo=UTC)]
    with MemoryManager(embedder=HashEmbedder(16), clock=lambda: now[0]) as manager:
        manager.save("a", "k", 1)
        manager.add_memory("tea", "short_term")
        assert (manager.retrieve("a", "k"), len(manager.recall("tea"))) == (1, 1)
        now[0] += timedelta(seconds=61)
        assert (manager.retrieve("a", "k"), len(manager.recall("tea"))) == (None, 0)


def test_memory_use_redis_and_its_url(set_variable: SetVariable) -> None:
    set_variable("MEMORY_USE_REDIS", "true")
    set_variable("MEMORY_REDIS_URL", "redis://localhost:1/0")
    with pytest.raises(Unavailable, match="localhost:1"), open_manager() as manager:
        manager.save("a", "k", 1)


def test_memory_redis_fallback(set_variable: SetVariable) -> None:
    set_variable("MEMORY_USE_REDIS", "true")
    set_variable("MEMORY_REDIS_URL", "redis://localhost:1/0")
    set_variable("MEMORY_REDIS_FALLBACK", "true")
    with open_manager() as manager:
        manager.save("a", "k", 1)
        assert manager.retrieve("a", "k") == 1
        assert manager.health().status == "degraded"


def test_memory_session_timeout(set_variable: SetVariable) -> None:
    set_variable("MEMORY_SESSION_TIMEOUT", 0.05)
    with open_manager() as manager:
        session = create_session("w", manager)
        time.sleep(0.15)
        with pytest.raises(Closed):
            session.save_agent_memory("a", "k", 1)


@pytest.mark.parametrize(("clean", "left"), [("true", []), ("false", ["hello"])])
def test_memory_auto_cleanup(set_variable: SetVariable, clean: str, left: list[str]) -> None:
    set_variable("MEMORY_AUTO_CLEANUP", clean)
    with open_manager() as manager:
        with create_session("w", manager) as session:
            session.add_conversation_message("a", "user", "hello")
        assert [message["content"] for message in manager.get_conversation_history("w")] == left


def test_memory_max_conversation_history(set_variable: SetVariable) -> None:
    set_variable("MEMORY_MAX_CONVERSATION_HISTORY", 2)
    with open_manager() as manager, create_session("w", manager) as session:
        for number in range(5):
            session.add_conversation_message("a", "user", f"turn {number}")
        assert [message["content"] for message in session.get_conversation_history()] == ["turn 3", "turn 4"]


def test_memory_execution_records_dir(set_variable: SetVariable) -> None:
    set_variable("MEMORY_EXECUTION_RECORDS_DIR", "records")
    with open_manager() as manager:
        manager.save_execution_record("strategy_agent", {"status": "success"})
        assert Path("records/strategy_agent.jsonl").read_text(encoding="utf-8").count("\n") == 1


def test_memory_audit_key(set_variable: SetVariable) -> None:
    set_variable("MEMORY_AUDIT_KEY", "a secret of at least thirty-two characters")
    with open_manager() as manager:
        manager.save_execution_record("a", {"status": "success"})
        assert not Path("memories.db.key").exists()


@pytest.mark.parametrize(("redact", "kept"), [("true", False), ("false", True)])
def test_memory_redact(set_variable: SetVariable, redact: str, kept: bool) -> None:
    set_variable("MEMORY_REDACT", redact)
    with open_manager() as manager:
        manager.save_execution_record("a", {"status": "success", "password": "hunter2"})
        (record,) = manager.get_execution_records("a")
        assert ("hunter2" in str(record)) is kept


def test_memory_recall_ledger(set_variable: SetVariable) -> None:
    set_variable("MEMORY_RECALL_LEDGER", "off")
    with open_manager() as memory:
        found = memory.recall("tea")
        with pytest.raises(NotFound, match="switched off"):
            memory.replay(found.id)


def test_memory_recall_ledger_size(set_variable: SetVariable) -> None:
    set_variable("MEMORY_RECALL_LEDGER_SIZE", 1)
    with open_manager() as memory:
        first, second = memory.recall("tea"), memory.recall("coffee")
        assert memory.replay(second.id).recall == second
        with pytest.raises(NotFound, match="only the newest"):
            memory.replay(first.id)


def test_memory_recall_ledger_days(set_variable: SetVariable) -> None:
    set_variable("MEMORY_RECALL_LEDGER_DAYS", 0.5 / 86_400)
    with open_manager() as memory:
        first = memory.recall("tea")
        assert memory.replay(first.id).recall == first
        time.sleep(0.6)
        second = memory.recall("coffee")
        assert memory.replay(second.id).recall == second
        with pytest.raises(NotFound):
            memory.replay(first.id)


def test_every_setting_has_a_test_here() -> None:
    tests = {name for name in globals() if name.startswith("test_")}
    missing = [
        spec.metadata["variable"]
        for spec in fields(MemoryConfig)
        if not any(
            spec.metadata["variable"].lower() in name.replace("_and_its_url", "_memory_redis_url") for name in tests
        )
    ]
    assert missing == []


def test_memory_commit_size(set_variable: SetVariable) -> None:
    assert _commits_of_20_messages("all.db") == 1
    set_variable("MEMORY_COMMIT_SIZE", 8)
    assert _commits_of_20_messages("slices.db") == 3


def _commits_of_20_messages(database: str) -> int:
    messages = [{"role": "user", "content": f"I bought house number {n} in Oslo"} for n in range(20)]
    with MemoryManager(db_url=f"sqlite:///{database}", embedder=HashEmbedder(16)) as manager:
        assert [outcome.status for outcome in manager.remember(messages, user="ann")] == ["stored"] * 20
        times = select(func.count(changes.c.at.distinct()))
        return int(manager._components.open().store.read(lambda tx: tx.execute(times).scalar_one()))


def test_memory_read_url(set_variable: SetVariable) -> None:
    """What a standby answers is in tests/postgres/test_replica.py."""
    set_variable("MEMORY_READ_URL", "postgresql://standby/memories")
    with pytest.raises(InvalidInput, match="MEMORY_READ_URL"), open_manager() as memory:
        memory.list_memories()
