from __future__ import annotations

import errno
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from memoranda import Conflict, Incompatible, InvalidInput, MemoryConfig, MemoryManager, NotFound, Unavailable
from memoranda.storage.sqlite import scrub
from memoranda.storage.sqlite.backup import inspect
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.export import restore
from tests.driver import sqlite3


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(32)) as opened:
        yield opened


def _config(path: Path) -> MemoryConfig:
    return MemoryConfig(db_url=f"sqlite:///{path}")


def _contents(path: Path) -> set[str]:
    with MemoryManager(_config(path), embedder=HashEmbedder(32)) as opened:
        assert opened.check().ok
        return {memory.content for memory in opened.list_memories(1000)}


def test_backup_under_load_has_every_write_acknowledged_before_it(manager: MemoryManager, tmp_path: Path) -> None:
    acknowledged: list[str] = []
    stop = threading.Event()

    def write(writer: int) -> None:
        number = 0
        while not stop.is_set():
            text = f"writer {writer} fact {number}"
            manager.add_memory(text)
            acknowledged.append(text)
            number += 1

    writers = [threading.Thread(target=write, args=(n,)) for n in range(3)]
    for each in writers:
        each.start()
    try:
        for turn in range(4):
            while len(acknowledged) < 20 * (turn + 1):
                stop.wait(0.001)
            before = set(acknowledged)
            made = manager.backup(tmp_path / f"b{turn}.db")
            restored = tmp_path / f"r{turn}.db"
            restore(made.path, _config(restored))
            kept = _contents(restored)
            assert before <= kept
            assert len(kept) == made.memories
    finally:
        stop.set()
        for each in writers:
            each.join()


def test_restore_finds_any_flipped_byte_in_a_backup(manager: MemoryManager, tmp_path: Path) -> None:
    manager.add_memories([f"fact number {n}" for n in range(50)])
    made = manager.backup(tmp_path / "b.db")
    whole = made.path.read_bytes()
    rng = random.Random(7)
    for _ in range(40):
        place = rng.randrange(len(whole))
        made.path.write_bytes(whole[:place] + bytes([whole[place] ^ (1 << rng.randrange(8))]) + whole[place + 1 :])
        with pytest.raises(Incompatible):
            restore(made.path, _config(tmp_path / "r.db"))
    assert not (tmp_path / "r.db").exists()
    made.path.write_bytes(whole)
    assert inspect(made.path) == made


def test_backup_is_one_private_file_with_a_sha256sum_file(manager: MemoryManager, tmp_path: Path) -> None:
    manager.add_memory("tea")
    made = manager.backup(tmp_path / "b.db")
    assert made.path.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "b.db.sha256").read_text() == f"{made.sha256}  b.db\n"
    assert not list(tmp_path.glob("b.db-*"))
    assert not list(tmp_path.glob("*.partial*"))


def test_backup_includes_the_audit_key(manager: MemoryManager, tmp_path: Path) -> None:
    manager.save_execution_record("writer", {"status": "done"})
    manager.backup(tmp_path / "b.db")
    restore(tmp_path / "b.db", _config(tmp_path / "r.db"))
    with MemoryManager(_config(tmp_path / "r.db"), embedder=HashEmbedder(32)) as restored:
        assert restored.verify_executions().ok


def test_nothing_is_overwritten_without_force(manager: MemoryManager, tmp_path: Path) -> None:
    manager.add_memory("tea")
    made = manager.backup(tmp_path / "b.db")
    with pytest.raises(Conflict, match="exists"):
        manager.backup(tmp_path / "b.db")
    manager.add_memory("milk")
    assert manager.backup(tmp_path / "b.db", force=True).memories == made.memories + 1
    other = tmp_path / "other.db"
    with MemoryManager(_config(other), embedder=HashEmbedder(32)) as second:
        second.add_memory("old")
    with pytest.raises(Conflict, match="exists"):
        restore(made.path, _config(other))
    assert _contents(other) == {"old"}
    restore(made.path, _config(other), force=True)
    assert _contents(other) == {"tea", "milk"}
    assert _contents(tmp_path / "other.db.before-restore") == {"old"}


