"""The lock file in front of every write and checkpoint."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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


class FileLock:
    """A blocking lock on a file, released when its holder dies. For one thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        fd = self._open()
        try:  # before the lock is acquired: an interrupt in between must not leave it locked
            _acquire(fd)
            yield
        finally:
            _release(fd)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._fd


def lock_of(database: Path) -> FileLock:
    """Return the lock of a database file."""
    return FileLock(database.with_name(f"{database.name}.lock"))
