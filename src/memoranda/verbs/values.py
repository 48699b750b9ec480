"""Values under a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memoranda.arguments import check_own_type, check_type
from memoranda.text import clean_text
from memoranda.types import JSON, Hit, MemoryType
from memoranda.verbs.recalling import RecallVerbs


class ValueVerbs(RecallVerbs):
    """What an agent keeps under a key, for a while or for good."""

    def save(
        self,
        agent_id: str,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """True once the value is stored; anything else raises."""
        return self._parts.values.save(agent_id, key, value, check_own_type(memory_type), ttl)

    def retrieve(self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> JSON:
        """The value; None when there is none."""
        return self._parts.values.retrieve(agent_id, key, check_type(memory_type))

    def search_similar(
        self,
        agent_id: str,
        query: str,
        top_k: int = 5,
        filter_metadata: Mapping[str, Any] | None = None,
        *,
        shared: bool = False,
    ) -> list[Hit]:
        """An agent's memories that fit a question, best first; with `shared`, the shared knowledge as well."""
        where = None if filter_metadata is None else {"metadata": filter_metadata}
        agent = clean_text(agent_id, "agent_id")
        return list(self.recall(query, agent=agent, where=where, limit=top_k, shared=shared))
