from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import Incompatible, MemoryManager
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(32)) as opened:
        opened.add_memories([f"Ann drinks tea number {n}" for n in range(20)], user="ann")
        opened.remember({"role": "user", "content": "Bob drinks milk"}, user="bob")
        yield opened


def _damage(tmp_path: Path, *statements: str) -> None:
    connection = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_a_sound_store_has_no_problems_and_repair_does_nothing(manager: MemoryManager) -> None:
    report = manager.check()
    assert (report.ok, report.memories, report.partitions) == (True, 21, 2)
    assert manager.repair().done == ()


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        ("UPDATE memories SET terms = '' WHERE id = 3", "1 memories without terms: 3"),
        ("DELETE FROM vectors WHERE memory_id IN (1, 2)", "2 memories without a vector: 1, 2"),
        ("UPDATE vectors SET data = x'00000000' WHERE memory_id = 4", "vectors of the wrong size: 4"),
        ("DELETE FROM changes WHERE memory_id = 5", "missing from the change log: 5"),
        ("UPDATE counters SET entries = 7 WHERE kind = 'type'", "wrong count"),
        ("UPDATE memories SET message_seq = 77 WHERE id = 6", "message is gone: 6"),
    ],
)
def test_damage_is_found_and_repaired(manager: MemoryManager, tmp_path: Path, damage: str, said: str) -> None:
    _damage(tmp_path, damage)
    assert any(said in problem for problem in manager.check().problems)
    report = manager.repair()
    assert report.ok, report
    assert report.done
    assert manager.check().ok
    assert manager.get_stats().long_term_entries == 21
    assert [hit.content for hit in manager.recall("tea number 3", user="ann", limit=1)] == ["Ann drinks tea number 3"]


def test_a_changed_text_is_found_told_and_left_alone(manager: MemoryManager, tmp_path: Path) -> None:
    _damage(tmp_path, "UPDATE memories SET content = 'Ann drinks poison' WHERE id = 3")
    report = manager.repair()
    assert not report.ok
    assert "memory 3 is damaged" in report.remaining[0]
    assert manager.get_stats().long_term_entries == 21
    with pytest.raises(Incompatible, match="damaged"):
        manager.get(3, user="ann")


def test_a_vector_of_another_length_is_found(manager: MemoryManager, tmp_path: Path) -> None:
    _damage(tmp_path, "UPDATE vectors SET data = zeroblob(128) WHERE memory_id = 4")
    assert any("not of length 1" in problem and ": 4" in problem for problem in manager.check().problems)
