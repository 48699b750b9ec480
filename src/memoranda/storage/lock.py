"""One advisory lock between processes, in front of every write transaction and checkpoint."""

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
            except OSError:  # LK_LOCK gives up after ten seconds; waiting longer is what we want
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
    """A blocking lock on a file, free again the moment its holder dies. One thread at a time."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd: int | None = None
        self._pid = 0

    @contextmanager
    def __call__(self) -> Iterator[None]:
        fd = self._open()
        _acquire(fd)
        try:
            yield
        finally:
            _release(fd)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        if self._fd is not None and self._pid == os.getpid():
            os.close(self._fd)
        self._fd = None

    def _open(self) -> int:
        # A forked child shares the parent's open file, and with it the parent's lock: it needs its own.
        if self._fd is None or self._pid != os.getpid():
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
            self._pid = os.getpid()
        return self._fd
