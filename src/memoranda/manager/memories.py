"""Single memories: added, read, changed, searched, linked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memoranda.manager.recall import RecallVerbs
from memoranda.text import clean_text
from memoranda.types import JSON, AnyUser, Association, Hit, Memory, MemoryType, Progress, Related
from memoranda.validation import (
    check_cursor,
    check_days,
    check_fraction,
    check_id,
    check_ids,
    check_limit,
    check_name,
    check_texts,
    check_writable_type,
    copy_json_object,
    make_filter,
    make_scope,
)

if TYPE_CHECKING:
    from memoranda.results import CleanupReport


class MemoryVerbs(RecallVerbs):
    """Memories one by one and in bulk."""

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
        return self._components.memories.add([content], call)[0]

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
        return self._components.memories.add(check_texts(contents, "contents"), call, progress)

    def get(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """The memory of this id; `NotFound` when the scope has none."""
        return self._components.memories.get(make_scope(self._tenant, agent, user, session), check_id(memory_id))

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
        from memoranda.remember.memories import Patch

        patch = Patch(
            content=None if content is None else clean_text(content),
            type=None if memory_type is None else check_writable_type(memory_type),
            source=check_name(source, "source"),
            metadata=None if metadata is None else copy_json_object(metadata, "metadata"),
            importance=None if importance is None else check_fraction(importance, "importance"),
        )
        scope = make_scope(self._tenant, agent, user, session)
        return self._components.memories.update(scope, check_id(memory_id), patch)

    def delete(
        self,
        memory_id: int | Sequence[int],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> int:
        """How many memories went: all that were named, or none and `NotFound`."""
        return self._components.memories.delete(make_scope(self._tenant, agent, user, session), check_ids(memory_id))

    def list_memories(
        self,
        limit: int = 100,
        after: int = 0,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        types: Sequence[MemoryType | str] | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Memory]:
        """Memories in the order of their ids; to go on, give the last id as `after`."""
        scope, start = make_scope(self._tenant, agent, user, session), check_cursor(after, "after")
        return self._components.memories.page(scope, make_filter(where, types), check_limit(limit), start)

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
            check_id(memory_id, "memory_id"),
            check_id(related_memory_id, "related_memory_id"),
            clean_text(relationship_type, "relationship_type"),
            check_fraction(strength, "strength"),
        )
        return self._components.memories.associate(make_scope(self._tenant, agent, user), link)

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
        return self._components.memories.related(scope, check_id(memory_id, "memory_id"), kind, depth)

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
        age = check_days(max_age_days, "max_age_days")
        scope = make_scope(self._tenant, agent, user)
        return self._components.memories.cleanup(scope, age, check_fraction(min_importance, "min_importance"), dry_run)
