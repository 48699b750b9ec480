"""How each change changes the reference store: plain dicts, no cleverness."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoranda.errors import Conflict, InvalidInput
from memoranda.results import Derivation, DerivationKind, Revision
from memoranda.storage.changes import (
    KEPT_REVISIONS,
    AppendMessage,
    Archive,
    Change,
    Derive,
    Edit,
    Link,
    MarkExtracted,
    NewMemory,
    Pin,
    Remove,
    StoredMessage,
    Supersede,
    no_memory,
)
from memoranda.testing.fakes import in_scope
from memoranda.types import ANY, Memory, Outcome, Scope


@dataclass(slots=True)
class State:
    """All that the reference store holds."""

    memories: dict[int, Memory] = field(default_factory=dict)
    drafts: dict[int, NewMemory] = field(default_factory=dict)
    links: dict[tuple[int, int, str], float] = field(default_factory=dict)
    log: list[tuple[str, str | None, int]] = field(default_factory=list)
    """Tenant, user and id of each change; its number is its place, from 1."""
    lineage: set[Derivation] = field(default_factory=set)
    revisions: dict[int, list[Revision]] = field(default_factory=dict)
    said: dict[tuple[Scope, str], str | None] = field(default_factory=dict)
    """The words of each message, by scope and message id."""
    last_id: int = 0

    def copy(self) -> State:
        return State(
            dict(self.memories),
            dict(self.drafts),
            dict(self.links),
            list(self.log),
            set(self.lineage),
            {number: list(kept) for number, kept in self.revisions.items()},
            dict(self.said),
            self.last_id,
        )


def apply_change(state: State, change: Change) -> Outcome:
    """One change, as the store's contract says; an error leaves the state half changed."""
    match change:
        case NewMemory():
            return _add(state, change)
        case MarkExtracted():
            return Outcome("stored", None)
        case AppendMessage(scope, message):
            state.said.setdefault((scope, message.message_id), message.content)
            return Outcome("stored", None)
        case Edit(number, version, draft):
            return _edit(state, number, version, draft)
        case Remove(scope, ids, all_or_none):
            if all_or_none:
                for number in ids:
                    owned(state, scope, number)
            return _remove(state, scope, ids)
        case Link(scope, association):
            ends = (association.memory_id, association.related_memory_id)
            for end in ends:
                owned(state, scope, end)
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


def _derive(state: State, draft: NewMemory, sources: Sequence[int], kind: DerivationKind) -> Outcome:
    for source in sources:
        owned(state, Scope(draft.scope.tenant, user=draft.scope.user), source)
    outcome = _add(state, draft)
    if outcome.status == "stored" and outcome.memory is not None:
        state.lineage |= {Derivation(outcome.memory.id, source, kind) for source in sources}
    return outcome


def _supersede(state: State, change: Supersede) -> Outcome:
    owned(state, change.scope, change.by)
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


def _named(state: State, scope: Scope, ids: Sequence[int]) -> list[Memory]:
    found = [state.memories[number] for number in sorted(set(ids)) if number in state.memories]
    return [memory for memory in found if in_scope(memory, scope)]


def _mark(state: State, memories: Sequence[Memory], *, logged: bool = True) -> Outcome:
    for memory in memories:
        state.memories[memory.id] = memory
        if logged:
            state.log.append((memory.tenant, memory.user, memory.id))
    if logged:
        _log_made_from(state, memories)
    return Outcome("stored", None, f"{len(memories)} touched")


def _log_made_from(state: State, sources: Sequence[Memory]) -> None:
    ids = {memory.id for memory in sources}
    made = {one.derived_id for one in state.lineage if one.source_id in ids and one.kind == "consolidated"}
    state.log += [(state.memories[number].tenant, state.memories[number].user, number) for number in sorted(made)]


def only_repeats(state: State, number: int) -> bool:
    """Whether a memory was consolidated from others that all still speak for themselves."""
    made = [one.source_id for one in state.lineage if one.derived_id == number and one.kind == "consolidated"]
    sources = [state.memories.get(source) for source in made]
    return bool(made) and all(one and one.archived_at is None and one.superseded_by is None for one in sources)


