"""Moving a database from SQLite to PostgreSQL and back."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memoranda.errors import Conflict, InvalidInput
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.copying import CopyReport, copy_store
from memoranda.types import ANY, Clock
from tests.postgres.server import OWNER, SERVICE
from tests.unit.conftest import TickingClock

LATER = datetime(2026, 6, 1, tzinfo=UTC)
AUDIT_KEY = "a key for the tests of moving"


def open_manager(url: str, clock: Clock = lambda: LATER) -> MemoryManager:
    config = MemoryConfig(db_url=url, audit_key=AUDIT_KEY)
    return MemoryManager(config, embedder=HashEmbedder(64), clock=clock)


def fill(manager: MemoryManager) -> None:
    for number in range(30):
        manager.remember(f"I bought house number {number} in Oslo.", user=f"user {number % 3}")
    first = manager.add_memory("The boat is blue.", user="ada", metadata={"tags": ["boat"]})
    second = manager.add_memory("The boat was sold.", user="ada")
    manager.update(first.id, content="The boat is green.", user="ada")
    manager.add_memory_association(first.id, second.id, "about", user="ada")
    manager.save_execution_record("a", {"status": "done", "duration_ms": 3.5})
    manager.add_knowledge("Rules: be kind.", source="rules")
    manager.forget(user="user 2")
    manager.recall("Which house?", user="user 1")
    manager.for_tenant("other").remember("I live in Bern.", user="eve")


def answers(manager: MemoryManager) -> list[Any]:
    hits = manager.recall("Which house did I buy?", user="user 1", limit=5)
    boat = manager.recall("boat", user="ada")
    return [
        [(hit.id, hit.score, hit.memory) for hit in hits],
        [(hit.id, hit.score, hit.memory) for hit in boat],
        manager.get_stats().by_type,
        manager.history(boat.hits[0].id, user="ada").versions,
        [memory.id for memory in manager.list_memories(user=ANY, limit=100)],
        [fact.value for fact in manager.for_tenant("other").facts(user="eve")],
        [manager.verify_receipt(receipt) for receipt in manager.receipts(user=ANY)],
        manager.verify_executions().ok,
    ]


def copy(source: str, target: str) -> CopyReport:
    stores = open_store(source), open_store(target)
    try:
        return copy_store(*stores)
    finally:
        for store in stores:
            store.close()


def test_copy_to_postgres_and_back_gives_the_same_answers(tmp_path: Path, url: str) -> None:
    first, owner_url = f"sqlite:///{tmp_path}/a.db", url.replace(f"{SERVICE}@", f"{OWNER}@")
    with open_manager(first, TickingClock()) as manager:
        fill(manager)
    with open_manager(first) as manager:
        expected = answers(manager)
    there = copy(first, owner_url)
    assert there.rows["memories"] > 20
    assert there.rows["vectors"] == there.rows["memories"]
    with open_manager(url) as manager:
        assert answers(manager) == expected
        assert manager.check().problems == ()
        new = manager.add_memory("Said on PostgreSQL.", user="ada")
    back = copy(owner_url, f"sqlite:///{tmp_path}/b.db")
    assert back.rows["memories"] == there.rows["memories"] + 1
    with open_manager(f"sqlite:///{tmp_path}/b.db") as manager:
        assert manager.get(new.id, user="ada").content == "Said on PostgreSQL."
        assert manager.check().problems == ()
        assert manager.add_memory("Said at home again.", user="ada").id > new.id


def test_interrupted_copy_goes_on_and_writes_nothing_twice(tmp_path: Path, url: str) -> None:
    first, owner_url = f"sqlite:///{tmp_path}/a.db", url.replace(f"{SERVICE}@", f"{OWNER}@")
    with open_manager(first) as manager:
        fill(manager)
    stores = open_store(first), open_store(owner_url)

    def interrupt(done: int, total: int) -> None:
        if done > total / 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        copy_store(*stores, interrupt)
    resumed = copy_store(*stores)
    assert 0 < resumed.written < sum(resumed.rows.values())
    assert copy_store(*stores).written == 0
    for store in stores:
        store.close()


def test_target_with_data_of_its_own_is_refused(tmp_path: Path, url: str) -> None:
    with open_manager(url) as manager:
        manager.add_memory("mine")
    with open_manager(f"sqlite:///{tmp_path}/a.db") as manager:
        manager.add_memory("other")
    with pytest.raises(Conflict, match="empty database"):
        copy(f"sqlite:///{tmp_path}/a.db", url.replace(f"{SERVICE}@", f"{OWNER}@"))
    with pytest.raises(InvalidInput, match="same store"):
        copy(url, url)
    with open_manager(url) as manager:
        assert [memory.content for memory in manager.list_memories()] == ["mine"]
