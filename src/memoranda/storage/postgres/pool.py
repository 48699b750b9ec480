"""Connections that are kept open, a limited number of them, and statements that are prepared on them."""

from __future__ import annotations

import gc
import logging
import threading
import time
import weakref
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.pq import TransactionStatus
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import ConnectionPoolEntry, NullPool
from sqlalchemy.pool.base import _ConnectionRecord

Statement: TypeAlias = tuple[str, Sequence[Any]]
"""A statement and its values, in order."""
SEPARATOR: Final = ";\n"
"""Between the statements of one message."""
_LOOK_SECONDS: Final = 0.05
"""How often one that waits looks by itself, in case an interrupt has kept another from telling it."""
_LOST_SECONDS: Final = 0.5
_COLLECT_SECONDS: Final = 10.0
"""How long one waits before it looks for lost connections, and how often that is done at most: it takes long."""


class LimitedPool(NullPool):
    """Keeps the connections that nobody uses, the last used first; whoever gets none in time gets a `PoolTimeout`.

    SQLAlchemy's own pool waits on a condition, which is Python code: an interrupt (Ctrl-C) in it leaves its lock taken,
    and every later read waits for ever. Here each change is one call of a C function, which no interrupt can split. A
    connection that an interrupt loses on its way closes with its last reference, and no longer counts.
    """

    def __init__(self, *arguments: Any, size: int = 1, seconds: float = 0.0, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.size = size
        self.seconds = seconds
        self._idle: deque[ConnectionPoolEntry] = deque()
        self._entries: list[weakref.ref[ConnectionPoolEntry]] = []
        self._adding = threading.Lock()
        self._waiting: deque[threading.Lock] = deque()
        self._collected_at = float("-inf")

    @contextmanager
    def driver(self) -> Iterator[ServerConnection]:
        """Yield a driver's connection that no transaction uses; it is closed when the block raises."""
        entry: Any = self._do_get()
        try:
            yield entry.get_connection()
        except BaseException:
            entry.invalidate()  # nobody knows in which state it is
            raise
        finally:
            self._do_return_conn(entry)

    def _do_get(self) -> ConnectionPoolEntry:
        started = time.monotonic()
        while (entry := self._take()) is None:
            if time.monotonic() - started > self.seconds:
                raise PoolTimeout(f"all {self.size} connections are in use")
            self._wait()
            self._collect_lost(started)
        return entry

    def _take(self) -> ConnectionPoolEntry | None:
        with suppress(IndexError):
            return self._idle.pop()
        with self._adding:
            self._entries = [known for known in self._entries if known() is not None]
            if len(self._entries) >= self.size:
                return None
            entry = _ConnectionRecord(self, connect=False)  # whoever asks for its connection opens it, without the lock
            self._entries.append(weakref.ref(entry))
            return entry

    def _wait(self) -> None:
        """Wait until a connection is returned, or a moment."""
        turn = threading.Lock()
        turn.acquire()
        self._waiting.append(turn)
        try:
            if not self._idle:
                turn.acquire(timeout=_LOOK_SECONDS)
        finally:
            with suppress(ValueError):
                self._waiting.remove(turn)

    def _collect_lost(self, since: float) -> None:
        """Let Python find a connection that an interrupt has lost inside SQLAlchemy, as part of a reference cycle."""
        now = time.monotonic()
        if now - since > _LOST_SECONDS and now - self._collected_at > _COLLECT_SECONDS:
            self._collected_at = now
            gc.collect()

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        self._idle.append(record)
        if self._waiting:
            with suppress(IndexError):
                self._waiting.popleft().release()

    def recreate(self) -> LimitedPool:
        other = super().recreate()
        assert isinstance(other, LimitedPool)
        other.size, other.seconds = self.size, self.seconds
        return other

    def dispose(self) -> None:
        """Close the idle connections."""
        with suppress(IndexError):
            while True:
                self._idle.pop().close()


def _is_news(record: logging.LogRecord) -> bool:
    """Return whether nobody learns in another way what the driver logs.

    At the end of a pipeline, it logs every error after the first. That one is raised: it is tried again, or is the
    caller's. A lost connection would leave a line for each statement that was under way.
    """
    pipeline = record.args[0] if isinstance(record.args, tuple) and record.args else None
    follows = isinstance(pipeline, psycopg.Pipeline) and isinstance(pipeline._conn, ServerConnection)
    if follows:
        _LOGGER.debug("%s", record.getMessage())
    return not follows


_LOGGER: Final = logging.getLogger("memoranda")
logging.getLogger("psycopg").addFilter(_is_news)


class ServerConnection(psycopg.Connection[Any]):
    """A connection of the driver that can send several statements in one message, each planned once."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.prepares = False
        """Whether the driver itself prepares nothing, and statements stay prepared: a pooler changes the session."""
        self._statement_names: dict[str, str] = {}

    def is_direct(self) -> bool:
        """Return whether the server itself answers: a pooler has a number of its own for the session."""
        found = self.execute("SELECT pg_backend_pid()").fetchone()
        return found is not None and found[0] == self.info.backend_pid

    def rollback(self) -> None:
        """Undo a transaction, if there is one."""
        is_idle = self.info.transaction_status == TransactionStatus.IDLE
        super().rollback()
        if not is_idle:
            self.forget_statements()

    def forget_statements(self) -> None:
        """Drop what is prepared, after something for which the driver drops everything, whoever has prepared it."""
        if self._statement_names:
            self.execute("DEALLOCATE ALL")
            self._statement_names.clear()

    def fetch_all(self, statements: Sequence[Statement]) -> list[list[Any]]:
        """Return the rows of each statement. All are sent in one message, which the server runs as one transaction.

        Their values are quoted here, since a message with parameters may hold one statement only. The first one,
        which every message has, is not prepared: it is as short as its name.
        """
        new, texts, values = list[str](), list[str](), list[Any]()
        for number, (text, given) in enumerate(statements):
            texts.append(self._by_name(text, len(given), new) if self.prepares and number else text)
            values += given
        cursor = psycopg.ClientCursor(self)
        cursor.execute(SEPARATOR.join((*new, *texts)), values)
        for _ in new:
            cursor.nextset()
        rows = [cursor.fetchall()]
        while cursor.nextset():
            rows.append(cursor.fetchall())
        return rows

    def fetch_binary(self, first: Statement, statement: Statement) -> list[Any]:
        """Return the rows of a statement in binary form, which is faster to read; both are run in one round trip."""
        new, (text, values) = list[str](), statement
        named = self._by_name(text, len(values), new) if self.prepares else text
        whole = psycopg.ClientCursor(self).mogrify(named, values)
        cursor = self.cursor(binary=True)
        with self.pipeline():
            self.execute(*first)
            for each in new:
                self.execute(each)
            cursor.execute(whole)
        return cursor.fetchall()

    def _by_name(self, text: str, values: int, new: list[str]) -> str:
        """Return what runs a statement; what prepares it, if it is not yet prepared, is added to `new`."""
        name = self._statement_names.get(text)
        if name is None:
            # An error that keeps it from being prepared closes the connection.
            name = self._statement_names[text] = f"memoranda_{len(self._statement_names)}"
            new.append(f"PREPARE {name} AS {_numbered(text)}")
        return _execute(name, values)


@cache
def _numbered(text: str) -> str:
    """Return a statement with $1, $2 … in place of each %s."""
    first, *others = text.split("%s")
    return first + "".join(f"${number}{part}" for number, part in enumerate(others, start=1))


@cache
def _execute(name: str, values: int) -> str:
    return f"EXECUTE {name}({', '.join(['%s'] * values)})" if values else f"EXECUTE {name}"