def _add(state: State, draft: NewMemory) -> Outcome:
    saved = None if draft.key is None else by_key(state, draft.scope, draft.key)
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


def _repeated(state: State, draft: NewMemory) -> Memory | None:
    for number, other in sorted(state.drafts.items()):
        known = _same_text(draft, other) and _still_true(state, state.memories[number])
        if known or _same_call(draft, other) or _same_message(draft, other):
            return state.memories[number]
    return None


def _said_otherwise(state: State, scope: Scope, message: StoredMessage) -> bool:
    return state.said.setdefault((scope, message.message_id), message.content) != message.content


def _same_call(draft: NewMemory, other: NewMemory) -> bool:
    # A retry may come from another session, so a session is no part of whose key it is.
    own_key = draft.idempotency_key is not None and draft.idempotency_key == other.idempotency_key
    return own_key and _owner(draft)[:3] == _owner(other)[:3]


def _same_message(draft: NewMemory, other: NewMemory) -> bool:
    if draft.message is None or other.message is None or _owner(draft) != _owner(other):
        return False
    return draft.message.message_id == other.message.message_id and draft.content == other.content


def _same_text(draft: NewMemory, other: NewMemory) -> bool:
    # Something said twice was said twice: only texts that came without a message are compared.
    if not draft.deduplicate or draft.message is not None or other.message is not None:
        return False
    return draft.content == other.content and _owner(draft) == _owner(other)


def _still_true(state: State, memory: Memory) -> bool:
    repeated_by = [one.derived_id for one in state.lineage if one.source_id == memory.id and one.kind == "merged"]
    if any(state.memories[number].archived_at is None for number in repeated_by):
        return True
    return memory.archived_at is None and memory.valid_to is None


def _edit(state: State, number: int, version: int, draft: NewMemory) -> Outcome:
    old = owned(state, Scope(draft.scope.tenant, user=draft.scope.user), number)
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


def _keep_revision(state: State, old: Memory, at: datetime) -> None:
    was = Revision(old.version, old.content, old.type, old.importance, old.source, copy.deepcopy(old.metadata), at)
    state.revisions[old.id] = [*state.revisions.get(old.id, []), was][-KEPT_REVISIONS:]


def _put(state: State, memory: Memory, draft: NewMemory) -> Outcome:
    state.memories[memory.id] = memory
    state.drafts[memory.id] = copy.deepcopy(draft)
    state.log.append((memory.tenant, memory.user, memory.id))
    return Outcome("stored", memory)


def _remove(state: State, scope: Scope, ids: Sequence[int]) -> Outcome:
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


def _unsay(state: State, draft: NewMemory) -> None:
    """The last memory of a message takes the message with it."""
    turns = [(each.scope, each.message.message_id) for each in state.drafts.values() if each.message is not None]
    if draft.message is not None and turns.count((draft.scope, draft.message.message_id)) == 1:
        del state.said[draft.scope, draft.message.message_id]


def owned(state: State, scope: Scope, number: int) -> Memory:
    """The memory; `NotFound` when the scope does not have it."""
    memory = state.memories.get(number)
    if memory is None or not in_scope(memory, scope):
        raise no_memory(scope, number)
    return memory


def _owner(draft: NewMemory) -> tuple[str, str | None, str | None, str | None]:
    scope = draft.scope
    if scope.user is ANY:
        raise InvalidInput("a memory belongs to one user or to none: name the user, not ANY")
    return scope.tenant, scope.agent, scope.user, scope.session


def by_key(state: State, scope: Scope, key: str) -> Memory | None:
    """The memory saved under a key by exactly this agent, user and session."""
    owner = (scope.tenant, scope.agent, scope.user, scope.session)
    for memory in state.memories.values():
        if memory.key == key and (memory.tenant, memory.agent, memory.user, memory.session) == owner:
            return memory
    return None


def _memory(number: int, draft: NewMemory, *, version: int = 1) -> Memory:
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
