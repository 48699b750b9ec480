"""Connections to PostgreSQL: one pool for a process, errors by SQLSTATE, retries, and nothing shared after a fork."""

from __future__ import annotations

import random
import re
import time
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar
from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit, urlunsplit

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.pq import Conninfo
from sqlalchemy import Connection, create_engine, event
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from memoranda.errors import Closed, Conflict, Incompatible, InvalidInput, MemorandaError, Unavailable
from memoranda.storage.base import Durability, Tenant
from memoranda.storage.errors import translate_errors
from memoranda.storage.postgres.pool import LimitedPool, ServerConnection, Statement
from memoranda.types import AnyUser

R = TypeVar("R")
POOL_SIZE: Final = 10
_POOL_SECONDS: Final = 5.0
_CONNECT_SECONDS: Final = 10
_LIFETIME_SECONDS: Final = 1800
_TRIES: Final = 5
_FIRST_WAIT: Final = 0.05
_STATEMENT_SECONDS: Final = 60
_LOCK_SECONDS: Final = 30
_IDLE_SECONDS: Final = 120
_PIPELINE: Final = "memoranda.pipeline"
_OWN_OPTIONS: Final = ("pool_size", "prepare_threshold")
_MOST: Final = 1_000_000
"""The largest value of our own options."""
_EXAMPLE: Final = "write postgresql://user:password@host:5432/database"
_UNREADABLE: Final = (
    f"this is not a database URL: {_EXAMPLE}; in a user name or password, write % / ? # [ ] @ : as %25 %2F …"
)
_ENCODING: Final = "UTF8"

_LOST: Final = ("08", "57P01", "57P02", "57P03", "25006")
"""The connection or the server is gone, or this is no longer the server that writes; so without any SQLSTATE."""
_BUSY: Final = ("40001", "40P01", "55P03")
"""Another transaction was in the way."""
_CHANGED: Final = "0A000"
"""A prepared statement no longer returns the same columns, since a table has changed."""
_ONLY_WHERE_ASKED: Final = 1_000_000_000
"""Runs after which the driver prepares a statement by itself; those of every write ask for it at once."""
_UNPREPARED: Final = ("26000", "42P05")
"""A statement is not prepared, or was before: something between gave us the session of another connection."""
_PASSING: Final = (*_BUSY, _CHANGED, *_UNPREPARED)


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a database is, and how to connect to it."""

    conninfo: str = field(repr=False)
    shown: str
    """The address without the password."""
    pool_size: int = POOL_SIZE
    prepare_threshold: int | None = None
    """After how many runs the driver prepares a statement. None for never: the reads of a recall are prepared anyway,
    except behind a pooler, whose sessions may be another one each time."""


def parse_url(url: str) -> ServerAddress:
    """Return the address that a URL names. `pool_size` and `prepare_threshold` are options of our own."""
    parts, options = _split_url(url)
    numbers = {name: _read_count(name, options.pop(name)) for name in _OWN_OPTIONS if name in options}
    _require_known(options)
    try:
        conninfo = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options), ""))
        found = conninfo_to_dict(conninfo)
    except (psycopg.Error, ValueError):  # not shown: the driver's words can hold the password, or a part of it
        raise InvalidInput(_UNREADABLE) from None
    if not found.get("dbname"):
        raise InvalidInput(f"the URL names no database: {_EXAMPLE}")
    if not all(_is_port(port) for port in str(found.get("port") or "").split(",") if port):
        raise InvalidInput(f"a port in the database URL is not a number from 1 to 65535: {_EXAMPLE}")
    hosts = _hosts_of(found)
    if "," in hosts and "target_session_attrs" not in found:
        options["target_session_attrs"] = "read-write"  # of several servers, the one that is not a standby
        conninfo = urlunsplit(("postgresql", parts.netloc, parts.path, urlencode(options), ""))
    return ServerAddress(conninfo, f"postgresql://{hosts}/{found['dbname']}", **numbers)


def _split_url(url: str) -> tuple[SplitResult, dict[str, str]]:
    """Return the parts of a URL and its options. A password must not end up in another part, and in an error."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InvalidInput(_UNREADABLE) from None
    if url.count("@") > 1 or ("@" in url and "@" not in parts.netloc):
        raise InvalidInput(_UNREADABLE)
    return parts, dict(parse_qsl(parts.query, keep_blank_values=True))


def _read_count(name: str, value: str) -> int:
    if not value.isdecimal() or not 1 <= int(value) <= _MOST:
        raise InvalidInput(f"{name} in the database URL must be a number from 1 to {_MOST}")
    return int(value)


