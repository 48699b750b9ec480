"""`MemoryManager`: the front door, one line per verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Self

from recollect.arguments import (
    check_ids,
    check_limit,
    check_name,
    check_type,
    check_unit,
    check_whole,
    make_filter,
    make_scope,
)
from recollect.embedding.base import Embedder
from recollect.jsonvalue import copy_json_object
from recollect.parts.drafts import Common, Content, common
from recollect.parts.foundation import Foundation
from recollect.parts.memories import CleanupReport, Patch
from recollect.parts.status import Health, Stats, health, stats
from recollect.session.base import ValueStore
from recollect.settings import MemoryConfig, get_settings
from recollect.text import clean_text
from recollect.types import (
    DEFAULT_TENANT,
    JSON,
    AnyUser,
    Association,
    Clock,
    Hit,
    Memory,
    MemoryType,
    Outcome,
    Progress,
    Recall,
    Related,
)


class MemoryManager:
    """Memory for agents: remembers, keeps, finds again, and says why.

    With no arguments, everything comes from the environment and `.env`; an argument wins over both.
    Nothing is opened before it is needed; entering it as a context manager opens the database at once.
    """

    def __init__(
        self,
        config: MemoryConfig | str | None = None,
        *,
        db_url: str | None = None,
        faiss_index_path: str | None = None,
        embedder: Embedder | None = None,
        short_term: ValueStore | None = None,
        clock: Clock | None = None,
        tenant: str = DEFAULT_TENANT,
    ) -> None:
        url = config if isinstance(config, str) else db_url
        settings = config if isinstance(config, MemoryConfig) else get_settings().memory
        settings = replace(
            settings,
            db_url=url or settings.db_url,
            faiss_index_path=faiss_index_path or settings.faiss_index_path,
        )
        self._tenant = clean_text(tenant, "tenant")
        self._parts = Foundation(settings, self._tenant, embedder=embedder, short_term=short_term, clock=clock)

    def __enter__(self) -> Self:
        self._parts.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Saves the index and lets go of the file; may be called twice."""
        self._parts.close()

    # Our own verbs

    def remember(
        self,
        content: Content | Sequence[Content],
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        type: MemoryType | str | None = None,
        source: str | None = None,
        importance: float | None = None,
        metadata: Mapping[str, JSON] | None = None,
        at: datetime | str | None = None,
        idempotency_key: str | None = None,
        progress: Progress | None = None,
    ) -> list[Outcome]:
        """One outcome per text or message, all in one commit; what is known already is not stored again."""
        call = self._call(agent, user, session, type, source, metadata, importance=importance, at=at)
        return self._parts.memories.remember(content, call, idempotency_key, progress)

    def recall(
        self,
        query: str,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
        limit: int = 10,
        now: datetime | str | None = None,
    ) -> Recall:
        """The memories that fit a question, best first, and why each was found."""
        scope = make_scope(self._tenant, agent, user, session)
        return self._parts.recaller.recall(query, scope, make_filter(where, types), check_limit(limit), now=now)

    # Memories

    def add_memory(
        self,
        content: str,
        memory_type: MemoryType | str = MemoryType.SEMANTIC,
        source: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        importance: float | None = None,
        at: datetime | str | None = None,
    ) -> Memory:
        """The memory that was stored. Its importance may also stand in the metadata."""
        call = self._call(agent, user, session, memory_type, source, metadata, importance=importance, at=at)
        return self._parts.memories.add([content], call)[0]

    def add_memories(
        self,
        contents: Sequence[str],
        memory_type: MemoryType | str = MemoryType.SEMANTIC,
        source: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        importance: float | None = None,
        at: datetime | str | None = None,
        progress: Progress | None = None,
    ) -> list[Memory]:
        """Many memories in one commit."""
        call = self._call(agent, user, session, memory_type, source, metadata, importance=importance, at=at)
        return self._parts.memories.add(contents, call, progress)

    def get(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory of this id; `NotFound` when the scope has none."""
        return self._parts.memories.get(
            make_scope(self._tenant, agent, user, session), check_whole(memory_id, "a memory id")
        )

    def update(
        self,
        memory_id: int,
        content: str | None = None,
        *,
        memory_type: MemoryType | str | None = None,
        source: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        importance: float | None = None,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory as it is now. What is not given stays; metadata is replaced as a whole."""
        patch = Patch(
            content=None if content is None else clean_text(content),
            type=None if memory_type is None else check_type(memory_type),
            source=check_name(source, "source"),
            metadata=None if metadata is None else copy_json_object(metadata, "metadata"),
            importance=None if importance is None else check_unit(importance, "importance"),
        )
        scope = make_scope(self._tenant, agent, user, session)
        return self._parts.memories.update(scope, check_whole(memory_id, "a memory id"), patch)

    def delete(
        self,
        memory_id: int | Sequence[int],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> int:
        """How many memories went: all that were named, or none and `NotFound`."""
        return self._parts.memories.delete(make_scope(self._tenant, agent, user, session), check_ids(memory_id))

    def search_memories(
        self,
        query: str,
        memory_types: Sequence[MemoryType | str] | None = None,
        limit: int = 5,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """The hits alone, best first."""
        found = self.recall(
            query, agent=agent, user=user, session=session, types=memory_types, where=where, limit=limit
        )
        return list(found)

    def search_memory(
        self,
        query: str,
        memory_type: MemoryType | str | None = None,
        limit: int = 5,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> list[Hit]:
        """The hits of one memory type, best first."""
        types = None if memory_type is None else [memory_type]
        return self.search_memories(query, types, limit, agent=agent, user=user, session=session)

    def add_memory_association(
        self,
        memory_id: int,
        related_memory_id: int,
        relationship_type: str = "related_to",
        strength: float = 1.0,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> Association:
        """A directed link between two memories of one scope; a repeated one takes the new strength."""
        link = Association(
            check_whole(memory_id, "memory_id"),
            check_whole(related_memory_id, "related_memory_id"),
            clean_text(relationship_type, "relationship_type"),
            check_unit(strength, "strength"),
        )
        return self._parts.memories.associate(make_scope(self._tenant, agent, user), link)

    def get_related_memories(
        self,
        memory_id: int,
        relationship_type: str | None = None,
        depth: int = 1,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> list[Related]:
        """Memories up to `depth` links away in either direction, nearest and strongest first."""
        scope = make_scope(self._tenant, agent, user)
        kind = check_name(relationship_type, "relationship_type")
        return self._parts.memories.related(scope, check_whole(memory_id, "memory_id"), kind, depth)

    def cleanup_old_memories(
        self,
        max_age_days: float = 30,
        min_importance: float = 0.3,
        dry_run: bool = False,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> CleanupReport:
        """Removes memories recorded more than `max_age_days` ago whose importance is below the minimum."""
        age = timedelta(days=check_whole(max_age_days, "max_age_days", least=0))
        scope = make_scope(self._tenant, agent, user)
        return self._parts.memories.cleanup(scope, age, check_unit(min_importance, "min_importance"), dry_run)

    # Values under a key

    def save(
        self,
        agent_id: str,
        key: str,
        value: JSON,
        memory_type: MemoryType | str = MemoryType.SHORT_TERM,
        ttl: float | None = None,
    ) -> bool:
        """True once the value is stored; anything else raises."""
        return self._parts.values.save(agent_id, key, value, check_type(memory_type), ttl)

    def retrieve(self, agent_id: str, key: str, memory_type: MemoryType | str = MemoryType.SHORT_TERM) -> JSON:
        """The value; None when there is none."""
        return self._parts.values.retrieve(agent_id, key, check_type(memory_type))

    def search_similar(
        self, agent_id: str, query: str, top_k: int = 5, filter_metadata: Mapping[str, Any] | None = None
    ) -> list[Hit]:
        """An agent's memories that fit a question, best first."""
        where = None if filter_metadata is None else {"metadata": filter_metadata}
        return self.search_memories(query, limit=top_k, agent=clean_text(agent_id, "agent_id"), where=where)

    # Upkeep and state

    def reembed(self, progress: Progress | None = None) -> int:
        """Moves every memory to this manager's embedding model; how many were embedded."""
        return self._parts.open().reembed(progress)

    def get_stats(self) -> Stats:
        """Counts of what this tenant has."""
        return stats(self._parts, self._tenant)

    def health(self) -> Health:
        """Whether everything works, and on what it runs."""
        return health(self._parts)

    def _call(
        self,
        agent: str | None,
        user: str | None,
        session: str | None,
        kind: MemoryType | str | None,
        source: str | None,
        metadata: Mapping[str, JSON] | None,
        *,
        importance: float | None,
        at: datetime | str | None,
    ) -> Common:
        return common(
            make_scope(self._tenant, agent, user, session),
            self._parts.now(),
            self._parts.short_term_ttl,
            type=kind,
            source=source,
            metadata=metadata,
            importance=importance,
            at=at,
        )
