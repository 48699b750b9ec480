from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from memoranda import ConversationMemory, MemoryManager
from memoranda.errors import InvalidInput
from memoranda.files import atomic_replace
from memoranda.testing.fakes import HashEmbedder


def test_atomic_replace_keeps_the_old_file_when_the_block_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(UnicodeEncodeError), atomic_replace(target) as temporary:
        temporary.write_text("half\ud800")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "old"}


def test_atomic_replace_writes_the_new_file_readable_by_its_owner_only(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    with atomic_replace(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "new"}
    assert stat.S_IMODE(target.stat().st_mode) == 0o600


@pytest.mark.parametrize("suffix", ["", "-wal", "-shm", ".lock", ".key"])
def test_nothing_is_written_over_a_database_or_a_file_beside_it(tmp_path: Path, suffix: str) -> None:
    database, copy = tmp_path / "memories.db", tmp_path / "copy.db"
    target = Path(f"{database}{suffix}")
    with MemoryManager(database, embedder=HashEmbedder(16)) as manager:
        manager.save_execution_record("a", {"step": 1})  # makes the key file
        manager.add_memory("The river is cold.")
        for write in (
            lambda: manager.export_jsonl(target),
            lambda: manager.backup(target, force=True),
            lambda: ConversationMemory().save_to_file(target),
        ):
            with pytest.raises(InvalidInput, match="would be lost"):
                write()
        manager.backup(copy)
        manager.backup(copy, force=True)  # an older backup may be replaced
        with pytest.raises(InvalidInput, match="would be lost"):
            manager.export_jsonl(copy)
        manager.add_memory("The lamp is green.")
    if target.exists():
        with pytest.raises(InvalidInput, match="would be lost"), atomic_replace(target):
            pass
    with MemoryManager(database, embedder=HashEmbedder(16)) as manager:
        assert len(manager.list_memories()) == 2
        assert manager.check().ok


@pytest.mark.skipif(os.name != "posix", reason="such files cannot be told from those in use there")
def test_copy_that_a_killed_program_left_is_deleted_by_the_next_one_and_one_in_use_is_not(tmp_path: Path) -> None:
    target = tmp_path / "m.db"
    with atomic_replace(target, database=True) as in_use:
        in_use.write_text("in use")
        left = tmp_path / ".m.db.0123abcd.partial"
        left.write_text("a whole copy of a database")
        journal = tmp_path / f"{left.name}-journal"
        journal.write_text("pages of it")
        just_made = tmp_path / ".m.db.4567abcd.partial"
        just_made.touch()
        for file in (in_use, left):
            os.utime(file, (0, 0))
        with atomic_replace(target, database=True) as temporary:
            temporary.write_text("new")
        assert (in_use.read_text(), left.exists(), just_made.exists()) == ("in use", False, True)
        assert not journal.exists()
    assert target.read_text() == "in use"
