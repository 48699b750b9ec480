"""The sessions of workflows that remote callers have open, in any process of a server."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from memoranda.aio.manager import (
    MemoryManager,
    SessionContext,
    create_session,
    log_if_abandoned,
    share_session,
    summarize_open_sessions,
)
from memoranda.errors import Closed, NotFound
from memoranda.results.workflows import SessionSummary
from memoranda.server.requests import OpenSessionRequest

_MAX_USED: Final = 100_000


class OpenSessions:
    """The sessions that callers have open. A session is visible only to the tenant that opened it.

    They are in the store of short-term values, which all processes share, and go on when a process stops.
    """

    def __init__(self) -> None:
        self._used: OrderedDict[tuple[str, str], SessionContext] = OrderedDict()
        """The sessions that this process was asked for, the latest last."""

    async def open(self, memory: MemoryManager, request: OpenSessionRequest) -> SessionContext:
        session = create_session(request.workflow_id, memory, request.metadata, request.auto_cleanup)
        await session.get_session_summary()
        return session

    @asynccontextmanager
    async def use(self, tenant: str, memory: MemoryManager, session_id: str) -> AsyncIterator[SessionContext]:
        """Return the session for one call; raise `NotFound` when this tenant has no such open session."""
        key = (tenant, session_id)
        missing = NotFound(f"no open session {session_id}: it has ended, or never existed")
        session = self._used.get(key) or await share_session(session_id, memory)
        if session is None:
            raise missing
        self._used[key] = session
        self._used.move_to_end(key)
        if len(self._used) > _MAX_USED:
            self._used.popitem(last=False)
        try:
            yield session
        except Closed:
            self._used.pop(key, None)
            raise missing from None

    async def end(self, tenant: str, memory: MemoryManager, session_id: str) -> SessionSummary:
        async with self.use(tenant, memory, session_id) as session:
            await session.get_session_summary()  # raises when another process has ended it
            summary = await session.end_session()
            self._used.pop((tenant, session_id), None)
            return summary

    async def summaries(self, memory: MemoryManager, limit: int) -> list[SessionSummary]:
        """Return the open sessions of a tenant, the one opened last first."""
        return await summarize_open_sessions(memory, limit)

    async def log_abandoned(self) -> None:
        """Store the records of sessions that nobody has ended and that are over, so that they are listed as ended."""
        for key, session in list(self._used.items()):
            if await log_if_abandoned(session):
                self._used.pop(key, None)
