"""Starting the MCP server. Its dependencies are imported when it starts; a missing one names the extra to install."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from memoranda.embedding.base import Embedder
from memoranda.errors import MissingExtra
from memoranda.mcp.base import Owner, choose_tools
from memoranda.server.config import ServerConfig
from memoranda.server.run import REQUIRED_MODULES as SERVER_MODULES
from memoranda.server.run import listen, prepare_to_listen
from memoranda.settings import MemoryConfig
from memoranda.types import Clock

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.applications import Starlette

    from memoranda.aio.manager import MemoryManager

_MCP_MODULES = ("mcp", "mcp_types", "pydantic", "pydantic_core")


def create_server(
    memory: MemoryManager, owner: Owner | None = None, *, tools: str | Sequence[str] = "core"
) -> MCPServer:
    """Return the tools, prompts and resources over a manager, as a server of the official SDK.

    Args:
        memory: The manager.
        owner: The user, agent and session whose memories the tools read and write.
        tools: Which tools it has: "core" for the six that most models need, "all", or names of tools and of groups
            (facts, quarantine, connector, sessions, graph), as a list or separated by commas.
    """
    with _require_extras():
        from memoranda.mcp.server import build_server
    return build_server(memory, owner or Owner(), tools=tools)


def create_http_app(
    config: ServerConfig,
    memory: MemoryConfig,
    owner: Owner | None = None,
    *,
    tools: str | Sequence[str] = "core",
    allow_unauthenticated: bool = False,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
) -> Starlette:
    """Return the MCP server as an ASGI application at `/mcp`.

    Every route but `/healthz` needs a key: create one with `memoranda keys create`.

    Args:
        config: The settings of the HTTP server.
        memory: The settings of the memory.
        owner: The user, agent and session; the tenant comes from the key.
        tools: Which tools it has, as in `create_server`.
        allow_unauthenticated: Accept callers on this machine without a key, for the owner's tenant, until the first key
            is created. Callers from other machines and through a proxy need a key all the same.
        embedder: An embedder to use instead of the configured one.
        clock: A clock to use instead of the system's.
    """
    with _require_extras():
        from memoranda.mcp.http import build_http
        from memoranda.mcp.server import build_server
    choose_tools(tools)
    if allow_unauthenticated:
        config = replace(config, allow_unauthenticated=True)
    create = partial(build_server, tools=tools)
    return build_http(config, memory, owner or Owner(), embedder=embedder, clock=clock, create=create)


def run(
    config: MemoryConfig,
    owner: Owner | None = None,
    *,
    http: ServerConfig | None = None,
    tools: str | Sequence[str] = "core",
) -> None:
    """Serve over stdin and stdout until the host disconnects, or with `http` over HTTP until a signal.

    Args:
        config: The settings of the memory.
        owner: The user, agent and session; the tenant counts without HTTP, where it comes from the key.
        http: The settings of the HTTP server.
        tools: Which tools it has, as in `create_server`.
    """
    if http is None:
        asyncio.run(_serve_stdio(config, owner or Owner(), tools))
        return
    http = prepare_to_listen(http, config)
    listen(create_http_app(http, config, owner, tools=tools), http)


async def _serve_stdio(config: MemoryConfig, owner: Owner, tools: str | Sequence[str]) -> None:
    from memoranda.aio.manager import MemoryManager

    async with MemoryManager(config, tenant=owner.tenant) as memory:
        await create_server(memory, owner, tools=tools).run_stdio_async()


@contextmanager
def _require_extras() -> Iterator[None]:
    """Turn a missing module into an error that names the extra to install."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in _MCP_MODULES:
            raise MissingExtra("the MCP server", "mcp") from error
        if missing in SERVER_MODULES:
            raise MissingExtra("MCP over HTTP", "server") from error
        raise
