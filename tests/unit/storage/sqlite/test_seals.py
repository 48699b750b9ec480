from __future__ import annotations

from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store in which something of everything was written, closed again."""
    path = tmp_path / "memory.db"
    with _open(path) as memory:
        memory.remember([Message("user", "I live in Malmo.", name="Ana")], user="ana")
        moved = memory.remember([Message("user", "I moved to Lund.", name="Ana")], user="ana")
        other = memory.add_memory("The boiler service is set for Monday.", user="ana", importance=1)
        memory.add_memory_association(other.id, moved[0].memory.id, "beside", 0.5, user="ana")  # type: ignore[union-attr]
        memory.update(other.id, "The boiler service is set for Tuesday.", user="ana")
        memory.recall("Where does Ana live?", user="ana")
        gone = memory.add_memory("The spare key is under the mat.", user="ana")
        memory.forget(gone.id, user="ana")
        for output in ("one", "two"):
            memory.save_execution_record("cook", {"output": output, "duration_ms": 5})
    return path


def _open(path: Path) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder())


def _edit(path: Path, statement: str) -> None:
    with sqlite3.connect(path) as raw:
        assert raw.execute(statement).rowcount > 0
    raw.close()


def test_check_finds_nothing_where_only_memoranda_wrote(file: Path) -> None:
    with _open(file) as memory:
        assert memory.check().problems == ()
        memory.upkeep()
        assert memory.check().problems == ()


@pytest.mark.parametrize(
    ("table", "statement"),
    [
        ("memories", "UPDATE memories SET valid_to = 1768132800000000 WHERE id = 2"),
        ("memories", "UPDATE memories SET valid_to = NULL WHERE id = 1"),
        ("memories", "UPDATE memories SET valid_from = valid_from - 1"),
        ("memories", "UPDATE memories SET recorded_at = recorded_at - 1 WHERE id = 3"),
        ("memories", "UPDATE memories SET speaker = 'Bob' WHERE id = 1"),
        ("memories", "UPDATE memories SET trust = 'document' WHERE id = 1"),
        ("memories", "UPDATE memories SET archived_at = 1 WHERE id = 2"),
        ("memories", "UPDATE memories SET quarantined_at = 1 WHERE id = 2"),
        ("memories", "UPDATE memories SET superseded_by = 3 WHERE id = 2"),
        ("memories", "UPDATE memories SET content = 'I live in Rome.' WHERE id = 2"),
        ("memories", "UPDATE memories SET importance = 0.25 WHERE id = 3"),
        ("memories", "UPDATE memories SET notes = replace(notes, 'Lund', 'Rome')"),
        ("memories", "DELETE FROM memories WHERE id = 3"),
        ("messages", "UPDATE messages SET speaker = 'Bob'"),
        ("messages", "UPDATE messages SET content = 'I live in Rome.'"),
        ("recalls", "UPDATE recalls SET query = 'Where does Bob live?'"),
        ("recalls", "UPDATE recalls SET states = '[]'"),
        ("recalls", "UPDATE recalls SET asked_at = asked_at - 1"),
        ("recalls", "DELETE FROM recalls"),
        ("recalled_memories", "UPDATE recalled_memories SET state = '{}'"),
        ("associations", "UPDATE associations SET strength = 1 WHERE relationship_type = 'beside'"),
        ("associations", "DELETE FROM associations"),
        ("revisions", "UPDATE revisions SET content = 'The boiler is new.'"),
        ("tombstones", "DELETE FROM tombstones"),
    ],
)
def test_check_names_the_table_that_another_program_changed(file: Path, table: str, statement: str) -> None:
    _edit(file, statement)
    with _open(file) as memory:
        problems = memory.check().problems
        assert [each for each in problems if f"rows of {table} were changed by another program" in each]


@pytest.mark.parametrize("value", ["'x'", "7", "x'ff'"])
@pytest.mark.parametrize("column", ["tenant", "number", "id", "agent", "workflow", "record", "recorded_at", "digest"])
def test_check_finds_an_edited_execution_record(file: Path, column: str, value: str) -> None:
    _edit(file, f"UPDATE executions SET {column} = {value} WHERE number = 2")
    with _open(file) as memory:
        assert [each for each in memory.check().problems if each.startswith("execution records of tenant")]


@pytest.mark.parametrize("table", ["executions", "execution_heads"])
def test_check_finds_removed_execution_records(file: Path, table: str) -> None:
    _edit(file, f"DELETE FROM {table}")
    with _open(file) as memory:
        assert [each for each in memory.check().problems if each.startswith("execution records of tenant")]


def test_check_without_the_key_names_the_missing_file(file: Path) -> None:
    file.with_name("memory.db.key").unlink()
    with _open(file) as memory:
        assert "memory.db.key is missing" in memory.check().problems[-1]


def test_a_later_write_does_not_hide_an_edit(file: Path) -> None:
    _edit(file, "UPDATE memories SET speaker = 'Bob' WHERE id = 2")
    with _open(file) as memory:
        memory.remember([Message("user", "I have two cats.", name="Ana")], user="ana")
        memory.recall("Where does Ana live?", user="ana")
        assert [each for each in memory.check().problems if each.startswith("1 rows of memories")]


def test_check_finds_a_row_that_another_program_added(file: Path) -> None:
    _edit(file, "INSERT INTO associations VALUES (3, 1, 'follows', 1.0, NULL)")
    with _open(file) as memory:
        assert [each for each in memory.check().problems if "rows of associations" in each]


def test_repair_keeps_an_edit_and_says_so(file: Path) -> None:
    _edit(file, "UPDATE memories SET speaker = 'Bob' WHERE id = 2")
    with _open(file) as memory:
        report = memory.repair()
        assert "1 rows that another program changed were kept as they are" in report.done
        assert report.remaining == ()
        assert memory.check().problems == ()


def test_check_names_a_value_of_another_type(file: Path) -> None:
    _edit(file, "UPDATE claims SET slot = 'ana/city'")
    _edit(file, "UPDATE memories SET valid_from = 'soon' WHERE id = 2")
    _edit(file, "UPDATE memories SET true_from = 'soon' WHERE id = 3")
    _edit(file, "UPDATE memories SET content = x'ff', notes = '7' WHERE id = 1")
    with _open(file) as memory:
        problems = memory.check().problems
        assert [each for each in problems if "wrong claims" in each]
        assert [each for each in problems if "memory 1 is damaged" in each]
        assert [each for each in problems if "memory 2 is damaged" in each]
