"""The async version of `PersistentMemory`: the same methods with the same arguments and results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.manager import MemoryManager
from memoranda.aio.threads import Threads, off_loop
from memoranda.errors import InvalidInput
from memoranda.messages.message import Message
from memoranda.persistent import memory, tools
from memoranda.persistent.backends import EmbeddingBackend, VectorStoreConfig
from memoranda.persistent.base import AnyMessage, NamedMemory, QueryInput, RecallFromMemoryResult, SaveToMemoryResult
from memoranda.persistent.tools import ParsedToolCall, ToolCall, ToolMessage
from memoranda.records import AsyncClosing
from memoranda.types import JSON, Outcome

_Sync = memory.PersistentMemory
_Result = TypeVar("_Result", SaveToMemoryResult, RecallFromMemoryResult)


class MemoryBase(ABC):
    """The async version of `memoranda.MemoryBase`. `ConversationMemory` is one."""

    @abstractmethod
    async def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Add one message, several, or none."""

    @abstractmethod
    async def get_messages(self, limit: int | None = None) -> Sequence[Message]:
        """Return all messages, or the newest `limit`, oldest first."""

    @abstractmethod
    async def clear(self) -> None:
        """Remove all messages."""

    @abstractmethod
    async def size(self) -> int:
        """Return the number of messages."""


MemoryBase.register(ConversationMemory)


class PersistentMemoryBase(NamedMemory, ABC):
    """The async version of `memoranda.PersistentMemoryBase`."""

    @abstractmethod
    async def record(self, messages: AnyMessage | Iterable[AnyMessage | None] | None) -> list[Outcome]:
        """Store messages and return one outcome for each."""

    @abstractmethod
    async def retrieve(self, query: QueryInput, limit: int = 5) -> str:
        """Return the memories for the query as text for a prompt, or "" if there are none."""

    @abstractmethod
    async def save_to_memory(self, thinking: str, content: str | Sequence[str]) -> SaveToMemoryResult:
        """Store these facts for the agent. Report a failure in the result; never raise."""

    @abstractmethod
    async def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> RecallFromMemoryResult:
        """Return the memories for these keywords to the agent. Report a failure in the result; never raise."""

    def tools(self) -> MemoryTools:
        """Return the agent's two methods as tools: schemas for models, a dispatcher for their calls. Not awaited."""
        return MemoryTools(self)


class PersistentMemory(AsyncClosing, PersistentMemoryBase):
    """Long-term memory that never blocks the event loop. Takes the arguments of `memoranda.PersistentMemory`."""

    def __init__(
        self,
        agent_name: str | None = None,
        user_name: str | None = None,
        session_name: str | None = None,
        llm_backend: object | None = None,
        embedding_backend: EmbeddingBackend | None = None,
        vector_store_config: VectorStoreConfig | None = None,
        mem0_config: object | None = None,
        on_disk: bool = True,
        *,
        llm_config: Mapping[str, Any] | object | None = None,
        embedding_config: Mapping[str, Any] | object | None = None,
        qdrant_client: object | None = None,
        memory_type: str | None = None,
        debug: bool = False,
        db_url: str | None = None,
        manager: MemoryManager | None = None,
    ) -> None:
        super().__init__(agent_name, user_name, session_name)
        self._inner = _Sync(
            agent_name,
            user_name,
            session_name,
            llm_backend,
            embedding_backend,
            vector_store_config,
            mem0_config,
            on_disk,
            llm_config=llm_config,
            embedding_config=embedding_config,
            qdrant_client=qdrant_client,
            memory_type=memory_type,
            debug=debug,
            db_url=db_url,
            manager=None if manager is None else manager._inner,
        )
        self._threads = Threads()

    @property
    def llm_backend(self) -> object | None:
        return self._inner.llm_backend

    async def close(self) -> None:
        """Close the store, unless it belongs to a shared manager. Can be called twice."""
        if not self._threads.closed:
            await self._threads.run(self._inner.close, model=False)
            self._threads.close()

    record = off_loop(_Sync.record, model=True)
    retrieve = off_loop(_Sync.retrieve, model=True)

    async def save_to_memory(
        self, thinking: str | None, content: str | Sequence[str], metadata: Mapping[str, JSON] | None = None
    ) -> SaveToMemoryResult:
        """Store these facts for the agent. `success` is true only if all of them are stored."""
        return await self._run_tool(partial(self._inner.save_to_memory, thinking, content, metadata))

    async def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> RecallFromMemoryResult:
        """Return the memories for these keywords to the agent, at most `limit` for each, the best of each first."""
        return await self._run_tool(partial(self._inner.recall_from_memory, keywords, limit))

    async def _run_tool(self, call: Callable[[], _Result]) -> _Result:
        # After close() there are no threads, but the memory answers at once that it is closed.
        return call() if self._threads.closed else await self._threads.run(call, model=True)


class MemoryTools:
    """The async version of `memoranda.persistent.tools.MemoryTools`."""

    openai = staticmethod(tools.openai_tools)
    responses = staticmethod(tools.responses_tools)
    anthropic = staticmethod(tools.anthropic_tools)

    def __init__(self, memory: PersistentMemoryBase) -> None:
        self._memory = memory

    async def run(self, call: ToolCall) -> ToolMessage:
        """Run one call and return its tool message; wrong arguments are reported in the message."""
        parsed = tools.parse_tool_call(call)
        return tools.to_tool_message(parsed, await self._execute(parsed))

    async def run_all(self, calls: Sequence[ToolCall]) -> list[ToolMessage]:
        """Run all calls of one turn and return their messages, in order."""
        return tools.merge_tool_messages([await self.run(call) for call in calls])

    async def _execute(self, call: ParsedToolCall) -> Mapping[str, object]:
        try:
            arguments = tools.parse_arguments(call)
        except InvalidInput as error:
            return tools.to_error_result(error)
        if call.name == tools.SAVE:
            return await self._memory.save_to_memory(**arguments)
        return await self._memory.recall_from_memory(**arguments)
