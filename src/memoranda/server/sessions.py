"""The sessions that remote callers have open, by tenant and id."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from memoranda.aio.manager import MemoryManager
from memoranda.aio.session import SessionContext, create_session
from memoranda.errors import Closed, NotFound
from memoranda.results import SessionSummary
from memoranda.server.requests import OpenSession

_MOST: Final = 100_000


class OpenSessions:
    """Hands out sessions to the tenant that opened them, and to nobody else."""

    def __init__(self) -> None:
        self._open: OrderedDict[tuple[str, str], SessionContext] = OrderedDict()

    async def open(self, tenant: str, memory: MemoryManager, request: OpenSession) -> SessionSummary:
        session = create_session(request.workflow_id, memory, request.metadata, request.auto_cleanup)
        summary = await session.get_session_summary()
        self._open[tenant, summary.session_id] = session
        if len(self._open) > _MOST:
            _, oldest = self._open.popitem(last=False)
            await oldest.end_session()
        return summary

    @asynccontextmanager
    async def using(self, tenant: str, session_id: str) -> AsyncIterator[SessionContext]:
        """The session, for one call; `NotFound` when it has ended, or never was one of this tenant."""
        name = (tenant, session_id)
        session = self._open.get(name)
        if session is None:
            raise _ended(session_id)
        self._open.move_to_end(name)
        try:
            yield session
        except Closed:
            self._open.pop(name, None)
            raise _ended(session_id) from None

    async def end(self, tenant: str, session_id: str) -> SessionSummary:
        async with self.using(tenant, session_id) as session:
            summary = await session.end_session()
            self._open.pop((tenant, session_id), None)
            return summary

    async def end_all(self) -> None:
        """When the server stops: what took place in them is written down."""
        while self._open:
            _, session = self._open.popitem()
            await session.end_session()


def _ended(session_id: str) -> NotFound:
    return NotFound(f"no open session {session_id}: it has ended, or never began")
