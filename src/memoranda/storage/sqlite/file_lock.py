"""The lock file in front of every write and checkpoint, and what it notes about the last of them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

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
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            self._fd = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._fd


def lock_of(database: Path) -> FileLock:
    """Return the lock of a database file."""
    return FileLock(database.with_name(f"{database.name}.lock"))
