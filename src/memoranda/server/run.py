"""Starting the server. What it needs is imported when it is asked for, and its absence named."""

from __future__ import annotations

import gc
import signal
from collections.abc import Iterator
from contextlib import contextmanager
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

PARTS = ("fastapi", "starlette", "uvicorn", "prometheus_client", "pydantic", "pydantic_core")


def create_app(
    config: ServerConfig | None = None,
    memory: MemoryConfig | str | None = None,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
) -> FastAPI:
    """The server as an ASGI application, for a server of your own choice.

    It checks keys on every address; that a server open to others has any is checked by `run` alone.
    """
    try:
        from memoranda.server.app import build_app
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in PARTS:
            raise
        raise MissingExtra("the server", "server") from error
    return build_app(config or ServerConfig(), memory_config(memory), embedder=embedder, clock=clock)


def run(
    config: ServerConfig | None = None, memory: MemoryConfig | str | None = None, *, log_level: str = "info"
) -> None:
    """Serves until it is told to stop (SIGINT, SIGTERM); requests under way are answered first."""
    config, memory = (config or ServerConfig()).with_environment(), memory_config(memory)
    refuse_without_keys(config, memory)
    listen(create_app(config, memory), config, log_level=log_level)


def listen(app: ASGIApp, config: ServerConfig, *, log_level: str = "info") -> None:
    """Serves an application of ours until a signal ends it."""
    import uvicorn

    from memoranda.server import observability

    observability.configure(log_level)
    # What was imported stays: the collector need not walk through it again, which would hold up all requests.
    gc.freeze()
    with _surviving_signals():
        uvicorn.Server(uvicorn_config(app, config)).run()


def uvicorn_config(app: ASGIApp, config: ServerConfig) -> uvicorn.Config:
    """How uvicorn serves an application of ours."""
    import uvicorn

    from memoranda.server.guard import punctual

    return uvicorn.Config(
        app,
        host=config.host,
        port=config.port,
        http=punctual(config.body_timeout),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=config.shutdown_timeout,
        h11_max_incomplete_event_size=64_000,
    )


@contextmanager
def _surviving_signals() -> Iterator[None]:
    """uvicorn stops at a signal and then sends it once more: a server that stopped as it was told has not failed."""
    known = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)


def refuse_without_keys(config: ServerConfig, memory: MemoryConfig) -> None:
    """`Denied` when others could reach a server that has no key."""
    if config.is_local:
        return
    from datetime import UTC, datetime

    from memoranda.server.keys import open_keys

    with open_keys(memory) as keys:
        if not keys.any_valid(datetime.now(UTC)):
            raise Denied(
                f"{config.host} can be reached from other machines, and there is no key: "
                "make one with 'memoranda keys create', or listen on 127.0.0.1"
            )


def memory_config(memory: MemoryConfig | str | None) -> MemoryConfig:
    """The settings, with another database where a URL is given."""
    from dataclasses import replace

    if isinstance(memory, MemoryConfig):
        return memory
    settings = get_settings().memory
    return settings if memory is None else replace(settings, db_url=memory)
