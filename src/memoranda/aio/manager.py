"""The async versions of `MemoryManager`, `SessionContext` and `ConversationContext`."""

from __future__ import annotations

import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager
from copy import copy
from functools import partial
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar, overload
from weakref import WeakValueDictionary

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.threads import Threads, in_thread, off_loop, takes_arguments_of
from memoranda.conversation.memory import ConversationMemory as SyncConversation
from memoranda.errors import Closed, MemorandaError
from memoranda.manager import manager
from memoranda.persistent import agents
from memoranda.records import AsyncClosing
from memoranda.results.workflows import SessionSummary
from memoranda.sessions.context import SessionContext as _SyncSession
from memoranda.sessions.context import Sessions
from memoranda.settings import MemoryConfig
from memoranda.types import JSON, Memory

_Sync = manager.MemoryManager


class MemoryManager:
    """Memory for agents that never blocks the event loop. Takes the arguments of `memoranda.MemoryManager`."""

    @takes_arguments_of(_Sync.__init__)
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._adopt(_Sync(*args, **kwargs))

    def _adopt(self, blocking: _Sync) -> None:
        self._inner = blocking
        self._threads = Threads()
        self._shares_threads = False
        # Weak, because an async conversation has no state of its own: it can be made again at any time.
        self._wrappers: WeakValueDictionary[SyncConversation, ConversationMemory] = WeakValueDictionary()

    async def __aenter__(self) -> Self:
        await self._threads.run(self._inner.__enter__, model=False)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def for_tenant(self, tenant: str) -> MemoryManager:
        """Return a manager of another tenant with the same store and models. It closes with this one."""
        other = copy(self)
        other._inner, other._wrappers = self._inner.for_tenant(tenant), WeakValueDictionary()
        other._threads, other._shares_threads = self._threads.for_tenant(tenant), True
        return other

    async def close(self) -> None:
        """Save the index and close the store. Can be called twice."""
        if not self._threads.closed:
            await self._threads.run(self._inner.close, model=False)
            if not self._shares_threads:
                await in_thread(self._threads.close)  # this waits for running calls

    remember = off_loop(_Sync.remember, model=True)
    recall = off_loop(_Sync.recall, model=True)
    replay = off_loop(_Sync.replay)
    why = off_loop(_Sync.why)
    why_not = off_loop(_Sync.why_not, model=True)
    context = off_loop(_Sync.context, model=True)

    add_memory = off_loop(_Sync.add_memory, model=True)
    add_memories = off_loop(_Sync.add_memories, model=True)
    get = off_loop(_Sync.get)
    update = off_loop(_Sync.update, model=True)
    delete = off_loop(_Sync.delete)
    delete_memory = off_loop(_Sync.delete_memory)
    release = off_loop(_Sync.release)
    quarantine = off_loop(_Sync.quarantine)
    discard = off_loop(_Sync.discard)
    list_memories = off_loop(_Sync.list_memories)
    search_memories = off_loop(_Sync.search_memories, model=True)
    search_memory = off_loop(_Sync.search_memory, model=True)
    add_memory_association = off_loop(_Sync.add_memory_association)
    get_related_memories = off_loop(_Sync.get_related_memories)
    cleanup_old_memories = off_loop(_Sync.cleanup_old_memories, background=True)

    put = off_loop(_Sync.put, model=True)
    put_many = off_loop(_Sync.put_many, model=True)
    get_item = off_loop(_Sync.get_item)
    delete_item = off_loop(_Sync.delete_item)
    search_items = off_loop(_Sync.search_items, model=True)
    namespaces = off_loop(_Sync.namespaces)

    save = off_loop(_Sync.save, model=True)
    retrieve = off_loop(_Sync.retrieve)
    delete_value = off_loop(_Sync.delete_value)
    search_similar = off_loop(_Sync.search_similar, model=True)

    get_conversation_history = off_loop(_Sync.get_conversation_history)
    clear_session = off_loop(_Sync.clear_session)
    get_sessions = off_loop(_Sync.get_sessions)

    save_execution_record = off_loop(_Sync.save_execution_record)
    get_execution_records = off_loop(_Sync.get_execution_records)
    get_execution_stats = off_loop(_Sync.get_execution_stats)
    verify_executions = off_loop(_Sync.verify_executions, background=True)
    export_files = off_loop(_Sync.export_files, background=True)
    import_files = off_loop(_Sync.import_files, background=True)

    add_knowledge = off_loop(_Sync.add_knowledge, background=True)
    remove_knowledge = off_loop(_Sync.remove_knowledge)
    get_knowledge_sources = off_loop(_Sync.get_knowledge_sources)

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
        find = partial(self._inner.get_memory, agent_name, user=user, session=session)
        found = await self._threads.run(find, model=False)
        return self._wrap(found) if isinstance(found, SyncConversation) else found

    @asynccontextmanager
    async def run(self, agent_name: str) -> AsyncIterator[ConversationMemory]:
        """Run an agent, for `async with`. At the end, a `single_run` conversation is cleared."""
        run = self._inner.run(agent_name)
        conversation = await in_thread(run.__enter__)
        try:
            yield self._wrap(conversation)
        finally:
            await in_thread(run.__exit__, None, None, None)

    clear_agent_memory = off_loop(_Sync.clear_agent_memory)
    clear_all = off_loop(_Sync.clear_all)
    set_retention_policy = off_loop(_Sync.set_retention_policy)
    end_run = off_loop(_Sync.end_run)

    backup = off_loop(_Sync.backup, background=True)
    check = off_loop(_Sync.check, background=True)
    repair = off_loop(_Sync.repair, background=True)
    export_jsonl = off_loop(_Sync.export_jsonl, background=True)
    import_jsonl = off_loop(_Sync.import_jsonl, background=True)
    archive_to = off_loop(_Sync.archive_to, background=True)
    restore_from = off_loop(_Sync.restore_from, background=True)

    upkeep = off_loop(_Sync.upkeep, model=True, background=True)
    forget = off_loop(_Sync.forget, background=True)
    forget_again = off_loop(_Sync.forget_again, background=True)
    receipts = off_loop(_Sync.receipts)
    receipt = off_loop(_Sync.receipt)
    verify_receipt = off_loop(_Sync.verify_receipt)
    facts = off_loop(_Sync.facts)
    conflicts = off_loop(_Sync.conflicts)
    history = off_loop(_Sync.history)
    archive = off_loop(_Sync.archive)
    restore = off_loop(_Sync.restore)
    pin = off_loop(_Sync.pin)
    unpin = off_loop(_Sync.unpin)

    reembed = off_loop(_Sync.reembed, background=True)
    get_stats = off_loop(_Sync.get_stats)
    users = off_loop(_Sync.users)
    agents = off_loop(_Sync.agents)
    sessions = off_loop(_Sync.sessions)
    health = off_loop(_Sync.health)

    def _wrap(self, conversation: SyncConversation) -> ConversationMemory:
        return self._wrappers.setdefault(conversation, ConversationMemory.over(conversation))