def _require_known(options: Mapping[str, str]) -> None:
    """Raise `InvalidInput` for an option that libpq does not know."""
    known = {each.keyword.decode() for each in Conninfo.get_defaults()}
    if unknown := sorted(options.keys() - known):
        ours = " and ".join(_OWN_OPTIONS)
        raise InvalidInput(f"unknown option {unknown[0]!r} in the database URL: use those of libpq, or {ours}")


def _is_port(value: str) -> bool:
    return value.isdecimal() and 1 <= int(value) <= 65_535


def _hosts_of(found: Mapping[str, Any]) -> str:
    """Return the servers that libpq's settings name, each with its port if they name one."""
    hosts = str(found.get("host") or found.get("hostaddr") or "localhost").split(",")
    ports = str(found.get("port") or "").split(",")
    pairs = zip(hosts, ports * len(hosts) if len(ports) == 1 else ports, strict=False)
    return ",".join((f"[{host}]" if ":" in host else host) + f":{port}" * bool(port) for host, port in pairs)


class ServerConnections:
    """The pool of one store."""

    def __init__(self, address: ServerAddress, durability: Durability) -> None:
        self.address = address
        self.where = address.shown
        self._durability = durability
        self._closed = False
        self._start()

    def _start(self) -> None:
        self._opener = _Opener(self.address)
        self._pool = LimitedPool(
            self._opener, size=self.address.pool_size, seconds=_POOL_SECONDS, recycle=_LIFETIME_SECONDS
        )
        self._engine = create_engine("postgresql+psycopg://", pool=self._pool)
        event.listen(self._engine, "before_cursor_execute", _prepare_pages)
        event.listen(self._engine, "after_cursor_execute", receive_result)
        # For an object that is dropped without `close()`.
        self._disposal = weakref.finalize(self, self._engine.dispose)
        self._disposal.atexit = False

    @contextmanager
    def reading(self, tenant: Tenant) -> Iterator[Connection]:
        """Yield a connection in a transaction that sees one commit and cannot write."""
        mode = "REPEATABLE READ READ ONLY"
        with self.errors(), self._connect() as connection, _transaction(connection, mode) as begun:
            set_local(driver_of(begun), self._read_settings(tenant))
            yield begun

    def fetch(self, tenant: Tenant, *statements: Statement) -> list[list[Any]]:
        """Return the rows of each statement, which see one commit, in one round trip."""
        self._ensure_open()
        with self.errors(), self._pool.driver() as driver:
            return driver.fetch_all((_set_local(self._read_settings(tenant)), *statements))[1:]

    def fetch_binary(self, tenant: Tenant, statement: Statement) -> list[Any]:
        """Return the rows of a statement for many of them, in one round trip."""
        self._ensure_open()
        with self.errors(), self._pool.driver() as driver:
            return driver.fetch_binary(_set_local(self._read_settings(tenant)), statement)

    @contextmanager
    def fetching(self, tenant: Tenant) -> Iterator[Any]:
        """Yield the driver's own connection for one statement, which is sent together with what must come before it."""
        self._ensure_open()
        # What is sent between two answers is one transaction.
        with self.errors(), self._pool.driver() as driver, driver.pipeline():
            set_local(driver, self._read_settings(tenant))
            yield driver

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction, which the caller must configure; it is committed at the end."""
        with self._connect() as connection, _transaction(connection, "READ COMMITTED READ WRITE") as begun:
            yield begun

    @contextmanager
    def outside_transactions(self) -> Iterator[Connection]:
        """Yield a connection that commits each statement by itself, also those that change the tables."""
        with self.errors(), self._connect() as connection:
            try:
                yield connection
                driver_of(connection).forget_statements()
            except BaseException:
                connection.invalidate()
                raise

    def retry_read(self, read: Callable[[], R]) -> R:
        """Return what `read` returns; read again when the connection was lost or another transaction in the way."""
        for attempt in range(1, _TRIES):
            try:
                return read()
            except Unavailable as error:
                if not is_passing(error.__cause__):
                    raise
                pause(attempt)
        return read()

    @contextmanager
    def errors(self) -> Iterator[None]:
        """Raise Memoranda's own errors in place of the driver's."""
        with translate_errors(self.where):
            try:
                yield
            except DBAPIError as error:
                raise error_for(error.orig, self.where) from error.orig
            except psycopg.Error as error:
                if error.sqlstate in _UNPREPARED:
                    self._opener.prepares = False
                raise error_for(error, self.where) from error
            except PoolTimeout as error:
                raise Unavailable(
                    f"{self.where}: all {self.address.pool_size} connections were in use for {_POOL_SECONDS:.0f} "
                    "seconds: try again, or raise pool_size in the URL",
                    retry_after=1.0,
                ) from error

    def before_fork(self) -> None:
        """Do nothing: the parent goes on with its connections."""

    def after_fork(self, *, in_child: bool) -> None:
        """In the child, leave the parent's connections alone and open others when they are needed."""
        if in_child:
            self._disposal.detach()
            self._engine.dispose(close=False)
            self._start()

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._engine.dispose()

    def _connect(self) -> Connection:
        self._ensure_open()
        return self._engine.connect()

    def _ensure_open(self) -> None:
        if self._closed:
            raise Closed(f"the store {self.where} is closed: open a new one")

    def _read_settings(self, tenant: Tenant) -> dict[str, str]:
        return tenant_settings(tenant) | {"statement_timeout": f"{_STATEMENT_SECONDS}s"}

    def write_settings(self, *, sync: bool) -> dict[str, str]:
        """Return the settings of a transaction that writes."""
        return {
            "statement_timeout": f"{_STATEMENT_SECONDS}s",
            "lock_timeout": f"{_LOCK_SECONDS}s",
            "idle_in_transaction_session_timeout": f"{_IDLE_SECONDS}s",
            "synchronous_commit": "on" if sync and self._durability == "full" else "off",
        }


