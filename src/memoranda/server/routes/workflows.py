"""Conversations, and what workflows share: sessions, values under a key, the audit trail and shared knowledge."""

from __future__ import annotations

from typing import Annotated

from fastapi import Path, Query

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.threads import in_thread
from memoranda.errors import InvalidInput
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
from memoranda.server.requests import (
    AddKnowledgeRequest,
    AddMessagesRequest,
    AgentRequest,
    ClearSessionRequest,
    DeleteMessagesRequest,
    DeleteValueRequest,
    EndedSessionsQuery,
    ExecutionRecordsQuery,
    ExecutionRequest,
    ExecutionStatsQuery,
    HistoryQuery,
    MessagesQuery,
    NamesQuery,
    OpenSessionRequest,
    RecentQuery,
    RemoveKnowledgeRequest,
    ReplaceMessagesRequest,
    RetentionRequest,
    SaveValueRequest,
    ScopedRequest,
    ScopeQuery,
    SessionHistoryQuery,
    SessionMessageRequest,
    SourcesQuery,
    ValueQuery,
    VerifyQuery,
    WindowQuery,
)
from memoranda.server.responses import (
    ConversationInfo,
    CountResponse,
    MessagesResponse,
    OpenedSession,
    RecordId,
    ValueResponse,
)
from memoranda.server.routes import Admin, Caller, Reader, Writer, create_router

conversation_routes = create_router("conversations")
_MAX_MESSAGES = 10_000
"""Messages in one response."""


@conversation_routes.get("/conversation")
async def get_conversation(query: Annotated[ScopeQuery, Query()], caller: Reader) -> ConversationInfo:
    """Return the size of a conversation and its retention policy."""
    return await _describe(await _get_conversation(caller, query))


@conversation_routes.get("/conversation/messages")
async def get_messages(query: Annotated[MessagesQuery, Query()], caller: Reader) -> MessagesResponse:
    """Return messages by position, oldest first; `stop` is exclusive."""
    conversation = await _get_conversation(caller, query)
    stop = min(query.stop, query.start + _MAX_MESSAGES)
    messages = await in_thread(lambda: conversation.messages[query.start : stop])
    return MessagesResponse([message.to_dict() for message in messages])


@conversation_routes.get("/conversation/recent")
async def get_recent(query: Annotated[RecentQuery, Query()], caller: Reader) -> MessagesResponse:
    """Return the newest messages, oldest first."""
    conversation = await _get_conversation(caller, query)
    return MessagesResponse([message.to_dict() for message in await conversation.get_recent(query.limit)])


@conversation_routes.get("/conversation/window")
async def get_window(query: Annotated[WindowQuery, Query()], caller: Reader) -> MessagesResponse:
    """Return the newest turns that fit into `max_tokens`; a tool call is never separated from its results."""
    conversation = await _get_conversation(caller, query)
    return MessagesResponse([message.to_dict() for message in await conversation.get_window(query.max_tokens)])


@conversation_routes.post("/conversation/messages")
async def add_messages(request: AddMessagesRequest, caller: Writer) -> ConversationInfo:
    """Add all messages or, on an error, none; a message whose id is already present is skipped."""
    conversation = await _get_conversation(caller, request)
    await conversation.add(request.messages, request.allow_duplicates)
    if request.keep is not None:
        await conversation.truncate_to_size(request.keep)
    return await _describe(conversation)


@conversation_routes.put("/conversation/messages")
async def replace_messages(request: ReplaceMessagesRequest, caller: Writer) -> ConversationInfo:
    """Replace all messages of a conversation."""
    conversation = await _get_conversation(caller, request)
    await in_thread(conversation.load_state_dict, {"messages": request.messages}, False)
    return await _describe(conversation)


@conversation_routes.post("/conversation/messages/delete")
async def delete_messages(request: DeleteMessagesRequest, caller: Writer) -> ConversationInfo:
    """Delete messages by position, negative positions from the end: all of them or none."""
    conversation = await _get_conversation(caller, request)
    await conversation.delete(request.positions)
    return await _describe(conversation)


@conversation_routes.post("/conversation/messages/pop")
async def pop_message(request: ScopedRequest, caller: Writer) -> MessagesResponse:
    """Remove the newest message and return it; no message when the conversation is empty."""
    message = await (await _get_conversation(caller, request)).pop()
    return MessagesResponse([] if message is None else [message.to_dict()])


@conversation_routes.put("/conversations/retention")
async def set_retention(request: RetentionRequest, caller: Writer) -> CountResponse:
    """Set how long an agent's conversations are kept."""
    await caller.memory.set_retention_policy(request.agent_name, request.policy)
    return CountResponse(1)


@conversation_routes.post("/conversations/end-run")
async def end_run(request: AgentRequest, caller: Writer) -> CountResponse:
    """Empty the conversations of an agent whose retention policy is `single_run`."""
    await caller.memory.end_run(request.agent_name)
    return CountResponse(1)


@conversation_routes.post("/conversations/clear-agent")
async def clear_agent(request: AgentRequest, caller: Admin) -> CountResponse:
    """Empty an agent's conversations with all users."""
    await caller.memory.clear_agent_memory(request.agent_name)
    return CountResponse(1)


@conversation_routes.post("/conversations/clear")
async def clear_all(caller: Admin) -> CountResponse:
    """Empty every conversation of the tenant."""
    await caller.memory.clear_all()
    return CountResponse(1)


async def _get_conversation(caller: Caller, request: ScopedRequest) -> ConversationMemory:
    if request.all_users:
        raise InvalidInput("a conversation belongs to one user, or to none: leave out all_users")
    return await caller.memory.get_memory(request.agent, user=request.user, session=request.session)


async def _describe(conversation: ConversationMemory) -> ConversationInfo:
    return ConversationInfo(await conversation.size(), conversation.max_messages, conversation.retention_policy)


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
