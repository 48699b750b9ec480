"""Starting the server, in one process or in several that share its port.

Its dependencies are imported when it starts; a missing one names the extra to install.
"""

from __future__ import annotations

import ctypes
import errno
import gc
import logging
import multiprocessing
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import TYPE_CHECKING, Final, TypeAlias

from memoranda.embedding.base import Embedder
from memoranda.errors import Denied, InvalidInput, MemorandaError, MissingExtra, Unavailable
from memoranda.server.config import ServerConfig
from memoranda.settings import MemoryConfig, database_url, get_settings
from memoranda.storage import database_file
from memoranda.threads import Flag
from memoranda.types import Clock

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BACKLOG: Final = 2048
"""Connections that may wait to be accepted, as in uvicorn."""
_M_ARENA_MAX: Final = -8
"""The option of glibc's `mallopt` for the number of heaps."""
_HEAPS: Final = 2
REQUIRED_MODULES = ("fastapi", "starlette", "uvicorn", "prometheus_client", "pydantic", "pydantic_core")
Serve: TypeAlias = Callable[[Sequence[socket.socket], Callable[[], None]], None]
"""Serves until a signal stops it; calls the second argument once requests are answered. It can be pickled."""
_LOGGER: Final = logging.getLogger("memoranda.server")
_SPAWN: Final = multiprocessing.get_context("spawn")
"""A new interpreter: a fork would take over threads and connections that do not work in it."""
_START_SECONDS: Final = 120.0
_CALM_SECONDS: Final = 1.0
"""A process that ends sooner after its start is not replaced at once."""


def create_app(
    config: ServerConfig | None = None,
    memory: MemoryConfig | str | None = None,
    *,
    allow_unauthenticated: bool = False,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
) -> FastAPI:
    """Return the server as an ASGI application, to run in an ASGI server of your choice.

    Every route but `/healthz`, `/openapi.json`, `/docs` and the files of the dashboard needs a key: create one with
    `memoranda keys create`.

    Args:
        config: The settings of the server.
        memory: The settings of the memory, or a database URL; the environment's by default.
        allow_unauthenticated: Accept callers on this machine without a key, as admin of the tenant `default`, until the
            first key is created. Callers from other machines and through a proxy need a key all the same.
        embedder: An embedder to use instead of the configured one.
        clock: A clock to use instead of the system's.
    """
    try:
        from memoranda.server.app import build_app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in REQUIRED_MODULES:
            raise
        raise MissingExtra("the server", "server") from error
    config = config or ServerConfig()
    if allow_unauthenticated:
        config = replace(config, allow_unauthenticated=True)
    return build_app(config, _memory_config(memory), embedder=embedder, clock=clock)


def run(
    config: ServerConfig | None = None, memory: MemoryConfig | str | None = None, *, log_level: str = "info"
) -> None:
    """Serve until a signal (SIGINT, SIGTERM) stops the server; running requests finish first."""
    memory = _memory_config(memory)
    config = prepare_to_listen(config or ServerConfig(), memory)
    if config.workers == 1:
        listen(create_app(config, memory), config, log_level=log_level)
        return
    url = database_url(memory)
    if url.startswith("sqlite") and database_file(url) is None:
        raise InvalidInput("a database in memory cannot be shared by several processes: name a file, or use one worker")
    from memoranda.server.observability import configure_logging

    sockets = open_sockets(config.host, config.port)
    configure_logging(log_level)
    try:
        # A little longer than a process has itself, so that it can say what it could not finish.
        run_workers(partial(_serve, config, memory, log_level), sockets, config.workers, config.shutdown_timeout + 5)
    finally:
        _close(sockets)


def _serve(
    config: ServerConfig,
    memory: MemoryConfig,
    log_level: str,
    sockets: Sequence[socket.socket],
    on_ready: Callable[[], None],
) -> None:
    """Serve in one of several processes."""
    _listen(create_app(config, memory), config, sockets, log_level, on_ready)


def listen(
    app: ASGIApp, config: ServerConfig, *, log_level: str = "info", on_ready: Callable[[int], None] | None = None
) -> None:
    """Serve one of our applications until a signal stops it.

    Args:
        app: The application.
        config: The settings of the server.
        log_level: The lowest level of what is logged.
        on_ready: Called with the port once requests are answered.
    """
    sockets = open_sockets(config.host, config.port)
    port: int = sockets[0].getsockname()[1]
    _listen(app, config, sockets, log_level, None if on_ready is None else partial(on_ready, port))


def _listen(
    app: ASGIApp,
    config: ServerConfig,
    sockets: Sequence[socket.socket],
    log_level: str,
    on_ready: Callable[[], None] | None,
) -> None:
    import uvicorn

    from memoranda.server.observability import configure_logging

    share_heaps()
    configure_logging(log_level)
    # Imported modules are never freed: keep the garbage collector from scanning them while requests wait.
    gc.freeze()
    startup = _Startup(app, on_ready)
    try:
        with _ignore_signals():
            uvicorn.Server(uvicorn_config(startup, config)).run(list(sockets))
    except SystemExit:
        if startup.error is not None:
            raise startup.error from None
        raise
    finally:
        _close(sockets)


