"""Starting the MCP door. What it needs is imported when it is asked for, and its absence named."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypedDict

from memoranda.embedding.base import Embedder
from memoranda.errors import MissingExtra
from memoranda.server.config import ServerConfig
from memoranda.server.run import PARTS as SERVER_PARTS
from memoranda.server.run import listen, refuse_without_keys
from memoranda.settings import MemoryConfig
from memoranda.types import DEFAULT_TENANT, Clock

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer
    from starlette.applications import Starlette

    from memoranda.aio.manager import MemoryManager


__all__ = ["Whose", "create_http_app", "create_server", "run"]

_PARTS = ("mcp", "mcp_types", "pydantic", "pydantic_core")


def create_server(memory: MemoryManager, whose: Whose | None = None) -> MCPServer:
    """The tools and resources over a manager, as a server of the official SDK."""
    with _named():
        from memoranda.mcp.server import build_server
    return build_server(memory, whose or Whose())


def create_http_app(
    config: ServerConfig,
    memory: MemoryConfig,
    whose: Whose | None = None,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
) -> Starlette:
    """The door as an ASGI application at `/mcp`: the tenant comes from the key; user, agent and session from `whose`.

    It checks keys on every address; that a server open to others has any is checked by `run` alone.
    """
    with _named():
        from memoranda.mcp.http import build_http
    return build_http(config, memory, whose or Whose(), embedder=embedder, clock=clock)


def run(config: MemoryConfig, whose: Whose | None = None, *, http: ServerConfig | None = None) -> None:
    """Serves until the host hangs up or a signal ends it: on stdin and stdout, or over HTTP."""
    if http is None:
        import asyncio

        asyncio.run(_serve_stdio(config, whose or Whose()))
        return
    http = http.with_environment()
    refuse_without_keys(http, config)
    listen(create_http_app(http, config, whose), http)


async def _serve_stdio(config: MemoryConfig, whose: Whose) -> None:
    from memoranda.aio.manager import MemoryManager

    async with MemoryManager(config, tenant=whose.tenant) as memory:
        await create_server(memory, whose).run_stdio_async()


@contextmanager
def _named() -> Iterator[None]:
    """What is missing, by the extra that brings it."""
    try:
        yield
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing in _PARTS:
            raise MissingExtra("the MCP server", "mcp") from error
        if missing in SERVER_PARTS:
            raise MissingExtra("MCP over HTTP", "server") from error
        raise


class ScopeArguments(TypedDict):
    """A scope as the manager's arguments."""

    agent: str | None
    user: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Whose:
    """The tenant, user, agent and session whose memories the tools read and write."""

    tenant: str = DEFAULT_TENANT
    user: str | None = None
    agent: str | None = None
    session: str | None = None

    def scope(self, session: str | None = None) -> ScopeArguments:
        """The scope of one call; a session may be named only where the door has none of its own."""
        return {"agent": self.agent, "user": self.user, "session": self.session or session}