def test_restore_refuses_a_database_in_use(manager: MemoryManager, tmp_path: Path) -> None:
    manager.add_memory("tea")
    made = manager.backup(tmp_path / "b.db")
    with pytest.raises(Unavailable, match="in use"):
        restore(made.path, _config(tmp_path / "m.db"), force=True)
    manager.add_memory("milk")
    assert manager.get_stats().long_term_entries == 2


def test_restore_replaces_a_damaged_database_and_keeps_a_copy(tmp_path: Path) -> None:
    with MemoryManager(_config(tmp_path / "m.db"), embedder=HashEmbedder(32)) as manager:
        manager.add_memory("tea")
        manager.backup(tmp_path / "b.db")
    (tmp_path / "m.db").write_bytes(b"no database at all" * 500)
    restore(tmp_path / "b.db", _config(tmp_path / "m.db"), force=True)
    assert _contents(tmp_path / "m.db") == {"tea"}
    assert (tmp_path / "m.db.before-restore").read_bytes().startswith(b"no database")


def test_backup_without_checksum_is_restored_as_unverified(manager: MemoryManager, tmp_path: Path) -> None:
    manager.add_memory("tea")
    manager.backup(tmp_path / "b.db")
    (tmp_path / "b.db.sha256").unlink()
    assert restore(tmp_path / "b.db", _config(tmp_path / "r.db")).verified is False


@pytest.mark.parametrize("what", ["missing", "empty", "foreign"])
def test_restore_rejects_a_file_that_is_not_a_backup(what: str, tmp_path: Path) -> None:
    path = tmp_path / "b.db"
    if what == "empty":
        path.touch()
    if what == "foreign":
        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE t (x)")
        connection.close()
    with pytest.raises(NotFound if what == "missing" else Incompatible):
        restore(path, _config(tmp_path / "r.db"))
    assert not (tmp_path / "r.db").exists()


def test_backup_reports_progress(manager: MemoryManager, tmp_path: Path) -> None:
    manager.add_memories([f"fact {n}" for n in range(300)])
    seen: list[tuple[int, int]] = []
    manager.backup(tmp_path / "b.db", progress=lambda done, total: seen.append((done, total)))
    assert seen[-1][0] == seen[-1][1] > 0


