"""Pools of connections: those of SQLAlchemy, and the driver's own for reads that bypass it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final
from weakref import WeakSet

from sqlalchemy.pool import ConnectionPoolEntry, NullPool

_MOST_IDLE: Final = 32


class HandlePool(NullPool):
    """Keeps the connections that nobody uses.

    SQLAlchemy's own pool waits on a condition, which is Python code: an interrupt (Ctrl-C) in it leaves its lock taken,
    and every later read waits for ever. Here each change is one call of a C function, which no interrupt can split.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.idle: deque[ConnectionPoolEntry] = deque()
        # An interrupt can lose an entry on its way: it closes with its last reference, and is no longer counted.
        self.in_use: WeakSet[ConnectionPoolEntry] = WeakSet()

    def _do_get(self) -> ConnectionPoolEntry:
        try:
            entry = self.idle.pop()
        except IndexError:
            entry = self._create_connection()
        self.in_use.add(entry)
        return entry

    def _do_return_conn(self, record: ConnectionPoolEntry) -> None:
        if len(self.idle) < _MOST_IDLE:
            self.idle.append(record)
        else:
            record.close()
        self.in_use.discard(record)

    def dispose(self) -> None:
        """Close the idle connections."""
        with suppress(IndexError):
            while True:
                self.idle.pop().close()


class RawReaders:
    """A pool of the driver's own connections, for reads without SQLAlchemy."""

    def __init__(self, open_handle: Callable[[], Any]) -> None:
        self._open_handle = open_handle
        self.idle: deque[Any] = deque()
        self.in_use: set[Any] = set()

    def acquire(self) -> Any:
        try:
            raw = self.idle.pop()
        except IndexError:
            raw = self._open_handle()
        self.in_use.add(raw)
        return raw

    def release(self, raw: Any) -> None:
        self.idle.append(raw)
        self.in_use.discard(raw)

    def drop(self, raw: Any) -> None:
        # Closed before it leaves `in_use`: a fork waits until that is empty.
        try:
            raw.close()
        finally:
            self.in_use.discard(raw)

    def close(self) -> None:
        """Close the idle connections."""
        with suppress(IndexError):
            while True:
                self.idle.pop().close()
