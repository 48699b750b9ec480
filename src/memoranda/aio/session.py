"""The async version of `SessionContext`: `async with create_session(...) as session`."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Coroutine, Mapping
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from memoranda.aio.manager import MemoryManager
from memoranda.aio.threads import Threads
from memoranda.errors import MemorandaError
from memoranda.manager import manager
from memoranda.sessions.context import SessionContext as _Sync
from memoranda.types import JSON

P = ParamSpec("P")
R = TypeVar("R")


def _off_loop(
    method: Callable[Concatenate[_Sync, P], R], *, model: bool = False
) -> Callable[Concatenate[SessionContext, P], Coroutine[Any, Any, R]]:
    """Return the async version of a session method. The first call opens the session."""

    @functools.wraps(method)
    async def call(self: SessionContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        session = await self._get_session()
        return await self._threads.run(functools.partial(method, session, *args, **kwargs), model=model)

    return call


class SessionContext:
    """The session memory of one workflow. It opens when it is entered, or at the first call."""

    def __init__(self, workflow_id: str, threads: Threads, create: Callable[[], _Sync]) -> None:
        self.workflow_id = workflow_id
        self._threads = threads
        self._create = create
        self._lock = threading.Lock()
        self._session: _Sync | None = None

    async def _get_session(self) -> _Sync:
        if self._session is not None:
            return self._session
        return await self._threads.run(self._open, model=False)

    def _open(self) -> _Sync:
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
            await self.end_session()
        except MemorandaError as failure:
            if error is None:
                raise
            error.add_note(f"session {self.workflow_id!r} could not be cleaned up either: {failure}")

    save_agent_memory = _off_loop(_Sync.save_agent_memory, model=True)
    retrieve_agent_memory = _off_loop(_Sync.retrieve_agent_memory)
    add_conversation_message = _off_loop(_Sync.add_conversation_message)
    get_conversation_history = _off_loop(_Sync.get_conversation_history)
    save_execution_record = _off_loop(_Sync.save_execution_record)
    get_session_summary = _off_loop(_Sync.get_session_summary)
    end_session = _off_loop(_Sync.end_session)


def create_session(
    workflow_id: str,
    memory_manager: MemoryManager,
    metadata: Mapping[str, JSON] | None = None,
    auto_cleanup: bool | None = None,
) -> SessionContext:
    """Return a session of a workflow, for `async with`.

    Args:
        workflow_id: The workflow the session belongs to.
        memory_manager: The manager that stores the session.
        metadata: Stored with the session.
        auto_cleanup: Whether the session's data is deleted when it ends; None for the configured default.
    """
    create = functools.partial(manager.create_session, workflow_id, memory_manager._inner, metadata, auto_cleanup)
    return SessionContext(workflow_id, memory_manager._threads, create)
