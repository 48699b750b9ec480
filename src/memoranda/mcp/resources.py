"""Resources: how much there is, and what came last."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from mcp.server.mcpserver import MCPServer
from pydantic_core import to_json

from memoranda.aio.manager import MemoryManager
from memoranda.mcp.tooling import fenced
from memoranda.mcp.whose import Whose
from memoranda.types import Clock, Hit, Memory

STATS_URI: Final = "memory://stats"
RECENT_URI: Final = "memory://recent"
_SHOWN: Final = 20
_PAGE: Final = 1000
_WINDOWS: Final = (timedelta(hours=1), timedelta(days=1), timedelta(days=30), timedelta(days=365))


def register(server: MCPServer, memory: MemoryManager, whose: Whose, clock: Clock) -> None:
    """Adds the resources to a server."""

    @server.resource(STATS_URI, title="Statistics", mime_type="application/json")
    async def stats() -> str:
        """How much memory holds, by type."""
        return to_json(await memory.get_stats(), indent=2).decode()

    @server.resource(RECENT_URI, title="Recent memories", mime_type="text/plain")
    async def recent() -> str:
        """The memories that are from the latest time, as data inside a fence."""
        newest = await _newest(memory, whose, clock)
        return fenced([Hit(each, 1.0) for each in newest], clock())


async def _newest(memory: MemoryManager, whose: Whose, clock: Clock) -> list[Memory]:
    """Looks back further and further, so that a large store is not read from its start."""
    now, found = clock(), list[Memory]()
    for window in (*_WINDOWS, None):
        where: dict[str, object] | None = None if window is None else {"after": now - window}
        found = await _last(memory, whose, where)
        if len(found) == _SHOWN:
            break
    return found


async def _last(memory: MemoryManager, whose: Whose, where: dict[str, object] | None) -> list[Memory]:
    kept, after = list[Memory](), 0
    while page := await memory.list_memories(_PAGE, after, where=where, **whose.scope()):
        kept, after = sorted([*kept, *page], key=lambda each: (each.valid_from, each.id))[-_SHOWN:], page[-1].id
        if len(page) < _PAGE:
            break
    return kept
