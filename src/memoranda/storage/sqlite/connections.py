"""SQLite connections: many readers, one writer behind the lock, and nothing shared with a forked child."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import QueuePool

from memoranda.errors import Closed, Unavailable
from memoranda.fork_safety import register_fork_handler
from memoranda.storage.base import Durability
from memoranda.storage.sqlite.driver import load_driver
from memoranda.storage.sqlite.errors import translated
from memoranda.storage.sqlite.transaction import driver_of

# Five vectors of the default model fit a page of this size, where one of SQLite's 4096 bytes holds two.
_PAGE_BYTES = 8192
# The writer checkpoints by itself after a commit, while it still holds the lock; readers never checkpoint.
_CHECKPOINT_PAGES = 1000
_BUSY_MS = 30_000
_JOURNAL = b"\x01\x01"  # in the header of a database that is not in WAL mode
_FORK_WAIT = 5.0

_inherited: list[object] = []
"""Handles of a parent process that were in use when it forked: closing them here would be done behind its back."""


class Connections:
    """The open handles on one database file."""

    def __init__(self, path: Path, *, driver: str | None = None, durability: Durability = "full") -> None:
        self.path = path
        self._module, self.driver = load_driver(driver)
        self._open_handle = partial(_open_handle, self._module, str(path), durability)
        self._closed = False
        self._torn = False
        self._held_by_fork: list[threading.Lock] = []
        self._start()
        self._turn_to_wal()
        register_fork_handler(self)

    def _start(self) -> None:
        self._lock = FileLock(self.path.with_name(self.path.name + ".lock"))
        self._engine = self._make_engine()
        self._raw = _RawReaders(self._open_handle)
        # When it is let go of without `close()`.
        self._disposal = weakref.finalize(self, _dispose, self._engine, self._raw)
        self._disposal.atexit = False
        self._file = _identity(self.path)
        self._writer: Connection | None = None
        self._one_writer = threading.Lock()
        self._borrowing = threading.Lock()  # held by a fork, so that no handle is opened meanwhile

    def _turn_to_wal(self) -> None:
        """A new file is turned to write-ahead logging by one process alone: SQLite would refuse the others at once."""
        with translated(str(self.path)):
            if _is_without_wal(self.path):
                with self._lock():
                    self._raw.give_back(self._raw_reader())

    def _make_engine(self) -> Engine:
        return create_engine(
            "sqlite://",
            module=self._module,
            creator=self._open_handle,
            poolclass=QueuePool,
            pool_size=32,
            max_overflow=64,
        )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A connection that sees the latest commit of any process; never waits for a writer."""
        self._ensure_open()
        with translated(str(self.path)), self._reader() as connection:
            try:
                yield connection
            except self._module.Error as error:
                raise DBAPIError(None, None, error) from error

    def fetch(self, statement: str, parameters: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """The rows of one read of the latest commit, past SQLAlchemy: for the few reads that every call makes."""
        self._ensure_open()
        with translated(str(self.path)):
            raw = self._raw_reader()
            try:
                rows: list[tuple[Any, ...]] = raw.execute(statement, parameters).fetchall()
            except BaseException as error:
                self._raw.drop(raw)
                if isinstance(error, self._module.Error):
                    raise DBAPIError(statement, None, error) from error
                raise
        self._raw.give_back(raw)
        if self._closed:  # in the meantime, by another thread
            self._raw.close()
        return rows

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One write transaction: on disk when this is left, undone when it raises."""
        self._ensure_open()
        with self._one_writer, translated(str(self.path)), self._lock():
            self._ensure_in_place()
            try:
                connection = self._writer_connection()
                raw = driver_of(connection)
                raw.execute("BEGIN IMMEDIATE")
                yield connection
                raw.execute("COMMIT")
            except BaseException as error:
                # After a failed write or sync nobody knows what the handle holds: the next write opens a new one.
                self._drop_writer()
                if isinstance(error, self._module.Error):
                    raise DBAPIError(None, None, error) from error
                raise

    @contextmanager
    def maintaining(self) -> Iterator[Connection]:
        """The writer's connection outside of any transaction, while no other process writes or checkpoints."""
        self._ensure_open()
        with self._one_writer, translated(str(self.path)), self._lock():
            self._ensure_in_place()
            try:
                yield self._writer_connection()
            except BaseException:
                self._drop_writer()
                raise

    def close(self) -> None:
        """Closes everything; the last one out leaves a checkpointed file without a WAL."""
        if self._closed:
            return
        self._closed = True
        if self._torn:
            return
        with self._one_writer, translated(str(self.path)):
            self._close_handles()

    def problem(self) -> str | None:
        """What is wrong when the path no longer leads to the file that was opened: what is written there is lost."""
        there = _identity(self.path)
        if there == self._file:
            return None
        return f"{self.path} was {'replaced' if there else 'removed'} while it was open: close this, then open it again"

    def before_fork(self) -> None:
        """Closes every handle, and lets none be opened until the fork is over.

        SQLite keeps its locks by process: a child that inherits a handle believes to hold locks it does not hold, and
        what it commits goes into a log that its parent deletes.
        """
        deadline = time.monotonic() + _FORK_WAIT
        locks = (self._one_writer, self._borrowing)
        self._held_by_fork = [lock for lock in locks if lock.acquire(timeout=_FORK_WAIT)]
        if self._handles() and len(self._held_by_fork) == len(locks):
            self._drop_writer()
            while self._in_use() and time.monotonic() < deadline:
                time.sleep(0.001)
            if not self._in_use():
                self._close_handles()

    def after_fork(self, *, in_child: bool) -> None:
        """Handles are opened again when they are needed; but not in the child where one was still in use."""
        held, self._held_by_fork = self._held_by_fork, []
        if not in_child:
            for lock in held:
                lock.release()
            return
        self._torn = bool(self._handles())
        if self._torn:
            _inherited.extend((self._engine, self._raw))
            self._disposal.detach()
        self._start()

    def _close_handles(self) -> None:
        # Closing the last handle of all processes checkpoints, so it happens under the lock as well.
        with self._lock():
            _dispose(self._engine, self._raw)
            self._drop_writer()
        self._lock.close()

    def _in_use(self) -> int:
        """How many handles somebody has borrowed."""
        return self._pool().checkedout() + len(self._raw.lent)

    def _handles(self) -> int:
        """How many handles are open."""
        return self._in_use() + self._pool().checkedin() + len(self._raw.idle)

    def _pool(self) -> QueuePool:
        pool = self._engine.pool
        assert isinstance(pool, QueuePool)
        return pool

    def _reader(self) -> Connection:
        with self._borrowing:
            return self._engine.connect()

    def _raw_reader(self) -> Any:
        try:
            with self._borrowing:
                return self._raw.take()
        except self._module.Error as error:
            raise DBAPIError(None, None, error) from error

    def _writer_connection(self) -> Connection:
        if self._writer is None:
            self._writer = self._engine.connect()
            # Past SQLAlchemy, which would leave a transaction of its own open.
            driver_of(self._writer).execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
        return self._writer

    def _drop_writer(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.invalidate()
            writer.close()

    def _ensure_in_place(self) -> None:
        if problem := self.problem():
            raise Unavailable(f"{problem}; nothing was written")

    def _ensure_open(self) -> None:
        if self._closed:
            raise Closed(f"the store {self.path} is closed: open a new one")
        if self._torn:
            raise Unavailable(
                f"{self.path} was being read or written while this process was forked from another: "
                "use it in a process that is started anew (multiprocessing's spawn), or fork when it is not in use"
            )


class _RawReaders:
    """The driver's own connections, for reads that go past SQLAlchemy; one that is idle is taken before a new one."""

    def __init__(self, open_handle: Callable[[], Any]) -> None:
        self._open_handle = open_handle
        self.idle: deque[Any] = deque()
        self.lent: set[Any] = set()

    def take(self) -> Any:
        try:
            raw = self.idle.pop()
        except IndexError:
            raw = self._open_handle()
        self.lent.add(raw)
        return raw

    def give_back(self, raw: Any) -> None:
        self.idle.append(raw)
        self.lent.discard(raw)

    def drop(self, raw: Any) -> None:
        # Closed before it is taken off the list: a fork waits for what is on it.
        try:
            raw.close()
        finally:
            self.lent.discard(raw)

    def close(self) -> None:
        """Closes those that are idle."""
        with suppress(IndexError):
            while True:
                self.idle.pop().close()


def _dispose(engine: Engine, readers: _RawReaders) -> None:
    engine.dispose()
    readers.close()


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file this is, whatever its name; None when there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _is_without_wal(path: Path) -> bool:
    """Whether this is an empty file, or a database that keeps a journal of another kind."""
    with path.open("rb") as file:
        header = file.read(20)
    return not header or header[18:20] == _JOURNAL


def _open_handle(module: Any, path: str, durability: Durability) -> Any:
    """A new connection of the driver. A function, since SQLAlchemy would keep the object of a method alive for ever."""
    raw = module.connect(path, isolation_level=None, check_same_thread=False, timeout=_BUSY_MS / 1000)
    try:
        _set_up(raw, durability)
    except BaseException:
        raw.close()
        raise
    return raw


def _set_up(raw: Any, durability: Durability) -> None:
    for pragma in (
        f"page_size={_PAGE_BYTES}",  # of a new file; one that is there keeps its own
        "journal_mode=WAL",
        f"synchronous={durability.upper()}",
        "foreign_keys=ON",
        "wal_autocheckpoint=0",
        "trusted_schema=OFF",
        "cell_size_check=ON",
        "mmap_size=0",
        "temp_store=MEMORY",
        "cache_size=-16000",
    ):
        raw.execute(f"PRAGMA {pragma}")


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
        if self._fd is not None:
            os.close(self._fd)
        self._fd = None

    def _open(self) -> int:
        if self._fd is None:
            self._fd = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        return self._fd
