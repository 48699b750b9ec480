"""Starting the MCP door. What it needs is imported when it is asked for, and its absence named."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from recollect.errors import MissingExtra
from recollect.mcp.whose import Whose
from recollect.settings import MemoryConfig

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

    from recollect.aio.manager import MemoryManager

__all__ = ["Whose", "create_server", "run"]

_PARTS = ("mcp", "mcp_types", "pydantic", "pydantic_core", "starlette", "uvicorn")


def create_server(memory: MemoryManager, whose: Whose | None = None) -> MCPServer:
    """The tools and resources over a manager, as a server of the official SDK."""
    try:
        from recollect.mcp.server import build_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in _PARTS:
            raise
        raise MissingExtra("the MCP server", "mcp") from error
    return build_server(memory, whose or Whose())


def run(config: MemoryConfig, whose: Whose | None = None, *, http_port: int | None = None) -> None:
    """Serves until the host hangs up: on stdin and stdout, or on a loopback port."""
    import asyncio

    asyncio.run(serve(config, whose or Whose(), http_port))


async def serve(config: MemoryConfig, whose: Whose, http_port: int | None) -> None:
    """The same inside a running event loop."""
    from recollect.aio.manager import MemoryManager

    async with MemoryManager(config, tenant=whose.tenant) as memory:
        server = create_server(memory, whose)
        if http_port is None:
            await server.run_stdio_async()
        else:
            await serve_http(server, http_port)


async def serve_http(server: MCPServer, port: int) -> None:
    """Serves on a loopback port until a signal ends it."""
    import uvicorn

    from recollect.mcp.server import http_app

    settings = uvicorn.Config(http_app(server), host="127.0.0.1", port=port, log_level="warning", lifespan="on")
    with _surviving_signals():
        await uvicorn.Server(settings).serve()


@contextmanager
def _surviving_signals() -> Iterator[None]:
    """uvicorn stops at a signal and then sends it once more, which would end the program before the store is closed."""
    known = {number: signal.signal(number, lambda *_: None) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in known.items():
            signal.signal(number, handler)
