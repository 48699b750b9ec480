"""The embedded store: one SQLite file."""

from __future__ import annotations

import logging
import os
import shutil
import tempfile
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import Connection, make_url, text
from sqlalchemy.exc import ArgumentError

from memoranda.errors import Incompatible, InvalidInput, InvalidType, NotFound
from memoranda.results.workflows import Backup
from memoranda.security.encryption import EncryptionKey, random_key
from memoranda.storage import meta, migrations
from memoranda.storage.base import (
    Durability,
    Generation,
    IndexRow,
    PartitionKey,
    PartitionState,
    ReadTransaction,
    ScrubState,
    StoreStatus,
    Tenant,
    TextVector,
    Transaction,
    Work,
    must_sync,
    run_works,
)
from memoranda.storage.database_key import FINGERPRINT
from memoranda.storage.errors import translate_errors
from memoranda.storage.group_commit import GroupCommit
from memoranda.storage.integrity import renew_terms
from memoranda.storage.rows import to_micros
from memoranda.storage.sqlite import backup, integrity, seals
from memoranda.storage.sqlite.compaction import Compaction
from memoranda.storage.sqlite.connections import Connections, load_driver
from memoranda.storage.sqlite.file_lock import forget_deleted, log_of, require_content, require_database
from memoranda.storage.sqlite.transaction import (
    SQLiteTransaction,
    begin_read,
    driver_of,
    find_hidden_rows,
    read_active_generation,
    read_all_index_rows,
    read_changed_ids,
    read_head,
    read_index_rows,
    read_memories,
    read_meta,
    read_state,
    read_vectors,
)
from memoranda.text.checks import clean_text
from memoranda.text.terms import TERMS_VERSION
from memoranda.threads import MAX_STOP_SECONDS, register_fork_handler
from memoranda.types import Clock, IntArray, Memory, Progress, Scope, utc_now
from memoranda.validation import check_clock

R = TypeVar("R")
logger = logging.getLogger("memoranda")
_STORE_ID = "store_id"
_COMPACT_SECONDS = 5.0
_TERMS = "terms:version"
"""The key in `meta` of the rules that made the terms of the memories."""
_FIRST_SEALED = "0004"
"""The first version of the schema with seals."""
_FORGET_ID = text("DELETE FROM sqlite_sequence WHERE name = :name")
_SET_ID = text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :number)")
_COPY_MARK = f"SELECT 1 FROM meta WHERE key = '{meta.COPY_UNFINISHED}'"
_EXAMPLE = "write sqlite:///memories.db"


