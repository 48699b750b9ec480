"""`ConversationContext`: one conversation, its history and the memory it feeds."""

from __future__ import annotations

from types import TracebackType
from typing import Self

from memoranda.conversation.memory import AnyMessage, ConversationMemory
from memoranda.manager.manager import MemoryManager
from memoranda.messages.message import as_message
from memoranda.settings import MemoryConfig
from memoranda.text import clean_text
from memoranda.types import MemoryType


class ConversationContext:
    """A conversation by its id: what is said goes into `history` and can be searched in `memory` a moment later.

    It opens a manager of its own on `config`, or shares the one given as `memory`, which it then leaves open.
    With its own, the history is kept in the store: the same id, opened again, goes on where it ended.
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
        """Adds one turn to the history, and its words to the short-term memory of this conversation.

        A message whose id is known is added to neither again: after an error the same call can be made again.
        """
        said = as_message(message)
        self.history.add_message(said)
        self.memory.remember(
            said,
            session=self.id,
            type=MemoryType.SHORT_TERM,
            source=self.id,
            metadata={"role": said.role, "source": self.id},
        )

    def close(self) -> None:
        """Closes the manager where it is the context's own; may be called twice."""
        if self._owns_memory:
            self.memory.close()