def test_killed_backup_leaves_no_file(tmp_path: Path) -> None:
    with MemoryManager(_config(tmp_path / "m.db"), embedder=HashEmbedder(32)) as manager:
        manager.add_memories([f"fact {n}" for n in range(2000)])
    program = (
        "import os; from memoranda import MemoryManager; from memoranda.testing.fakes import HashEmbedder\n"
        f"m = MemoryManager('sqlite:///{tmp_path}/m.db', embedder=HashEmbedder(32))\n"
        f"m.backup('{tmp_path}/b.db', progress=lambda done, total: os._exit(9))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 9
    assert not (tmp_path / "b.db").exists()


def test_restore_that_fails_at_its_last_step_leaves_the_database_in_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, content in (("m.db", "old"), ("n.db", "new")):
        with MemoryManager(_config(tmp_path / name), embedder=HashEmbedder(32)) as manager:
            manager.add_memory(content)
            manager.save_execution_record("a", {})
            manager.backup(tmp_path / f"{name}.backup")

    def refuse(*_: object) -> Path:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(Unavailable, match="Input/output"):
        restore(tmp_path / "n.db.backup", _config(tmp_path / "m.db"), force=True)
    monkeypatch.undo()
    assert _contents(tmp_path / "m.db") == {"old"}
    with MemoryManager(_config(tmp_path / "m.db"), embedder=HashEmbedder(32)) as manager:
        assert manager.verify_executions().ok


@pytest.mark.parametrize("target", [None, 5, "a\0b"])
def test_backup_to_what_is_no_file_name_is_refused(manager: MemoryManager, target: Any) -> None:
    with pytest.raises(InvalidInput):
        manager.backup(target)


def test_export_never_replaces_what_is_no_ordinary_file(manager: MemoryManager, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InvalidInput, match="not an ordinary file"):
        manager.export_jsonl(pipe)
    assert pipe.is_fifo()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
def test_backup_that_cannot_be_opened_is_one_of_our_errors(
    manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    made = manager.backup(tmp_path / "b.db")

    def fail(path: Any, *_: object) -> int:
        raise OSError(number, os.strerror(number), str(path))

    with monkeypatch.context() as broken:
        broken.setattr(scrub.os, "open", fail)
        with pytest.raises(Unavailable, match=r"b\.db"):
            restore(made.path, _config(tmp_path / "r.db"))
    assert restore(made.path, _config(tmp_path / "r.db")).memories == 0


def test_backup_on_a_medium_that_cannot_be_written_is_restored(
    manager: MemoryManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.add_memory("tea")
    made, opened = manager.backup(tmp_path / "b.db"), os.open

    def open_read_only(path: Any, flags: int, *mode: int) -> int:
        if str(path) == str(made.path) and flags & os.O_RDWR:
            raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(path))
        return opened(path, flags, *mode)

    monkeypatch.setattr(scrub.os, "open", open_read_only)
    assert restore(made.path, _config(tmp_path / "r.db")).memories == 1


def test_backup_with_the_name_of_a_compressed_file_is_compressed_and_restored(
    manager: MemoryManager, tmp_path: Path
) -> None:
    manager.add_memories([f"The boat number {number} is blue, and the car is red." for number in range(200)])
    plain, packed = manager.backup(tmp_path / "b.db"), manager.backup(tmp_path / "b.db.zst")
    assert packed.memories == 200
    assert packed.size_bytes == packed.path.stat().st_size < plain.size_bytes / 2
    restored = tmp_path / "new" / "r.db"
    found = restore(packed.path, _config(restored))
    assert (found.memories, found.verified, found.sha256) == (200, True, packed.sha256)
    assert _contents(restored) == {memory.content for memory in manager.list_memories(1000)}
    assert sorted(file.name for file in restored.parent.iterdir() if file.name.startswith(".")) == []
    with pytest.raises(Conflict):
        restore(packed.path, _config(restored))
    with pytest.raises(Conflict):
        manager.backup(packed.path)


def test_damaged_compressed_backup_is_refused_and_changes_nothing(manager: MemoryManager, tmp_path: Path) -> None:
    manager.add_memory("The boat is blue.")
    packed = manager.backup(tmp_path / "b.db.zst").path
    data = packed.read_bytes()
    checksum = packed.with_name("b.db.zst.sha256")
    for damaged in (data[:-20], data[:40] + bytes([data[40] ^ 1]) + data[41:], b"", b"no archive"):
        packed.write_bytes(damaged)
        for _ in range(2):  # with the checksum beside it, then without
            with pytest.raises(Incompatible, match="damaged"):
                restore(packed, _config(tmp_path / "r.db"))
            checksum.unlink(missing_ok=True)
        assert not (tmp_path / "r.db").exists()
    with pytest.raises(NotFound):
        restore(tmp_path / "none.db.zst", _config(tmp_path / "r.db"))


def test_compressed_backup_of_an_encrypted_database_is_refused(manager: MemoryManager, tmp_path: Path) -> None:
    pytest.importorskip("sqlcipher3")
    with pytest.raises(InvalidInput, match=r"without \.zst"):
        manager.backup(tmp_path / "b.db.zst", encryption_key="a key of an encrypted backup")
    assert not (tmp_path / "b.db.zst").exists()
