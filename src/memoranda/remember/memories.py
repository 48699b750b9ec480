"""Add, read, change, link and remove single memories, without the remember pipeline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from memoranda.embedding.vectors import Vectors
from memoranda.errors import InvalidInput
from memoranda.remember.new_memory import WriteOptions, from_text
from memoranda.remember.screening.screen import hold, screen
from memoranda.results.maintenance import CleanedMemory, CleanupReport
from memoranda.security.id_cipher import show_id
from memoranda.security.redaction import redact_metadata, redact_secrets
from memoranda.storage.base import Store, TurnStore
from memoranda.storage.changes import Change, Edit, Link, NewMemory, Release, Remove, no_memory, version_conflict
from memoranda.storage.past import TimeView, as_known_at
from memoranda.storage.read import find_memories, memory_by_key, related_memories, walk
from memoranda.storage.read_budget import current_budget
from memoranda.storage.write import MemoryWrite, retry_on_conflict
from memoranda.text.cache import clear_text_caches
from memoranda.text.checks import storable_text
from memoranda.text.terms import content_hash, lexical_keys
from memoranda.types import JSON, Association, Clock, Filter, Memory, MemoryType, Outcome, Progress, Related, Scope
from memoranda.validation import MAX_LIMIT, check_integer


class ContentRules(Protocol):
    """What extraction by rules finds in a text that is not a message."""

    def importance(self, text: str) -> float:
        """Return how important a text is, 0…1."""
        ...

    def notes(self, text: str, memory: Memory) -> dict[str, JSON]:
        """Return what is extracted from the new text of a memory."""
        ...


@dataclass(frozen=True, slots=True)
class Patch:
    """The fields of an update; None leaves a field as it is."""

    content: str | None = None
    type: MemoryType | None = None
    source: str | None = None
    metadata: dict[str, JSON] | None = None
    importance: float | None = None


class Memories:
    """Adds, changes, links and removes memories of any scope."""

    def __init__(self, store: Store, vectors: Vectors, rules: ContentRules, clock: Clock) -> None:
        self._store = store
        self._vectors = vectors
        self._rules = rules
        self._clock = clock

    def add(self, contents: Sequence[str], options: WriteOptions, progress: Progress | None = None) -> list[Memory]:
        """Store each text as a new memory, also if the same text is stored already."""
        new = []
        for content in (redact_secrets(storable_text(content)) for content in contents):
            rated = options.importance is not None
            importance = None if rated else self._rules.importance(content)
            new.append(from_text(content, options, importance=importance))
        screen(new)
        stored = map(_stored, self._write(new, progress))
        return [memory.with_embedding(each.vector) for memory, each in zip(stored, new, strict=True)]

    def save(self, options: WriteOptions, key: str, value: JSON, text: str) -> Memory:
        """Store a value under a key of its agent; saving again replaces it."""
        new = from_text(redact_secrets(text), options, key=key, value=value)
        screen([new])
        return _stored(self._write([new])[0])

    def get(self, scope: Scope, memory_id: int) -> Memory:
        """Return a memory, archived or expired too: its id opens it, so that it can be restored or forgotten.

        A value under a key is gone once it has expired.
        """
        memory = self._store.get(scope, [memory_id])[0]
        if memory is None or (memory.key is not None and memory.has_expired(self._clock())):
            raise no_memory(scope, memory_id)
        self._vectors.attach_stored([memory])
        return memory

    def list_page(
        self,
        scope: Scope,
        where: Filter,
        limit: int,
        after: int,
        *,
        offset: int = 0,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        newest_first: bool = False,
    ) -> list[Memory]:
        """Return memories ordered by id; fewer than `limit` means that there are no more, or no budget to read them.

        Args:
            scope: Whose memories are read.
            where: The filters that they must pass.
            limit: The largest number of memories.
            after: Only ids that come after this one.
            offset: How many of them to leave out at the beginning.
            as_of: Only what was true at this time; true or not when None.
            known_at: Only what was known at this time, in the words it had then.
            newest_first: Whether the largest id comes first.
        """
        view = TimeView(self._clock(), as_of, known_at)
        conditions, found = view.conditions(), list[Memory]()
        read = partial(find_memories, newest_first=newest_first)
        while len(found) < limit and not _was_cut():
            size = limit + min(offset, MAX_LIMIT)
            page = self._store.read(
                lambda tx: read(tx, scope, where, size, after, conditions),  # noqa: B023 - called at once
                tenant=scope.tenant,
            )
            if not page:
                break
            current = [memory for memory in page if not memory.has_expired(view.latest)]
            found += current[offset:]
            offset = max(0, offset - len(current))
            after = page[-1].id
        chosen = found[:limit]
        if known_at is None:
            return chosen
        return self._store.read(lambda tx: as_known_at(tx, chosen, known_at), tenant=scope.tenant)

    def find_by_key(self, scope: Scope, key: str) -> Memory | None:
        return self._store.read(lambda tx: memory_by_key(tx, scope, key), tenant=scope.tenant)

    def update(
        self, scope: Scope, memory_id: int, make_patch: Callable[[Memory], Patch], expected_version: int | None = None
    ) -> Memory:
        """Read, patch and write a memory, so that nothing another writer wrote in between is lost.

        Without an expected version it is read and patched again until no other writer was faster; from the second try
        on, others wait for a moment, where the store can make them. The patch is made before the transaction opens,
        since a new text must be embedded first; the version makes it atomic all the same.
        """

        def plan() -> Edit | Memory:
            known = self.get(scope, memory_id)
            if expected_version is not None and known.version != expected_version:
                raise version_conflict(known, expected_version)
            return self._edit_of(known, make_patch(known))

        return self._write_edit(plan, once=expected_version is not None)

    def _write_edit(self, plan: Callable[[], Edit | Memory], *, once: bool = False) -> Memory:
        """Write the edit that is planned; unless `once`, plan it again when another writer was faster."""

        def write() -> Memory:
            edit = plan()
            return edit if isinstance(edit, Memory) else _stored(self._apply_change(edit))

        if once:
            return write()
        store = self._store
        in_turn = partial(_write_in_turn, store, plan) if isinstance(store, TurnStore) else None
        return retry_on_conflict(write, in_turn)

    def _edit_of(self, known: Memory, patch: Patch) -> Edit | Memory:
        """Return the change that a patch makes; the memory itself when it makes none."""
        if patch == Patch():
            return known
        new = self._apply(patch, known)
        if new.content != known.content or new.source != known.source:
            screen([new])
        self._vectors.attach([new])
        return Edit(known.id, known.version, new)

    def delete(self, scope: Scope, ids: Sequence[int]) -> int:
        """Remove all of them, or none when one does not exist; return how many were removed."""
        if ids:
            self._apply_change(Remove(scope, tuple(ids), all_or_none=True))
        return len(set(ids))

    def delete_key(self, scope: Scope, key: str) -> bool:
        """Remove what is saved under a key of exactly this scope; return whether there was something."""
        memory = self.find_by_key(scope, key)
        if memory is None:
            return False
        return self._apply_change(Remove(scope, (memory.id,))).reason == "1 removed"

    def release(self, scope: Scope, memory_id: int) -> Memory:
        """Take a memory out of quarantine; one that is not in it stays as it is."""
        self.get(scope, memory_id)
        self._apply_change(Release(scope, (memory_id,)))
        return self.get(scope, memory_id)

    def quarantine(self, scope: Scope, memory_id: int, reason: str) -> Memory:
        """Put a memory into quarantine; one that is in it stays as it is."""

        def plan() -> Edit | Memory:
            known = self.get(scope, memory_id)
            if known.quarantined_at is not None:
                return known
            new = self._apply(Patch(), known)
            hold(new, {"reason": reason}, self._clock())
            return Edit(known.id, known.version, new)

        return self._write_edit(plan)

    def discard(self, scope: Scope, ids: Sequence[int]) -> int:
        """Remove memories in quarantine: all of them, or none when one does not exist or is not in quarantine."""
        found = [self.get(scope, memory_id) for memory_id in ids]
        if recalled := [memory.id for memory in found if memory.quarantined_at is None]:
            raise InvalidInput(f"memory {show_id(recalled[0])} is not in quarantine: use forget to remove it")
        return self.delete(scope, ids)

    def associate(self, scope: Scope, association: Association) -> Association:
        if association.memory_id == association.related_memory_id:
            raise InvalidInput(f"memory {show_id(association.memory_id)} cannot be associated with itself")
        self._apply_change(Link(scope, association))
        return association

    def related(self, scope: Scope, memory_id: int, kind: str | None, depth: int) -> list[Related]:
        self.get(scope, memory_id)
        levels = check_integer(depth, "depth", maximum=10)
        now = self._clock()
        return self._store.read(
            lambda tx: related_memories(tx, scope, memory_id, kind, levels, now), tenant=scope.tenant
        )

    def cleanup(self, scope: Scope, filters: Filter, max_age: timedelta, dry_run: bool) -> CleanupReport:
        """Remove memories older than `max_age` whose importance is below the `max_importance` of the filters."""
        now, examined, old = self._clock(), 0, list[CleanedMemory]()
        for memory in walk(self._store, scope, replace(filters, quarantined=False)):
            examined += 1
            if memory.recorded_at < now - max_age and memory.importance < (filters.max_importance or 0.0):
                reason = f"{(now - memory.recorded_at).days} days old, importance {memory.importance:g}"
                old.append(CleanedMemory(memory.id, memory.content, reason))
        if old and not dry_run:
            self._apply_change(Remove(scope, tuple(each.id for each in old)))
        return CleanupReport(examined, len(old), tuple(old), dry_run)

    def _apply(self, patch: Patch, known: Memory) -> NewMemory:
        content = known.content if patch.content is None else redact_secrets(storable_text(patch.content))
        return NewMemory(
            content=content,
            type=patch.type or known.type,
            scope=Scope(known.tenant, known.agent, known.user, known.session),
            importance=known.importance if patch.importance is None else patch.importance,
            recorded_at=known.recorded_at,
            valid_from=known.valid_from,
            content_hash=content_hash(content),
            terms=lexical_keys(content),
            source=patch.source or known.source,
            trust=known.trust,
            metadata=known.metadata if patch.metadata is None else redact_metadata(patch.metadata),
            key=known.key,
            value=known.value,
            expires_at=known.expires_at,
            notes=known.notes if content == known.content else self._rules.notes(content, known),
            quarantined_at=known.quarantined_at,
        )

    def _apply_change(self, change: Change) -> Outcome:
        return self._store.write(MemoryWrite([change]))[0]

    def _write(self, new: Sequence[NewMemory], progress: Progress | None = None) -> list[Outcome]:
        try:
            return self._store.write(MemoryWrite(self._vectors.attach(new, progress))) if new else []
        finally:
            clear_text_caches()


def _write_in_turn(store: TurnStore, plan: Callable[[], Edit | Memory]) -> Memory:
    """Write the edit that is planned while nobody else writes."""
    unchanged: list[Memory] = []

    def prepare() -> MemoryWrite:
        edit = plan()
        if isinstance(edit, Memory):
            unchanged.append(edit)
            return MemoryWrite(())
        return MemoryWrite([edit])

    outcomes = store.write_prepared(prepare)
    return unchanged[0] if unchanged else _stored(outcomes[0])


def _stored(outcome: Outcome) -> Memory:
    assert outcome.memory is not None
    return outcome.memory


def _was_cut() -> bool:
    budget = current_budget()
    return budget is not None and budget.was_cut