def tenant_settings(tenant: Tenant) -> dict[str, str]:
    """Return the settings that let a transaction see the rows of a tenant, of all tenants, or none."""
    every = isinstance(tenant, AnyUser)
    return {
        "memoranda.tenant": tenant if isinstance(tenant, str) else "",
        "memoranda.every_tenant": "on" if every else "off",
    }


def set_local(driver: Any, settings: Mapping[str, str]) -> None:
    """Change settings until the transaction ends, all of them in one statement."""
    driver.execute(*_set_local(settings), prepare=True)


def _set_local(settings: Mapping[str, str]) -> Statement:
    return _set_local_text(tuple(settings)), list(settings.values())


@cache
def _set_local_text(names: tuple[str, ...]) -> str:
    return "SELECT " + ", ".join(f"set_config('{name}', %s, true)" for name in names)


def is_passing(error: BaseException | None) -> bool:
    """Return whether an error of the driver may be gone at the next try."""
    return is_lost(error) or (isinstance(error, psycopg.Error) and error.sqlstate in _PASSING)


def is_lost(error: BaseException | None) -> bool:
    """Return whether nobody knows what the server did: it has not answered, or ended the connection."""
    if not isinstance(error, psycopg.Error):
        return False
    if error.sqlstate is None:
        return isinstance(error, psycopg.OperationalError)
    return error.sqlstate.startswith(_LOST)


def is_locked(error: BaseException | None) -> bool:
    """Return whether the server gave up waiting for a lock that another transaction has."""
    return isinstance(error, psycopg.errors.LockNotAvailable)


def pause(attempt: int) -> None:
    """Wait before the next try: longer each time, and not as long as others."""
    time.sleep(_FIRST_WAIT * 2**attempt * random.uniform(0.5, 1.5))


_NO_WRITES: Final = (
    "{where} takes no writes ({}): name the primary in MEMORY_DB_URL, and a standby in MEMORY_READ_URL only"
)
_ADVICE: Final[dict[str, tuple[type[MemorandaError], str]]] = {
    "0A000": (Unavailable, _NO_WRITES),
    "25006": (Unavailable, _NO_WRITES),
    "22": (InvalidInput, "a value cannot be stored ({}): pass one of the documented types and sizes"),
    "vectors_generation_fkey": (
        Incompatible,
        "{where} was moved to another embedding model by another process: open it again",
    ),
    "23505": (Conflict, "{where}: another writer wrote the same row first ({})"),
    "23": (Conflict, "{where}: this does not fit what is stored ({}): read again, then decide again"),
    "28": (Incompatible, "{where} refused the user or password ({}): check the URL"),
    "3D": (Incompatible, "{where} does not exist: create the database, then run `memoranda migrate`"),
    "42501": (
        Incompatible,
        "{where}: the role may not do this ({}): let the role that owns the tables do it, or run "
        "`memoranda migrate --service-role ROLE`",
    ),
    "42P07": (Incompatible, "{where} has other tables with the names of Memoranda's ({}): use an empty database"),
    "42": (Incompatible, "{where} does not have the tables of this version ({}): run `memoranda migrate`"),
    "53100": (Unavailable, "{where}: the disk of the server is full, nothing was written: free some space"),
    "53300": (Unavailable, "{where}: the server has no connection left: lower pool_size, or use a pooler"),
    "54": (InvalidInput, "this is too large for the server ({}): pass less at once"),
    "57014": (Unavailable, "{where}: a statement took too long and was stopped, nothing was written: try again"),
    "XX001": (Incompatible, "{where} is damaged ({}): restore a backup"),
    "XX002": (Incompatible, "{where} is damaged ({}): restore a backup"),
}
"""By the name of a constraint, by SQLSTATE or by its class. What waiting never mends is not `Unavailable`."""


