"""The async twin of `SessionContext`: `async with create_session(...) as session`."""

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


def _awaited(
    method: Callable[Concatenate[_Sync, P], R], *, model: bool = False
) -> Callable[Concatenate[SessionContext, P], Coroutine[Any, Any, R]]:
    """The method off the event loop; the session is opened first where it is not yet."""

    @functools.wraps(method)
    async def call(self: SessionContext, /, *args: P.args, **kwargs: P.kwargs) -> R:
        session = await self._opened()
        return await self._threads.run(functools.partial(method, session, *args, **kwargs), model=model)

    return call


class SessionContext:
    """A workflow's own memory, awaited. It opens when it is entered, or at the first call."""

    def __init__(self, workflow_id: str, threads: Threads, make: Callable[[], _Sync]) -> None:
        self.workflow_id = workflow_id
        self._threads = threads
        self._make = make
        self._lock = threading.Lock()
        self._session: _Sync | None = None

    async def _opened(self) -> _Sync:
        if self._session is not None:
            return self._session
        return await self._threads.run(self._open, model=False)

    def _open(self) -> _Sync:
        with self._lock:
            session = self._session or self._make()
            self._session = session
        return session

    async def __aenter__(self) -> Self:
        await self._opened()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self.end_session()
        except MemorandaError as failure:
            if error is None:
                raise
            error.add_note(f"and session {self.workflow_id!r} could not be cleaned up: {failure}")

    save_agent_memory = _awaited(_Sync.save_agent_memory, model=True)
    retrieve_agent_memory = _awaited(_Sync.retrieve_agent_memory)
    add_conversation_message = _awaited(_Sync.add_conversation_message)
    get_conversation_history = _awaited(_Sync.get_conversation_history)
    save_execution_record = _awaited(_Sync.save_execution_record)
    get_session_summary = _awaited(_Sync.get_session_summary)
    end_session = _awaited(_Sync.end_session)


def create_session(
    workflow_id: str,
    memory_manager: MemoryManager,
    metadata: Mapping[str, JSON] | None = None,
    auto_cleanup: bool | None = None,
) -> SessionContext:
    """A session of a workflow, for `async with`."""
    inner, threads = memory_manager._inner, memory_manager._threads
    make = functools.partial(manager.create_session, workflow_id, inner, metadata, auto_cleanup)
    return SessionContext(workflow_id, threads, make)
