"""Agents with a memory: a small base class, and the same as a mixin for classes of one's own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from memoranda.errors import InvalidInput
from memoranda.manager.manager import MemoryManager
from memoranda.remember.pipeline import Content
from memoranda.text import clean_text
from memoranda.types import JSON, MemoryType, Outcomes, Recall


class MemoryMixin:
    """Memory for any class that has an `agent_id` and a `memory_manager`; everything in the agent's own scope."""

    agent_id: str
    memory_manager: MemoryManager | None = None

    def save_to_memory(
        self,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """True once the value is stored; anything else raises."""
        return self._memory().save(self.agent_id, key, value, memory_type, ttl)

    def retrieve_from_memory(self, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> JSON:
        """The value; None when there is none."""
        return self._memory().retrieve(self.agent_id, key, memory_type)

    def remember(
        self,
        content: Content | Sequence[Content],
        *,
        user: str | None = None,
        session: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
    ) -> Outcomes:
        """One outcome per text or message that this agent is to remember."""
        return self._memory().remember(content, agent=self.agent_id, user=user, session=session, metadata=metadata)

    def recall(
        self,
        query: str,
        *,
        user: str | None = None,
        session: str | None = None,
        limit: int = 10,
        shared: bool = False,
    ) -> Recall:
        """What this agent remembers that fits a question; with `shared`, what everybody may know as well."""
        return self._memory().recall(query, agent=self.agent_id, user=user, session=session, limit=limit, shared=shared)

    def record_execution(self, record: Mapping[str, JSON]) -> str:
        """The id of what this agent did, in the audit trail."""
        return self._memory().save_execution_record(self.agent_id, record)

    def _memory(self) -> MemoryManager:
        if self.memory_manager is None:
            raise InvalidInput(f"agent {self.agent_id!r} has no memory: give it memory_manager=MemoryManager()")
        return self.memory_manager


class BaseAgent(MemoryMixin):
    """An agent: a name, its settings, and a memory that it may share with others."""

    def __init__(
        self,
        agent_id: str,
        config: Mapping[str, Any] | None = None,
        memory_manager: MemoryManager | None = None,
    ) -> None:
        self.agent_id = clean_text(agent_id, "agent_id")
        self.config: dict[str, Any] = dict(config or {})
        self.memory_manager = memory_manager
