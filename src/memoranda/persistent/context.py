"""`ConversationContext`: one conversation, its history, and the memory it is stored in."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from memoranda.conversation.base import AnyMessage
from memoranda.conversation.memory import ConversationMemory
from memoranda.manager.manager import MemoryManager
from memoranda.messages.message import as_message
from memoranda.settings import MemoryConfig
from memoranda.text import clean_text
from memoranda.types import MemoryType


class ConversationContext:
    """A conversation with an id. Each message is added to `history` and can be searched in `memory` at once.

    The context opens its own manager with `config`, or shares the one given as `memory` and leaves it open. Its own
    manager keeps the history in the store, so opening the same id again continues the conversation.
    """

    def __init__(
        self,
        conversation_id: str,
        config: MemoryConfig | str | None = None,
        *,
        memory: MemoryManager | None = None,
    ) -> None:
        self.id = clean_text(conversation_id, "conversation_id")
        self._owns_memory = memory is None
        self.memory = MemoryManager(config, retention_policy="persistent") if memory is None else memory
        self.history: ConversationMemory = self.memory.get_memory(session=self.id)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def add_message(self, message: AnyMessage) -> None:
        """Add a message to the history, and its text to the short-term memory of this conversation.

        A message whose id is known is not added again, so the call can be repeated after an error.
        """
        message = as_message(message)
        self.history.add_message(message)
        self.memory.remember(
            message,
            session=self.id,
            type=MemoryType.SHORT_TERM,
            source=self.id,
            metadata={"role": message.role, "source": self.id},
        )

    def close(self) -> None:
        """Close the manager, unless it is shared. Can be called twice."""
        if self._owns_memory:
            self.memory.close()
