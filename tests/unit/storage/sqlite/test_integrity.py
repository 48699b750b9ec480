from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.embedding.vectors import start_generation
from memoranda.errors import Incompatible
from memoranda.storage.base import PartitionKey
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import HashEmbedder, Samples, VectorSpace
from memoranda.types import ANY
from tests.driver import sqlite3

DAMAGE = {
    "without terms": "UPDATE memories SET terms = '' WHERE id = 2",
    "without a vector": "DELETE FROM vectors WHERE memory_id = 2",
    "of the wrong size": "UPDATE vectors SET data = x'00' WHERE memory_id = 2",
    "change log": "DELETE FROM changes WHERE memory_id = 2",
    "numbers missing from the change log": "DELETE FROM changes WHERE seq = 5",
    "numbers missing from the change log, by the last one before them: 0": "DELETE FROM changes WHERE seq = 1",
    "another owner than their memory": "UPDATE changes SET user = 'mallory' WHERE seq = 3",
    "not one of them in use": "UPDATE generations SET active = 0",
    "not counted": "DELETE FROM counters WHERE kind = 'type'",
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


def test_rows_hidden_by_swapped_pages_are_reported_when_the_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    store = open_sqlite(path)
    samples = Samples(0)
    for _ in range(4):
        store.write(MemoryWrite([samples.new_memory() for _ in range(50)]))
    assert open_problems(path) == ()
    store.close()
    with closing(sqlite3.connect(path)) as raw:
        size = raw.execute("PRAGMA page_size").fetchone()[0]
    data, found = path.read_bytes(), 0
    leaves = [page for page in range(1, len(data) // size) if data[page * size] == 13]  # leaves of tables
    for one, other in pairwise(leaves):
        swapped = bytearray(data)
        swapped[one * size : (one + 1) * size] = data[other * size : (other + 1) * size]
        swapped[other * size : (other + 1) * size] = data[one * size : (one + 1) * size]
        path.write_bytes(swapped)
        hidden = rows_found(path) != 200
        found += hidden
        assert not hidden or open_problems(path)
    assert found


def rows_found(path: Path) -> int:
    """Return how many memories can be read by their ids."""
    with closing(sqlite3.connect(path)) as raw:
        try:
            query = "SELECT count(*) FROM memories NOT INDEXED WHERE id = ? AND content IS NOT NULL"
            return sum(raw.execute(query, (number,)).fetchone()[0] for number in range(1, 201))
        except sqlite3.DatabaseError:
            return 200  # reading raises: nothing is hidden


def open_problems(path: Path) -> tuple[str, ...]:
    try:
        store = open_sqlite(path)
    except Incompatible as error:
        return (str(error),)
    try:
        return store.status().problems
    finally:
        store.close()


def test_repaired_counts_are_no_longer_reported(store: SQLiteStore) -> None:
    with closing(sqlite3.connect(store.path)) as raw, raw:
        raw.execute("UPDATE counters SET entries = entries + 1 WHERE kind = 'type'")
    assert "can be read: run check" in open_problems(store.path)[0]
    again = open_sqlite(store.path)
    again.repair()
    assert again.status().problems == ()
    again.close()


def test_change_log_with_gaps_is_filled_and_makes_indexes_read_all_memories_again(store: SQLiteStore) -> None:
    head = store.head()
    with closing(sqlite3.connect(store.path)) as raw, raw:
        raw.execute("DELETE FROM changes WHERE seq = 2")
        raw.execute("UPDATE changes SET tenant = 'other' WHERE seq = 3")
        tenants = {row[0] for row in raw.execute("SELECT tenant FROM memories")}
    assert store.check() != []
    done = store.repair()
    assert any("1 numbers of the change log filled" in each for each in done)
    assert store.check() == []
    changed = [id for tenant in tenants for id in store.changed(PartitionKey(tenant, ANY), head).tolist()]
    assert sorted(changed) == [1, 2, 3, 4, 5]
