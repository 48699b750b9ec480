"""The history of a memory, and marking memories as archived or pinned."""

from __future__ import annotations

from memoranda.recall.later import attach_later
from memoranda.results.maintenance import History
from memoranda.storage.base import Store
from memoranda.storage.changes import Archive, Change, Pin, no_memory
from memoranda.storage.lifecycle import read_lineage, read_revisions, read_superseded
from memoranda.storage.write import MemoryWrite
from memoranda.types import Clock, Hit, Memory, Scope


class MemoryHistory:
    """Reads how memories changed; archives, restores and pins them."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._clock = clock

    def history(self, scope: Scope, memory_id: int) -> History:
        """Return a memory's earlier versions, its sources, what was derived from it and what superseded it."""
        store, memory = self._store, self._get(scope, memory_id)
        lineage = store.read(lambda tx: read_lineage(tx, scope, [memory_id]), tenant=scope.tenant)
        return History(
            memory=memory,
            versions=tuple(store.read(lambda tx: read_revisions(tx, scope, memory_id), tenant=scope.tenant)),
            superseded_by=None if memory.superseded_by is None else store.get(scope, [memory.superseded_by])[0],
            supersedes=tuple(store.read(lambda tx: read_superseded(tx, scope, memory_id), tenant=scope.tenant)),
            sources=tuple(line for line in lineage if line.derived_id == memory_id),
            derived=tuple(line for line in lineage if line.source_id == memory_id),
            later=attach_later(store, scope, [Hit(memory, 0.0)], self._clock())[0][0].later,
        )

    def archive(self, scope: Scope, memory_id: int) -> Memory:
        return self._update(scope, memory_id, Archive(scope, (memory_id,), self._clock()))

    def restore(self, scope: Scope, memory_id: int) -> Memory:
        return self._update(scope, memory_id, Archive(scope, (memory_id,), None))

    def pin(self, scope: Scope, memory_id: int, pinned: bool) -> Memory:
        return self._update(scope, memory_id, Pin(scope, (memory_id,), pinned))

    def _update(self, scope: Scope, memory_id: int, change: Change) -> Memory:
        self._get(scope, memory_id)
        self._store.write(MemoryWrite([change]))
        return self._get(scope, memory_id)

    def _get(self, scope: Scope, memory_id: int) -> Memory:
        memory = self._store.get(scope, [memory_id])[0]
        if memory is None:
            raise no_memory(scope, memory_id)
        return memory
