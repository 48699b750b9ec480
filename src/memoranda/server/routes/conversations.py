"""Conversations: the messages of an agent, with a user or in a session where named."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.threads import in_thread
from memoranda.errors import InvalidInput
from memoranda.server.access import Admin, Caller, Reader, Writer, router
from memoranda.server.requests import (
    AddMessages,
    AgentName,
    DeleteMessages,
    MessagesQuery,
    Owner,
    OwnerQuery,
    RecentQuery,
    ReplaceMessages,
    Retention,
    WindowQuery,
)
from memoranda.server.responses import Conversation, Done, Messages

routes = router("conversations")
_MOST = 10_000
"""Messages of one answer."""


@routes.get("/conversation")
async def get_conversation(owner: Annotated[OwnerQuery, Query()], caller: Reader) -> Conversation:
    """How long a conversation is, and how long it is kept."""
    return await _described(await _of(caller, owner))


@routes.get("/conversation/messages")
async def get_messages(wanted: Annotated[MessagesQuery, Query()], caller: Reader) -> Messages:
    """Messages by their position, the oldest first; `stop` is not among them."""
    conversation = await _of(caller, wanted)
    most = min(wanted.stop, wanted.start + _MOST)
    found = await in_thread(lambda: conversation.messages[wanted.start : most])
    return Messages([message.to_dict() for message in found])


@routes.get("/conversation/recent")
async def get_recent(wanted: Annotated[RecentQuery, Query()], caller: Reader) -> Messages:
    """The newest messages, oldest first."""
    conversation = await _of(caller, wanted)
    return Messages([message.to_dict() for message in await conversation.get_recent(wanted.limit)])


@routes.get("/conversation/window")
async def get_window(wanted: Annotated[WindowQuery, Query()], caller: Reader) -> Messages:
    """The newest turns that fit; a tool call is never parted from its results."""
    conversation = await _of(caller, wanted)
    return Messages([message.to_dict() for message in await conversation.get_window(wanted.max_tokens)])


@routes.post("/conversation/messages")
async def add_messages(request: AddMessages, caller: Writer) -> Conversation:
    """Adds all messages or, on an error, not one; one whose id is already here is skipped."""
    conversation = await _of(caller, request)
    await conversation.add(request.messages, request.allow_duplicates)
    if request.keep is not None:
        await conversation.truncate_to_size(request.keep)
    return await _described(conversation)


@routes.put("/conversation/messages")
async def replace_messages(request: ReplaceMessages, caller: Writer) -> Conversation:
    """From now on, exactly these."""
    conversation = await _of(caller, request)
    await in_thread(conversation.load_state_dict, {"messages": request.messages}, False)
    return await _described(conversation)


@routes.post("/conversation/messages/delete")
async def delete_messages(request: DeleteMessages, caller: Writer) -> Conversation:
    """Deletes by position, negative ones from the end: all of them or none."""
    conversation = await _of(caller, request)
    await conversation.delete(request.positions)
    return await _described(conversation)


@routes.put("/conversations/retention")
async def set_retention(request: Retention, caller: Writer) -> Done:
    """How long an agent's conversations are kept."""
    await caller.memory.set_retention_policy(request.agent_name, request.policy)
    return Done(1)


@routes.post("/conversations/end-run")
async def end_run(request: AgentName, caller: Writer) -> Done:
    """Empties an agent's conversations whose policy is `single_run`."""
    await caller.memory.end_run(request.agent_name)
    return Done(1)


@routes.post("/conversations/clear-agent")
async def clear_agent(request: AgentName, caller: Admin) -> Done:
    """Empties an agent's conversations, with all users."""
    await caller.memory.clear_agent_memory(request.agent_name)
    return Done(1)


@routes.post("/conversations/clear")
async def clear_all(caller: Admin) -> Done:
    """Empties every conversation of the tenant."""
    await caller.memory.clear_all()
    return Done(1)


async def _of(caller: Caller, owner: Owner) -> ConversationMemory:
    if owner.all_users:
        raise InvalidInput("a conversation belongs to one user, or to none: leave out all_users")
    return await caller.memory.get_memory(owner.agent, user=owner.user, session=owner.session)


async def _described(conversation: ConversationMemory) -> Conversation:
    return Conversation(await conversation.size(), conversation.max_messages, conversation.retention_policy)
