from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import closing
from itertools import combinations
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.embedding.vectors import start_generation
from memoranda.errors import Incompatible
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import HashEmbedder, Samples, VectorSpace
from tests.driver import sqlite3


def make_store(path: Path, rows: int = 150) -> SQLiteStore:
    store = open_sqlite(path)
    generation = store.write(lambda tx: start_generation(tx, HashEmbedder(8).identity, activate=True))
    samples = Samples(0, VectorSpace(generation.id, 8))
    for _ in range(3):
        store.write(MemoryWrite([samples.new_memory() for _ in range(rows // 3)]))
    return store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = make_store(tmp_path / "m.db")
    yield store
    store.close()


def scrub_all(store: SQLiteStore, rows: int = 100) -> tuple[str, ...]:
    """Check until a round has ended, and return what it found."""
    rounds = store.scrub(rows).rounds
    for _ in range(1000):
        state = store.scrub(rows)
        if state.rounds > rounds:
            return state.problems
    raise AssertionError("the check does not end")


@pytest.mark.parametrize("rows", [1, 7, 100, 10_000])
def test_intact_store_has_no_problems_in_slices_of_any_size(store: SQLiteStore, rows: int) -> None:
    if rows == 1:
        store.scrub(300)
    assert scrub_all(store, rows) == ()


def test_check_goes_on_where_it_stopped_after_a_reopen(tmp_path: Path) -> None:
    with closing(make_store(tmp_path / "m.db")) as store:
        first = store.scrub(60)
        assert first.key
    with closing(open_sqlite(tmp_path / "m.db")) as store:
        second = store.scrub(60)
        assert (second.table, second.key) > (first.table, first.key)
        assert second.rounds == 0


def test_each_slice_reads_no_more_rows_than_asked(store: SQLiteStore) -> None:
    previous = store.scrub(10)
    for _ in range(5):
        state = store.scrub(10)
        if state.table == previous.table and state.key and previous.key:
            assert int(state.key[0]) - int(previous.key[0]) <= 10
        previous = state


def test_every_pair_of_swapped_leaf_pages_that_sqlite_calls_damage_is_found(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    make_store(path, 450).close()
    with closing(sqlite3.connect(path)) as raw:
        size = raw.execute("PRAGMA page_size").fetchone()[0]
        raw.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        ours = {row[0] for row in raw.execute("SELECT rootpage FROM sqlite_master WHERE name NOT LIKE 'alembic%'")}
    data = path.read_bytes()
    # Leaves of tables and indexes that are not the only page of their tree.
    leaves = [n for n in range(1, len(data) // size) if data[n * size] in (10, 13) and n + 1 not in ours]
    damaged = missed = 0
    for one, other in random.Random(0).sample(list(combinations(leaves, 2)), 40):
        swapped = bytearray(data)
        swapped[one * size : (one + 1) * size] = data[other * size : (other + 1) * size]
        swapped[other * size : (other + 1) * size] = data[one * size : (one + 1) * size]
        for name in ("m.db-wal", "m.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        path.write_bytes(swapped)
        if not is_damaged(path):
            continue
        damaged += 1
        missed += not is_found(path)
    assert damaged > 20
    assert missed == 0


def is_damaged(path: Path) -> bool:
    with closing(sqlite3.connect(path)) as raw:
        try:
            return raw.execute("PRAGMA integrity_check").fetchone()[0] != "ok"
        except sqlite3.DatabaseError:
            return True


def is_found(path: Path) -> bool:
    try:
        with closing(open_sqlite(path)) as store:
            return bool(scrub_all(store, 10_000))
    except Incompatible:
        return True


def test_damage_shows_in_the_upkeep_report_and_in_health_until_it_is_repaired(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(8)) as manager:
        manager.add_memories([f"note number {number}" for number in range(20)])
        report = manager.upkeep()
        assert report.problems == ()
        assert report.checked_rows > 0
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE memories SET content = 'changed by somebody' WHERE id = 7")
    with MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(8)) as manager:
        other = manager.for_tenant("other")
        other.upkeep()
        problems = other.upkeep().problems
        assert any("health()" in problem for problem in problems)
        assert not any("7" in problem for problem in problems)  # it may be another tenant's
        health = manager.health()
        assert health.status == "degraded"
        assert any("memory 7 is damaged" in problem for problem in health.problems)
    with closing(sqlite3.connect(path)) as raw, raw:
        raw.execute("UPDATE memories SET content = 'note number 6' WHERE id = 7")
    with MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(8)) as manager:
        for _ in range(3):
            report = manager.upkeep()
        assert report.problems == ()
        assert manager.health().status == "ok"


def test_dry_run_checks_nothing(tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(8)) as manager:
        manager.add_memory("tea at five")
        assert manager.upkeep(dry_run=True).checked_rows == 0
