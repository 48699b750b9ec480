"""The store on a PostgreSQL server, shared by any number of processes.

A write that names its owners locks their rows in `owners` and runs beside the writes of other owners; any other write
runs alone. So whoever checks and then writes can rely on what it has read, as with the lock of a SQLite file.
"""

from __future__ import annotations

import logging
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import Any, Final, TypeVar

from psycopg.errors import NotNullViolation
from sqlalchemy import Connection

from memoranda.errors import InvalidInput, InvalidType, MemorandaError, OutcomeUnknown, Unavailable
from memoranda.storage.base import (
    Durability,
    Generation,
    IndexRow,
    Owner,
    OwnerSearch,
    PartitionKey,
    PartitionState,
    ReadTransaction,
    Row,
    StoreStatus,
    Tenant,
    TextVector,
    Transaction,
    Work,
    must_sync,
    run_works,
)
from memoranda.storage.integrity import renew_terms
from memoranda.storage.meta import COPY_UNFINISHED, delete_meta, get_meta, set_meta, unfinished_copy
from memoranda.storage.postgres import maintenance, search
from memoranda.storage.postgres.committers import Committers, OwnersLocked, Request, describe_owners, owners_of
from memoranda.storage.postgres.connections import (
    ServerConnections,
    driver_of,
    is_locked,
    is_lost,
    is_passing,
    parse_url,
    pause,
)
from memoranda.storage.postgres.pool import Statement
from memoranda.storage.postgres.schema import STORE_ID, TERMS, require_version, upgrade
from memoranda.storage.postgres.transaction import (
    ACTIVE_GENERATION,
    KEYS,
    SET_NEXT_GENERATION,
    SET_NEXT_ID,
    PostgresTransaction,
    generation_from,
    head_from,
    ids_from,
    memories_from,
    read_next_ids,
    select_changed_ids,
    select_head,
    select_index_page,
    select_index_rows,
    select_memories,
    select_vectors,
)
from memoranda.storage.rows import index_row, stored_name, to_micros
from memoranda.storage.schema import ERASURE_PENDING, LAST_ERASURE
from memoranda.text.terms import TERMS_VERSION
from memoranda.threads import MAX_STOP_SECONDS, register_fork_handler
from memoranda.types import ANY, Clock, IntArray, Memory, Scope, utc_now
from memoranda.validation import check_clock

R = TypeVar("R")
_LOGGER: Final = logging.getLogger("memoranda")
_TRIES: Final = 6
_VACUUMS: Final = 3
"""How often erased rows are looked for after a vacuum, while others are at work."""
_FORGET_COMMITS: Final = 256
"""After so many commits a process deletes the marks of old ones."""
_PAGE: Final = 4000
"""How many rows of an index are read at once."""
_META: Final = "SELECT value FROM meta WHERE key = %s"
# The mark of a commit, by which one that got no answer is found. While another process copies a database to this one it
# is NULL, which the table refuses, and with it everything that was to be committed.
_ADD_COMMIT: Final = (
    "INSERT INTO commits (id) VALUES (CASE WHEN %s OR NOT EXISTS"
    f" (SELECT 1 FROM meta WHERE key = '{COPY_UNFINISHED}') THEN %s END)"
)
_UNBOUND: Final = (
    "{where}: row-level security does not bind the role {role!r}, a superuser or one with BYPASSRLS, so the database "
    "does not keep tenants apart: CREATE ROLE memoranda_service LOGIN PASSWORD '…', run `memoranda migrate "
    "--service-role memoranda_service` as the role that owns the tables, and connect as memoranda_service"
)
_MAY_NOT_VACUUM: Final = (
    "{where}: this role may not vacuum {table}, so what was forgotten stays in the pages of the server: run `memoranda "
    "migrate` as the role that owns the tables, which allows it on PostgreSQL 17 and newer; on 16 run `memoranda "
    "upkeep` as that role"
)
_HELD: Final = (
    "{where}: rows that were forgotten are still on disk: a transaction, a prepared one, a replication slot or a "
    "standby holds them; the next upkeep tries again"
)
_MAY_SET_IDS: Final = "SELECT has_sequence_privilege(pg_get_serial_sequence('changes', 'seq'), 'UPDATE')"
_STATUS: Final = (
    "SELECT pg_database_size(current_database()), current_user, rolsuper OR rolbypassrls,"
    " EXISTS (SELECT 1 FROM meta WHERE key = %s) FROM pg_roles WHERE rolname = current_user"
)


