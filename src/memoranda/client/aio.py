"""The async client: the methods, arguments and results of the client, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, overload
from weakref import WeakValueDictionary

import httpx2

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.manager import SessionContext as EmbeddedSession
from memoranda.aio.threads import Threads, in_thread, off_loop
from memoranda.client import requests, sessions
from memoranda.client.manager import MemoryManager as _Sync
from memoranda.client.transport import AsyncHttpTransport, async_calls, async_method
from memoranda.records import AsyncClosing
from memoranda.types import JSON, Memory


class MemoryManager(AsyncClosing):
    """The memory of a Memoranda server, awaited. The key decides the tenant.

    Args:
        url: The address of the server, for example `http://127.0.0.1:8700`.
        api_key: The API key, if the server has keys.
        timeout: The seconds to wait for a response.
        client: The HTTP client to send requests with; it is closed with this manager.
        sync_client: The same for conversations and files, which are handled in threads.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        client: httpx2.AsyncClient | None = None,
        sync_client: httpx2.Client | None = None,
    ) -> None:
        self._transport = AsyncHttpTransport(url, api_key, timeout, client)
        # Conversations and files are handled in threads, as in the embedded async manager.
        self._inner = _Sync(url, api_key=api_key, timeout=timeout, client=sync_client)
        self._threads = Threads()
        self._conversations: WeakValueDictionary[object, ConversationMemory] = WeakValueDictionary()

    async def close(self) -> None:
        """Close the connections; calling it twice is allowed."""
        await in_thread(self._threads.close)  # this waits for running calls
        self._inner.close()
        await self._transport.close()

    remember = async_method(requests.remember)
    recall = async_method(requests.recall)
    why_not = async_method(requests.why_not)
    replay = async_method(requests.replay)
    why = off_loop(_Sync.why)
    context = async_method(requests.context)

    add_memory = async_method(requests.add_memory)
    add_memories = async_method(requests.add_memories)
    get = async_method(requests.get)
    update = async_calls(requests.update)
    delete = async_method(requests.delete)
    delete_memory = off_loop(_Sync.delete_memory)
    list_memories = async_calls(requests.list_memories)
    search_memories = async_method(requests.search_memories)
    search_memory = async_method(requests.search_memory)
    add_memory_association = async_method(requests.add_memory_association)
    get_related_memories = async_method(requests.get_related_memories)
    facts = async_method(requests.facts)
    conflicts = async_method(requests.conflicts)
    history = async_method(requests.history)
    release = async_method(requests.release)
    quarantine = async_method(requests.quarantine)
    discard = async_method(requests.discard)
    archive = async_method(requests.archive)
    restore = async_method(requests.restore)
    pin = async_method(requests.pin)
    unpin = async_method(requests.unpin)
    cleanup_old_memories = async_method(requests.cleanup_old_memories)
    upkeep = async_method(requests.upkeep)
    forget = async_method(requests.forget)
    receipts = async_method(requests.receipts)
    receipt = async_method(requests.receipt)
    verify_receipt = async_method(requests.verify_receipt)

    save = async_method(requests.save)
    retrieve = async_method(requests.retrieve)
    delete_value = async_method(requests.delete_value)
    search_similar = async_method(requests.search_similar)

    put = async_method(requests.put)
    put_many = async_method(requests.put_many)
    get_item = async_method(requests.get_item)
    delete_item = async_method(requests.delete_item)
    search_items = async_method(requests.search_items)
    namespaces = async_method(requests.namespaces)

    get_conversation_history = async_method(requests.get_conversation_history)
    clear_session = async_method(requests.clear_session)
    get_sessions = async_method(requests.get_sessions)

    save_execution_record = async_method(requests.save_execution_record)
    get_execution_records = async_method(requests.get_execution_records)
    get_execution_stats = async_method(requests.get_execution_stats)
    verify_executions = async_method(requests.verify_executions)

    add_knowledge = async_method(requests.add_knowledge)
    remove_knowledge = async_method(requests.remove_knowledge)
    get_knowledge_sources = async_method(requests.get_knowledge_sources)

    @overload
    async def get_memory(
        self, agent_name: int, *, user: str | None = None, session: str | None = None
    ) -> Memory | None: ...

    @overload
    async def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory: ...

    async def get_memory(
        self, agent_name: str | int | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory | Memory | None:
        """Return the conversation of an agent, optionally with a user or in a session: the same object at each call.

        With a number, return the memory with this id; None when there is none.
        """
        find: Callable[[], Any] = partial(self._inner.get_memory, agent_name, user=user, session=session)
        found = await in_thread(find)
        if isinstance(found, Memory | None):
            return found
        return self._conversations.setdefault(found, ConversationMemory.over(found))

    @asynccontextmanager
    async def run(self, agent_name: str) -> AsyncIterator[ConversationMemory]:
        """Run an agent, for `async with`; at the end, a `single_run` conversation is emptied."""
        conversation = await self.get_memory(agent_name)
        try:
            yield conversation
        finally:
            await self.end_run(agent_name)

    set_retention_policy = off_loop(_Sync.set_retention_policy)
    clear_agent_memory = async_method(requests.clear_agent_memory)
    clear_all = async_method(requests.clear_all)
    end_run = async_method(requests.end_run)

    export_jsonl = off_loop(_Sync.export_jsonl)
    import_jsonl = off_loop(_Sync.import_jsonl)

    get_stats = async_method(requests.get_stats)
    users = async_method(requests.users)
    agents = async_method(requests.agents)
    sessions = async_method(requests.sessions)
    health = async_method(requests.health)


class SessionContext(EmbeddedSession):
    """A session of a workflow on the server. It opens when it is entered, or at the first call.

    `is_active`, `active_agents` and `agent_interactions` ask the server, and block the event loop until it answers;
    `await session.get_session_summary()` returns the same without that.

    Args:
        workflow_id: The workflow.
        memory_manager: The client.
        metadata: Data to store with the session.
        auto_cleanup: False to keep the session's values until they expire; None for the server's setting.
    """

    def __init__(
        self,
        workflow_id: str,
        memory_manager: MemoryManager,
        metadata: Mapping[str, JSON] | None = None,
        auto_cleanup: bool | None = None,
    ) -> None:
        create = partial(sessions.SessionContext, workflow_id, memory_manager._inner, metadata, auto_cleanup)
        self._prepare(workflow_id, memory_manager._threads, create)


create_session = SessionContext
"""Return a session of a workflow on the server, for `async with`."""
