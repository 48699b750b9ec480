"""The files beside a database: its logs, and the lock file in front of every write and checkpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from memoranda.errors import Incompatible
from memoranda.storage.base import key_file

if sys.platform == "win32":
    import msvcrt

    def _acquire(fd: int) -> None:
        while True:
            try:
                msvcrt.locking(fd, msvcrt.LK_LOCK, 1)
            except OSError:  # LK_LOCK gives up after ten seconds; we wait longer
                continue
            return

    def _release(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _acquire(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_EX)

    def _release(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


_NOTE_BYTES: Final = 64


class FileLock:
    """A blocking lock on a file, released when its holder dies. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fd: int | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        fd = self._open()
        try:  # before the lock is acquired: an interrupt in between must not leave it locked
            _acquire(fd)
            yield
        finally:
            _release(fd)

    def note(self, store: str, number: int) -> None:
        """Keep the number of the last change on disk, so that a database that has lost its log is noticed.

        It is not synced: after a power cut it is that of an earlier change, never of one that is not on disk.
        """
        with suppress(OSError, AttributeError):  # the change is on disk all the same; Windows has no `pwrite`
            os.pwrite(self._open(), f"{store} {number}\n".ljust(_NOTE_BYTES).encode(), 0)

    def noted(self, store: str | None = None) -> int:
        """Return the number that was noted, for this store or for any; 0 when there is none."""
        with suppress(OSError, AttributeError, ValueError):
            name, number = os.pread(self._open(), _NOTE_BYTES, 0).split()
            return int(number) if store is None or name == store.encode() else 0
        return 0

    def forget_note(self) -> None:
        """Note nothing, for a database that is replaced by an older one."""
        os.truncate(self._open(), 0)
        os.fsync(self._open())

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        # Forgotten first: closed twice, as after an interrupt in between, it would be the descriptor of something else.
        fd, self._fd = self._fd, None
        if fd is not None:
            os.close(fd)

    def _open(self) -> int:
        if self._fd is None:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._fd


def lock_of(database: Path) -> FileLock:
    """Return the lock of a database file."""
    return FileLock(database.with_name(f"{database.name}.lock"))


def require_content(path: Path) -> None:
    """Refuse a database that lost its content: SQLite would take the file for a new one, and delete its log.

    Every program that opens a database to write calls this first, whether it is to be used, restored or converted.
    """
    key = key_file(path)
    if size_of(path):
        return
    for log in filter(_holds_pages, (log_of(path), journal_of(path))):
        raise Incompatible(
            f"{path} is missing or empty, and {log.name} beside it still holds what was written: put the database file "
            "back or restore a backup; to begin a new one, move that file away first"
        )
    if path.exists() and size_of(key):
        raise Incompatible(
            f"{path} is empty, and {key.name} beside it shows that it was in use: restore a backup; to begin a new "
            "one, move both files away first"
        )


def require_database(path: Path) -> None:
    """Refuse a database that is gone while a file beside it shows that it was in use: a new one would open it to all.

    A server without a key would be open again, and nothing would say that the memories are missing.
    """
    evidence = [file.name for file in (key_file(path), lock_of(path).path) if _shows_use(path, file)]
    if evidence and not path.exists():  # looked at last: another process may be about to create it
        raise Incompatible(
            f"{path} is missing, and {' and '.join(evidence)} beside it shows that it was in use: put the database "
            "file back or restore a backup; to begin a new one, move the files next to it away first"
        )


def _shows_use(database: Path, file: Path) -> bool:
    if not file.is_file() or database.exists():
        return False
    if file == key_file(database):
        return bool(size_of(file))
    lock = lock_of(database)
    try:
        return lock.noted() > 0
    finally:
        lock.close()


def forget_deleted(path: Path) -> None:
    """Forget what the lock file says about a database that was deleted, and that a copy is to replace."""
    lock = lock_of(path)
    if not path.exists() and lock.path.exists():
        lock.forget_note()
        lock.close()


def _holds_pages(log: Path) -> bool:
    """Return whether a log holds pages of a database that had any: the journal of a new one says that it had none."""
    if log.name.endswith("-wal") or not log.exists():
        return bool(size_of(log))
    with log.open("rb") as file:
        start = file.read(20)
    return start[:8] == _JOURNAL_MAGIC and int.from_bytes(start[16:20], "big") > 0


_JOURNAL_MAGIC: Final = bytes.fromhex("d9d505f920a163d7")


def log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def journal_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-journal")


def size_of(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
