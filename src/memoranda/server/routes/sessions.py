"""Sessions: the shared messages, values and records of the agents of one workflow."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from memoranda.results.maintenance import NameActivity
from memoranda.results.workflows import SessionMessage, SessionSummary
from memoranda.server.access import Reader, Writer, create_router
from memoranda.server.requests import (
    ClearSessionRequest,
    EndedSessionsQuery,
    ExecutionRequest,
    HistoryQuery,
    NamesQuery,
    OpenSessionRequest,
    SaveValueRequest,
    SessionHistoryQuery,
    SessionMessageRequest,
    ValueQuery,
)
from memoranda.server.responses import CountResponse, OpenedSession, RecordId, ValueResponse

routes = create_router("sessions")
SessionId = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$", description="The id that `POST /sessions` returned")]


@routes.post("/sessions", status_code=201)
async def open_session(request: OpenSessionRequest, caller: Writer) -> OpenedSession:
    """Open a session of a workflow; it ends on request, or when it is not used for a while."""
    opened = await caller.services.sessions.open(caller.memory, request)
    return OpenedSession(opened.session_id, opened.workflow_id, opened.metadata, opened.auto_cleanup, opened.started_at)


@routes.get("/sessions")
async def list_sessions(query: Annotated[EndedSessionsQuery, Query()], caller: Reader) -> list[SessionSummary]:
    """Return summaries of the sessions that have ended, latest first."""
    return await caller.memory.get_sessions(**query.arguments())


@routes.get("/sessions/history")
async def get_session_history(query: Annotated[SessionHistoryQuery, Query()], caller: Reader) -> list[SessionMessage]:
    """Return the latest messages of a workflow's open sessions."""
    return await caller.memory.get_conversation_history(**query.arguments())


@routes.post("/sessions/clear")
async def clear_session(request: ClearSessionRequest, caller: Writer) -> CountResponse:
    """Remove a workflow's session data and end its sessions; the count is 1 once none is left."""
    return CountResponse(int(await caller.memory.clear_session(request.workflow_id)))


@routes.get("/sessions/names")
async def list_session_names(query: Annotated[NamesQuery, Query()], caller: Reader) -> list[NameActivity]:
    """Return the sessions that have memories and how many, in the order of their names."""
    user = caller.read_user(query)
    return await caller.memory.sessions(query.limit, query.offset, agent=query.agent, user=user)


@routes.get("/sessions/{session_id}")
async def get_session_summary(session_id: SessionId, caller: Reader) -> SessionSummary:
    """Return who took part in a session, how much was done, and since when."""
    async with caller.services.sessions.use(caller.principal.tenant, caller.memory, session_id) as session:
        return await session.get_session_summary()


@routes.post("/sessions/{session_id}/end")
async def end_session(session_id: SessionId, caller: Writer) -> SessionSummary:
    """End a session; the last session of a workflow also removes its short-term data."""
    return await caller.services.sessions.end(caller.principal.tenant, caller.memory, session_id)


@routes.put("/sessions/{session_id}/values")
async def save_session_value(session_id: SessionId, request: SaveValueRequest, caller: Writer) -> CountResponse:
    """Store a value of an agent: short-term until the session ends, long-term permanently."""
    async with caller.services.sessions.use(caller.principal.tenant, caller.memory, session_id) as session:
        return CountResponse(int(await session.save_agent_memory(**request.arguments())))


@routes.get("/sessions/{session_id}/values")
async def get_session_value(
    session_id: SessionId, query: Annotated[ValueQuery, Query()], caller: Reader
) -> ValueResponse:
    """Return a value stored in this workflow; null when there is none."""
    async with caller.services.sessions.use(caller.principal.tenant, caller.memory, session_id) as session:
        return ValueResponse(await session.retrieve_agent_memory(**query.arguments()))


@routes.post("/sessions/{session_id}/messages", status_code=201)
async def add_session_message(session_id: SessionId, request: SessionMessageRequest, caller: Writer) -> SessionMessage:
    """Add a message to the workflow's conversation."""
    async with caller.services.sessions.use(caller.principal.tenant, caller.memory, session_id) as session:
        return await session.add_conversation_message(**request.arguments())


@routes.get("/sessions/{session_id}/messages")
async def get_session_messages(
    session_id: SessionId, query: Annotated[HistoryQuery, Query()], caller: Reader
) -> list[SessionMessage]:
    """Return the latest messages of all agents, oldest first."""
    async with caller.services.sessions.use(caller.principal.tenant, caller.memory, session_id) as session:
        return await session.get_conversation_history(query.limit)


@routes.post("/sessions/{session_id}/executions", status_code=201)
async def save_session_execution(session_id: SessionId, request: ExecutionRequest, caller: Writer) -> RecordId:
    """Append a record to the audit trail, with this workflow and session."""
    async with caller.services.sessions.use(caller.principal.tenant, caller.memory, session_id) as session:
        return RecordId(await session.save_execution_record(request.agent_id, request.record))
