"""Conversations: the messages of an agent, optionally with a user or in a session."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.threads import in_thread
from memoranda.errors import InvalidInput
from memoranda.server.access import Admin, Caller, Reader, Writer, create_router
from memoranda.server.requests import (
    AddMessagesRequest,
    AgentRequest,
    DeleteMessagesRequest,
    MessagesQuery,
    RecentQuery,
    ReplaceMessagesRequest,
    RetentionRequest,
    ScopedRequest,
    ScopeQuery,
    WindowQuery,
)
from memoranda.server.responses import ConversationInfo, CountResponse, MessagesResponse

routes = create_router("conversations")
_MAX_MESSAGES = 10_000
"""Messages in one response."""


@routes.get("/conversation")
async def get_conversation(query: Annotated[ScopeQuery, Query()], caller: Reader) -> ConversationInfo:
    """Return the size of a conversation and its retention policy."""
    return await _describe(await _get_conversation(caller, query))


@routes.get("/conversation/messages")
async def get_messages(query: Annotated[MessagesQuery, Query()], caller: Reader) -> MessagesResponse:
    """Return messages by position, oldest first; `stop` is exclusive."""
    conversation = await _get_conversation(caller, query)
    stop = min(query.stop, query.start + _MAX_MESSAGES)
    messages = await in_thread(lambda: conversation.messages[query.start : stop])
    return MessagesResponse([message.to_dict() for message in messages])


@routes.get("/conversation/recent")
async def get_recent(query: Annotated[RecentQuery, Query()], caller: Reader) -> MessagesResponse:
    """Return the newest messages, oldest first."""
    conversation = await _get_conversation(caller, query)
    return MessagesResponse([message.to_dict() for message in await conversation.get_recent(query.limit)])


@routes.get("/conversation/window")
async def get_window(query: Annotated[WindowQuery, Query()], caller: Reader) -> MessagesResponse:
    """Return the newest turns that fit into `max_tokens`; a tool call is never separated from its results."""
    conversation = await _get_conversation(caller, query)
    return MessagesResponse([message.to_dict() for message in await conversation.get_window(query.max_tokens)])


@routes.post("/conversation/messages")
async def add_messages(request: AddMessagesRequest, caller: Writer) -> ConversationInfo:
    """Add all messages or, on an error, none; a message whose id is already present is skipped."""
    conversation = await _get_conversation(caller, request)
    await conversation.add(request.messages, request.allow_duplicates)
    if request.keep is not None:
        await conversation.truncate_to_size(request.keep)
    return await _describe(conversation)


@routes.put("/conversation/messages")
async def replace_messages(request: ReplaceMessagesRequest, caller: Writer) -> ConversationInfo:
    """Replace all messages of a conversation."""
    conversation = await _get_conversation(caller, request)
    await in_thread(conversation.load_state_dict, {"messages": request.messages}, False)
    return await _describe(conversation)


@routes.post("/conversation/messages/delete")
async def delete_messages(request: DeleteMessagesRequest, caller: Writer) -> ConversationInfo:
    """Delete messages by position, negative positions from the end: all of them or none."""
    conversation = await _get_conversation(caller, request)
    await conversation.delete(request.positions)
    return await _describe(conversation)


@routes.post("/conversation/messages/pop")
async def pop_message(request: ScopedRequest, caller: Writer) -> MessagesResponse:
    """Remove the newest message and return it; no message when the conversation is empty."""
    message = await (await _get_conversation(caller, request)).pop()
    return MessagesResponse([] if message is None else [message.to_dict()])


@routes.put("/conversations/retention")
async def set_retention(request: RetentionRequest, caller: Writer) -> CountResponse:
    """Set how long an agent's conversations are kept."""
    await caller.memory.set_retention_policy(request.agent_name, request.policy)
    return CountResponse(1)


@routes.post("/conversations/end-run")
async def end_run(request: AgentRequest, caller: Writer) -> CountResponse:
    """Empty the conversations of an agent whose retention policy is `single_run`."""
    await caller.memory.end_run(request.agent_name)
    return CountResponse(1)


@routes.post("/conversations/clear-agent")
async def clear_agent(request: AgentRequest, caller: Admin) -> CountResponse:
    """Empty an agent's conversations with all users."""
    await caller.memory.clear_agent_memory(request.agent_name)
    return CountResponse(1)


@routes.post("/conversations/clear")
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
