"""What workflows share: sessions, values under a key, the audit trail and shared knowledge."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from memoranda.results.maintenance import NameActivity
from memoranda.results.workflows import (
    Document,
    ExecutionPage,
    ExecutionStats,
    KnowledgeReport,
    KnowledgeSource,
    SessionMessage,
    SessionSummary,
    VerificationReport,
)
from memoranda.server.access import Admin, Reader, Writer, create_router
from memoranda.server.requests import (
    AddKnowledgeRequest,
    ClearSessionRequest,
    DeleteValueRequest,
    EndedSessionsQuery,
    ExecutionRecordsQuery,
    ExecutionRequest,
    ExecutionStatsQuery,
    HistoryQuery,
    NamesQuery,
    OpenSessionRequest,
    RemoveKnowledgeRequest,
    SaveValueRequest,
    SessionHistoryQuery,
    SessionMessageRequest,
    SourcesQuery,
    ValueQuery,
    VerifyQuery,
)
from memoranda.server.responses import CountResponse, OpenedSession, RecordId, ValueResponse

routes = create_router("sessions")
SessionId = Annotated[str, Path(pattern="^[0-9a-f]{1,64}$", description="The id that `POST /sessions` returned")]
value_routes = create_router("values")
execution_routes = create_router("executions")
knowledge_routes = create_router("knowledge")


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
        return await session.get_conversation_history(**query.arguments())


@routes.post("/sessions/{session_id}/executions", status_code=201)
async def save_session_execution(session_id: SessionId, request: ExecutionRequest, caller: Writer) -> RecordId:
    """Append a record to the audit trail, with this workflow and session."""
    async with caller.services.sessions.use(caller.principal.tenant, caller.memory, session_id) as session:
        return RecordId(await session.save_execution_record(request.agent_id, request.record))


@value_routes.put("/values")
async def save_value(request: SaveValueRequest, caller: Writer) -> CountResponse:
    """Store a value: short-term until it expires, long-term permanently."""
    return CountResponse(int(await caller.memory.save(**request.arguments())))


@value_routes.post("/values/delete")
async def delete_value(request: DeleteValueRequest, caller: Writer) -> CountResponse:
    """Delete a value; the count is 0 when there was none."""
    return CountResponse(int(await caller.memory.delete_value(**request.arguments())))


@value_routes.get("/values")
async def retrieve_value(query: Annotated[ValueQuery, Query()], caller: Reader) -> ValueResponse:
    """Return a value; null when there is none."""
    return ValueResponse(await caller.memory.retrieve(**query.arguments()))


@execution_routes.post("/executions", status_code=201)
async def save_execution(request: ExecutionRequest, caller: Writer) -> RecordId:
    """Append a record, with its secrets redacted."""
    return RecordId(await caller.memory.save_execution_record(request.agent_id, request.record))


@execution_routes.get("/executions")
async def list_executions(query: Annotated[ExecutionRecordsQuery, Query()], caller: Reader) -> ExecutionPage:
    """Return the matching records, newest first, and the cursor of the next page."""
    return await caller.memory.get_execution_records(session=query.session, **query.arguments())


@execution_routes.get("/executions/stats")
async def get_execution_stats(query: Annotated[ExecutionStatsQuery, Query()], caller: Reader) -> ExecutionStats:
    """Return how many executions there were, how they ended, and how long they took."""
    return await caller.memory.get_execution_stats(session=query.session, **query.arguments())


@execution_routes.get("/executions/verify")
async def verify_executions(query: Annotated[VerifyQuery, Query()], caller: Reader) -> VerificationReport:
    """Check that every record is present, unchanged and in order."""
    return await caller.memory.verify_executions(query.head)


@knowledge_routes.post("/knowledge")
async def add_documents(request: AddKnowledgeRequest, caller: Admin) -> list[KnowledgeReport]:
    """Add documents; a document whose source exists already replaces it."""
    return await caller.memory.add_knowledge(
        [
            Document(item.text, item.source, item.version, item.metadata or {}, item.markdown)
            for item in request.documents
        ]
    )


@knowledge_routes.get("/knowledge")
async def list_documents(query: Annotated[SourcesQuery, Query()], caller: Reader) -> list[KnowledgeSource]:
    """Return the shared documents by name."""
    return await caller.memory.get_knowledge_sources(query.limit, query.offset)


@knowledge_routes.post("/knowledge/remove")
async def remove_document(request: RemoveKnowledgeRequest, caller: Admin) -> CountResponse:
    """Remove a document; return how many chunks it had."""
    return CountResponse(await caller.memory.remove_knowledge(request.source))
