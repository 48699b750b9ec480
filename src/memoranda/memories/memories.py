"""Long-term memories, the writing side: what is given becomes rows, in one commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from memoranda.errors import InvalidInput
from memoranda.memories.changes import Add, Draft, Edit, Link, Remove, no_memory, walk
from memoranda.memories.claim_resolution import apply_and_revise
from memoranda.memories.vectors import Vectors
from memoranda.memories.write import until_no_conflict
from memoranda.remember.pipeline import Common, importance_of, notes_on, text_draft
from memoranda.text import clean_text, content_hash, lexical_keys
from memoranda.types import (
    JSON,
    Association,
    Clock,
    Filter,
    Memory,
    MemoryType,
    Outcome,
    Progress,
    Record,
    Related,
    Scope,
)
from memoranda.validation import check_integer

if TYPE_CHECKING:
    from memoranda.storage.sqlite.store import SQLiteStore


@dataclass(frozen=True, slots=True)
class Cleaned(Record):
    """One memory that a clean-up takes, and why."""

    id: int
    content: str
    reason: str


@dataclass(frozen=True, slots=True)
class CleanupReport(Record):
    """What a clean-up did, or would do."""

    examined: int
    removed: int
    """How many went; with `dry_run`, how many would."""
    memories: tuple[Cleaned, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Patch:
    """The fields of an update; None leaves a field as it is."""

    content: str | None = None
    type: MemoryType | None = None
    source: str | None = None
    metadata: dict[str, JSON] | None = None
    importance: float | None = None


class Memories:
    """Adds, changes, links and removes memories."""

    def __init__(self, store: SQLiteStore, vectors: Vectors, clock: Clock) -> None:
        self._store = store
        self._vectors = vectors
        self._clock = clock

    def add(self, contents: Sequence[str], call: Common, progress: Progress | None = None) -> list[Memory]:
        """Each text as a memory of its own, whatever is there already."""
        drafts = [text_draft(content, call, importance=importance_of(content, call)) for content in contents]
        return [_stored(outcome) for outcome in self._write(drafts, progress)]

    def save(self, call: Common, key: str, value: JSON, text: str) -> Memory:
        """A value under a key of its agent; saving again replaces it."""
        return _stored(self._write([text_draft(text, call, key=key, value=value)])[0])

    def get(self, scope: Scope, memory_id: int) -> Memory:
        memory = self._store.get(scope, [memory_id])[0]
        if memory is None or _expired(memory, self._clock()):
            raise no_memory(scope, memory_id)
        return memory

    def page(self, scope: Scope, where: Filter, limit: int, after: int) -> list[Memory]:
        """Those greater than `after`, in the order of their ids; fewer than `limit` are the last."""
        found: list[Memory] = []
        while len(found) < limit and (page := self._store.find(scope, where, limit=limit, after=after)):
            found += [memory for memory in page if not _expired(memory, self._clock())]
            after = page[-1].id
        return found[:limit]

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        return self._store.by_key(scope, key)

    def update(self, scope: Scope, memory_id: int, patch: Patch) -> Memory:
        """Reads, patches and writes; tries again when somebody else was faster."""
        if patch == Patch():
            raise InvalidInput("nothing to update: give content, type, source, metadata or importance")

        def write() -> Memory:
            known = self.get(scope, memory_id)
            draft = self._vectors.attach([_patched(known, patch)])[0]
            return _stored(self._change(Edit(memory_id, known.version, draft)))

        return until_no_conflict(write)

    def delete(self, scope: Scope, ids: Sequence[int]) -> int:
        """Removes all of them, or none when one is not there."""
        if ids:
            self._change(Remove(scope, tuple(ids), all_or_none=True))
        return len(set(ids))

    def associate(self, scope: Scope, association: Association) -> Association:
        if association.memory_id == association.related_memory_id:
            raise InvalidInput(f"memory {association.memory_id} cannot be associated with itself")
        self._store.apply([Link(scope, association)])
        return association

    def related(self, scope: Scope, memory_id: int, kind: str | None, depth: int) -> list[Related]:
        self.get(scope, memory_id)
        return self._store.related(scope, memory_id, kind=kind, depth=check_integer(depth, "depth", maximum=10))

    def cleanup(self, scope: Scope, max_age: timedelta, min_importance: float, dry_run: bool) -> CleanupReport:
        """Memories older than `max_age` whose importance lies below the minimum."""
        now, examined, doomed = self._clock(), 0, list[Cleaned]()
        for memory in walk(self._store, scope, Filter(max_importance=min_importance)):
            examined += 1
            if _is_old(memory, now - max_age, min_importance):
                doomed.append(_cleaned(memory, now))
        if doomed and not dry_run:
            self._change(Remove(scope, tuple(each.id for each in doomed)))
        return CleanupReport(examined, len(doomed), tuple(doomed), dry_run)

    def _change(self, change: Edit | Remove) -> Outcome:
        return self._store.write(lambda connection, at: apply_and_revise(connection, [change], at))[0]

    def _write(self, drafts: Sequence[Draft], progress: Progress | None = None) -> list[Outcome]:
        return self._store.apply([Add(draft) for draft in self._vectors.attach(drafts, progress)])


def _stored(outcome: Outcome) -> Memory:
    assert outcome.memory is not None
    return outcome.memory


def _expired(memory: Memory, now: datetime) -> bool:
    return memory.expires_at is not None and memory.expires_at <= now


def _patched(known: Memory, patch: Patch) -> Draft:
    content = known.content if patch.content is None else clean_text(patch.content)
    metadata = known.metadata if patch.metadata is None else patch.metadata
    return Draft(
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
        metadata=metadata,
        key=known.key,
        value=known.value,
        expires_at=known.expires_at,
        notes=known.notes if content == known.content else notes_on(content, known),
    )


def _is_old(memory: Memory, before: datetime, min_importance: float) -> bool:
    return memory.recorded_at < before and memory.importance < min_importance


def _cleaned(memory: Memory, now: datetime) -> Cleaned:
    age = (now - memory.recorded_at).days
    return Cleaned(memory.id, memory.content, f"{age} days old, importance {memory.importance:g}")
