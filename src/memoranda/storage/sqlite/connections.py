"""SQLite connections: many readers, one writer that holds the file lock, and nothing shared with a forked child."""

from __future__ import annotations

import importlib
import logging
import sys
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from itertools import compress
from operator import methodcaller
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy.exc import DBAPIError

from memoranda.errors import (
    Closed,
    Conflict,
    InvalidInput,
    MemorandaError,
    MissingExtra,
    NotFound,
    OutcomeUnknown,
    Unavailable,
)
from memoranda.records import Record
from memoranda.security.encryption import EncryptionKey
from memoranda.storage.base import Durability
from memoranda.storage.errors import translate_errors
from memoranda.storage.sqlite.encryption import DatabaseCipher, open_cipher
from memoranda.storage.sqlite.file_lock import lock_of, log_of, size_of
from memoranda.storage.sqlite.pool import HandlePool, RawReaders
from memoranda.storage.sqlite.scrub import RawFile
from memoranda.storage.sqlite.seals import watch
from memoranda.storage.sqlite.transaction import (
    BUSY_MS,
    begin_write,
    can_write,
    commit,
    configure,
    driver_of,
    has_wal,
    make_writer,
    overwrite_failed_commit,
    roll_back,
    set_durability,
)

_FORK_WAIT = 5.0
_CACHED_STATEMENTS: Final = 512
"""Prepared statements that each handle keeps.

`pysqlite3` gives up the one that was used least, which in a full cache is the newest: then the statements of a write
are prepared again at each commit. Those that set a handle up count as well.
"""
_REFUSALS: Final = (Conflict, InvalidInput, NotFound)
"""Errors by which a work says that it must not be written."""

_inherited: list[object] = []
"""Handles that the parent process used when it forked. They are kept alive: closing them here would harm the parent."""


