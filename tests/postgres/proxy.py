"""A TCP proxy in front of a server that can lose a connection at a COMMIT."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal

Cut = Literal["before", "after"]
"""Whether the server gets the COMMIT whose connection is lost."""


class CuttingProxy:
    """Passes everything on, except that connections are lost at COMMITs as told."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts: list[Cut] = []
        """What becomes of the next COMMITs, the first one first; later ones are passed on."""
        self.done = 0
        self.round_trips = 0
        """How often a client sent something after it had got an answer."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                given = client, server, threading.Event(), threading.Event()
                threading.Thread(target=self._pass_requests, args=given, daemon=True).start()
                threading.Thread(target=self._pass_answers, args=given, daemon=True).start()

    def _pass_requests(
        self, client: socket.socket, server: socket.socket, cut: threading.Event, waits: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := client.recv(65_536):
                if not waits.is_set():
                    self.round_trips += 1
                    waits.set()
                if b"COMMIT\0" in data and self.cuts:  # not READ COMMITTED
                    self.done += 1
                    if self.cuts.pop(0) == "before":
                        break
                    cut.set()
                server.sendall(data)
        _close(client, server) if not cut.is_set() else None

    def _pass_answers(
        self, client: socket.socket, server: socket.socket, cut: threading.Event, waits: threading.Event
    ) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if cut.is_set():
                    break  # the server has done it, and nobody is told
                waits.clear()
                client.sendall(data)
        _close(client, server)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()


@contextmanager
def cutting_proxy(port: int) -> Iterator[CuttingProxy]:
    proxy = CuttingProxy(port)
    try:
        yield proxy
    finally:
        proxy.close()
