"""Connections of the driver itself, for reads that bypass SQLAlchemy."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any


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
