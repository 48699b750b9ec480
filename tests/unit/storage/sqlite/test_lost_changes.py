"""A database whose log was deleted or cut lacks changes that were acknowledged."""

from __future__ import annotations

import os
import shutil
from contextlib import closing
from pathlib import Path

import pytest

from memoranda import Incompatible, MemoryManager
from memoranda.storage import open_store
from memoranda.storage.sqlite.backup import restore
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.copying import copy_store
from tests.driver import sqlite3


def open_manager(path: Path) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(8))


def checkpoint(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    connection.close()


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """A copy of a store with one change in the file and three in the log."""
    (tmp_path / "open").mkdir()
    with open_manager(tmp_path / "open" / "m.db") as manager:
        manager.add_memory("the first note")
        checkpoint(tmp_path / "open" / "m.db")
        for number in range(3):
            manager.add_memory(f"note {number} of the log")
        shutil.copytree(tmp_path / "open", tmp_path / "crashed", ignore=shutil.ignore_patterns("*-shm"))
    return tmp_path / "crashed" / "m.db"


def test_log_that_is_there_is_no_problem(crashed: Path) -> None:
    with open_manager(crashed) as manager:
        assert manager.health().status == "ok"
        assert manager.check().ok
        assert len(manager.list_memories()) == 4


@pytest.mark.parametrize("bytes_left", [None, 0, 5000])
def test_deleted_or_cut_log_is_reported_until_it_is_repaired(crashed: Path, bytes_left: int | None) -> None:
    log = crashed.with_name("m.db-wal")
    log.unlink() if bytes_left is None else os.truncate(log, bytes_left)
    for _ in range(2):  # a write does not hide it
        with open_manager(crashed) as manager:
            assert "changes are missing: m.db-wal" in str(manager.health().problems)
            assert "changes are missing" in str(manager.check())
            manager.add_memory("a later note")
    with open_manager(crashed) as manager:
        manager.repair()
        manager.add_memory("one more")
        assert manager.check().ok
    with open_manager(crashed) as manager:
        assert manager.health().status == "ok"


def test_new_database_whose_log_was_deleted_is_refused(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    with open_manager(tmp_path / "open" / "m.db") as manager:
        manager.add_memory("a note")
        shutil.copytree(tmp_path / "open", tmp_path / "crashed")
    crashed = tmp_path / "crashed" / "m.db"
    crashed.with_name("m.db-wal").unlink()
    for _ in range(2):
        with pytest.raises(Incompatible, match="1 changes were written to it: put m"):
            open_manager(crashed).list_memories()
    shutil.copy(tmp_path / "open" / "m.db", crashed)
    with open_manager(crashed) as manager:
        assert len(manager.list_memories()) == 1


def test_database_cut_to_nothing_or_deleted_is_refused_until_the_rest_is_moved_away(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with open_manager(path) as manager:
        manager.add_memory("a note")
    path.write_bytes(b"")
    with pytest.raises(Incompatible, match="holds nothing"):
        open_manager(path).list_memories()
    path.unlink()
    for _ in range(2):
        with pytest.raises(Incompatible, match=r"is missing, and m\.db\.lock beside it.*move the files next to it"):
            open_manager(path).list_memories()
    path.with_name("m.db.lock").unlink()
    with open_manager(path) as manager:
        assert manager.health().status == "ok"


@pytest.mark.parametrize("kept", ["m.db.key", "m.db.lock"])
def test_deleted_database_is_refused_while_its_key_or_its_note_is_there(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "m.db"
    with open_manager(path) as manager:
        manager.save_execution_record("a", {"status": "success"})
        manager.add_memory("a note")
        manager.backup(tmp_path / "backup.db")
    for file in tmp_path.glob("m.db*"):
        if file.name != kept:
            file.unlink()
    with pytest.raises(Incompatible, match="restore a backup"):
        open_manager(path).list_memories()
    assert not path.exists()
    restore(tmp_path / "backup.db", path)
    with open_manager(path) as manager:
        assert manager.verify_executions().ok
        assert len(manager.list_memories()) == 1


def test_copy_may_find_its_key_before_the_database(tmp_path: Path) -> None:
    source, target = tmp_path / "a.db", tmp_path / "b.db"
    with open_manager(source) as manager:
        manager.save_execution_record("a", {"status": "success"})
    shutil.copy(tmp_path / "a.db.key", tmp_path / "b.db.key")
    with closing(open_store(source)) as first, closing(open_store(target, copying=True)) as second:
        copy_store(first, second)
    with open_manager(target) as manager:
        assert manager.verify_executions().ok


def test_restored_backup_is_older_without_a_problem(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    with open_manager(path) as manager:
        manager.add_memory("a note")
        manager.backup(tmp_path / "backup.db")
        manager.add_memory("another note")
    restore(tmp_path / "backup.db", path, force=True)
    with open_manager(path) as manager:
        assert manager.health().status == "ok"
        assert manager.check().ok
