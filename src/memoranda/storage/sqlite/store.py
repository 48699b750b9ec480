"""The embedded store: one SQLite file."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from memoranda.errors import InvalidInput
from memoranda.fork_safety import register_fork_handler
from memoranda.results import Backup
from memoranda.storage import meta, migrations, schema
from memoranda.storage.base import (
    Durability,
    Generation,
    IndexRow,
    PartitionKey,
    ReadTransaction,
    StoreStatus,
    Transaction,
    Work,
    run_works,
)
from memoranda.storage.errors import translate_errors
from memoranda.storage.rows import to_micros
from memoranda.storage.sqlite import backup, integrity
from memoranda.storage.sqlite.connections import Connections
from memoranda.storage.sqlite.group_commit import GroupCommit
from memoranda.storage.sqlite.transaction import (
    SQLiteTransaction,
    read_active_generation,
    read_changed_ids,
    read_head,
    read_index_rows,
    read_memories,
    read_meta,
    read_vectors,
)
from memoranda.text import clean_text
from memoranda.types import Clock, IntArray, Memory, Progress, Scope, utc_now

R = TypeVar("R")
_STORE_ID = "store_id"
_EXAMPLE = "write sqlite:///memories.db"


class SQLiteStore:
    """A `Store` in one SQLite file: WAL, full sync, one lock file in front of writes, shared commits."""

    def __init__(
        self, path: Path, *, driver: str | None = None, durability: Durability = "full", clock: Clock = utc_now
    ) -> None:
        self.path: Path = path
        self._clock = clock
        self._remove_folder: weakref.finalize[..., Any] | None = None
        with translate_errors(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))  # for its owner only
        self._connections = Connections(path, driver=driver, durability=durability)
        self._commits: GroupCommit[Any, Any] = GroupCommit(self._commit)
        self.id = self._prepare()
        register_fork_handler(self)

    def read(self, work: Callable[[ReadTransaction], R]) -> R:
        with self._connections.reading() as connection:
            tx = SQLiteTransaction(connection)
            tx.driver.execute("BEGIN")  # ended when the pool takes the connection back
            return work(tx)

    def write(self, work: Work[R]) -> R:
        result: R = self._commits.submit(work)
        return result

    def stream(self, work: Callable[[ReadTransaction], Iterator[R]]) -> Iterator[R]:
        with self._connections.reading() as connection:
            tx = SQLiteTransaction(connection)
            tx.driver.execute("BEGIN")
            yield from work(tx)

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        return read_memories(self._connections.fetch, scope, ids)

    def head(self) -> int:
        return read_head(self._connections.fetch)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        with self._connections.reading() as connection:
            return read_changed_ids(connection, key, since)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        with self._connections.reading() as connection:
            yield from read_index_rows(connection, key, ids, generation)

    def get_meta(self, key: str) -> str | None:
        return read_meta(self._connections.fetch, key)

    def active_generation(self) -> Generation | None:
        return read_active_generation(self._connections.fetch)

    def known_vectors(self, tenant: str, generation: int, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        return read_vectors(self._connections.fetch, tenant, generation, hashes)

    def compact(self) -> bool:
        with self._connections.maintaining() as connection:
            return integrity.compact(SQLiteTransaction(connection))

    def check(self) -> list[str]:
        with self._connections.reading() as connection:
            return integrity.find_problems(SQLiteTransaction(connection))

    def repair(self) -> list[str]:
        with self._connections.writing() as connection:
            return integrity.repair_rows(SQLiteTransaction(connection, to_micros(self._clock())))

    def backup(self, target: Path, *, force: bool, progress: Progress | None = None) -> Backup:
        with self._connections.reading() as connection:
            made = backup.back_up(SQLiteTransaction(connection), target, force=force, progress=progress)
        backup.copy_key(self.path, target)
        return made

    def status(self) -> StoreStatus:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        driver, problem = self._connections.driver, self._connections.problem()
        return StoreStatus(
            database=str(self.path),
            size_bytes=sum(file.stat().st_size for file in files if file.exists()),
            library=driver.name,
            version=driver.version,
            problems=() if problem is None else (problem,),
            wal_reset_bug=driver.wal_reset_bug,
        )

    def close(self) -> None:
        self._connections.close()
        if self._remove_folder is not None:
            self._remove_folder()

    def before_fork(self) -> None:
        """Do nothing: the connections prepare themselves."""

    def after_fork(self, *, in_child: bool) -> None:
        """In the child, wait for no writer and remove no folder of the parent."""
        if in_child:
            self._commits = GroupCommit(self._commit)
            if self._remove_folder is not None:
                self._remove_folder.detach()

    def _commit(self, works: Sequence[Work[Any]]) -> list[Any]:
        at = to_micros(self._clock())
        with self._connections.writing() as connection:
            return run_works(SQLiteTransaction(connection, at), works)

    def _prepare(self) -> str:
        """Bring the schema up to date and return the id of the store."""
        with self._connections.reading() as connection:
            version = migrations.current_version(connection)
        if version != schema.HEAD:
            with self._connections.writing() as connection:
                migrations.upgrade(connection)
                _name_store(SQLiteTransaction(connection))
        return str(self.get_meta(_STORE_ID))


def open_sqlite(
    url: str | Path, *, driver: str | None = None, durability: Durability = "full", clock: Clock = utc_now
) -> SQLiteStore:
    """Open `sqlite:///file.db` or a path; `sqlite://` is a private file that is deleted at `close()`."""
    path = url if isinstance(url, Path) else path_from_url(url)
    if path is not None:
        return SQLiteStore(path, driver=driver, durability=durability, clock=clock)
    folder = tempfile.mkdtemp(prefix="memoranda-")
    store = SQLiteStore(Path(folder) / "memory.db", driver=driver, durability="normal", clock=clock)
    store._remove_folder = weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store


def path_from_url(url: str) -> Path | None:
    """Return the file behind a URL or path; None for a database in memory."""
    clean_text(url, "the database URL")
    if "://" not in url:
        if url.startswith(("sqlite:", "file:")):
            raise InvalidInput(f"{url!r} is not a database URL: {_EXAMPLE}")
        return Path(url)
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidInput(f"{url!r} is not a database URL: {_EXAMPLE}") from error
    if parsed.get_backend_name() != "sqlite":
        raise InvalidInput(f"no store for {parsed.get_backend_name()!r}: {_EXAMPLE}")
    if parsed.query:
        raise InvalidInput(f"{url!r} has options after the '?', and there are none: {_EXAMPLE}")
    return None if parsed.database in (None, "", ":memory:") else Path(parsed.database)


def _name_store(tx: Transaction) -> None:
    if meta.get_meta(tx, _STORE_ID) is None:
        meta.set_meta(tx, _STORE_ID, uuid.uuid4().hex)