class SQLiteStore:
    """A `Store` in one SQLite file: WAL, full sync, one lock file in front of writes, shared commits."""

    def __init__(
        self,
        path: Path,
        *,
        driver: str | None = None,
        durability: Durability = "full",
        clock: Clock = utc_now,
        key: EncryptionKey | None = None,
        begins_anew: bool = False,
    ) -> None:
        self.path: Path = path
        self.key = key
        self._clock = clock if clock is utc_now else check_clock(clock)
        self._compacting = False
        self._is_copying = False
        self._remove_folder: weakref.finalize[..., Any] | None = None
        load_driver(driver, encrypted=key is not None)  # before anything is created
        with translate_errors(str(path)):
            path.parent.mkdir(parents=True, exist_ok=True)
            require_content(path)
            if begins_anew:
                forget_deleted(path)
            else:
                require_database(path)
            _create_file(path)
        self._connections = Connections(path, driver=driver, durability=durability, key=key)
        self._commits: GroupCommit[Any, Any] = self._group_commit()
        self._compaction = self._make_compaction()
        self._prepare()
        register_fork_handler(self)

    def read(self, work: Callable[[ReadTransaction], R], *, tenant: Tenant = None) -> R:  # noqa: ARG002 - see `Store`
        with self._connections.reading() as connection:
            tx = SQLiteTransaction(connection)
            begin_read(tx.driver)  # ended when the pool takes the connection back
            with _discarding(connection):
                return work(tx)

    def write(self, work: Work[R], *, tenant: Tenant = None) -> R:  # noqa: ARG002
        if not callable(work):
            raise InvalidType(f"a write is a function of a transaction, not {type(work).__name__}")
        result: R = self._commits.submit(work)
        return result

    def write_prepared(self, prepare: Callable[[], Work[R]]) -> R:
        result: R = self._commits.submit_prepared(prepare)
        return result

    def stream(
        self,
        work: Callable[[ReadTransaction], Iterator[R]],
        *,
        tenant: Tenant = None,  # noqa: ARG002
    ) -> Iterator[R]:
        with self._connections.reading() as connection:
            tx = SQLiteTransaction(connection)
            begin_read(tx.driver)
            with _discarding(connection):
                yield from work(tx)

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        return read_memories(self._connections.fetch, scope, ids)

    def head(self, key: PartitionKey | None = None) -> int:  # noqa: ARG002 - one file has one number for all
        return read_head(self._connections.fetch)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        return read_changed_ids(self._connections.fetch, key, since)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        if ids is not None:
            yield from read_index_rows(self._connections.fetch, key, ids, generation)
            return
        with self._connections.reading() as connection:
            yield from read_all_index_rows(connection, key, generation)

    def get_meta(self, key: str) -> str | None:
        return read_meta(self._connections.fetch, key)

    def state(self, key: PartitionKey) -> PartitionState:  # noqa: ARG002 - one file has one number for all
        return read_state(self._connections.fetch)

    def active_generation(self) -> Generation | None:
        return read_active_generation(self._connections.fetch)

    def known_vectors(self, tenant: str, generation: int, hashes: Sequence[bytes]) -> dict[bytes, TextVector]:
        return read_vectors(self._connections.fetch, tenant, generation, hashes)

    def compact(self) -> bool:
        """Remove the bytes of deleted rows from disk, in steps between which others write.

        Return False when that is not done within seconds: a large file, a reader of old pages, a full disk. Then it
        goes on in the background, `erasure:pending` stays in `meta` until it is done, and `status()` says what hinders.
        """
        return self._compaction.run(_COMPACT_SECONDS)

    def check(self) -> list[str]:
        with self._connections.reading() as connection:
            tx = SQLiteTransaction(connection)
            begin_read(tx.driver)
            found = [*integrity.find_problems(tx), *seals.find_misfits(tx)]
        lost = self._find_lost_changes()
        return found if lost is None else [*found, lost]

    def scrub(self, rows: int) -> ScrubState:
        """Check the next rows and their entries in each index; remember where it stopped, and what it found."""
        with self._connections.reading() as connection:
            tx = SQLiteTransaction(connection)
            begin_read(tx.driver)
            state = integrity.check_slice(tx, integrity.read_state(tx), rows)
        self._commits.submit(lambda tx: integrity.write_state(tx, state))
        return state

    def repair(self) -> list[str]:
        return self._commits.call(self._repair)

    def _repair(self) -> list[str]:
        with self._connections.writing() as connection:
            tx = SQLiteTransaction(connection, to_micros(self._clock()))
            edited = seals.seal_rows(tx)  # before rows are mended, which seals them again
            done = integrity.repair_rows(tx)
            done += [f"{edited} rows that another program changed were kept as they are"] if edited else []
            integrity.write_state(tx, ScrubState())  # what was found before says nothing about the file as it is now
            self._connections.lock.forget_note()
        self._damage = self._find_damage()
        return done

    def backup(
        self, target: Path, *, force: bool, progress: Progress | None = None, key: EncryptionKey | None = None
    ) -> Backup:
        key = key or self.key
        with self._connections.reading() as connection:
            source = backup.Source(driver_of(connection), self.key)
            made = backup.back_up(source, target, key, force=force, progress=progress)
        backup.copy_key(self.path, self.file_keys(), target, key, self.get_meta(FINGERPRINT))
        return made

    def file_keys(self) -> tuple[EncryptionKey, ...]:
        found = (self.get_meta(name) for name in (meta.FILE_KEY, meta.FORMER_FILE_KEY))
        return tuple(EncryptionKey(key) for key in found if key is not None)

    def next_ids(self) -> dict[str, int]:
        return {name: number + 1 for name, number in self._connections.fetch("SELECT name, seq FROM sqlite_sequence")}

    def begin_copy(self, mark: Work[None]) -> None:
        """Take no more writes of other objects and processes, also of those that have opened the file before."""
        self._is_copying = True
        self.write(mark)

    def finish_copy(self, next_ids: Mapping[str, int]) -> None:
        def write(tx: Transaction) -> None:
            meta.delete_meta(tx, meta.COPY_UNFINISHED)
            for name, number in next_ids.items():
                tx.execute(_FORGET_ID, {"name": name})
                tx.execute(_SET_ID, {"name": name, "number": number - 1})

        self.write(write)

    def status(self) -> StoreStatus:
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        driver = self._connections.driver
        connections = self._connections
        problems = (
            *(connections.problem(), connections.write_problem, self._damage, self._compaction.problem),
            *self._scrub_problems(),
        )
        return StoreStatus(
            database=str(self.path),
            size_bytes=sum(file.stat().st_size for file in files if file.exists()),
            library=driver.name,
            version=driver.version,
            problems=tuple(problem for problem in problems if problem is not None),
            wal_reset_bug=driver.wal_reset_bug,
            encrypted=self.key is not None,
        )

    def _scrub_problems(self) -> tuple[str, ...]:
        try:
            return self.read(integrity.read_state).problems
        except Incompatible as error:
            return (str(error),)

    def close(self) -> None:
        self._compaction.stop()
        self._commits.stop(MAX_STOP_SECONDS)
        self._connections.close()
        if self._remove_folder is not None:
            self._remove_folder()

    def before_fork(self) -> None:
        """End the thread that commits, then close the connections: a child would inherit the one without the other."""
        self._compacting = self._compaction.stop()
        self._commits.stop(MAX_STOP_SECONDS)
        self._connections.before_fork()

    def after_fork(self, *, in_child: bool) -> None:
        """In the child, wait for no writer and remove no folder of the parent."""
        self._connections.after_fork(in_child=in_child)
        if in_child:
            self._commits = self._group_commit()
            self._compaction = self._make_compaction()
            if self._remove_folder is not None:
                self._remove_folder.detach()
        elif self._compacting:
            self._compaction.resume()

    def _group_commit(self) -> GroupCommit[Any, Any]:
        return GroupCommit(self._commit, turn=self._connections.turn)

    def _make_compaction(self) -> Compaction:
        return Compaction(self._connections, self._commits.call)

    def _commit(self, works: Sequence[Work[Any]]) -> list[Any]:
        at, sync = to_micros(self._clock()), must_sync(works)
        with self._connections.transaction(sync=sync) as connection:
            tx = SQLiteTransaction(connection, at)
            if not self._is_copying and tx.driver.execute(_COPY_MARK).fetchone():
                raise meta.unfinished_copy(str(self.path))
            results = run_works(tx, works)
            head = read_head(tx.fetch) if sync else 0
        self._note_head(head)
        return results

    def _note_head(self, head: int) -> None:
        """Note outside of the database how far it goes. One that has lost changes keeps the old note."""
        lock = self._connections.lock
        if self._connections.durability == "full" and head > lock.noted(self.id):
            lock.note(self.id, head)

    def _find_lost_changes(self) -> str | None:
        """Return what is wrong when the file lacks changes that were acknowledged: its log was deleted or cut."""
        lost = self._connections.lock.noted(self.id) - self.head()
        if lost <= 0:
            return None
        return (
            f"the last {lost} changes are missing: {log_of(self.path).name} was deleted or cut, or the file replaced "
            "by an older copy: put it back while nothing is open, or restore a backup; repair accepts the loss"
        )

    def _prepare(self) -> None:
        """Bring the schema up to date, and look for damage that can be seen at once."""
        if not integrity.has_passed(self._connections.fetch):
            self._commits.call(self._upgrade)
        self.id = str(self.get_meta(_STORE_ID))
        if self.key is not None and self.get_meta(meta.FILE_KEY) is None:
            self.write(_add_file_key)
        self._damage = self._find_damage()

    def _find_damage(self) -> str | None:
        """Return what can be seen at once to be wrong. The store still opens: `check` and `repair` need it."""
        if self.get_meta(meta.COPY_UNFINISHED) is not None:  # it counts its memories when it is complete
            return None
        try:
            damage = self._find_lost_changes() or find_hidden_rows(self._connections.fetch)
        except Incompatible as error:
            damage = str(error)
        if damage is not None:
            logger.warning("%s: %s", self.path, damage)
        return damage

    def _upgrade(self) -> None:
        module, where = self._connections.module, str(self.path)
        with self._connections.writing() as connection:
            version = migrations.current_version(connection)
            if version is None and (written := self._connections.lock.noted()):
                raise Incompatible(
                    f"{where} holds nothing, and {written} changes were written to it: put {log_of(self.path).name} "
                    f"back or restore a backup; to begin a new one, delete it and {self._connections.lock.path.name}"
                )
            if version is not None:
                integrity.require_schema(connection, version, module, where)
            migrations.upgrade(connection)
            tx = SQLiteTransaction(connection)
            _name_store(tx)
            if version is not None and meta.get_meta(tx, _TERMS) != TERMS_VERSION:
                renew_terms(tx)
            meta.set_meta(tx, _TERMS, TERMS_VERSION)
            _seal(tx, since=version)
        note = integrity.passed_note(self._connections.fetch)
        with self._connections.writing() as connection:
            meta.set_meta(SQLiteTransaction(connection), integrity.PASSED, note)


