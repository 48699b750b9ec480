"""Differential testing of stores: run the same operations on a store and on the reference, and compare the results."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from operator import attrgetter
from typing import Protocol, TypeAlias

import numpy as np

from memoranda.errors import Conflict, MemorandaError, NotFound
from memoranda.results.maintenance import Derivation, Revision
from memoranda.storage.base import IndexRow, IndexSource, PartitionKey, Store
from memoranda.storage.changes import Archive, Change, Derive, Edit, Link, NewMemory, Pin, Remove, Supersede
from memoranda.storage.lifecycle import read_lineage, read_revisions
from memoranda.storage.read import find_memories, matching_ids, memory_by_key, related_memories
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import KINDS, ODD_VALUES, Samples
from memoranda.testing.reference import ReferenceStore, T
from memoranda.types import ANY, EVERYTHING, Association, Filter, IntArray, Memory, Outcome, Related, Scope

_Comparable: TypeAlias = tuple[object, ...]
UNKNOWN_ID = 424_242
"""An id that no test reaches."""


class MemoryOperations(IndexSource, Protocol):
    """The operations that are compared between two stores."""

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
        self.get = store.get
        self.head = store.head
        self.changed = store.changed
        self.rows = store.rows

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        return self.store.write(MemoryWrite(changes)) if changes else []

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]:
        return self.store.read(lambda tx: find_memories(tx, scope, where, limit, after), tenant=scope.tenant)

    def matching(self, scope: Scope, where: Filter) -> IntArray:
        return self.store.read(lambda tx: matching_ids(tx, scope, where), tenant=scope.tenant)

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]:
        return self.store.read(lambda tx: related_memories(tx, scope, memory_id, kind, depth), tenant=scope.tenant)

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        return self.store.read(lambda tx: memory_by_key(tx, scope, key), tenant=scope.tenant)

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
        return self.store.read(lambda tx: read_lineage(tx, scope, ids), tenant=scope.tenant)

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]:
        return self.store.read(lambda tx: read_revisions(tx, scope, memory_id), tenant=scope.tenant)


class StorePair:
    """A store and the reference. All ids passed in are the reference's; the store may number otherwise."""

    def __init__(self, store: MemoryOperations) -> None:
        self.store = store
        self.reference = ReferenceStore(copied=_as_it_is)
        self._expected: dict[int, tuple[Memory, _Comparable]] = {}
        """What memories of the reference are compared by, by their ids: few change between two comparisons."""
        self._store_ids: dict[int, int] = {}
        self._reference_ids: dict[int, int] = {}

    def known_ids(self) -> list[int]:
        """Return every id ever assigned, those of removed memories too."""
        return sorted(self._store_ids)

    def store_id(self, memory_id: int) -> int:
        # An id that the reference never assigned must be unknown to the store as well.
        return self._store_ids.get(memory_id, memory_id + 1_000_000)

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        """Apply changes to both and return the outcomes, which must be equal; an error must be raised by both."""
        expected, error = _try_apply(self.reference, changes)
        found, store_error = _try_apply(self.store, [self._with_store_ids(change) for change in changes])
        assert type(store_error) is type(error), f"store: {store_error!r}, reference: {error!r}"
        if error is not None:
            raise error
        assert [outcome.status for outcome in found] == [outcome.status for outcome in expected]
        for reference_outcome, store_outcome in zip(expected, found, strict=True):
            self._match(reference_outcome.memory, store_outcome.memory)
        return expected

    def adopt(self, changes: Sequence[Change], since: int) -> None:
        """Apply to the reference what another process added to the store after the change number `since`."""
        added = [outcome.memory for outcome in self.reference.apply(changes) if outcome.status == "stored"]
        tenants = {memory.tenant for memory in added if memory}
        new_ids = {each for name in tenants for each in self.store.changed(PartitionKey(name, ANY), since).tolist()}
        # A store may also name memories that were there: what it must not do is leave one out.
        for memory, new_id in zip(added, sorted(new_ids - self._reference_ids.keys()), strict=True):
            assert memory is not None
            self._match(memory, self.store.get(Scope(memory.tenant, user=ANY), [new_id])[0])

    def compare_get(self, scope: Scope, ids: Sequence[int]) -> None:
        self._assert_equal(self.reference.get(scope, ids), self.store.get(scope, self._to_store_ids(ids)))

    def compare_find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int = 1_000, after: int = 0) -> None:
        found = self.store.find(scope, where, limit=limit, after=self.store_id(after) if after else 0)
        self._assert_equal(self.reference.find(scope, where, limit=limit, after=after), found)

    def compare_matching(self, scope: Scope, where: Filter = EVERYTHING) -> None:
        found = self.store.matching(scope, where).tolist()
        expected = self.reference.matching(scope, where).tolist()
        assert found == sorted(self._store_ids[memory_id] for memory_id in expected), (scope, where)

    def compare_related(self, scope: Scope, memory_id: int, *, kind: str | None = None, depth: int = 1) -> None:
        found = self.store.related(scope, self.store_id(memory_id), kind=kind, depth=depth)
        expected = self.reference.related(scope, memory_id, kind=kind, depth=depth)
        assert list(map(_path, found)) == list(map(_path, expected))
        self._assert_equal([each.memory for each in expected], [each.memory for each in found])

    def compare_by_key(self, scope: Scope, key: str) -> None:
        self._assert_equal([self.reference.by_key(scope, key)], [self.store.by_key(scope, key)])

    def compare_lineage(self, scope: Scope, ids: Sequence[int]) -> None:
        found = [
            Derivation(self._reference_ids[line.derived_id], self._reference_ids[line.source_id], line.kind)
            for line in self.store.lineage(scope, self._to_store_ids(ids))
        ]
        assert found == self.reference.lineage(scope, ids)

    def compare_revisions(self, scope: Scope, memory_id: int) -> None:
        found = self.store.revisions(scope, self.store_id(memory_id))
        expected = self.reference.revisions(scope, memory_id)
        # The reference has no clock, so the times of the changes are not compared.
        assert list(map(_without_time, found)) == list(map(_without_time, expected))

    def compare_changed(self, key: PartitionKey, since: int, store_since: int) -> None:
        expected = [self._store_ids[memory_id] for memory_id in self.reference.changed(key, since).tolist()]
        assert self.store.changed(key, store_since).tolist() == sorted(expected)

    def compare_rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> None:
        store_ids = None if ids is None else np.array(sorted(self._to_store_ids(ids.tolist())), dtype=np.int64)
        rows: Iterator[IndexRow] = self.store.rows(key, store_ids, generation)
        found = [replace(row, id=self._reference_ids[row.id]) for row in rows]
        assert found == list(self.reference.rows(key, ids, generation))

    def compare_memories(self, scopes: Sequence[Scope]) -> None:
        """Compare all memories as seen through these scopes."""
        for scope in scopes:
            self.compare_find(scope)
            self.compare_get(scope, self.known_ids())

    def _with_store_ids(self, change: Change) -> Change:
        match change:
            case Edit(memory_id, _, _):
                return replace(change, id=self.store_id(memory_id))
            case Remove(_, ids) | Archive(_, ids) | Pin(_, ids):
                return replace(change, ids=self._to_store_ids(ids))
            case Supersede(_, ids, by):
                return replace(change, ids=self._to_store_ids(ids), by=self.store_id(by))
            case Derive(_, sources):
                return replace(change, sources=self._to_store_ids(sources))
            case Link(scope, link):
                ends = self.store_id(link.memory_id), self.store_id(link.related_memory_id)
                return Link(scope, Association(*ends, link.relationship_type, link.strength, link.metadata))
            case _:
                return change

    def _to_store_ids(self, ids: Sequence[int]) -> tuple[int, ...]:
        return tuple(self.store_id(memory_id) for memory_id in ids)

    def _match(self, memory: Memory | None, stored: Memory | None) -> None:
        """Record which ids belong together, and compare the two memories."""
        if memory is not None and stored is not None:
            assert self._store_ids.setdefault(memory.id, stored.id) == stored.id, "an id was assigned twice"
            assert self._reference_ids.setdefault(stored.id, memory.id) == memory.id, "an id was assigned twice"
        self._assert_equal([memory], [stored])

    def _assert_equal(self, expected: Sequence[Memory | None], found: Sequence[Memory | None]) -> None:
        assert list(map(self._found, found)) == list(map(self._wanted, expected))

    def _found(self, memory: Memory | None) -> _Comparable | None:
        if memory is None:
            return None
        by = None if memory.superseded_by is None else self._reference_ids[memory.superseded_by]
        return _to_comparable(memory, self._reference_ids[memory.id], by)

    def _wanted(self, memory: Memory | None) -> _Comparable | None:
        if memory is None:
            return None
        known = self._expected.get(memory.id)
        if known is None or known[0] is not memory:  # the reference never changes one, it puts another in its place
            known = self._expected[memory.id] = memory, _to_comparable(memory, memory.id, memory.superseded_by)
        return known[1]


