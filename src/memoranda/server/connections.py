"""The connections of a server: how many there may be, and how long a client may take to ask and to listen."""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from typing import Final, cast

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

BACKLOG: Final = 128
"""Connections that the system accepts before the server has looked at them; it then takes so many at once."""
_TIMEOUT: Final = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
_BUSY: Final = b"HTTP/1.1 503 Service Unavailable\r\nConnection: close\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"


def make_protocol(seconds: float, most: int) -> type[asyncio.Protocol]:
    """Return a uvicorn protocol that closes connections which hold up others.

    A client has between one and two times `seconds` to send the headers of a request, however slowly it sends, and
    `seconds` to take what it was sent. Beyond `most` connections, the oldest one without a request makes room.
    """
    connections: dict[LimitedProtocol, None] = {}

    class LimitedProtocol(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            _limit_sending(transport, seconds)
            self._was_waiting = False
            self._next_check = self.loop.call_later(seconds, self._check)
            connections[self] = None
            if len(connections) > most:
                self._make_room()

        def connection_lost(self, exc: Exception | None) -> None:
            connections.pop(self, None)
            self._next_check.cancel()
            super().connection_lost(exc)

        def shutdown(self) -> None:
            # A stream of events never ends by itself: the server would wait for it.
            if self.cycle is not None and cast(Scope, self.cycle.scope).get("state", {}).get("never_ends"):
                self.transport.close()
            super().shutdown()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._was_waiting = False

        def _make_room(self) -> None:
            """Close the oldest connection without a request: first of those that never had one, last this one."""
            idle = [each for each in connections if each.conn.their_state is h11.IDLE]
            oldest = min(idle, key=lambda each: (each is self, each.cycle is not None))
            oldest.end(_BUSY if oldest is self else b"")

        def end(self, answer: bytes) -> None:
            connections.pop(self, None)
            self.transport.write(answer)
            self.transport.close()

        def _check(self) -> None:
            # Between two requests uvicorn's keep-alive timer runs; the first byte of the next request stops it.
            waiting = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
            if waiting and self._was_waiting:
                self.end(_TIMEOUT)
                return
            self._was_waiting = waiting
            self._next_check = self.loop.call_later(seconds, self._check)

    return LimitedProtocol


def _limit_sending(transport: asyncio.Transport, seconds: float) -> None:
    """Let the system end a connection whose other side is gone, or takes nothing of what it was sent."""
    connection = transport.get_extra_info("socket")
    with suppress(OSError, AttributeError):  # not on every system, and a socket of another kind has none of it
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))