@contextmanager
def _discarding(connection: Connection) -> Iterator[None]:
    """Close the connection after an error in the middle of its rows.

    The error keeps their cursor. Freed later, in another thread, it would reset the statement of the next reader, who
    then gets rows that it did not ask for.
    """
    try:
        yield
    except NotFound:  # frequent, and raised after the rows
        raise
    except BaseException:
        connection.invalidate()
        raise


def open_sqlite(
    url: str | Path,
    *,
    driver: str | None = None,
    durability: Durability = "full",
    clock: Clock = utc_now,
    key: EncryptionKey | None = None,
    begins_anew: bool = False,
) -> SQLiteStore:
    """Open `sqlite:///file.db` or a path; `sqlite://` or `:memory:` is a private file, deleted at `close()`.

    With `begins_anew`, the key of a database that is gone may be there before its copy.
    """
    path = url if isinstance(url, Path) else path_from_url(url)
    if path is not None:
        return SQLiteStore(path, driver=driver, durability=durability, clock=clock, key=key, begins_anew=begins_anew)
    folder = tempfile.mkdtemp(prefix="memoranda-")
    store = SQLiteStore(Path(folder) / "memory.db", driver=driver, durability="normal", clock=clock, key=key)
    store._remove_folder = weakref.finalize(store, shutil.rmtree, folder, ignore_errors=True)
    return store