class Connections:
    """The open handles on one database file."""

    def __init__(
        self,
        path: Path,
        *,
        driver: str | None = None,
        durability: Durability = "full",
        key: EncryptionKey | None = None,
    ) -> None:
        self.path = path
        self.module, self.driver = load_driver(driver, encrypted=key is not None)
        with translate_errors(str(path)), self._driver_errors():
            self.cipher = open_cipher(path, key, self.module)
        self.durability = durability
        self._open_handle = partial(_open_handle, self.module, str(path), durability, self.cipher)
        self._closed = False
        self.write_problem: str | None = None
        """Why the last write failed; None when it succeeded."""
        self._forked_in_use = False
        self._fork_locks: list[threading.Lock] = []
        self._start()
        self._open_first()

    def _start(self) -> None:
        self.lock = lock_of(self.path)
        self._engine = self._make_engine()
        self._raw = RawReaders(self._open_handle)
        self.file = RawFile(self.path)
        # For an object that is dropped without `close()`.
        self._disposal = weakref.finalize(self, _dispose, self._engine, self._raw, self.file)
        self._disposal.atexit = False
        self._file_id = _file_id(self.path)
        self._writer: Connection | None = None
        self._write_lock = threading.Lock()
        self._open_lock = threading.Lock()  # held during a fork, so that no handle is opened

    def _open_first(self) -> None:
        """Open the first reader. A new file is switched to WAL under the lock: SQLite would refuse others at once."""
        # SQLite itself reads the header: to close any other handle on the file would release every lock that SQLite
        # holds on it in this process.
        with translate_errors(str(self.path)), self._driver_errors():
            raw = connect(self.module, str(self.path), self.cipher)
            try:
                with nullcontext() if has_wal(raw) else self.lock():
                    self._ensure_in_place()  # it may have been replaced while this waited for the lock
                    configure(raw, self.durability)
            except BaseException:
                raw.close()
                raise
        self._raw.release(raw)

    @contextmanager
    def _driver_errors(self) -> Iterator[None]:
        try:
            yield
        except self.module.Error as error:
            raise DBAPIError(None, None, error) from error

    def _make_engine(self) -> Engine:
        return create_engine(
            "sqlite://",
            module=self.module,
            creator=self._open_handle,
            poolclass=HandlePool,
        )

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection that sees the latest commit of any process; never wait for a writer."""
        self._ensure_open()
        with translate_errors(str(self.path)), self._reader() as connection, self._driver_errors():
            yield connection

    def fetch(self, statement: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, without SQLAlchemy: for the few reads that every call makes."""
        self._ensure_open()
        try:
            rows = self._fetch(statement, parameters)
        except Exception:
            with translate_errors(str(self.path)), self._driver_errors():
                raise
        if self._closed:  # by another thread, during the read
            self._raw.close()
        return rows

    def _fetch(self, statement: str, parameters: Sequence[object] | Mapping[str, object]) -> list[tuple[Any, ...]]:
        raw = self._raw_reader()
        try:
            rows: list[tuple[Any, ...]] = raw.execute(statement, parameters).fetchall()
        except BaseException:
            self._raw.drop(raw)
            raise
        self._raw.release(raw)
        return rows

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Hold the lock of the file: no other thread or process writes or checkpoints meanwhile."""
        self._ensure_open()
        # Acquired by `with`, which no interrupt can leave locked. There is one writing thread, see `GroupCommit`.
        with self._write_lock, translate_errors(str(self.path)), self.lock():
            self._ensure_in_place()
            yield

    @contextmanager
    def transaction(self, *, sync: bool = True) -> Iterator[Connection]:
        """Yield a connection in a write transaction, inside a `turn`: on disk at exit, undone when the block raises.

        Without `sync` it is on disk with the next one, which is written behind it.
        """
        refused: MemorandaError | None = None
        with self._noting_failure(), translate_errors(str(self.path)), self._driver_errors():
            try:
                connection = self._writer_connection()
                if not sync:
                    set_durability(driver_of(connection), "normal")
                begin_write(driver_of(connection))
                try:
                    yield connection
                except _REFUSALS as error:  # the handle works: to open another takes longer than to write
                    roll_back(driver_of(connection))
                    refused = error
                else:
                    self._commit(connection)
                if not sync:
                    set_durability(driver_of(connection), self.durability)
            except BaseException:
                self.drop_writer()
                raise
        if refused is not None:
            raise refused

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        """Keep the error of a write that the disk or the database refuses, until one succeeds: `health` shows it."""
        try:
            yield
        except Unavailable as error:
            self.write_problem = f"the last write failed: {error}"
            raise
        self.write_problem = None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a write transaction, in a turn of its own."""
        with self.turn(), self.transaction() as connection:
            yield connection

    @contextmanager
    def maintaining(self) -> Iterator[Connection]:
        """Yield the writer's connection outside of a transaction, while no other process writes or checkpoints."""
        with self.turn(), self._driver_errors():
            try:
                yield self._writer_connection()
            except BaseException:
                self.drop_writer()
                raise

    def _commit(self, connection: Connection) -> None:
        try:
            commit(driver_of(connection))
        except BaseException as error:
            # After a failed write or sync the state of the handle is unknown: nothing is written with it any more.
            self.drop_writer()
            if not self._overwrite_failed_commit():
                raise OutcomeUnknown(
                    f"{self.path}: the disk failed during a commit ({error}), which may be on it or not: "
                    "check the disk, open the store again, and read before you repeat the call"
                ) from error
            raise

    def _overwrite_failed_commit(self) -> bool:
        """Return whether it is now certain that the failed commit never comes back."""
        try:
            overwrite_failed_commit(driver_of(self._writer_connection()))
        except Exception:  # noqa: BLE001 - the caller is told that the outcome is unknown
            self.drop_writer()
            return False
        return True

    def close(self) -> None:
        """Close every handle; the last process to close the file checkpoints it and removes its WAL."""
        if self._closed:
            return
        self._closed = True
        if self._forked_in_use:
            return
        with self._write_lock, translate_errors(str(self.path)):
            self._close_handles()
        self.file.close()

    def problem(self) -> str | None:
        """Return what is wrong when the path is no longer the opened file: what is written to that file is lost."""
        current = _file_id(self.path)
        if current == self._file_id:
            return None
        change = "replaced" if current else "removed"
        return f"{self.path} was {change} while it was open: close this, then open it again"

    def before_fork(self) -> None:
        """Close every handle, and let no other be opened until the fork is over.

        SQLite keeps its locks by process: a child with an inherited handle assumes locks that it does not hold, and
        its commits go into a log that the parent deletes.
        """
        deadline = time.monotonic() + _FORK_WAIT
        locks = (self._write_lock, self._open_lock)
        # C functions alone, so that no interrupt comes between a lock and the note that it is held.
        self._fork_locks.extend(compress(locks, map(methodcaller("acquire", timeout=_FORK_WAIT), locks)))
        if self._count_open() and len(self._fork_locks) == len(locks):
            self.drop_writer()
            while self._count_in_use() and time.monotonic() < deadline:
                time.sleep(0.001)
            if not self._count_in_use():
                self._close_handles()

    def after_fork(self, *, in_child: bool) -> None:
        """Let handles be opened again when needed, except in a child that inherited one in use."""
        locks, self._fork_locks = self._fork_locks, []
        if not in_child:
            for lock in locks:
                lock.release()
            return
        self._forked_in_use = bool(self._count_open())
        if self._forked_in_use:
            _inherited.extend((self._engine, self._raw))
            self._disposal.detach()
        self._start()

    def _close_handles(self) -> None:
        # Closing the last handle of all processes checkpoints, so it needs the lock as well.
        with self.lock():
            self.drop_writer()
            self._engine.dispose()
            self._raw.close()
        self.lock.close()

    def _count_in_use(self) -> int:
        return len(self._pool().in_use) + len(self._raw.in_use)

    def _count_open(self) -> int:
        return self._count_in_use() + len(self._pool().idle) + len(self._raw.idle)

    def _pool(self) -> HandlePool:
        pool = self._engine.pool
        assert isinstance(pool, HandlePool)
        return pool

    def _reader(self) -> Connection:
        with self._open_lock:
            return self._engine.connect()

    def _raw_reader(self) -> Any:
        with self._open_lock:
            return self._raw.acquire()

    def _writer_connection(self) -> Connection:
        if self._writer is None:
            self._writer = self._engine.connect()
            if not can_write(driver_of(self._writer)):  # it was opened while the disk failed: try new handles
                self.drop_writer()
                self._engine.dispose()
                self._writer = self._engine.connect()
            make_writer(driver_of(self._writer))
            watch(driver_of(self._writer))
        return self._writer

    def log_size(self) -> int:
        """Return the size of the WAL in bytes."""
        return size_of(log_of(self.path))

    def drop_writer(self) -> None:
        """Close the connection that writes; the next write opens another."""
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
        if self._forked_in_use:
            raise Unavailable(
                f"{self.path} was being read or written while this process was forked from another: "
                "start a new process instead (multiprocessing's spawn), or fork when the store is not in use"
            )


