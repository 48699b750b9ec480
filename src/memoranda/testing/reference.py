"""The store that every other store is compared with: plain dicts and no index."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

import numpy as np

from memoranda.results.maintenance import Derivation, Revision
from memoranda.storage.add import true_from
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.storage.changes import Change, NewMemory
from memoranda.storage.rows import to_json
from memoranda.testing.reference_changes import (
    State,
    apply_change,
    is_in_scope,
    memory_by_key,
    only_repeats,
    require_memory,
)
from memoranda.types import ANY, EVERYTHING, JSON, Condition, Filter, IntArray, Memory, Outcome, Related, Scope

T = TypeVar("T")
_NEVER = float("inf")


class _Copy(Protocol):
    def __call__(self, value: T, /) -> T: ...


class ReferenceStore:
    """`MemoryOperations` in memory, kept simple to be correct. Not thread-safe.

    Args:
        copied: Returns a copy of what is given out. Who only compares it can do without, which is several times faster.
    """

    def __init__(self, copied: _Copy = copy.deepcopy) -> None:
        self._state = State()
        self._copied = copied

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        state = self._state.copy()
        outcomes = [apply_change(state, change) for change in changes]
        self._state = state
        return self._copied(outcomes)

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        found = {memory.id: memory for memory in self._memories(scope)}
        return self._copied([found.get(memory_id) for memory_id in ids])

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]:
        found = [memory for memory in self._memories(scope) if memory.id > after and passes_filter(memory, where)]
        return self._copied(found[:limit])

    def matching(self, scope: Scope, where: Filter) -> IntArray:
        return _to_ids(memory.id for memory in self._memories(scope) if passes_filter(memory, where))

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        return self._copied(memory_by_key(self._state, scope, key))

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]:
        require_memory(self._state, scope, memory_id)
        reached: dict[int, Related] = {}
        frontier = {memory_id: 1.0}
        for level in range(1, depth + 1):
            neighbours = self._neighbours(scope, frontier, kind, level)
            new = {end: found for end, found in neighbours.items() if end not in {memory_id, *reached}}
            reached |= new
            frontier = {end: found.strength for end, found in new.items()}
        return self._copied(sorted(reached.values(), key=lambda found: (found.depth, -found.strength, found.id)))

    def _neighbours(self, scope: Scope, frontier: dict[int, float], kind: str | None, depth: int) -> dict[int, Related]:
        neighbours: dict[int, Related] = {}
        for (left, right, name), link in sorted(self._state.links.items()):
            if kind not in (None, name):
                continue
            for start, end in ((left, right), (right, left)):
                memory = self._state.memories[end]
                if start in frontier and is_in_scope(memory, scope):
                    strength = frontier[start] * link.strength
                    found = Related(memory, name, strength, depth, link.metadata)
                    neighbours[end] = max(neighbours.get(end, found), found, key=_path_order)
        return neighbours

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
        visible, requested = {memory.id for memory in self._memories(scope)}, set(ids)
        found = [
            line
            for line in self._state.lineage
            if line.derived_id in visible and requested & {line.derived_id, line.source_id}
        ]
        return sorted(found, key=lambda line: (line.derived_id, line.source_id, line.kind))

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]:
        require_memory(self._state, scope, memory_id)
        return self._copied(self._state.revisions.get(memory_id, []))

    def head(self, key: PartitionKey | None = None) -> int:  # noqa: ARG002 - one number for all
        return len(self._state.log)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        return _to_ids(
            memory_id
            for tenant, user, memory_id in self._state.log[since:]
            if tenant == key.tenant and (key.user is ANY or user == key.user)
        )

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        requested = None if ids is None else set(ids.tolist())
        for memory in self._memories(Scope(key.tenant, user=key.user)):
            absent = bool(memory.archived_at or memory.quarantined_at) or only_repeats(self._state, memory.id)
            if not absent and (requested is None or memory.id in requested):
                yield _index_row(memory, self._state.inputs[memory.id], generation)

    def _memories(self, scope: Scope) -> list[Memory]:
        return [memory for _, memory in sorted(self._state.memories.items()) if is_in_scope(memory, scope)]


def passes_filter(memory: Memory, where: Filter) -> bool:
    return (
        (not where.types or memory.type in where.types)
        and (not where.sources or memory.source in where.sources)
        and (not where.speakers or memory.speaker in where.speakers)
        and (where.after is None or memory.valid_from >= where.after)
        and (where.before is None or memory.valid_from < where.before)
        and (where.min_importance is None or memory.importance >= where.min_importance)
        and (where.max_importance is None or memory.importance <= where.max_importance)
        and (where.quarantined is None or (memory.quarantined_at is not None) is where.quarantined)
        and (not where.trusts or memory.trust in where.trusts)
        and (where.pinned is None or memory.pinned is where.pinned)
        and all(_metadata_passes(memory.metadata, condition) for condition in where.metadata)
    )


def _metadata_passes(metadata: dict[str, JSON], condition: Condition) -> bool:
    present = condition.key in metadata
    if condition.op == "exists":
        return present == bool(condition.value)
    if not present:
        return condition.op == "ne"
    found = metadata[condition.key]
    items = found if isinstance(found, list) else [found]
    if condition.op == "ne":
        return not any(_is_equal(item, condition.value) for item in items)
    return any(_item_passes(item, condition) for item in items)


def _item_passes(item: JSON, condition: Condition) -> bool:
    value = condition.value
    if condition.op == "eq":
        return _is_equal(item, value)
    if condition.op == "in":
        return any(_is_equal(item, choice) for choice in (value if isinstance(value, list) else [value]))
    if _kind(item) != _kind(value) or _kind(item) not in ("str", "number"):
        return False
    # Python orders strings by code point, which is the order of their UTF-8 bytes too.
    sign = (item > value) - (item < value)  # type: ignore[operator]
    return {"gt": sign > 0, "gte": sign >= 0, "lt": sign < 0, "lte": sign <= 0}[condition.op]


def _is_equal(left: JSON, right: JSON) -> bool:
    return _kind(left) == _kind(right) and left == right


def _kind(value: JSON) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _index_row(memory: Memory, new: NewMemory, generation: int | None) -> IndexRow:
    vector = new.vector if generation is not None and new.generation == generation else None
    return IndexRow(
        id=memory.id,
        agent=memory.agent,
        session=memory.session,
        speaker=memory.speaker,
        valid_from=memory.valid_from.timestamp(),
        valid_to=_timestamp(memory.valid_to),
        expires_at=_timestamp(memory.expires_at),
        recorded_at=memory.recorded_at.timestamp(),
        true_from=(true_from(new) or memory.valid_from).timestamp(),
        ended_at=_timestamp(memory.superseded_at),
        terms=new.terms,
        vector=None if vector is None else vector.astype("<f4").tobytes(),
    )


def _timestamp(moment: datetime | None) -> float:
    return _NEVER if moment is None else moment.timestamp()


def _to_ids(ids: Iterator[int]) -> IntArray:
    return np.array(sorted(set(ids)), dtype=np.int64)


def _path_order(path: Related) -> tuple[float, str, str]:
    return path.strength, path.relationship_type, to_json(path.link_metadata) if path.link_metadata else ""
