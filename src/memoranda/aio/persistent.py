"""`PersistentMemory`, awaited: the same methods with the same arguments and results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.manager import MemoryManager
from memoranda.aio.threads import Threads, off_loop
from memoranda.errors import InvalidInput
from memoranda.messages.message import Message
from memoranda.persistent import memory, tools
from memoranda.persistent.backends import EmbeddingBackend, VectorStoreConfig
from memoranda.persistent.base import AnyMessage, Named, Question, Recalled, Saved
from memoranda.persistent.tools import Call, ToolCall, ToolMessage
from memoranda.types import Outcome

_Sync = memory.PersistentMemory
_Answer = TypeVar("_Answer", Saved, Recalled)


class MemoryBase(ABC):
    """A memory of messages, awaited. `ConversationMemory` is one."""

    @abstractmethod
    async def add(self, messages: AnyMessage | Iterable[AnyMessage] | None, allow_duplicates: bool = False) -> None:
        """Adds one message, several, or none."""

    @abstractmethod
    async def get_messages(self, limit: int | None = None) -> Sequence[Message]:
        """All messages, or the newest `limit`, oldest first."""

    @abstractmethod
    async def clear(self) -> None:
        """Removes all messages."""

    @abstractmethod
    async def size(self) -> int:
        """How many messages there are."""


MemoryBase.register(ConversationMemory)


class PersistentMemoryBase(Named, ABC):
    """A memory that outlives its process, awaited: two verbs for the developer, two for the agent."""

    @abstractmethod
    async def record(self, messages: AnyMessage | Iterable[AnyMessage | None] | None) -> list[Outcome]:
        """Remembers what was said; one outcome a message."""

    @abstractmethod
    async def retrieve(self, query: Question, limit: int = 5) -> str:
        """What is remembered on the query, as text for a prompt; "" when there is nothing."""

    @abstractmethod
    async def save_to_memory(self, thinking: str, content: str | Sequence[str]) -> Saved:
        """For the agent: keeps these facts. A failure is told in the answer, never raised."""

    @abstractmethod
    async def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> Recalled:
        """For the agent: what is remembered on these keywords. A failure is told in the answer, never raised."""

    def tools(self) -> MemoryTools:
        """The agent's two verbs as tools: schemas for models, and a dispatcher for their calls. Not awaited."""
        return MemoryTools(self)


class PersistentMemory(PersistentMemoryBase):
    """Long-term memory of an agent, a user, a session, or a combination, without holding up the event loop."""

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
            db_url=db_url,
            manager=None if manager is None else manager._inner,
        )
        self._threads = Threads()

    @property
    def llm_backend(self) -> object | None:
        return self._inner.llm_backend

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Lets go of the store, but for a manager that was given; may be called twice."""
        if not self._threads.closed:
            await self._threads.run(self._inner.close, model=False)
            self._threads.close()

    record = off_loop(_Sync.record, model=True)
    retrieve = off_loop(_Sync.retrieve, model=True)

    async def save_to_memory(self, thinking: str, content: str | Sequence[str]) -> Saved:
        """For the agent: keeps these facts. `success` only when all of them are kept."""
        return await self._told(partial(self._inner.save_to_memory, thinking, content))

    async def recall_from_memory(self, keywords: str | Sequence[str], limit: int = 5) -> Recalled:
        """For the agent: what is remembered on these keywords, the best of each first."""
        return await self._told(partial(self._inner.recall_from_memory, keywords, limit))

    async def _told(self, call: Callable[[], _Answer]) -> _Answer:
        # Closed, there are no threads; the memory behind it then answers at once that it is closed.
        return call() if self._threads.closed else await self._threads.run(call, model=True)


class MemoryTools:
    """The two tools of one memory, run without holding up the event loop."""

    openai = staticmethod(tools.openai_tools)
    responses = staticmethod(tools.responses_tools)
    anthropic = staticmethod(tools.anthropic_tools)

    def __init__(self, memory: PersistentMemoryBase) -> None:
        self._memory = memory

    async def run(self, call: ToolCall) -> ToolMessage:
        """The tool message for one call; what is wrong with the call is said in it."""
        read = tools.read_call(call)
        return tools.tool_message(read, await self._answer(read))

    async def run_all(self, calls: Sequence[ToolCall]) -> list[ToolMessage]:
        """The messages for all calls of one turn, in order."""
        return tools.merged([await self.run(call) for call in calls])

    async def _answer(self, call: Call) -> Mapping[str, object]:
        try:
            arguments = tools.checked_arguments(call)
        except InvalidInput as error:
            return tools.refusal(error)
        if call.name == tools.SAVE:
            return await self._memory.save_to_memory(**arguments)
        return await self._memory.recall_from_memory(**arguments)
