from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.embedding.vectors import start_generation
from memoranda.errors import Incompatible
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import HashEmbedder, Samples, VectorSpace

DAMAGE = {
    "without terms": "UPDATE memories SET terms = '' WHERE id = 2",
    "without a vector": "DELETE FROM vectors WHERE memory_id = 2",
    "of the wrong size": "UPDATE vectors SET data = x'00' WHERE memory_id = 2",
    "change log": "DELETE FROM changes WHERE memory_id = 2",
    "points to a missing row": "DELETE FROM memories WHERE id = 2",
}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = open_sqlite(tmp_path / "memories.db")
    generation = store.write(lambda tx: start_generation(tx, HashEmbedder(8).identity, activate=True))
    samples = Samples(0, VectorSpace(generation.id, 8))
    store.write(MemoryWrite([samples.new_memory() for _ in range(5)]))
    yield store
    store.close()


def test_intact_store_has_no_problems(store: SQLiteStore) -> None:
    assert store.check() == []


@pytest.mark.parametrize("driver", ["sqlite3", "pysqlite3"])
def test_check_between_commits_of_another_handle_finds_nothing(tmp_path: Path, driver: str) -> None:
    writer = open_sqlite(tmp_path / "memories.db", driver=driver)
    reader = open_sqlite(tmp_path / "memories.db", driver=driver)
    samples = Samples(0)
    for _ in range(5):
        writer.write(MemoryWrite([samples.new_memory()]))
        assert reader.check() == []
    reader.close()
    writer.close()


@pytest.mark.parametrize("finding", DAMAGE)
def test_check_finds_each_kind_of_damage(store: SQLiteStore, finding: str) -> None:
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(DAMAGE[finding])
    problems = store.check()
    assert any(finding in problem for problem in problems), problems


@pytest.mark.parametrize("column", ["agent", "session", "speaker"])
def test_recall_raises_incompatible_when_a_name_is_not_text(tmp_path: Path, column: str) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as manager:
        manager.add_memory("tea at five")
    with closing(sqlite3.connect(tmp_path / "m.db")) as raw, raw:
        raw.execute(f"UPDATE memories SET {column} = x'00ff'")
    with (
        MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as manager,
        pytest.raises(Incompatible, match="damaged"),
    ):
        manager.recall("tea")
