"""Agents with a memory: a small base class, a mixin for existing classes, and a conversation with its memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoranda.conversation.base import AnyMessage
from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import InvalidInput
from memoranda.manager.manager import MemoryManager
from memoranda.messages.parsing import as_message
from memoranda.records import Closing
from memoranda.remember.pipeline import Content
from memoranda.settings import MemoryConfig
from memoranda.text.checks import clean_text
from memoranda.types import JSON, MemoryType, Outcomes, Recall


class MemoryMixin:
    """Memory for any class with an `agent_id` and a `memory_manager`. Every call is in the scope of this agent."""

    agent_id: str
    memory_manager: MemoryManager | None = None

    def save_to_memory(
        self,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """Store a value and return True; any failure raises.

        Args:
            key: The key that `retrieve_from_memory` finds the value by.
            value: Any JSON value.
            memory_type: `short_term` for the running task, `long_term` to keep it.
            ttl: Seconds after which a short-term value expires.
        """
        return self._require_manager().save(self.agent_id, key, value, memory_type, ttl)

    def retrieve_from_memory(self, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> JSON:
        """Return the value stored under the key, or None."""
        return self._require_manager().retrieve(self.agent_id, key, memory_type)

    def remember(
        self,
        content: Content | Sequence[Content],
        *,
        user: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
    ) -> Outcomes:
        """Store texts or messages and return one outcome for each memory.

        Args:
            content: A text, a message, or a list of them.
            user: The user the memories belong to.
            session: The session the memories belong to.
            metadata: Stored with every memory.
        """
        return self._require_manager().remember(
            content, agent=self.agent_id, user=user, session=session, metadata=metadata
        )

    def recall(
        self,
        query: str,
        *,
        user: str | None = None,
        session: str | None = None,
        limit: int = 10,
        shared: bool = False,
    ) -> Recall:
        """Return this agent's memories that answer a question, best first.

        Args:
            query: The question.
            user: Only memories of this user; None for memories that belong to no user.
            session: Only memories of this session; None for any.
            limit: The maximum number of hits.
            shared: Also search the shared knowledge.
        """
        return self._require_manager().recall(
            query, agent=self.agent_id, user=user, session=session, limit=limit, shared=shared
        )

    def record_execution(self, record: Mapping[str, JSON]) -> str:
        """Add what this agent did to the audit trail and return the record's id."""
        return self._require_manager().save_execution_record(self.agent_id, record)

    def _require_manager(self) -> MemoryManager:
        if self.memory_manager is None:
            raise InvalidInput(f"agent {self.agent_id!r} has no memory: give it memory_manager=MemoryManager()")
        return self.memory_manager


class BaseAgent(MemoryMixin):
    """An agent with an id, settings, and a memory that it may share with others."""

    def __init__(
        self,
        agent_id: str,
        config: Mapping[str, Any] | None = None,
        memory_manager: MemoryManager | None = None,
    ) -> None:
        self.agent_id = clean_text(agent_id, "agent_id")
        self.config: dict[str, Any] = dict(config or {})
        self.memory_manager = memory_manager


class ConversationContext(Closing):
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