def _as_it_is(value: T) -> T:
    return value


def _try_apply(store: MemoryOperations, changes: Sequence[Change]) -> tuple[list[Outcome], MemorandaError | None]:
    try:
        return store.apply(changes), None
    except MemorandaError as error:
        return [], error


def _path(found: Related) -> tuple[str, float, int]:
    return found.relationship_type, round(found.strength, 9), found.depth


def _without_time(revision: Revision) -> dict[str, object]:
    return {name: revision[name] for name in revision.keys() if name != "changed_at"}  # noqa: SIM118 - Record.keys()


_COMPARED_APART = ("metadata", "value", "edited_at", "id", "superseded_by")
_get_fields = attrgetter(*(each.name for each in fields(Memory) if each.name not in _COMPARED_APART))


def _to_comparable(memory: Memory, memory_id: int, superseded_by: int | None) -> _Comparable:
    """Return everything of a memory, with these ids."""
    # As JSON text, True and 1 and 1.0 are three different values; as Python values they are equal.
    as_text = [json.dumps(value, sort_keys=True) if value else repr(value) for value in (memory.metadata, memory.value)]
    # An edit has the time of its transaction.
    return (memory_id, superseded_by, *as_text, memory.edited_at is not None, _get_fields(memory))


def apply_random_changes(pair: StorePair, samples: Samples) -> None:
    """Apply one or several random changes, valid or not, to both stores."""
    changes = [_random_change(pair, samples) for _ in range(samples.random.choice([1, 1, 2, 5]))]
    # When both sides raise the same error, they agree.
    with suppress(Conflict, NotFound):
        pair.apply(changes)


