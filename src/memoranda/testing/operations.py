"""What the store suite does with memories, as methods: over a `Store`, and over the exact reference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from memoranda.results import Derivation, Revision
from memoranda.storage.base import IndexRow, IndexSource, PartitionKey, Store
from memoranda.storage.changes import Change
from memoranda.storage.lifecycle import read_lineage, read_revisions
from memoranda.storage.read import find_memories, matching_ids, memory_by_key, related_memories
from memoranda.storage.write import MemoryWrite
from memoranda.types import EVERYTHING, Filter, IntArray, Memory, Outcome, Related, Scope


class MemoryOperations(IndexSource, Protocol):
    """Everything that is compared between two stores. Every method has the scope inside."""

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        """Apply all changes in one commit; an error leaves nothing behind."""
        ...

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]: ...

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]: ...

    def matching(self, scope: Scope, where: Filter) -> IntArray: ...

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]: ...

    def by_key(self, scope: Scope, key: str) -> Memory | None: ...

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]: ...

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]: ...


class StoreOperations:
    """`MemoryOperations` over a `Store`."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        return self.store.write(MemoryWrite(changes)) if changes else []

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        return self.store.get(scope, ids)

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]:
        return self.store.read(lambda tx: find_memories(tx, scope, where, limit, after))

    def matching(self, scope: Scope, where: Filter) -> IntArray:
        return self.store.read(lambda tx: matching_ids(tx, scope, where))

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]:
        return self.store.read(lambda tx: related_memories(tx, scope, memory_id, kind, depth))

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        return self.store.read(lambda tx: memory_by_key(tx, scope, key))

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
        return self.store.read(lambda tx: read_lineage(tx, scope, ids))

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]:
        return self.store.read(lambda tx: read_revisions(tx, scope, memory_id))

    def head(self) -> int:
        return self.store.head()

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        return self.store.changed(key, since)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        return self.store.rows(key, ids, generation)
