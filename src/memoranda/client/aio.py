"""The remote manager, awaited: the same methods, arguments and results."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from os import PathLike
from types import TracebackType
from typing import Self
from weakref import WeakValueDictionary

import httpx2

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.threads import in_thread
from memoranda.client import manager, requests
from memoranda.client.transport import AsyncTransport, awaited
from memoranda.results import ExportReport, ImportReport
from memoranda.types import ANY, AnyUser, ArmScore, Progress, Recall


class MemoryManager:
    """The memory of a Memoranda server, awaited. The tenant is the key's."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = 60.0,
        client: httpx2.AsyncClient | None = None,
        sync_client: httpx2.Client | None = None,
    ) -> None:
        self._transport = AsyncTransport(url, api_key, timeout, client)
        # Conversations and files are worked on in threads, as in the embedded twin.
        self._blocking = manager.MemoryManager(url, api_key=api_key, timeout=timeout, client=sync_client)
        self._twins: WeakValueDictionary[object, ConversationMemory] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends the connections; may be called twice."""
        self._blocking.close()
        await self._transport.close()

    remember = awaited(requests.remember)
    recall = awaited(requests.recall)
    why_not = awaited(requests.why_not)

    async def why(self, recall: Recall, memory_id: int) -> tuple[ArmScore, ...]:
        """What each arm and boost said of one hit of a recall."""
        return self._blocking.why(recall, memory_id)

    context = awaited(requests.context)

    add_memory = awaited(requests.add_memory)
    add_memories = awaited(requests.add_memories)
    get = awaited(requests.get)
    update = awaited(requests.update)
    delete = awaited(requests.delete)
    list_memories = awaited(requests.list_memories)
    search_memories = awaited(requests.search_memories)
    search_memory = awaited(requests.search_memory)
    add_memory_association = awaited(requests.add_memory_association)
    get_related_memories = awaited(requests.get_related_memories)
    history = awaited(requests.history)
    archive = awaited(requests.archive)
    restore = awaited(requests.restore)
    pin = awaited(requests.pin)
    unpin = awaited(requests.unpin)
    cleanup_old_memories = awaited(requests.cleanup_old_memories)
    upkeep = awaited(requests.upkeep)
    forget = awaited(requests.forget)

    save = awaited(requests.save)
    retrieve = awaited(requests.retrieve)
    search_similar = awaited(requests.search_similar)

    get_conversation_history = awaited(requests.get_conversation_history)
    clear_session = awaited(requests.clear_session)
    get_sessions = awaited(requests.get_sessions)

    save_execution_record = awaited(requests.save_execution_record)
    get_execution_records = awaited(requests.get_execution_records)
    get_execution_stats = awaited(requests.get_execution_stats)
    verify_executions = awaited(requests.verify_executions)

    add_knowledge = awaited(requests.add_knowledge)
    remove_knowledge = awaited(requests.remove_knowledge)
    get_knowledge_sources = awaited(requests.get_knowledge_sources)

    async def get_memory(
        self, agent_name: str | None = None, *, user: str | None = None, session: str | None = None
    ) -> ConversationMemory:
        """The conversation of an agent, with a user or in a session where named: the same object at each call."""
        core = await in_thread(self._blocking.get_memory, agent_name, user=user, session=session)
        return self._twins.setdefault(core, ConversationMemory.over(core))

    @asynccontextmanager
    async def run(self, agent_name: str) -> AsyncIterator[ConversationMemory]:
        """One run of an agent, for `async with`; when it ends, a `single_run` conversation is emptied."""
        conversation = await self.get_memory(agent_name)
        try:
            yield conversation
        finally:
            await self.end_run(agent_name)

    async def set_retention_policy(self, agent_name: str, policy: str) -> None:
        """How long an agent's conversations are kept: single_run, session or persistent. Open ones move."""
        await in_thread(self._blocking.set_retention_policy, agent_name, policy)

    clear_agent_memory = awaited(requests.clear_agent_memory)
    clear_all = awaited(requests.clear_all)
    end_run = awaited(requests.end_run)

    async def export_jsonl(
        self,
        target: str | PathLike[str],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = ANY,
        session: str | None = None,
        progress: Progress | None = None,
    ) -> ExportReport:
        """Messages, memories and associations as a file of JSON lines; all users' take the admin scope."""
        work = self._blocking.export_jsonl
        return await in_thread(work, target, agent=agent, user=user, session=session, progress=progress)

    async def import_jsonl(self, source: str | PathLike[str], *, progress: Progress | None = None) -> ImportReport:
        """Loads an export; what is there already stays, and running it again adds nothing."""
        return await in_thread(self._blocking.import_jsonl, source, progress=progress)

    get_stats = awaited(requests.get_stats)
    health = awaited(requests.health)
