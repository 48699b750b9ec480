"""Single memories: add, read, change, delete, search and link them.

What only one method needs is imported there: the remote client imports this module, and it must load no engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from memoranda.errors import InvalidInput, InvalidType, NotFound
from memoranda.manager.recall import RecallMethods, as_text
from memoranda.records import ResultList
from memoranda.text.checks import clean_text, storable_text
from memoranda.types import JSON, AnyUser, Association, Hit, Memory, MemoryType, Progress, Related, name_source
from memoranda.validation import (
    check_changed_fields,
    check_cursor,
    check_days,
    check_flag,
    check_fraction,
    check_id,
    check_ids,
    check_integer,
    check_limit,
    check_name,
    check_offset,
    check_optional_datetime,
    check_progress,
    check_writable_type,
    copy_json_object,
    copy_metadata,
    make_filter,
    page_of,
)

if TYPE_CHECKING:
    from memoranda.remember.memories import Patch
    from memoranda.remember.pipeline import Content
    from memoranda.results.maintenance import CleanupReport


class MemoryMethods(RecallMethods):
    """Add, read, change, delete, search and link memories."""

    def add_memory(
        self,
        content: Content,
        memory_type: MemoryType | str = MemoryType.SEMANTIC,
        source: str | Mapping[str, JSON] | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        importance: float | None = None,
        at: datetime | str | None = None,
        ttl: float | None = None,
        generate_embedding: bool = True,
    ) -> Memory:
        """Store a text as it is and return the memory.

        Args:
            content: The text, or a message that has it.
            memory_type: The type of the memory.
            source: Where the text comes from; a dict here is the metadata.
            metadata: A JSON object stored with the memory.
            agent, user, session: The owner of the memory.
            importance: From 0 to 1; `metadata["importance"]`, or else scored, when None.
            at: When it became true; now when None.
            ttl: Seconds until it expires; by default only `short_term` and `working` memories do.
            generate_embedding: Every memory is embedded; False raises `InvalidInput`, which names what is not.
        """
        if not check_flag(generate_embedding, "generate_embedding"):
            raise InvalidInput("every memory is embedded: leave out generate_embedding, or use put(..., index=False)")
        source, metadata = split_source(source, metadata)
        options = self._write_options(
            self._scope(agent, user, session),
            type=memory_type,
            source=source,
            metadata=metadata,
            importance=importance,
            at=at,
            ttl=ttl,
        )
        return self._components.memories.add([as_text(content)], options)[0]

    def add_memories(
        self,
        contents: Sequence[Content],
        memory_type: MemoryType | str = MemoryType.SEMANTIC,
        source: str | Mapping[str, JSON] | None = None,
        metadata: Mapping[str, JSON] | None = None,
        *,
        agent: str | None = None,
        user: str | None = None,
        session: str | None = None,
        importance: float | None = None,
        at: datetime | str | None = None,
        ttl: float | None = None,
        progress: Progress | None = None,
    ) -> list[Memory]:
        """Store several texts as they are in one commit and return the memories.

        Args:
            contents: The texts, or messages that have them.
            memory_type, source, metadata, agent, user, session, importance, at, ttl: As in `add_memory`, for each text.
            progress: Called with (done, total) while texts are embedded.
        """
        from memoranda.messages.parsing import as_texts

        source, metadata = split_source(source, metadata)
        options = self._write_options(
            self._scope(agent, user, session),
            type=memory_type,
            source=source,
            metadata=metadata,
            importance=importance,
            at=at,
            ttl=ttl,
        )
        texts = as_texts(contents, "contents")
        return ResultList(self._components.memories.add(texts, options, check_progress(progress)), "memory")

    def get(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Return a memory, archived and expired ones too; raise `NotFound` when the scope has none with this id.

        Args:
            memory_id: The id of the memory.
            agent, user, session: The scope it must be in.
        """
        return self._components.memories.get(self._scope(agent, user, session), check_id(memory_id))

    def update(
        self,
        memory_id: int,
        content: Content | None = None,
        *,
        memory_type: MemoryType | str | None = None,
        source: str | None = None,
        metadata: Mapping[str, JSON] | None = None,
        importance: float | None = None,
        change: Callable[[Memory], Mapping[str, object]] | None = None,
        expected_version: int | None = None,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Change a memory and return it as it is now. An argument that is None leaves its field unchanged.

        Args:
            memory_id: The id of the memory.
            content: The new text.
            memory_type: The new type.
            source: The new source.
            metadata: The new metadata; it replaces all of the old.
            importance: The new importance, from 0 to 1.
            change: Instead of the fields above: a function that is given the current memory and returns the fields to
                change as a dict. It is called again when another writer was faster, so that no change is lost.
            expected_version: Change nothing unless this is the memory's version, and raise `Conflict` with the memory
                as it is now in `current`.
            agent, user, session: The scope it must be in.
        """
        scope, memory_id = self._scope(agent, user, session), check_id(memory_id)
        if expected_version is not None:
            check_integer(expected_version, "expected_version")
        fields = {
            "content": content,
            "memory_type": memory_type,
            "source": source,
            "metadata": metadata,
            "importance": importance,
        }
        make_patch = _patch_maker(check_changed_fields(fields), change)
        return self._components.memories.update(scope, memory_id, make_patch, expected_version)

    def delete(
        self,
        memory_id: int | Sequence[int],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> int:
        """Delete memories and return how many; when one of them is not found, raise `NotFound` and delete none.

        Args:
            memory_id: One id, or a list of ids.
            agent, user, session: The scope they must be in.
        """
        return self._components.memories.delete(self._scope(agent, user, session), check_ids(memory_id))

    def delete_memory(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> bool:
        """Delete one memory and return whether there was one with this id.

        Args:
            memory_id: The id of the memory.
            agent, user, session: The scope it must be in.
        """
        try:
            return bool(self.delete(check_id(memory_id), agent=agent, user=user, session=session))
        except NotFound:
            return False

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
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        quarantined: bool = False,
        newest_first: bool = False,
        offset: int = 0,
    ) -> list[Memory]:
        """Return a page of memories in the order of their ids, archived ones too.

        Args:
            limit: The maximum number of memories.
            after: Only ids that come after this one: the last id of the previous page; 0 for the first page.
            agent, user, session: The scope.
            types: Only memories of these types.
            where: Filters; see `MemoryManager`.
            as_of: Only what was true at this time; without it, what is no longer true is listed too.
            known_at: Only what was known and not yet replaced at this time, in the words it had then.
            quarantined: Return only the memories in quarantine; the others when False.
            newest_first: Order by id from the largest to the smallest.
            offset: How many to leave out at the beginning; in long lists, `after` is faster.
        """
        scope, start = self._scope(agent, user, session), check_cursor(after, "after")
        filters = replace(make_filter(where, types), quarantined=check_flag(quarantined, "quarantined"))
        return ResultList(
            self._components.memories.list_page(
                scope,
                filters,
                check_limit(limit),
                start,
                as_of=check_optional_datetime(as_of, "as_of"),
                known_at=check_optional_datetime(known_at, "known_at"),
                newest_first=check_flag(newest_first, "newest_first"),
                offset=check_offset(offset),
            ),
            "memory",
        )

    def release(
        self,
        memory_id: int,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Take a memory out of quarantine, so that it takes part in recall, and return it as it is now.

        Args:
            memory_id: The id of the memory.
            agent, user, session: The scope it must be in.
        """
        return self._components.memories.release(self._scope(agent, user, session), check_id(memory_id))

    def quarantine(
        self,
        memory_id: int,
        reason: str = "put there by hand",
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> Memory:
        """Put a memory into quarantine, where no recall finds it and it ends no other memory, until it is released.

        Args:
            memory_id: The id of the memory.
            reason: Why, for whoever decides about it.
            agent, user, session: The scope it must be in.
        """
        scope = self._scope(agent, user, session)
        return self._components.memories.quarantine(scope, check_id(memory_id), clean_text(reason, "reason"))

    def discard(
        self,
        memory_id: int | Sequence[int],
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> int:
        """Delete memories in quarantine and return how many; when one is not in it, raise `InvalidInput`, delete none.

        Args:
            memory_id: One id, or a list of ids.
            agent, user, session: The scope they must be in.
        """
        return self._components.memories.discard(self._scope(agent, user, session), check_ids(memory_id))

    def search_memories(
        self,
        query: Content,
        memory_types: Sequence[MemoryType | str] | None = None,
        limit: int = 5,
        min_score: float | None = None,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Hit]:
        """Return the hits of `recall` as a list.

        Args:
            query: The question.
            memory_types: Only memories of these types.
            limit: The maximum number of hits.
            min_score: The lowest score of a hit.
            agent, user, session: The scope to search.
            where: Filters; see `MemoryManager`.
        """
        options: dict[str, Any] = {"types": memory_types, "where": where, "limit": limit, "min_score": min_score}
        found = self.recall(query, agent=agent, user=user, session=session, **options)
        self._components.open().vectors.attach_stored([hit.memory for hit in found])
        return ResultList(found, "hit")

    def search_memory(
        self,
        query: Content,
        memory_type: MemoryType | str | None = None,
        limit: int = 5,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        session: str | None = None,
    ) -> list[Hit]:
        """Return the hits of `recall` for one memory type as a list; the source is `unknown` where none was given.

        Args:
            query: The question.
            memory_type: Only memories of this type; None for every type.
            limit: The maximum number of hits.
            agent, user, session: The scope to search.
        """
        types = None if memory_type is None else [memory_type]
        found = self.search_memories(query, types, limit, agent=agent, user=user, session=session)
        return [name_source(hit) for hit in found]

    def add_memory_association(
        self,
        memory_id: int,
        related_memory_id: int,
        relationship_type: str = "related_to",
        strength: float = 1.0,
        metadata: Mapping[str, JSON] | None = None,
        *,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> Association:
        """Link two memories of one scope. Linking them again replaces the strength and the metadata.

        Args:
            memory_id: The memory that the link starts from.
            related_memory_id: The memory that the link points to.
            relationship_type: What the link means.
            strength: From 0 to 1.
            metadata: A JSON object kept with the link; `get_related_memories` returns it as `link_metadata`.
            agent, user: The scope of both memories.
        """
        link = Association(
            check_id(memory_id, "memory_id"),
            check_id(related_memory_id, "related_memory_id"),
            clean_text(relationship_type, "relationship_type"),
            check_fraction(strength, "strength"),
            copy_json_object(metadata, "metadata"),
        )
        return self._components.memories.associate(self._scope(agent, user), link)

    def get_related_memories(
        self,
        memory_id: int,
        relationship_type: str | None = None,
        depth: int = 1,
        *,
        min_strength: float = 0.0,
        agent: str | None = None,
        user: str | AnyUser | None = None,
        limit: int | None = None,
        offset: int = 0,
    ) -> list[Related]:
        """Return linked memories, the nearest and then the strongest first. Links count in both directions.

        Args:
            memory_id: The memory to start from.
            relationship_type: Only links of this type; None for every type.
            depth: The maximum number of links between the two.
            min_strength: Only memories that are reached with at least this strength.
            agent, user: The scope.
            limit: The maximum number of memories; all when None.
            offset: How many to leave out at the beginning.
        """
        kind = check_name(relationship_type, "relationship_type")
        scope, start = self._scope(agent, user), check_id(memory_id, "memory_id")
        least = check_fraction(min_strength, "min_strength")
        found = self._components.memories.related(scope, start, kind, depth)
        strong = [each for each in found if each.strength >= least]
        return ResultList(page_of(strong, limit, offset), "related memory")

    def cleanup_old_memories(
        self,
        max_age_days: float = 30,
        min_importance: float = 0.3,
        dry_run: bool = False,
        *,
        memory_types: Sequence[MemoryType | str] | None = None,
        agent: str | None = None,
        user: str | AnyUser | None = None,
    ) -> CleanupReport:
        """Delete memories that are both old and unimportant, and report each with its reason.

        Args:
            max_age_days: Memories recorded longer ago than this are old.
            min_importance: Memories below this importance are unimportant.
            dry_run: Only report what would be deleted.
            memory_types: Only memories of these types; None for every type.
            agent, user: The scope.
        """
        age = check_days(max_age_days, "max_age_days")
        least = check_fraction(min_importance, "min_importance")
        filters = replace(make_filter(None, memory_types), max_importance=least)
        return self._components.memories.cleanup(self._scope(agent, user), filters, age, check_flag(dry_run, "dry_run"))


def split_source(source: object, metadata: object) -> tuple[Any, Any]:
    """Return source and metadata; a mapping in the place of the source is the metadata."""
    if not isinstance(source, Mapping):
        return source, metadata
    if metadata is not None:
        raise InvalidType("source must be a string where metadata is given too")
    return None, source


def _patch_maker(
    fields: dict[str, Any], change: Callable[[Memory], Mapping[str, object]] | None
) -> Callable[[Memory], Patch]:
    """Return a function from the current memory to its patch: the same fields each time, or those `change` returns."""
    if change is None:
        if not fields:
            raise InvalidInput("nothing to update: give content, memory_type, source, metadata, importance or change")
        patch = _make_patch(**fields)
        return lambda _: patch
    if fields:
        raise InvalidInput(f"give change, or {' and '.join(fields)}, not both: change returns the fields")
    if not callable(change):
        raise InvalidType(f"change must be a function, not {type(change).__name__}")
    return lambda memory: _make_patch(**check_changed_fields(change(memory)))


def _make_patch(
    content: Content | None = None,
    memory_type: MemoryType | str | None = None,
    source: str | None = None,
    metadata: Mapping[str, JSON] | None = None,
    importance: float | None = None,
) -> Patch:
    from memoranda.remember.memories import Patch

    return Patch(
        content=None if content is None else storable_text(as_text(content)),
        type=None if memory_type is None else check_writable_type(memory_type),
        source=check_name(source, "source"),
        metadata=None if metadata is None else copy_metadata(metadata),
        importance=None if importance is None else check_fraction(importance, "importance"),
    )