class PostgresStore:
    """A `Store` on a PostgreSQL server."""

    def __init__(self, url: str, *, durability: Durability = "full", clock: Clock = utc_now) -> None:
        self.path: Path | None = None
        self._clock = clock if clock is utc_now else check_clock(clock)
        self._connections = ServerConnections(parse_url(url), durability)
        self._commits = Committers(self._commit, self._connections.address.pool_size)
        self._committed = 0
        self._is_copying = False
        self._held: str | None = None
        """Why erased rows could not be removed, when the latest try failed."""
        self._dimensions: dict[int, int] = {}
        try:
            self.id = self._prepare()
        except BaseException:
            self._connections.close()
            raise
        register_fork_handler(self)

    def read(self, work: Callable[[ReadTransaction], R], *, tenant: Tenant = None) -> R:
        return self._read(tenant, lambda connection: work(PostgresTransaction(connection)))

    def write(self, work: Work[R], *, tenant: Tenant = None) -> R:
        if not callable(work):
            raise InvalidType(f"a write is a function of a transaction, not {type(work).__name__}")
        result: R = self._commits.submit(Request(work, tenant))
        return result

    def stream(self, work: Callable[[ReadTransaction], Iterator[R]], *, tenant: Tenant = None) -> Iterator[R]:
        with self._connections.reading(tenant) as connection:
            yield from work(PostgresTransaction(connection))

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        [rows] = self._ask(scope.tenant, select_memories(scope, ids))
        return memories_from(rows, ids)

    def get_with_state(self, scope: Scope, ids: Sequence[int]) -> tuple[list[Memory | None], PartitionState]:
        # The state last: a change that is committed in between is seen in it.
        statements = select_memories(scope, ids), *_select_state(PartitionKey(scope.tenant, scope.user))
        rows, *state = self._ask(scope.tenant, *statements)
        return memories_from(rows, ids), _state_from(*state)

    def state(self, key: PartitionKey) -> PartitionState:
        return _state_from(*self._ask(key.tenant, *_select_state(key)))

    def head(self, key: PartitionKey | None = None) -> int:
        [rows] = self._ask(ANY if key is None else key.tenant, select_head(key))
        return head_from(rows)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        [rows] = self._ask(key.tenant, select_changed_ids(key, since))
        return ids_from(rows)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        # In pages, each as of its own time: what changes in between is read again by whoever follows the changes.
        # So no owner is too large for the memory of the driver, or for the time of one statement.
        if ids is not None:
            for low in range(0, len(ids), _PAGE):
                page = self._read_page(key, select_index_rows(key, ids[low : low + _PAGE], generation))
                yield from map(index_row, page)
            return
        last = 0
        while page := self._read_page(key, select_index_page(key, last, _PAGE, generation)):
            yield from map(index_row, page)
            if len(page) < _PAGE:
                return
            last = page[-1][0]

    def _read_page(self, key: PartitionKey, statement: Statement) -> list[Row]:
        return self._connections.retry_read(lambda: self._connections.fetch_binary(key.tenant, statement))

    def open_search(self, key: PartitionKey, generation: int) -> OwnerSearch | None:
        if key.user is ANY or (dimension := self._searched_dimension(generation)) is None:
            return None
        fetch, write = partial(self._fetch, key.tenant), partial(self.write, tenant=key.tenant)
        return search.PostgresSearch(
            key, generation, dimension, lambda statement: self._ask(key.tenant, statement)[0], fetch, write
        )

    def _searched_dimension(self, generation: int) -> int | None:
        """Return the dimension of vectors that the server can search; it never changes once it can."""
        if generation not in self._dimensions:
            [rows] = self._ask(None, (search.DIMENSION, [generation]))
            if not rows:
                return None
            self._dimensions[generation] = int(rows[0][0])
        return self._dimensions[generation]

    def build_graph(self, key: PartitionKey) -> str:
        return search.build_graph(self._connections, (key.tenant, stored_name(key.user)))

    def get_meta(self, key: str) -> str | None:
        [rows] = self._ask(None, (_META, [key]))
        return str(rows[0][0]) if rows else None

    def active_generation(self) -> Generation | None:
        [rows] = self._ask(None, ACTIVE_GENERATION)
        return generation_from(rows)

    def known_vectors(self, tenant: str, generation: int, hashes: Sequence[bytes]) -> dict[bytes, TextVector]:
        [rows] = self._ask(tenant, select_vectors(tenant, generation, hashes))
        return {key: (data, sentences) for key, data, sentences in rows}

    def compact(self) -> bool:
        """Let the server remove deleted rows from its pages; False while something keeps them there.

        Free space of the pages, the server's log, replicas and backups keep the bytes until they age.
        """
        return self._clean(rewrite=False)

    def rewrite(self) -> bool:
        """Write all tables anew, so that free space of their pages keeps nothing either; others wait meanwhile."""
        return self._clean(rewrite=True)

    def _clean(self, *, rewrite: bool) -> bool:
        self.write(_remove_empty_owners, tenant=ANY)
        for attempt in range(1, _VACUUMS + 1):
            with self._connections.outside_transactions() as connection:
                driver = driver_of(connection)
                if refused := maintenance.refused_tables(driver):
                    _LOGGER.warning("%s", _MAY_NOT_VACUUM.format(where=self._connections.where, table=refused[0]))
                    return False
                maintenance.vacuum(driver, rewrite=rewrite)
            if self.write(_finish_erasure, tenant=ANY):
                self._held = None
                return True
            pause(attempt)  # for the transactions that run now, which may see the rows
        self._held = _HELD.format(where=self._connections.where)
        _LOGGER.warning("%s", self._held)
        return False

    def check(self) -> list[str]:
        return self.read(maintenance.find_problems, tenant=ANY)

    def repair(self) -> list[str]:
        return self.write(maintenance.repair_rows, tenant=ANY)

    def next_ids(self) -> dict[str, int]:
        return self._fetch(None, read_next_ids)

    def begin_copy(self, mark: Work[None]) -> None:
        """Take no more writes of other processes, also of those that have opened the database before."""
        [[(is_owner,)]] = self._ask(None, (_MAY_SET_IDS, ()))
        if not is_owner:
            raise InvalidInput(
                f"{self._connections.where}: only the role that owns the tables can copy to them: name it in the URL"
            )
        self._is_copying = True
        self.write(mark, tenant=ANY)

    def finish_copy(self, next_ids: Mapping[str, int]) -> None:
        """Go on with these ids. Only the role that owns the tables can."""

        def write(tx: Transaction) -> None:
            delete_meta(tx, COPY_UNFINISHED)
            maintenance.note_heads(tx)
            for name, number in next_ids.items():
                tx.execute(SET_NEXT_ID, {"name": name, "key": KEYS[name], "number": number})
            tx.execute(SET_NEXT_GENERATION)

        self.write(write, tenant=ANY)

    def status(self) -> StoreStatus:
        def ask(driver: Any) -> tuple[Any, ...]:
            found = driver.execute(_STATUS, (ERASURE_PENDING,)).fetchone()
            refused = maintenance.refused_tables(driver) if found[-1] else []
            return *found, refused, driver.info.parameter_status("server_version")

        size, role, bypasses, pending, refused, version = self._fetch(None, ask)
        kept = [_MAY_NOT_VACUUM.format(where=self._connections.where, table=each) for each in refused[:1]]
        if pending and not refused and self._held is not None:
            kept.append(self._held)
        unbound = _UNBOUND.format(where=self._connections.where, role=role) if bypasses else None
        return StoreStatus(
            database=self._connections.where,
            size_bytes=int(size),
            library="PostgreSQL",
            version=str(version),
            problems=(*(() if unbound is None else (unbound,)), *kept),
            unbound=unbound,
        )

    def close(self) -> None:
        self._commits.stop(MAX_STOP_SECONDS)
        self._connections.close()

    def before_fork(self) -> None:
        """End the thread that commits, which the child would not have."""
        self._commits.stop(MAX_STOP_SECONDS)

    def after_fork(self, *, in_child: bool) -> None:
        self._connections.after_fork(in_child=in_child)
        if in_child:
            self._commits = Committers(self._commit, self._connections.address.pool_size)

    def _read(self, tenant: Tenant, work: Callable[[Connection], R]) -> R:
        def once() -> R:
            with self._connections.reading(tenant) as connection:
                return work(connection)

        return self._connections.retry_read(once)

    def read_name(self) -> str:
        """Return the name of the database, which the server gives: a pooler may know it by another."""
        [[(name,)]] = self._ask(None, ("SELECT current_database()", ()))
        return str(name)

    def _ask(self, tenant: Tenant, *statements: Statement) -> list[list[Row]]:
        """Return the rows of each statement, in one round trip to the server."""
        return self._connections.retry_read(lambda: self._connections.fetch(tenant, *statements))

    def _fetch(self, tenant: Tenant, work: Callable[[Any], R]) -> R:
        def once() -> R:
            with self._connections.fetching(tenant) as driver:
                return work(driver)

        return self._connections.retry_read(once)

    def _prepare(self) -> str:
        def read(connection: Connection) -> tuple[str | None, str | None]:
            require_version(connection, self._connections.where)
            tx = PostgresTransaction(connection)
            return get_meta(tx, STORE_ID), get_meta(tx, TERMS)

        store_id, terms = self._read(None, read)
        if terms != TERMS_VERSION:
            self.write(_renew_terms, tenant=ANY)
        return str(store_id)

    def _commit(self, requests: Sequence[Request], patience: float | None) -> list[Any]:
        """Run the works in one transaction; again when it failed for a reason that passes.

        With `patience`, `OwnersLocked` is raised after so many seconds, while another transaction has what this needs.

        When COMMIT gets no answer, the next try takes the same locks, so the lost transaction has ended by then; the
        mark that it wrote says whether it was committed.
        """
        mark, owners = uuid.uuid4(), owners_of(requests)
        settings = self._connections.write_settings(sync=must_sync([request.work for request in requests]))
        results: list[Any] | None = None
        for attempt in range(1, _TRIES + 1):
            done: list[Any] | None = None
            try:
                with self._connections.errors(), self._connections.writing() as connection:
                    tx = PostgresTransaction(connection, to_micros(self._clock()))
                    # Once it may have been committed, only the mark can tell: there is no giving up.
                    tx.lock(owners, settings, patience if results is None else None)
                    if results is not None and _is_committed(tx, mark):
                        return results
                    results = None
                    tx.driver.execute(_ADD_COMMIT, (self._is_copying, mark), prepare=True)
                    done = _run(tx, requests)
                    self._forget_commits(tx)
                    results = done
                return done
            except MemorandaError as error:
                if results is done and not is_lost(error.__cause__):
                    results = None  # the server has answered: this was undone
                in_doubt = results is not None
                if patience is not None and is_locked(error.__cause__) and not in_doubt:
                    raise OwnersLocked(str(error)) from error.__cause__
                if attempt == _TRIES or not (in_doubt or is_passing(error.__cause__)):
                    raise self._last_error(error, owners, in_doubt=in_doubt) from error.__cause__
                pause(attempt)
        raise AssertionError("the last try returns or raises")

    def _last_error(self, error: MemorandaError, owners: Sequence[Owner] | None, *, in_doubt: bool) -> MemorandaError:
        if not in_doubt and is_locked(error.__cause__):
            held = f"another transaction holds {describe_owners(owners)}"
            return Unavailable(f"{self._connections.where}: {held}, nothing was written: try again", retry_after=1.0)
        if not in_doubt:
            return unfinished_copy(self._connections.where) if _is_unmarked(error.__cause__) else error
        return OutcomeUnknown(
            f"{self._connections.where}: the server did not answer to a commit, which may be done or not, and cannot "
            "be reached: read again before you repeat the call"
        )

    def _forget_commits(self, tx: PostgresTransaction) -> None:
        self._committed += 1
        if self._committed % _FORGET_COMMITS == 0:
            tx.driver.execute("DELETE FROM commits WHERE at < now() - interval '1 hour'")


