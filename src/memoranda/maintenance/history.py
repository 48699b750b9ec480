"""What is known of one memory: how it changed, where it came from, what became of it; and putting it away."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoranda.memories.changes import Archive, Change, Derivation, Pin, Revision, no_memory
from memoranda.types import Clock, Memory, Record, Scope

if TYPE_CHECKING:
    from memoranda.storage.sqlite.store import SQLiteStore


@dataclass(frozen=True, slots=True)
class History(Record):
    """A memory's past and relations."""

    memory: Memory
    """As it is now."""
    versions: tuple[Revision, ...]
    """What it was before, oldest first."""
    superseded_by: Memory | None
    """The one that took its place."""
    supersedes: tuple[int, ...]
    """Those that it took the place of."""
    sources: tuple[Derivation, ...]
    """What it was made from."""
    derived: tuple[Derivation, ...]
    """What was made from it."""


class MemoryHistory:
    """Reads the history of memories, and marks them."""

    def __init__(self, store: SQLiteStore, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def history(self, scope: Scope, memory_id: int) -> History:
        from memoranda.memories.lifecycle import superseded_by

        store = self._store
        memory = self._get(scope, memory_id)
        after = None if memory.superseded_by is None else store.get(scope, [memory.superseded_by])[0]
        lines = store.lineage(scope, [memory_id])
        return History(
            memory=memory,
            versions=tuple(store.revisions(scope, memory_id)),
            superseded_by=after,
            supersedes=tuple(store.read(lambda connection: superseded_by(connection, scope, memory_id))),
            sources=tuple(line for line in lines if line.derived_id == memory_id),
            derived=tuple(line for line in lines if line.source_id == memory_id),
        )

    def archive(self, scope: Scope, memory_id: int) -> Memory:
        return self._mark(scope, memory_id, Archive(scope, (memory_id,), self._clock()))

    def restore(self, scope: Scope, memory_id: int) -> Memory:
        return self._mark(scope, memory_id, Archive(scope, (memory_id,), None))

    def pin(self, scope: Scope, memory_id: int, pinned: bool) -> Memory:
        return self._mark(scope, memory_id, Pin(scope, (memory_id,), pinned))

    def _mark(self, scope: Scope, memory_id: int, change: Change) -> Memory:
        self._get(scope, memory_id)
        self._store.apply([change])
        return self._get(scope, memory_id)

    def _get(self, scope: Scope, memory_id: int) -> Memory:
        memory = self._store.get(scope, [memory_id])[0]
        if memory is None:
            raise no_memory(scope, memory_id)
        return memory