def compare_reads(pair: StorePair, samples: Samples) -> None:
    """Compare every reading operation once, with a random scope and filter."""
    scope, where = samples.read_scope(), samples.filter()
    pair.compare_matching(scope, where)
    pair.compare_find(scope, where, limit=5, after=samples.random.choice([0, *pair.known_ids()]))
    pair.compare_get(scope, pair.known_ids())
    pair.compare_by_key(samples.write_scope(), samples.random.choice(["k1", "k2"]))
    pair.compare_rows(PartitionKey(scope.tenant, scope.user), None, None)
    pair.compare_lineage(scope, pair.known_ids())
    for memory in pair.reference.find(scope, limit=3):
        pair.compare_revisions(scope, memory.id)


def _random_change(pair: StorePair, samples: Samples) -> Change:
    """Return an addition half of the time, else a change to memories that may or may not exist."""
    choice = samples.random.random()
    ids = [*pair.known_ids(), UNKNOWN_ID]
    if choice < 0.5:
        return _random_addition(samples)
    if choice < 0.7:
        return _random_edit(pair, samples, samples.random.choice(ids))
    scope = samples.read_scope()
    if choice < 0.8:
        return Remove(scope, tuple(samples.random.choices(ids, k=2)), samples.random.random() < 0.5)
    if choice < 0.92:
        return _random_upkeep(samples, scope, samples.random.choices(ids, k=2))
    ends = samples.random.choice(ids), samples.random.choice(ids)
    return Link(scope, Association(*ends, samples.random.choice(KINDS), samples.random.choice([0.25, 0.5, 1.0])))


def _random_addition(samples: Samples) -> NewMemory:
    new, pick = samples.new_memory(), samples.random.choice
    key = pick([None, None, None, "k1", "k2"])
    return replace(
        new,
        key=key,
        value=None if key is None else pick(ODD_VALUES),
        deduplicate=key is None and pick([True, False]),
        idempotency_key=pick([None, None, f"call-{samples.random.randint(0, 5)}"]) if key is None else None,
    )


def _random_edit(pair: StorePair, samples: Samples, memory_id: int) -> Edit:
    known = pair.reference.get(Scope(samples.write_scope().tenant, user=ANY), [memory_id])[0]
    if known is None:
        return Edit(memory_id, 1, samples.new_memory())
    owner = Scope(known.tenant, known.agent, known.user, known.session)
    version = known.version - (samples.random.random() < 0.1)
    return Edit(memory_id, version, replace(samples.new_memory(owner), key=known.key, value=known.value))


def _random_upkeep(samples: Samples, scope: Scope, memory_ids: list[int]) -> Change:
    ids, pick = tuple(memory_ids), samples.random.choice
    owner = scope if scope.user is not ANY else replace(scope, user=None)
    changes: list[Change] = [
        Archive(scope, ids, samples.moment()),
        Archive(scope, ids, None),
        Supersede(scope, ids, pick(memory_ids), samples.moment(), merged=pick([True, False])),
        Pin(scope, ids, pick([True, False])),
        Derive(replace(samples.new_memory(owner), message=None), ids, "consolidated"),
    ]
    return pick(changes)