def _select_state(key: PartitionKey) -> tuple[Statement, Statement, Statement]:
    return (_META, [LAST_ERASURE]), ACTIVE_GENERATION, select_head(key)


def _state_from(erasures: Sequence[Row], generations: Sequence[Row], heads: Sequence[Row]) -> PartitionState:
    return PartitionState(generation_from(generations), head_from(heads), head_from(erasures))


def _run(tx: PostgresTransaction, requests: Sequence[Request]) -> list[Any]:
    results: list[Any] = []
    for tenant, run in groupby(requests, key=lambda request: request.tenant):
        tx.enter(tenant)
        results += run_works(tx, [request.work for request in run])
    return results


def _is_committed(tx: PostgresTransaction, mark: uuid.UUID) -> bool:
    return tx.driver.execute("SELECT 1 FROM commits WHERE id = %s", (mark,)).fetchone() is not None


def _is_unmarked(error: BaseException | None) -> bool:
    """Return whether a transaction was refused since a database is being copied to this one."""
    return isinstance(error, NotNullViolation) and error.diag.table_name == "commits"


def _remove_empty_owners(tx: Transaction) -> None:
    """Remove the names of owners of whom nothing is left: their rows are erased with this transaction."""
    maintenance.remove_empty_owners(tx)
    if (pending := get_meta(tx, ERASURE_PENDING)) is not None:
        set_meta(tx, ERASURE_PENDING, pending)