def share_heaps() -> None:
    """Let all threads allocate from two heaps, where the system's library is glibc and nobody has chosen otherwise.

    By default each thread of a server gets one, up to eight for each processor, and what is freed in one cannot be used
    by the others: memory grows for hours although no more of it is in use.
    """
    if sys.platform == "linux" and "MALLOC_ARENA_MAX" not in os.environ:
        with suppress(OSError, AttributeError):  # another library
            ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _HEAPS)


def open_sockets(host: str, port: int) -> list[socket.socket]:
    """Return a listening socket for each address of a host; port 0 chooses a free port.

    They are opened before anything else is started, so that a port that is taken is reported first, in one sentence.
    """
    opened: list[socket.socket] = []
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, _, _, _, address in dict.fromkeys(found):
            chosen = opened[0].getsockname()[1] if opened else port
            opened.append(_open_socket(family, (address[0], chosen, *address[2:])))
    except OSError as error:
        _close(opened)
        raise _explain(error, host, port) from error
    return opened


def _open_socket(family: int, address: tuple[object, ...]) -> socket.socket:
    # Named, since asyncio turns off the delay of small packets only where it is: 40 ms in each answer.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
        made.listen(_BACKLOG)
    except BaseException:
        made.close()
        raise
    return made


def _close(sockets: Iterable[socket.socket]) -> None:
    for each in sockets:
        each.close()


def _explain(error: OSError, host: str, port: int) -> MemorandaError:
    if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
        return InvalidInput(f"this machine has no address {host!r}: listen on 127.0.0.1, or on 0.0.0.0 for all")
    if error.errno == errno.EADDRINUSE:
        return Unavailable(
            f"another program listens on port {port} of {host}: stop it, or choose another port with --port"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return Denied(f"port {port} of {host} may not be used by this user: choose one above 1023 with --port")
    return Unavailable(f"port {port} of {host} cannot be opened: {error.strerror or error}")


class _Startup:
    """An application whose error while it starts is kept for the caller of `listen`: uvicorn logs it, and exits."""

    def __init__(self, app: ASGIApp, on_ready: Callable[[], None] | None) -> None:
        self._app = app
        self._on_ready = on_ready
        self._complete = False
        self.error: Exception | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            await self._app(scope, receive, send)
            return

        async def send_without_traceback(message: Message) -> None:
            ready = message["type"] == "lifespan.startup.complete"
            self._complete |= ready
            await send(message if self._complete else {"type": message["type"]})
            if ready and self._on_ready is not None:
                self._on_ready()

        try:
            await self._app(scope, receive, send_without_traceback)
        except Exception as error:
            if not self._complete:
                self.error = error
            raise


def uvicorn_config(app: ASGIApp, config: ServerConfig) -> uvicorn.Config:
    """Return uvicorn's settings for one of our applications."""
    import uvicorn

    from memoranda.server.connections import BACKLOG, make_protocol
    from memoranda.server.streams import max_connections

    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        http=make_protocol(config.body_timeout, max_connections()),
        backlog=BACKLOG,
        log_config=None,
        access_log=False,
        # The peer decides who needs no key: a header must not replace it.
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=config.shutdown_timeout,
        h11_max_incomplete_event_size=64_000,
    )


@contextmanager
def _ignore_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn raises again after a graceful stop: such a stop is not a failure."""
    previous = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def prepare_to_listen(config: ServerConfig, memory: MemoryConfig) -> ServerConfig:
    """Return the settings completed from the environment; raise `Denied` when no caller could be let in."""
    config = config.with_environment()
    if config.allow_unauthenticated is None:
        config = replace(config, allow_unauthenticated=config.is_local)
    if not config.allow_unauthenticated:
        _require_valid_key(config, memory)
    return config


def _require_valid_key(config: ServerConfig, memory: MemoryConfig) -> None:
    from memoranda.server.keys import open_keys

    with open_keys(memory) as keys:
        if not keys.any_valid(datetime.now(UTC)):
            reason = "callers need a key" if config.is_local else f"{config.host} can be reached from other machines"
            raise Denied(
                f"{reason}, and there is no valid key: make one with 'memoranda keys create' in the same "
                "database, or listen on 127.0.0.1 and allow unauthenticated callers"
            )


def _memory_config(memory: MemoryConfig | str | None) -> MemoryConfig:
    if isinstance(memory, MemoryConfig):
        return memory
    settings = get_settings().memory
    return settings if memory is None else replace(settings, db_url=memory, read_url=None)


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
    stop = Flag()
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


def _wait_until_ready(worker: _Worker, stop: Flag) -> None:
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


def _replace_dead(workers: list[_Worker], serve: Serve, sockets: Sequence[socket.socket], stop: Flag) -> None:
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
def _on_signals(stop: Flag) -> Iterator[None]:
    previous = {number: signal.signal(number, lambda *_: stop.set()) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
