"""Sessions: what the agents of one workflow do together."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from memoranda.results import SessionMessage, SessionSummary
from memoranda.server.access import Reader, Writer, router
from memoranda.server.requests import (
    EndedQuery,
    ExecutionRequest,
    LimitQuery,
    OpenSession,
    SaveValue,
    SessionMessageRequest,
    ValueQuery,
    WorkflowName,
    WorkflowQuery,
)
from memoranda.server.responses import Done, RecordId, SessionOpened, Value

routes = router("sessions")
Id = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$", description="The id that opening it gave")]


@routes.post("/sessions", status_code=201)
async def open_session(request: OpenSession, caller: Writer) -> SessionOpened:
    """Opens a session of a workflow; it ends when it is ended, or not used for a while."""
    made = await caller.services.sessions.open(caller.principal.tenant, caller.memory, request)
    return SessionOpened(made.session_id, made.workflow_id, dict(request.metadata or {}), request.auto_cleanup)


@routes.get("/sessions")
async def get_sessions(wanted: Annotated[EndedQuery, Query()], caller: Reader) -> list[SessionSummary]:
    """What took place in sessions that have ended, the latest first."""
    return await caller.memory.get_sessions(**wanted.given())


@routes.get("/sessions/history")
async def get_history(wanted: Annotated[WorkflowQuery, Query()], caller: Reader) -> list[SessionMessage]:
    """The latest messages of a workflow's open sessions."""
    return await caller.memory.get_conversation_history(**wanted.given())


@routes.post("/sessions/clear")
async def clear(request: WorkflowName, caller: Writer) -> Done:
    """Removes a workflow's session data and ends its sessions; 0 when there was none."""
    return Done(int(await caller.memory.clear_session(request.workflow_id)))


@routes.get("/sessions/{session_id}")
async def summary(session_id: Id, caller: Reader) -> SessionSummary:
    """Who took part, how much was done, since when."""
    async with caller.services.sessions.using(caller.principal.tenant, session_id) as session:
        return await session.get_session_summary()


@routes.post("/sessions/{session_id}/end")
async def end(session_id: Id, caller: Writer) -> SessionSummary:
    """Ends the session; the workflow's short-term data goes with its last one."""
    return await caller.services.sessions.end(caller.principal.tenant, session_id)


@routes.put("/sessions/{session_id}/values")
async def save(session_id: Id, request: SaveValue, caller: Writer) -> Done:
    """Keeps a value of an agent: short-term until the session ends, long-term for good."""
    async with caller.services.sessions.using(caller.principal.tenant, session_id) as session:
        return Done(int(await session.save_agent_memory(**request.given())))


@routes.get("/sessions/{session_id}/values")
async def retrieve(session_id: Id, wanted: Annotated[ValueQuery, Query()], caller: Reader) -> Value:
    """The value saved in this workflow; null when there is none."""
    async with caller.services.sessions.using(caller.principal.tenant, session_id) as session:
        return Value(await session.retrieve_agent_memory(**wanted.given()))


@routes.post("/sessions/{session_id}/messages", status_code=201)
async def say(session_id: Id, request: SessionMessageRequest, caller: Writer) -> SessionMessage:
    """Adds a message to the workflow's conversation."""
    async with caller.services.sessions.using(caller.principal.tenant, session_id) as session:
        return await session.add_conversation_message(**request.given())


@routes.get("/sessions/{session_id}/messages")
async def messages(session_id: Id, wanted: Annotated[LimitQuery, Query()], caller: Reader) -> list[SessionMessage]:
    """The latest messages of all agents in the order they were said."""
    async with caller.services.sessions.using(caller.principal.tenant, session_id) as session:
        return await session.get_conversation_history(wanted.limit)


@routes.post("/sessions/{session_id}/executions", status_code=201)
async def execution(session_id: Id, request: ExecutionRequest, caller: Writer) -> RecordId:
    """Adds to the audit trail, with this workflow and session named."""
    async with caller.services.sessions.using(caller.principal.tenant, session_id) as session:
        return RecordId(await session.save_execution_record(request.agent_id, request.record))