def _finish_erasure(tx: Any) -> bool:
    """Remove the mark of an erasure when its rows are gone; somebody may have erased more since they were removed."""
    if not maintenance.is_clean(tx.driver):
        return False
    delete_meta(tx, ERASURE_PENDING)
    return True


def _renew_terms(tx: Any) -> None:
    renew_terms(tx)
    maintenance.renew_searches(tx)
    set_meta(tx, TERMS, TERMS_VERSION)


def open_postgres(url: str | Path, *, durability: Durability = "full", clock: Clock = utc_now) -> PostgresStore:
    """Open the database that a URL such as `postgresql://user:password@host/database` names."""
    return PostgresStore(str(url), durability=durability, clock=clock)


def migrate(url: str, *, service_role: str | None = None) -> tuple[str, list[str]]:
    """Create the tables in a database or bring them up to date; return its address and what was done."""
    connections = ServerConnections(parse_url(url), "full")
    try:
        for attempt in range(1, _TRIES + 1):
            try:
                with connections.errors(), connections.writing() as connection:
                    done = upgrade(connection, service_role)
                return connections.where, done
            except MemorandaError as error:
                if attempt == _TRIES or not is_locked(error.__cause__):
                    raise
            pause(attempt)
    finally:
        connections.close()
    raise AssertionError("the last try returns or raises")
