"""The async version of `ConversationContext`."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from memoranda.aio.conversation import ConversationMemory
from memoranda.aio.manager import MemoryManager
from memoranda.aio.threads import off_loop
from memoranda.persistent import agents
from memoranda.settings import MemoryConfig

_Sync = agents.ConversationContext


class ConversationContext:
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
        self._inner = _Sync(conversation_id, memory=self.memory._inner)
        self._threads = self.memory._threads
        self.id = self._inner.id
        self.history: ConversationMemory = self.memory._wrap(self._inner.history)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    add_message = off_loop(_Sync.add_message, model=True)

    async def close(self) -> None:
        """Close the manager, unless it is shared. Can be called twice."""
        if self._owns_memory:
            await self.memory.close()