def error_for(error: BaseException | None, where: str) -> MemorandaError:
    """Return Memoranda's own error for one of the driver."""
    message = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    state = getattr(error, "sqlstate", None) or ""
    constraint = error.diag.constraint_name if isinstance(error, psycopg.Error) else None
    for key in (constraint or "", state, state[:2]):
        if found := _ADVICE.get(key):
            kind, advice = found
            return kind(advice.format(message, where=where))
    if isinstance(error, psycopg.DataError):  # such as a text with U+0000, which never reaches the server
        return InvalidInput(_ADVICE["22"][1].format(message))
    what = f"the server reports an error, {state}" if state else "the database did not answer"
    return Unavailable(f"{where}: {what} ({message})", retry_after=1.0)


_OTHER_ENCODING: Final = (
    "{where} has the encoding {encoding}, which cannot hold every text: run CREATE DATABASE name ENCODING 'UTF8' "
    "TEMPLATE template0, then `memoranda migrate` there; pg_dump moves what this one holds"
)
_REFUSALS: Final = (
    (re.compile(r'database "[^"]*" does not exist'), "3D000"),
    (
        re.compile(r'role "[^"]*" does not exist|authentication failed|no pg_hba\.conf entry|not permitted to log in'),
        "28000",
    ),
)
"""Why a server refuses a connection, in its words: the driver does not say which SQLSTATE it gave."""


def _with_state(error: psycopg.OperationalError) -> psycopg.Error:
    """Return an error at connecting with the SQLSTATE that the server gave, where its words tell it."""
    states = {state for pattern, state in _REFUSALS if pattern.search(str(error))}
    return psycopg.errors.lookup(states.pop())(str(error)) if len(states) == 1 else error


class _Opener:
    """Opens connections. An object of its own, which keeps no store alive."""

    def __init__(self, address: ServerAddress) -> None:
        self._address = address
        self.prepares = address.prepare_threshold is None  # the driver may drop all that are prepared, not its own only

    def __call__(self) -> ServerConnection:
        try:
            connection = ServerConnection.connect(
                self._address.conninfo,
                autocommit=True,  # a transaction begins with a statement of its own, which is sent with the next one
                client_encoding=_ENCODING,
                connect_timeout=_CONNECT_SECONDS,
                application_name="memoranda",
                prepare_threshold=self._address.prepare_threshold,
            )
        except psycopg.OperationalError as error:
            several = "," in self._address.shown  # another one may have given another reason
            raise error if several else _with_state(error) from error
        self._require_encoding(connection)
        if self.prepares and connection.is_direct():
            connection.prepares = True
            connection.prepare_threshold = _ONLY_WHERE_ASKED
        return connection

    def _require_encoding(self, connection: ServerConnection) -> None:
        """Close a connection to a database that cannot hold every text, and raise `Incompatible`."""
        encoding = connection.info.parameter_status("server_encoding")
        if encoding != _ENCODING:
            connection.close()
            raise Incompatible(_OTHER_ENCODING.format(where=self._address.shown, encoding=encoding))


@contextmanager
def _transaction(connection: Connection, mode: str) -> Iterator[Connection]:
    """Yield a connection in a transaction with few round trips: what returns nothing is sent with what is read next.

    So an error may be raised by a later statement than the one that caused it.
    """
    driver, info = driver_of(connection), connection.info
    try:
        with ExitStack() as stack:
            info[_PIPELINE] = pipeline, _ = stack.enter_context(driver.pipeline()), stack
            driver.execute(f"BEGIN ISOLATION LEVEL {mode}")
            try:
                yield connection
            except BaseException:
                if _PIPELINE in info:
                    with suppress(psycopg.Error):
                        pipeline.sync()  # of what is left, the driver would only log that it failed as well
                raise
            driver.execute("COMMIT")
    finally:
        info.pop(_PIPELINE, None)
        if driver.closed:
            connection.invalidate()


def _prepare_pages(connection: Connection, cursor: Any, *_: object) -> None:
    """Send everything at once from now on: rows cannot be read in pages from a pipeline."""
    if isinstance(cursor, psycopg.ServerCursor) and (batch := connection.info.pop(_PIPELINE, None)):
        batch[1].close()


def receive_result(connection: Connection, *_: object) -> None:
    """Wait for the answer to a statement. SQLAlchemy reads it at once."""
    if batch := connection.info.get(_PIPELINE):
        batch[0].sync()


def driver_of(connection: Connection) -> Any:
    """Return the driver's own connection."""
    return connection.connection.driver_connection
