"""The async client: the methods, arguments and results of the client, awaited."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from os import PathLike
from typing import Any, overload
from weakref import WeakValueDictionary

import httpx2

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.manager import SessionContext as EmbeddedSession
from memoranda.aio.threads import Threads, in_thread
from memoranda.client import manager, requests, sessions
from memoranda.client.transport import AsyncHttpTransport, async_calls, async_method
from memoranda.closing import AsyncClosing
from memoranda.errors import NotFound
from memoranda.results.transfer import ExportReport, ImportReport
from memoranda.types import ANY, JSON, AnyUser, ArmScore, Memory, Progress, Recall
from memoranda.validation import check_integer


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
        self._sync = manager.MemoryManager(url, api_key=api_key, timeout=timeout, client=sync_client)
        self._threads = Threads()
        self._conversations: WeakValueDictionary[object, ConversationMemory] = WeakValueDictionary()

    async def close(self) -> None:
        """Close the connections; calling it twice is allowed."""
        await in_thread(self._threads.close)  # this waits for running calls
        self._sync.close()
        await self._transport.close()

    remember = async_method(requests.remember)
    recall = async_method(requests.recall)
    why_not = async_method(requests.why_not)

    replay = async_method(requests.replay)

    async def why(
        self,
        recall: Recall | str,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> tuple[ArmScore, ...]:
        """Return what each arm and boost contributed to one hit of a recall, or of a past one by its id."""
        if isinstance(recall, str):
            from memoranda.recall.explain import why  # loads numpy

            past = await self.replay(recall, agent=agent, user=user, session=session)
            return why(past, check_integer(memory_id, "a memory id"))
        return self._sync.why(recall, memory_id)

    context = async_method(requests.context)

    add_memory = async_method(requests.add_memory)
    add_memories = async_method(requests.add_memories)
    get = async_method(requests.get)
    update = async_calls(requests.update)
    delete = async_method(requests.delete)

    async def delete_memory(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> bool:
        """Delete one memory and return whether there was one with this id."""
        try:
            return bool(await self.delete(memory_id, agent=agent, user=user, session=session))
        except NotFound:
            return False

    list_memories = async_method(requests.list_memories)
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
        find: Callable[[], Any] = partial(self._sync.get_memory, agent_name, user=user, session=session)
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

    async def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """Set how long an agent's conversations are kept: single_run, session or persistent."""
        await in_thread(self._sync.set_retention_policy, agent_name, policy)

    clear_agent_memory = async_method(requests.clear_agent_memory)
    clear_all = async_method(requests.clear_all)
    end_run = async_method(requests.end_run)

    async def export_jsonl(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        progress: Progress | None = None,
        encryption_key: str | None = None,
        plain: bool = False,
    ) -> ExportReport:
        """Export messages, memories and associations as a file of JSON lines; all users need the admin scope.

        Args:
            target: The file to write.
            agent: Only this agent's.
            user: Only this user's; None for those of no user, ANY for all.
            session: Only this session's.
            progress: Called with the number of memories done and in total.
            encryption_key: Encrypts the file with this key, here: the server never sees it.
            plain: Not needed here: without a key the file is not encrypted.
        """
        return await in_thread(
            self._sync.export_jsonl,
            target,
            agent=agent,
            user=user,
            session=session,
            progress=progress,
            encryption_key=encryption_key,
            plain=plain,
        )

    async def import_jsonl(
        self,
        source: str | PathLike[str],
        *,
        include_forgotten: bool = False,
        progress: Progress | None = None,
        encryption_key: str | None = None,
    ) -> ImportReport:
        """Import an export; existing data stays, and importing it again adds nothing."""
        return await in_thread(
            self._sync.import_jsonl,
            source,
            include_forgotten=include_forgotten,
            progress=progress,
            encryption_key=encryption_key,
        )

    get_stats = async_method(requests.get_stats)
    users = async_method(requests.users)
    agents = async_method(requests.agents)
    sessions = async_method(requests.sessions)
    health = async_method(requests.health)


class SessionContext(EmbeddedSession):
    """A session of a workflow on the server. It opens when it is entered, or at the first call.

    `is_active`, `active_agents` and `agent_interactions` ask the server, and the event loop waits meanwhile;
    `await session.get_session_summary()` returns the same without that.
    """

    def __init__(
        self,
        workflow_id: str,
        memory_manager: MemoryManager,
        metadata: Mapping[str, JSON] | None = None,
        auto_cleanup: bool | None = None,
    ) -> None:
        create: Callable[[], Any] = partial(
            sessions.create_session, workflow_id, memory_manager._sync, metadata, auto_cleanup
        )
        self._prepare(workflow_id, memory_manager._threads, create)


def create_session(
    workflow_id: str,
    memory_manager: MemoryManager,
    metadata: Mapping[str, JSON] | None = None,
    auto_cleanup: bool | None = None,
) -> SessionContext:
    """Return a session of a workflow on the server, for `async with`.

    Args:
        workflow_id: The workflow.
        memory_manager: The client.
        metadata: Data to store with the session.
        auto_cleanup: False to keep the session's values until they expire; None for the server's setting.
    """
    return SessionContext(workflow_id, memory_manager, metadata, auto_cleanup)
