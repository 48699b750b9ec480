"""The store that every other store is compared with: plain dicts and no index."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from datetime import datetime

from memoranda.results import Derivation, Revision
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.storage.changes import Change, NewMemory
from memoranda.testing.fakes import in_scope, matches
from memoranda.testing.store_changes import State, apply_change, by_key, only_repeats, owned
from memoranda.types import ANY, EVERYTHING, Filter, IntArray, Memory, Outcome, Related, Scope

FOREVER = float("inf")


class ReferenceStore:
    """A `MemoryStore` and `IndexSource` in memory, kept simple to be correct. Not thread-safe."""

    def __init__(self) -> None:
        self._state = State()

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        state = self._state.copy()
        outcomes = [apply_change(state, change) for change in changes]
        self._state = state
        return copy.deepcopy(outcomes)

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        found = {memory.id: memory for memory in self._visible(scope)}
        return copy.deepcopy([found.get(number) for number in ids])

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]:
        found = [memory for memory in self._visible(scope) if memory.id > after and matches(memory, where)]
        return copy.deepcopy(found[:limit])

    def matching(self, scope: Scope, where: Filter) -> IntArray:
        return _to_ids(memory.id for memory in self._visible(scope) if matches(memory, where))

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        return copy.deepcopy(by_key(self._state, scope, key))

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]:
        owned(self._state, scope, memory_id)
        reached: dict[int, Related] = {}
        frontier = {memory_id: 1.0}
        for step in range(1, depth + 1):
            neighbours = self._neighbours(scope, frontier, kind, step)
            new = {number: found for number, found in neighbours.items() if number not in {memory_id, *reached}}
            reached |= new
            frontier = {number: found.strength for number, found in new.items()}
        return copy.deepcopy(sorted(reached.values(), key=lambda found: (found.depth, -found.strength, found.id)))

    def _neighbours(self, scope: Scope, frontier: dict[int, float], kind: str | None, depth: int) -> dict[int, Related]:
        neighbours: dict[int, Related] = {}
        for (left, right, name), strength in sorted(self._state.links.items()):
            if kind not in (None, name):
                continue
            for start, end in ((left, right), (right, left)):
                memory = self._state.memories[end]
                if start in frontier and in_scope(memory, scope):
                    found = Related(memory, name, frontier[start] * strength, depth)
                    neighbours[end] = max(
                        neighbours.get(end, found), found, key=lambda path: (path.strength, path.relationship_type)
                    )
        return neighbours

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
        visible, requested = {memory.id for memory in self._visible(scope)}, set(ids)
        found = [
            link
            for link in self._state.lineage
            if link.derived_id in visible and requested & {link.derived_id, link.source_id}
        ]
        return sorted(found, key=lambda link: (link.derived_id, link.source_id, link.kind))

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]:
        owned(self._state, scope, memory_id)
        return copy.deepcopy(self._state.revisions.get(memory_id, []))

    def head(self) -> int:
        return len(self._state.log)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        return _to_ids(
            number
            for tenant, user, number in self._state.log[since:]
            if tenant == key.tenant and (key.user is ANY or user == key.user)
        )

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        requested = None if ids is None else set(ids.tolist())
        for memory in self._visible(Scope(key.tenant, user=key.user)):
            absent = memory.archived_at is not None or only_repeats(self._state, memory.id)
            if not absent and (requested is None or memory.id in requested):
                yield _index_row(memory, self._state.drafts[memory.id], generation)

    def _visible(self, scope: Scope) -> list[Memory]:
        return [memory for _, memory in sorted(self._state.memories.items()) if in_scope(memory, scope)]


def _index_row(memory: Memory, draft: NewMemory, generation: int | None) -> IndexRow:
    vector = draft.vector if generation is not None and draft.generation == generation else None
    return IndexRow(
        id=memory.id,
        agent=memory.agent,
        session=memory.session,
        speaker=memory.speaker,
        valid_from=memory.valid_from.timestamp(),
        valid_to=_timestamp(memory.valid_to),
        expires_at=_timestamp(memory.expires_at),
        terms=draft.terms,
        vector=None if vector is None else vector.astype("<f4").tobytes(),
    )


def _timestamp(moment: datetime | None) -> float:
    return FOREVER if moment is None else moment.timestamp()


def _to_ids(numbers: Iterator[int]) -> IntArray:
    import numpy as np

    return np.array(sorted(set(numbers)), dtype=np.int64)
