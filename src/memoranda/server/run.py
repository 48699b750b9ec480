"""Starting the server. Its dependencies are imported when it starts; a missing one names the extra to install."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from memoranda.embedding.base import Embedder
from memoranda.errors import Denied, MissingExtra
from memoranda.server.config import ServerConfig
from memoranda.settings import MemoryConfig, get_settings
from memoranda.types import Clock

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI
    from starlette.types import ASGIApp

REQUIRED_MODULES = ("fastapi", "starlette", "uvicorn", "prometheus_client", "pydantic", "pydantic_core")


def create_app(
    config: ServerConfig | None = None,
    memory: MemoryConfig | str | None = None,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
) -> FastAPI:
    """Return the server as an ASGI application, to run in an ASGI server of your choice.

    It checks keys on every route, but only `run` refuses to start a public server that has no keys.

    Args:
        config: The settings of the server.
        memory: The settings of the memory, or a database URL; the environment's by default.
        embedder: An embedder to use instead of the configured one.
        clock: A clock to use instead of the system's.
    """
    try:
        from memoranda.server.app import build_app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in REQUIRED_MODULES:
            raise
        raise MissingExtra("the server", "server") from error
    return build_app(config or ServerConfig(), _memory_config(memory), embedder=embedder, clock=clock)


def run(
    config: ServerConfig | None = None, memory: MemoryConfig | str | None = None, *, log_level: str = "info"
) -> None:
    """Serve until a signal (SIGINT, SIGTERM) stops the server; running requests finish first."""
    config, memory = (config or ServerConfig()).with_environment(), _memory_config(memory)
    require_keys(config, memory)
    listen(create_app(config, memory), config, log_level=log_level)


def listen(app: ASGIApp, config: ServerConfig, *, log_level: str = "info") -> None:
    """Serve one of our applications until a signal stops it."""
    import uvicorn

    from memoranda.server.observability import configure_logging

    configure_logging(log_level)
    # Imported modules are never freed: keep the garbage collector from scanning them while requests wait.
    gc.freeze()
    with _ignore_signals():
        uvicorn.Server(uvicorn_config(app, config)).run()


def uvicorn_config(app: ASGIApp, config: ServerConfig) -> uvicorn.Config:
    """Return uvicorn's settings for one of our applications."""
    import uvicorn

    from memoranda.server.guard import header_timeout_protocol

    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        http=header_timeout_protocol(config.body_timeout),
        log_config=None,
        access_log=False,
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


def require_keys(config: ServerConfig, memory: MemoryConfig) -> None:
    """Raise `Denied` when other machines can reach the server and it has no valid key."""
    if config.is_local:
        return
    from memoranda.server.keys import open_keys

    with open_keys(memory) as keys:
        if not keys.any_valid(datetime.now(UTC)):
            raise Denied(
                f"{config.host} can be reached from other machines, and there is no key: "
                "make one with 'memoranda keys create', or listen on 127.0.0.1"
            )


def _memory_config(memory: MemoryConfig | str | None) -> MemoryConfig:
    if isinstance(memory, MemoryConfig):
        return memory
    settings = get_settings().memory
    return settings if memory is None else replace(settings, db_url=memory)
