"""A store and the reference side by side: every call goes to both, every answer must be the same."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace

from memoranda.errors import MemorandaError
from memoranda.results import Derivation, DerivationKind, Revision
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.storage.changes import (
    Archive,
    Change,
    Derive,
    Edit,
    Link,
    Pin,
    Remove,
    Supersede,
)
from memoranda.testing.operations import MemoryOperations
from memoranda.testing.reference import ReferenceStore
from memoranda.types import ANY, EVERYTHING, Association, Filter, IntArray, Memory, Outcome, Related, Scope


class Pair:
    """Drives a store together with the reference. Ids are the reference's; the store may number otherwise."""

    def __init__(self, store: MemoryOperations) -> None:
        self.store = store
        self.reference = ReferenceStore()
        self._to_store: dict[int, int] = {}
        self._to_reference: dict[int, int] = {}

    def known_ids(self) -> list[int]:
        """Every id ever given out, those of removed memories too."""
        return sorted(self._to_store)

    def store_id(self, number: int) -> int:
        # An id the reference never gave out must be unknown to the store as well.
        return self._to_store.get(number, number + 1_000_000)

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        """The outcomes, equal on both sides; an error is raised once both have raised its type."""
        expected, error = _attempt(self.reference, changes)
        found, store_error = _attempt(self.store, [self._translate(change) for change in changes])
        assert type(store_error) is type(error), f"store: {store_error!r}, reference: {error!r}"
        if error is not None:
            raise error
        assert [outcome.status for outcome in found] == [outcome.status for outcome in expected]
        for mine, theirs in zip(expected, found, strict=True):
            self._learn(mine.memory, theirs.memory)
        return expected

    def adopt(self, additions: Sequence[Change], since: int) -> None:
        """Takes over additions that somebody else made to the store after the change number `since`."""
        added = [outcome.memory for outcome in self.reference.apply(additions) if outcome.status == "stored"]
        tenants = {memory.tenant for memory in added if memory}
        fresh = {number for name in tenants for number in self.store.changed(PartitionKey(name, ANY), since).tolist()}
        for mine, number in zip(added, sorted(fresh), strict=True):
            assert mine is not None
            self._learn(mine, self.store.get(Scope(mine.tenant, user=ANY), [number])[0])

    def get(self, scope: Scope, ids: Sequence[int]) -> None:
        found = self.store.get(scope, [self.store_id(number) for number in ids])
        self._same(self.reference.get(scope, ids), found)

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int = 1_000, after: int = 0) -> None:
        found = self.store.find(scope, where, limit=limit, after=self.store_id(after) if after else 0)
        self._same(self.reference.find(scope, where, limit=limit, after=after), found)

    def matching(self, scope: Scope, where: Filter = EVERYTHING) -> None:
        found = self.store.matching(scope, where).tolist()
        expected = self.reference.matching(scope, where).tolist()
        assert found == sorted(self._to_store[number] for number in expected), (scope, where)

    def related(self, scope: Scope, number: int, *, kind: str | None = None, depth: int = 1) -> None:
        found = self.store.related(scope, self.store_id(number), kind=kind, depth=depth)
        expected = self.reference.related(scope, number, kind=kind, depth=depth)
        assert [self._path(one) for one in found] == [_path(one) for one in expected]
        self._same([one.memory for one in expected], [one.memory for one in found])

    def by_key(self, scope: Scope, key: str) -> None:
        self._same([self.reference.by_key(scope, key)], [self.store.by_key(scope, key)])

    def lineage(self, scope: Scope, ids: Sequence[int]) -> None:
        found = self.store.lineage(scope, [self.store_id(number) for number in ids])
        own = [Derivation(self._to_reference[d], self._to_reference[s], kind) for d, s, kind in map(_descent, found)]
        assert own == self.reference.lineage(scope, ids)

    def revisions(self, scope: Scope, number: int) -> None:
        found = self.store.revisions(scope, self.store_id(number))
        expected = self.reference.revisions(scope, number)
        # The reference has no clock: when it was changed is the store's own affair.
        assert [_undated(one) for one in found] == [_undated(one) for one in expected]

    def changed(self, key: PartitionKey, since: int, store_since: int) -> None:
        expected = [self._to_store[number] for number in self.reference.changed(key, since).tolist()]
        assert self.store.changed(key, store_since).tolist() == sorted(expected)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> None:
        import numpy as np

        asked = None if ids is None else np.array(sorted(map(self.store_id, ids.tolist())), dtype=np.int64)
        found = [self._own(row) for row in self.store.rows(key, asked, generation)]
        assert found == list(self.reference.rows(key, ids, generation))

    def everything(self, scopes: Sequence[Scope]) -> None:
        """Compares all memories and partitions seen through these scopes."""
        for scope in scopes:
            self.find(scope)
            self.get(scope, self.known_ids())

    def _renumbered(self, memory: Memory) -> Memory:
        by = memory.superseded_by
        return replace(
            memory, id=self._to_reference[memory.id], superseded_by=None if by is None else self._to_reference[by]
        )

    def _own(self, row: IndexRow) -> IndexRow:
        return replace(row, id=self._to_reference[row.id])

    def _path(self, one: Related) -> tuple[int, str, float, int]:
        return self._to_reference[one.id], *_path(one)[1:]

    def _translate(self, change: Change) -> Change:
        match change:
            case Edit(number, _, _):
                return replace(change, id=self.store_id(number))
            case Remove(_, ids) | Archive(_, ids) | Pin(_, ids):
                return replace(change, ids=self._store_ids(ids))
            case Supersede(_, ids, by):
                return replace(change, ids=self._store_ids(ids), by=self.store_id(by))
            case Derive(_, sources):
                return replace(change, sources=self._store_ids(sources))
            case Link(scope, link):
                ends = self.store_id(link.memory_id), self.store_id(link.related_memory_id)
                return Link(scope, Association(*ends, link.relationship_type, link.strength))
            case _:
                return change

    def _store_ids(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.store_id(number) for number in ids)

    def _learn(self, mine: Memory | None, theirs: Memory | None) -> None:
        if mine is not None and theirs is not None:
            assert self._to_store.setdefault(mine.id, theirs.id) == theirs.id, "an id was given out twice"
            assert self._to_reference.setdefault(theirs.id, mine.id) == mine.id, "an id was given out twice"
        self._same([mine], [theirs])

    def _same(self, expected: Sequence[Memory | None], found: Sequence[Memory | None]) -> None:
        own = [one and self._renumbered(one) for one in found]
        assert list(map(_plain, own)) == list(map(_plain, expected))


def _attempt(store: MemoryOperations, changes: Sequence[Change]) -> tuple[list[Outcome], MemorandaError | None]:
    try:
        return store.apply(changes), None
    except MemorandaError as error:
        return [], error


def _path(one: Related) -> tuple[int, str, float, int]:
    return one.id, one.relationship_type, round(one.strength, 9), one.depth


def _descent(one: Derivation) -> tuple[int, int, DerivationKind]:
    return one.derived_id, one.source_id, one.kind


def _undated(one: Revision) -> dict[str, object]:
    return {name: one[name] for name in one.keys() if name != "changed_at"}  # noqa: SIM118 - a record's keys() is its own


def _plain(memory: Memory | None) -> dict[str, object] | None:
    if memory is None:
        return None
    # As JSON text, True and 1 and 1.0 are three different values; as Python values they are equal.
    loose = {name: json.dumps(memory[name], sort_keys=True) for name in ("metadata", "value")}
    return {name: memory[name] for name in memory.keys()} | loose  # noqa: SIM118 - a record's keys() is its own
