"""The exact store every other one is compared with: plain dicts, no index, no cleverness."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.storage.base import (
    Add,
    Change,
    Draft,
    Edit,
    IndexRow,
    Link,
    PartitionKey,
    Remove,
)
from recollect.types import (
    ANY,
    EVERYTHING,
    JSON,
    Condition,
    Filter,
    IntArray,
    Memory,
    Outcome,
    Related,
    Scope,
)

FOREVER = float("inf")


def in_scope(memory: Memory, scope: Scope) -> bool:
    """Whether a scope sees a memory."""
    return (
        memory.tenant == scope.tenant
        and scope.agent in (None, memory.agent)
        and (scope.user is ANY or memory.user == scope.user)
        and scope.session in (None, memory.session)
    )


def matches(memory: Memory, where: Filter) -> bool:
    """Whether a memory passes a filter."""
    return (
        (not where.types or memory.type in where.types)
        and (not where.sources or memory.source in where.sources)
        and (not where.speakers or memory.speaker in where.speakers)
        and (where.after is None or memory.valid_from >= where.after)
        and (where.before is None or memory.valid_from < where.before)
        and (where.min_importance is None or memory.importance >= where.min_importance)
        and (where.max_importance is None or memory.importance <= where.max_importance)
        and all(_holds(memory.metadata, condition) for condition in where.metadata)
    )


def _holds(metadata: dict[str, JSON], condition: Condition) -> bool:
    present = condition.key in metadata
    if condition.op == "exists":
        return present == bool(condition.value)
    if not present:
        return condition.op == "ne"
    found = metadata[condition.key]
    items = found if isinstance(found, list) else [found]
    if condition.op == "ne":
        return not any(_same(item, condition.value) for item in items)
    return any(_passes(item, condition) for item in items)


def _passes(item: JSON, condition: Condition) -> bool:
    if condition.op == "eq":
        return _same(item, condition.value)
    if condition.op == "in":
        choices = condition.value if isinstance(condition.value, list) else [condition.value]
        return any(_same(item, choice) for choice in choices)
    return _ordered(item, condition)


def _kind(value: JSON) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _same(left: JSON, right: JSON) -> bool:
    return _kind(left) == _kind(right) and left == right


def _ordered(item: JSON, condition: Condition) -> bool:
    wanted = condition.value
    if isinstance(item, str) and isinstance(wanted, str):
        # Code points, as UTF-8 bytes order them too.
        return _compare((item > wanted) - (item < wanted), condition)
    if _kind(item) == _kind(wanted) == "number":
        return _compare((item > wanted) - (item < wanted), condition)  # type: ignore[operator]
    return False


def _compare(sign: int, condition: Condition) -> bool:
    return {"gt": sign > 0, "gte": sign >= 0, "lt": sign < 0, "lte": sign <= 0}[condition.op]


@dataclass(slots=True)
class _State:
    memories: dict[int, Memory] = field(default_factory=dict)
    drafts: dict[int, Draft] = field(default_factory=dict)
    links: dict[tuple[int, int, str], float] = field(default_factory=dict)
    log: list[tuple[str, str | None, int]] = field(default_factory=list)
    """Tenant, user and id of each change; its number is its place, from 1."""
    last_id: int = 0

    def copy(self) -> _State:
        return _State(dict(self.memories), dict(self.drafts), dict(self.links), list(self.log), self.last_id)


class ReferenceStore:
    """A `MemoryStore` and `IndexSource` in memory, right by being simple. Not for threads."""

    def __init__(self) -> None:
        self._state = _State()

    def apply(self, changes: Sequence[Change]) -> list[Outcome]:
        state = self._state.copy()
        outcomes = [_apply(state, change) for change in changes]
        self._state = state
        return copy.deepcopy(outcomes)

    def get(self, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
        found = {memory.id: memory for memory in self._visible(scope)}
        return copy.deepcopy([found.get(number) for number in ids])

    def find(self, scope: Scope, where: Filter = EVERYTHING, *, limit: int, after: int = 0) -> list[Memory]:
        found = [memory for memory in self._visible(scope) if memory.id > after and matches(memory, where)]
        return copy.deepcopy(found[:limit])

    def matching(self, scope: Scope, where: Filter) -> IntArray:
        return _ids(memory.id for memory in self._visible(scope) if matches(memory, where))

    def by_key(self, scope: Scope, key: str) -> Memory | None:
        return copy.deepcopy(_by_key(self._state, scope, key))

    def related(self, scope: Scope, memory_id: int, *, kind: str | None, depth: int) -> list[Related]:
        _owned(self._state, scope, memory_id)
        reached: dict[int, Related] = {}
        frontier = {memory_id: 1.0}
        for step in range(1, depth + 1):
            ring = self._ring(scope, frontier, kind, step)
            ring = {number: found for number, found in ring.items() if number not in {memory_id, *reached}}
            reached |= ring
            frontier = {number: found.strength for number, found in ring.items()}
        return copy.deepcopy(sorted(reached.values(), key=lambda found: (found.depth, -found.strength, found.id)))

    def _ring(self, scope: Scope, frontier: dict[int, float], kind: str | None, depth: int) -> dict[int, Related]:
        ring: dict[int, Related] = {}
        for (left, right, name), strength in sorted(self._state.links.items()):
            if kind not in (None, name):
                continue
            for start, end in ((left, right), (right, left)):
                memory = self._state.memories[end]
                if start in frontier and in_scope(memory, scope):
                    found = Related(memory, name, frontier[start] * strength, depth)
                    ring[end] = max(ring.get(end, found), found, key=lambda way: (way.strength, way.relationship_type))
        return ring

    def head(self) -> int:
        return len(self._state.log)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        return _ids(
            number
            for tenant, user, number in self._state.log[since:]
            if tenant == key.tenant and (key.user is ANY or user == key.user)
        )

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        wanted = None if ids is None else set(ids.tolist())
        for memory in self._visible(Scope(key.tenant, user=key.user)):
            if wanted is None or memory.id in wanted:
                yield _index_row(memory, self._state.drafts[memory.id], generation)

    def _visible(self, scope: Scope) -> list[Memory]:
        return [memory for _, memory in sorted(self._state.memories.items()) if in_scope(memory, scope)]


def _apply(state: _State, change: Change) -> Outcome:
    match change:
        case Add(draft):
            return _add(state, draft)
        case Edit(number, version, draft):
            return _edit(state, number, version, draft)
        case Remove(scope, ids):
            return _remove(state, scope, ids)
        case Link(scope, association):
            ends = (association.memory_id, association.related_memory_id)
            for end in ends:
                _owned(state, scope, end)
            state.links[(*ends, association.relationship_type)] = association.strength
            return Outcome("stored", None)


def _add(state: _State, draft: Draft) -> Outcome:
    saved = None if draft.key is None else _by_key(state, draft.scope, draft.key)
    if saved is not None:
        return _edit(state, saved.id, saved.version, draft)
    known = _repeated(state, draft)
    if known is not None:
        return Outcome("duplicate", known, "already there")
    state.last_id += 1
    return _put(state, _memory(state.last_id, draft), draft)


def _repeated(state: _State, draft: Draft) -> Memory | None:
    for number, other in sorted(state.drafts.items()):
        if _same_call(draft, other) or _same_message(draft, other) or _same_text(draft, other):
            return state.memories[number]
    return None


def _same_call(draft: Draft, other: Draft) -> bool:
    # A retry may come from another session, so a session is no part of whose key it is.
    own_key = draft.idempotency_key is not None and draft.idempotency_key == other.idempotency_key
    return own_key and _owner(draft)[:3] == _owner(other)[:3]


def _same_message(draft: Draft, other: Draft) -> bool:
    if draft.message is None or other.message is None or _owner(draft) != _owner(other):
        return False
    return draft.message.message_id == other.message.message_id


def _same_text(draft: Draft, other: Draft) -> bool:
    # Something said twice was said twice: only texts that came without a message are compared.
    if not draft.deduplicate or draft.message is not None or other.message is not None:
        return False
    return draft.content == other.content and _owner(draft) == _owner(other)


def _edit(state: _State, number: int, version: int, draft: Draft) -> Outcome:
    old = _owned(state, Scope(draft.scope.tenant, user=draft.scope.user), number)
    if old.version != version:
        raise Conflict(f"memory {number} is at version {old.version}, not {version}: read it again")
    before = state.drafts[number]
    if draft.vector is None and draft.content == before.content:
        draft = replace(draft, vector=before.vector, generation=before.generation)
    # Whose it is, where it came from and when it was first written down stay as they are.
    kept = replace(
        draft,
        scope=before.scope,
        recorded_at=before.recorded_at,
        message=before.message,
        key=before.key,
        idempotency_key=before.idempotency_key,
    )
    return _put(state, _memory(number, kept, version=version + 1), kept)


def _put(state: _State, memory: Memory, draft: Draft) -> Outcome:
    state.memories[memory.id] = memory
    state.drafts[memory.id] = copy.deepcopy(draft)
    state.log.append((memory.tenant, memory.user, memory.id))
    return Outcome("stored", memory)


def _remove(state: _State, scope: Scope, ids: Sequence[int]) -> Outcome:
    gone = [state.memories[number] for number in dict.fromkeys(ids) if number in state.memories]
    gone = [memory for memory in gone if in_scope(memory, scope)]
    for memory in gone:
        del state.memories[memory.id], state.drafts[memory.id]
        state.log.append((memory.tenant, memory.user, memory.id))
    left = state.memories.keys()
    state.links = {link: strength for link, strength in state.links.items() if {link[0], link[1]} <= left}
    return Outcome("stored", None, f"{len(gone)} removed")


def _owned(state: _State, scope: Scope, number: int) -> Memory:
    memory = state.memories.get(number)
    if memory is None or not in_scope(memory, scope):
        raise NotFound(f"no memory {number} in {scope}")
    return memory


def _owner(draft: Draft) -> tuple[str, str | None, str | None, str | None]:
    scope = draft.scope
    if scope.user is ANY:
        raise InvalidInput("a memory belongs to one user or to none: name the user, not ANY")
    return scope.tenant, scope.agent, scope.user, scope.session


def _by_key(state: _State, scope: Scope, key: str) -> Memory | None:
    owner = (scope.tenant, scope.agent, scope.user, scope.session)
    for memory in state.memories.values():
        if memory.key == key and (memory.tenant, memory.agent, memory.user, memory.session) == owner:
            return memory
    return None


def _memory(number: int, draft: Draft, *, version: int = 1) -> Memory:
    tenant, agent, user, session = _owner(draft)
    return Memory(
        id=number,
        content=draft.content,
        type=draft.type,
        importance=draft.importance,
        recorded_at=draft.recorded_at,
        valid_from=draft.valid_from,
        tenant=tenant,
        agent=agent,
        user=user,
        session=session,
        source=draft.source,
        trust=draft.trust,
        metadata=copy.deepcopy(draft.metadata),
        key=draft.key,
        value=copy.deepcopy(draft.value),
        message_id=None if draft.message is None else draft.message.message_id,
        speaker=None if draft.message is None else draft.message.speaker,
        expires_at=draft.expires_at,
        version=version,
    )


def _index_row(memory: Memory, draft: Draft, generation: int | None) -> IndexRow:
    vector = draft.vector if generation is not None and draft.generation == generation else None
    return IndexRow(
        id=memory.id,
        agent=memory.agent,
        session=memory.session,
        speaker=memory.speaker,
        valid_from=memory.valid_from.timestamp(),
        valid_to=_seconds(memory.valid_to),
        expires_at=_seconds(memory.expires_at),
        terms=draft.terms,
        vector=None if vector is None else vector.astype("<f4").tobytes(),
    )


def _seconds(moment: datetime | None) -> float:
    return FOREVER if moment is None else moment.timestamp()


def _ids(numbers: Iterator[int]) -> IntArray:
    import numpy as np

    return np.array(sorted(set(numbers)), dtype=np.int64)