def _dispose(engine: Engine, readers: RawReaders, file: RawFile) -> None:
    engine.dispose()
    readers.close()
    file.close()


def _file_id(path: Path) -> tuple[int, int] | None:
    """Return what identifies a file whatever its name; None when it does not exist."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


def _open_handle(module: Any, path: str, durability: Durability, cipher: DatabaseCipher | None) -> Any:
    """Return a new connection of the driver. Not a method: SQLAlchemy would keep its object alive for ever."""
    raw = connect(module, path, cipher)
    try:
        configure(raw, durability)
    except BaseException:
        raw.close()
        raise
    return raw


def connect(module: Any, path: str, cipher: DatabaseCipher | None, *, wait_ms: int = BUSY_MS) -> Any:
    """Return a connection of the driver that can read the file."""
    raw = module.connect(
        path,
        isolation_level=None,
        check_same_thread=False,
        timeout=wait_ms / 1000,
        cached_statements=_CACHED_STATEMENTS,
    )
    if cipher is not None:
        try:
            cipher.unlock(raw, path)
        except BaseException:
            raw.close()
            raise
    return raw


logger = logging.getLogger("memoranda")


DriverName: TypeAlias = Literal["pysqlite3", "sqlite3", "sqlcipher3"]
_MODULES: Final[dict[DriverName, str]] = {"pysqlite3": "pysqlite3.dbapi2", "sqlite3": "sqlite3"}
_ENCRYPTING: Final[dict[DriverName, str]] = {"sqlcipher3": "sqlcipher3.dbapi2"}
_warned_versions: set[str] = set()


@dataclass(frozen=True, slots=True)
class Driver(Record):
    """A loaded SQLite library."""

    name: DriverName
    version: str
    wal_reset_bug: bool
    """Whether concurrent checkpoints can lose commits; the lock file prevents them."""


def load_driver(name: str | None = None, *, encrypted: bool = False) -> tuple[ModuleType, Driver]:
    """Load the named driver; without a name `pysqlite3`, which is newer, or `sqlite3` where that is not installed.

    An encrypted file needs `sqlcipher3`.
    """
    modules = _ENCRYPTING if encrypted else _MODULES
    if name is not None and name not in modules:
        raise InvalidInput(f"unknown SQLite driver {name!r}: use one of {', '.join(modules)}")
    module_name, module = _import_first({each: path for each, path in modules.items() if name in (None, each)})
    version = module.sqlite_version
    driver = Driver(module_name, version, has_wal_reset_bug(version))
    if driver.wal_reset_bug:
        _warn_once(version)
    return module, driver


@contextmanager
def translate_driver_errors(where: str) -> Iterator[None]:
    """Raise our own errors in place of those of any driver, whichever files the block opens with which of them."""
    with translate_errors(where):
        try:
            yield
        except _error_types() as error:
            raise DBAPIError(None, None, error) from error


def _error_types() -> tuple[type[Exception], ...]:
    paths = (*_MODULES.values(), *_ENCRYPTING.values())
    return tuple(sys.modules[path].Error for path in paths if path in sys.modules)


def has_wal_reset_bug(version: str) -> bool:
    """Return whether this SQLite can lose commits: 3.7.0 to 3.51.2, except 3.44.6 and 3.50.7, which have the fix."""
    number = tuple(int(part) for part in version.split("."))
    fixed = (3, 44, 6) <= number < (3, 45) or (3, 50, 7) <= number < (3, 51)
    return (3, 7, 0) <= number < (3, 51, 3) and not fixed


def _import_first(modules: Mapping[DriverName, str]) -> tuple[DriverName, ModuleType]:
    for name, path in modules.items():
        try:
            return name, importlib.import_module(path)
        except ImportError:
            continue
    if modules == _ENCRYPTING:
        raise MissingExtra("An encrypted database", "encryption")
    raise InvalidInput(f"the SQLite driver {name!r} is not installed: pip install {name}")


def _warn_once(version: str) -> None:
    if version in _warned_versions:
        return
    _warned_versions.add(version)
    logger.warning(
        "SQLite %s has the WAL-reset bug. Memoranda's lock file protects against it, but not when other programs "
        "write to the same file: pip install pysqlite3 installs a fixed library.",
        version,
    )
