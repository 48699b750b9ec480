from __future__ import annotations

from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.storage.base import PartitionKey
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.storage.sqlite.transaction import ALL_INDEX_ROWS
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY
from tests.driver import sqlite3


@pytest.mark.parametrize(("allowed", "found"), [([], []), (["tea"], ["Ann"]), (["tea", "milk"], ["Ann", "Bo"])])
def test_in_filter_matches_only_listed_values(tmp_path: Path, allowed: list[str], found: list[str]) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        manager.add_memory("Ann", metadata={"drink": "tea"})
        manager.add_memory("Bo", metadata={"drink": "milk"})
        kept = manager.list_memories(where={"metadata": {"drink": {"in": allowed}}})
        assert [memory.content for memory in kept] == found


def test_rows_of_all_users_are_read_in_the_order_of_the_table(tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        added = [manager.add_memory(f"note {number}", user=f"user-{number % 3}").id for number in range(9)]
    store = open_sqlite(tmp_path / "a.db")
    assert [row.id for row in store.rows(PartitionKey("default", ANY), None, 1)] == added
    store.close()
    with sqlite3.connect(tmp_path / "a.db") as raw:
        plan = raw.execute(f"EXPLAIN QUERY PLAN {ALL_INDEX_ROWS} 1", {"tenant": "default", "generation": 1}).fetchall()
    steps = [step[3] for step in plan]
    # Only ids are sorted: whole rows, with their vectors, would be written to a temporary file.
    assert steps.index("USE TEMP B-TREE FOR ORDER BY") < steps.index(
        "SEARCH memories USING INTEGER PRIMARY KEY (rowid=?)"
    )