P = ParamSpec("P")
R = TypeVar("R")


def _off_loop(
    method: Callable[Concatenate[_SyncSession, P], R], *, model: bool = False
) -> Callable[Concatenate[SessionContext, P], Coroutine[Any, Any, R]]:
    """Return the async version of a session method. The first call opens the session."""

    @functools.wraps(method)
    async def call(self: SessionContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        session = await self._get_session()
        # By its name: the session may be one of a server.
        bound: Callable[[], R] = functools.partial(getattr(session, method.__name__), *args, **kwargs)
        return await self._threads.run(bound, model=model)

    return call


def _opened(name: str) -> property:
    """Return an attribute of the blocking session, once it is open. Each reads at most one value of the store."""

    def read(self: SessionContext) -> Any:
        if self._session is None:
            raise Closed(f"session {self.workflow_id!r} is not open yet: enter it with `async with` first")
        return getattr(self._session, name)

    return property(read, doc=getattr(_SyncSession, name, None).__doc__)


class SessionContext:
    """The session memory of one workflow. It opens when it is entered, or at the first call.

    Its properties are those of the opened session; reading one before that raises `Closed`.

    Args:
        workflow_id: The workflow the session belongs to.
        memory_manager: The manager that stores the session.
        metadata: Stored with the session.
        auto_cleanup: Whether the session's data is deleted when it ends; None for the configured default.
    """

    def __init__(
        self,
        workflow_id: str,
        memory_manager: MemoryManager,
        metadata: Mapping[str, JSON] | None = None,
        auto_cleanup: bool | None = None,
    ) -> None:
        create = functools.partial(manager.create_session, workflow_id, memory_manager._inner, metadata, auto_cleanup)
        self._prepare(workflow_id, memory_manager._threads, create)

    @classmethod
    def _over(cls, session: _SyncSession, threads: Threads) -> Self:
        """Return an open session, awaited."""
        wrapper = cls.__new__(cls)
        wrapper._prepare(session.workflow_id, threads, lambda: session)
        return wrapper

    def _prepare(self, workflow_id: str, threads: Threads, create: Callable[[], _SyncSession]) -> None:
        self.workflow_id = workflow_id
        self._threads = threads
        self._create = create
        self._lock = threading.Lock()
        self._session: _SyncSession | None = None

    async def _get_session(self) -> _SyncSession:
        if self._session is not None:
            return self._session
        return await self._threads.run(self._open, model=False)

    def _open(self) -> _SyncSession:
        with self._lock:
            session = self._session or self._create()
            self._session = session
        return session

    async def __aenter__(self) -> Self:
        await self._get_session()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            session = await self._get_session()
            await self._threads.run(functools.partial(session.__exit__, kind, error, trace), model=False)
        except MemorandaError:  # with an error of the caller's: the manager was closed, and that error matters more
            if error is None:
                raise

    session_id = _opened("session_id")
    metadata = _opened("metadata")
    auto_cleanup = _opened("auto_cleanup")
    started_at = _opened("started_at")
    ended_at = _opened("ended_at")
    is_active = _opened("is_active")
    active_agents = _opened("active_agents")
    agent_interactions = _opened("agent_interactions")

    save_agent_memory = _off_loop(_SyncSession.save_agent_memory, model=True)
    retrieve_agent_memory = _off_loop(_SyncSession.retrieve_agent_memory)
    add_conversation_message = _off_loop(_SyncSession.add_conversation_message)
    get_conversation_history = _off_loop(_SyncSession.get_conversation_history)
    save_execution_record = _off_loop(_SyncSession.save_execution_record)
    get_session_summary = _off_loop(_SyncSession.get_session_summary)
    get_session_duration = _off_loop(_SyncSession.get_session_duration)
    end_session = _off_loop(_SyncSession.end_session)
    cleanup = _off_loop(_SyncSession.cleanup)


create_session = SessionContext
"""Return a session of a workflow, for `async with`."""


async def share_session(session_id: str, memory_manager: MemoryManager) -> SessionContext | None:
    """Return an open session that other processes may use as well; None when it is not open."""
    sessions = memory_manager._inner._components.sessions
    found = await memory_manager._threads.run(functools.partial(sessions.share, session_id), model=False)
    return None if found is None else SessionContext._over(found, memory_manager._threads)


async def log_if_abandoned(session: SessionContext) -> bool:
    """Return whether a shared session is no longer open; if it was never ended, store what is known of it."""
    inner = await session._get_session()
    return await session._threads.run(functools.partial(Sessions.log_if_abandoned, inner), model=False)


async def summarize_open_sessions(memory_manager: MemoryManager, limit: int) -> list[SessionSummary]:
    """Return the open sessions of a tenant, in all processes that share them, the one opened last first."""
    sessions = memory_manager._inner._components.sessions
    return await memory_manager._threads.run(functools.partial(sessions.summarize_open, limit), model=False)


_SyncContext = agents.ConversationContext


class ConversationContext(AsyncClosing):
    """A conversation with an id. Each message is added to `history` and can be searched in `memory` at once."""

    def __init__(
        self,
        conversation_id: str,
        config: MemoryConfig | str | None = None,
        *,
        memory: MemoryManager | None = None,
    ) -> None:
        self._owns_memory = memory is None
        self.memory = MemoryManager(config, retention_policy="persistent") if memory is None else memory
        self._inner = _SyncContext(conversation_id, memory=self.memory._inner)
        self._threads = self.memory._threads
        self.id = self._inner.id
        self.history: ConversationMemory = self.memory._wrap(self._inner.history)

    add_message = off_loop(_SyncContext.add_message, model=True)

    async def close(self) -> None:
        """Close the manager, unless it is shared. Can be called twice."""
        if self._owns_memory:
            await self.memory.close()


def blocking_part(memory: MemoryManager) -> tuple[manager.MemoryManager, Threads]:
    """Return the blocking manager on the same store, and the threads that its calls run in."""
    return memory._inner, memory._threads


def async_part(memory: manager.MemoryManager) -> MemoryManager:
    """Return an async manager on the same store. Closing one of them closes the store for both."""
    awaited = MemoryManager.__new__(MemoryManager)
    awaited._adopt(memory)
    return awaited