def path_from_url(url: str) -> Path | None:
    """Return the file behind a URL or path; None for a database in memory."""
    clean_text(url, "the database URL")
    if "://" not in url:
        if url.startswith(("sqlite:", "file:")):
            raise InvalidInput(f"{url!r} is not a database URL: {_EXAMPLE}")
        return None if url == ":memory:" else Path(url)
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # a port that is no number is a ValueError
        raise InvalidInput(f"{url!r} is not a database URL: {_EXAMPLE}") from error
    if parsed.get_backend_name() != "sqlite":
        raise InvalidInput(f"no store for {parsed.get_backend_name()!r}: {_EXAMPLE}")
    if parsed.query:
        raise InvalidInput(f"{url!r} has options after the '?', and there are none: {_EXAMPLE}")
    return None if parsed.database in (None, "", ":memory:") else Path(parsed.database)


def _create_file(path: Path) -> None:
    """Create the file, for its owner only. One that exists is left alone, see `Connections`."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _add_file_key(tx: Transaction) -> None:
    if meta.get_meta(tx, meta.FILE_KEY) is None:  # another process may have been first
        meta.set_meta(tx, meta.FILE_KEY, random_key())


def _seal(tx: SQLiteTransaction, since: str | None) -> None:
    """Seal the rows that a version without seals wrote, and let this connection seal what it writes from now on."""
    if since is None or since < _FIRST_SEALED:
        seals.seal_rows(tx)
    seals.watch(tx.driver)


def _name_store(tx: Transaction) -> None:
    if meta.get_meta(tx, _STORE_ID) is None:
        meta.set_meta(tx, _STORE_ID, uuid.uuid4().hex)
