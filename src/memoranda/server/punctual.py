"""HTTP as uvicorn speaks it, but who takes too long for the head of a request is let go.

The guard sees a request when its head is there, and limits what comes after it; before that, nobody else would.
"""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def punctual(seconds: float) -> type[asyncio.Protocol]:
    """A protocol for uvicorn. A head may take between one and two times so many seconds, whatever drips in."""

    class Punctual(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._was_waiting = False
            self._next_look = self.loop.call_later(seconds, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            self._next_look.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._was_waiting = False

        def _look(self) -> None:
            # Between two requests uvicorn's own timer runs; with the first byte of the next one it is stopped.
            waiting = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
            if waiting and self._was_waiting:
                self.transport.write(_TOO_LATE)
                self.transport.close()
                return
            self._was_waiting = waiting
            self._next_look = self.loop.call_later(seconds, self._look)

    return Punctual
