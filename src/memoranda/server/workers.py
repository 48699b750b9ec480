"""Several processes that serve one port: this one opens the sockets, starts the others and keeps their number."""

from __future__ import annotations

import logging
import multiprocessing
import os
import pickle
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Final, TypeAlias

from memoranda.errors import MemorandaError, Unavailable

Serve: TypeAlias = Callable[[Sequence[socket.socket], Callable[[], None]], None]
"""Serves until a signal stops it; calls the second argument once requests are answered. It can be pickled."""

_LOGGER: Final = logging.getLogger("memoranda.server")
_SPAWN: Final = multiprocessing.get_context("spawn")
"""A new interpreter: a fork would take over threads and connections that do not work in it."""
_START_SECONDS: Final = 120.0
_CALM_SECONDS: Final = 1.0
"""A process that ends sooner after its start is not replaced at once."""


@dataclass(slots=True)
class _Worker:
    process: SpawnProcess
    started_at: float
    ready: Connection


def run_workers(serve: Serve, sockets: Sequence[socket.socket], count: int, stop_seconds: float) -> None:
    """Serve in several processes until a signal stops this one; one that dies is replaced.

    Args:
        serve: What each process runs.
        sockets: The listening sockets that they share: the system gives each connection to one of them.
        count: How many processes.
        stop_seconds: How long they have to finish their requests.
    """
    stop = threading.Event()
    with _on_signals(stop):
        workers: list[_Worker] = []
        try:
            # The first one alone: it creates or upgrades the database, and what it cannot do, none of them can.
            for _ in range(count):
                workers.append(_start(serve, sockets))
                if len(workers) == 1:
                    _wait_until_ready(workers[0], stop)
            for worker in workers[1:]:
                _wait_until_ready(worker, stop)
            while not stop.is_set():
                _replace_dead(workers, serve, sockets, stop)
        finally:
            _stop(workers, stop_seconds)


def _start(serve: Serve, sockets: Sequence[socket.socket]) -> _Worker:
    reader, writer = _SPAWN.Pipe(duplex=False)
    process = _SPAWN.Process(target=_serve_in_process, args=(serve, list(sockets), writer))
    process.start()
    writer.close()
    return _Worker(process, time.monotonic(), reader)


def _serve_in_process(serve: Serve, sockets: list[socket.socket], ready: Connection) -> None:
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        serve(sockets, lambda: ready.send(None))
    except MemorandaError as error:
        ready.send(_picklable(error))
        raise SystemExit(1) from None


def _stop_with_parent() -> None:
    """Stop when the process that started this one is gone: nobody else would."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os.kill(os.getpid(), signal.SIGTERM)


def _picklable(error: MemorandaError) -> MemorandaError:
    try:
        pickle.loads(pickle.dumps(error))  # noqa: S301 - what was pickled here a moment ago
    except Exception:  # noqa: BLE001 - the words of the error arrive in any case
        return Unavailable(str(error))
    return error


def _wait_until_ready(worker: _Worker, stop: threading.Event) -> None:
    """Return once a process answers requests; raise the error that keeps it from starting."""
    deadline = time.monotonic() + _START_SECONDS
    while not stop.is_set():
        if worker.ready.poll(0.1):
            try:
                error = worker.ready.recv()
            except EOFError:
                raise Unavailable("a process of the server ended while it started: see its log") from None
            if error is not None:
                raise error
            return
        if time.monotonic() > deadline:
            raise Unavailable(f"a process of the server did not start within {_START_SECONDS:g} seconds")


def _replace_dead(
    workers: list[_Worker], serve: Serve, sockets: Sequence[socket.socket], stop: threading.Event
) -> None:
    wait([worker.process.sentinel for worker in workers], timeout=0.2)
    for position, worker in enumerate(workers):
        if worker.process.is_alive() or stop.is_set():
            continue
        _LOGGER.error(
            "process %s ended with code %s: another one is started", worker.process.pid, worker.process.exitcode
        )
        if time.monotonic() - worker.started_at < _CALM_SECONDS:
            stop.wait(_CALM_SECONDS)
        worker.ready.close()
        workers[position] = _start(serve, sockets)


def _stop(workers: Sequence[_Worker], seconds: float) -> None:
    for worker in workers:
        if worker.process.is_alive():
            worker.process.terminate()
    deadline = time.monotonic() + seconds
    for worker in workers:
        worker.process.join(max(0.0, deadline - time.monotonic()))
        if worker.process.is_alive():
            _LOGGER.error("process %s did not stop within %g seconds: it is killed", worker.process.pid, seconds)
            worker.process.kill()
            worker.process.join()


@contextmanager
def _on_signals(stop: threading.Event) -> Iterator[None]:
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
