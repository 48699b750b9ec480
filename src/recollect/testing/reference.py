"""The exact store every other one is compared with: plain dicts, no index, no cleverness."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.storage.base import (
    KEPT_REVISIONS,
    Add,
    Archive,
    Change,
    Derivation,
    DerivationKind,
    Derive,
    Draft,
    Edit,
    IndexRow,
    Link,
    PartitionKey,
    Pin,
    Remove,
    Revision,
    Say,
    StoredMessage,
    Supersede,
)
from recollect.testing.visible import in_scope, matches
from recollect.types import (
    ANY,
    EVERYTHING,
    Filter,
    IntArray,
    Memory,
    Outcome,
    Related,
    Scope,
)

FOREVER = float("inf")


@dataclass(slots=True)
class _State:
    memories: dict[int, Memory] = field(default_factory=dict)
    drafts: dict[int, Draft] = field(default_factory=dict)
    links: dict[tuple[int, int, str], float] = field(default_factory=dict)
    log: list[tuple[str, str | None, int]] = field(default_factory=list)
    """Tenant, user and id of each change; its number is its place, from 1."""
    lineage: set[Derivation] = field(default_factory=set)
    revisions: dict[int, list[Revision]] = field(default_factory=dict)
    said: dict[tuple[Scope, str], str | None] = field(default_factory=dict)
    """The words of each message, by scope and message id."""
    last_id: int = 0

    def copy(self) -> _State:
        return _State(
            dict(self.memories),
            dict(self.drafts),
            dict(self.links),
            list(self.log),
            set(self.lineage),
            {number: list(kept) for number, kept in self.revisions.items()},
            dict(self.said),
            self.last_id,
        )


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

    def lineage(self, scope: Scope, ids: Sequence[int]) -> list[Derivation]:
        seen, wanted = {memory.id for memory in self._visible(scope)}, set(ids)
        found = [
            one for one in self._state.lineage if one.derived_id in seen and wanted & {one.derived_id, one.source_id}
        ]
        return sorted(found, key=lambda one: (one.derived_id, one.source_id, one.kind))

    def revisions(self, scope: Scope, memory_id: int) -> list[Revision]:
        _owned(self._state, scope, memory_id)
        return copy.deepcopy(self._state.revisions.get(memory_id, []))

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
            absent = memory.archived_at is not None or _only_repeats(self._state, memory.id)
            if not absent and (wanted is None or memory.id in wanted):
                yield _index_row(memory, self._state.drafts[memory.id], generation)

    def _visible(self, scope: Scope) -> list[Memory]:
        return [memory for _, memory in sorted(self._state.memories.items()) if in_scope(memory, scope)]


def _apply(state: _State, change: Change) -> Outcome:
    match change:
        case Add(draft):
            return _add(state, draft)
        case Say(scope, message):
            state.said.setdefault((scope, message.message_id), message.content)
            return Outcome("stored", None)
        case Edit(number, version, draft):
            return _edit(state, number, version, draft)
        case Remove(scope, ids, all_or_none):
            if all_or_none:
                for number in ids:
                    _owned(state, scope, number)
            return _remove(state, scope, ids)
        case Link(scope, association):
            ends = (association.memory_id, association.related_memory_id)
            for end in ends:
                _owned(state, scope, end)
            state.links[(*ends, association.relationship_type)] = association.strength
            return Outcome("stored", None)
        case Derive(draft, sources, kind):
            return _derive(state, draft, sources, kind)
        case Supersede():
            return _supersede(state, change)
        case Archive(scope, ids, at):
            waiting = [
                memory for memory in _named(state, scope, ids) if (memory.archived_at is None) is (at is not None)
            ]
            return _mark(state, [replace(memory, archived_at=at) for memory in waiting])
        case Pin(scope, ids, pinned):
            named = [memory for memory in _named(state, scope, ids) if memory.pinned is not pinned]
            return _mark(state, [replace(memory, pinned=pinned) for memory in named], logged=False)


def _derive(state: _State, draft: Draft, sources: Sequence[int], kind: DerivationKind) -> Outcome:
    for source in sources:
        _owned(state, Scope(draft.scope.tenant, user=draft.scope.user), source)
    outcome = _add(state, draft)
    if outcome.status == "stored" and outcome.memory is not None:
        state.lineage |= {Derivation(outcome.memory.id, source, kind) for source in sources}
    return outcome


def _supersede(state: _State, change: Supersede) -> Outcome:
    _owned(state, change.scope, change.by)
    named = _named(state, change.scope, [number for number in change.ids if number != change.by])
    ended = [memory for memory in named if memory.superseded_by is None]
    if change.merged:
        state.lineage |= {Derivation(change.by, memory.id, "merged") for memory in ended}
    marked = [
        replace(
            memory,
            superseded_by=change.by,
            valid_to=memory.valid_to or change.at,
            archived_at=memory.archived_at or (change.at if change.merged else None),
        )
        for memory in ended
    ]
    return _mark(state, marked)


def _named(state: _State, scope: Scope, ids: Sequence[int]) -> list[Memory]:
    found = [state.memories[number] for number in sorted(set(ids)) if number in state.memories]
    return [memory for memory in found if in_scope(memory, scope)]


def _mark(state: _State, memories: Sequence[Memory], *, logged: bool = True) -> Outcome:
    for memory in memories:
        state.memories[memory.id] = memory
        if logged:
            state.log.append((memory.tenant, memory.user, memory.id))
    if logged:
        _log_made_from(state, memories)
    return Outcome("stored", None, f"{len(memories)} touched")


def _log_made_from(state: _State, sources: Sequence[Memory]) -> None:
    ids = {memory.id for memory in sources}
    made = {one.derived_id for one in state.lineage if one.source_id in ids and one.kind == "consolidated"}
    state.log += [(state.memories[number].tenant, state.memories[number].user, number) for number in sorted(made)]


def _only_repeats(state: _State, number: int) -> bool:
    made = [one.source_id for one in state.lineage if one.derived_id == number and one.kind == "consolidated"]
    sources = [state.memories.get(source) for source in made]
    return bool(made) and all(one and one.archived_at is None and one.superseded_by is None for one in sources)


def _add(state: _State, draft: Draft) -> Outcome:
    saved = None if draft.key is None else _by_key(state, draft.scope, draft.key)
    if saved is not None:
        # Saved again is true again, whatever became of the old value.
        state.memories[saved.id] = replace(saved, archived_at=None, valid_to=None, superseded_by=None)
        return _edit(state, saved.id, saved.version, draft)
    known = _repeated(state, draft)
    if known is not None:
        return Outcome("duplicate", known, "already there")
    if draft.message is not None and _said_otherwise(state, draft.scope, draft.message):
        return Outcome("duplicate", None, "said in other words")
    state.last_id += 1
    return _put(state, _memory(state.last_id, draft), draft)


def _repeated(state: _State, draft: Draft) -> Memory | None:
    for number, other in sorted(state.drafts.items()):
        known = _same_text(draft, other) and _still_true(state, state.memories[number])
        if known or _same_call(draft, other) or _same_message(draft, other):
            return state.memories[number]
    return None


def _said_otherwise(state: _State, scope: Scope, message: StoredMessage) -> bool:
    return state.said.setdefault((scope, message.message_id), message.content) != message.content


def _same_call(draft: Draft, other: Draft) -> bool:
    # A retry may come from another session, so a session is no part of whose key it is.
    own_key = draft.idempotency_key is not None and draft.idempotency_key == other.idempotency_key
    return own_key and _owner(draft)[:3] == _owner(other)[:3]


def _same_message(draft: Draft, other: Draft) -> bool:
    if draft.message is None or other.message is None or _owner(draft) != _owner(other):
        return False
    return draft.message.message_id == other.message.message_id and draft.content == other.content


def _same_text(draft: Draft, other: Draft) -> bool:
    # Something said twice was said twice: only texts that came without a message are compared.
    if not draft.deduplicate or draft.message is not None or other.message is not None:
        return False
    return draft.content == other.content and _owner(draft) == _owner(other)


def _still_true(state: _State, memory: Memory) -> bool:
    repeated_by = [one.derived_id for one in state.lineage if one.source_id == memory.id and one.kind == "merged"]
    if any(state.memories[number].archived_at is None for number in repeated_by):
        return True
    return memory.archived_at is None and memory.valid_to is None


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
    if old.key is None:
        _keep_revision(state, old, draft.recorded_at)
    edited = replace(
        _memory(number, kept, version=version + 1),
        valid_to=old.valid_to,
        superseded_by=old.superseded_by,
        archived_at=old.archived_at,
        pinned=old.pinned,
    )
    return _put(state, edited, kept)


def _keep_revision(state: _State, old: Memory, at: datetime) -> None:
    was = Revision(old.version, old.content, old.type, old.importance, old.source, copy.deepcopy(old.metadata), at)
    state.revisions[old.id] = [*state.revisions.get(old.id, []), was][-KEPT_REVISIONS:]


def _put(state: _State, memory: Memory, draft: Draft) -> Outcome:
    state.memories[memory.id] = memory
    state.drafts[memory.id] = copy.deepcopy(draft)
    state.log.append((memory.tenant, memory.user, memory.id))
    return Outcome("stored", memory)


def _remove(state: _State, scope: Scope, ids: Sequence[int]) -> Outcome:
    gone = [state.memories[number] for number in dict.fromkeys(ids) if number in state.memories]
    gone = [memory for memory in gone if in_scope(memory, scope)]
    for memory in gone:
        _unsay(state, state.drafts[memory.id])
        del state.memories[memory.id], state.drafts[memory.id]
        state.revisions.pop(memory.id, None)
        state.log.append((memory.tenant, memory.user, memory.id))
    left = state.memories.keys()
    state.links = {link: strength for link, strength in state.links.items() if {link[0], link[1]} <= left}
    state.lineage = {one for one in state.lineage if one.derived_id in left}
    _log_made_from(state, gone)
    return Outcome("stored", None, f"{len(gone)} removed")


def _unsay(state: _State, draft: Draft) -> None:
    """The last memory of a message takes the message with it."""
    turns = [(each.scope, each.message.message_id) for each in state.drafts.values() if each.message is not None]
    if draft.message is not None and turns.count((draft.scope, draft.message.message_id)) == 1:
        del state.said[draft.scope, draft.message.message_id]


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
        notes=draft.notes,
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
