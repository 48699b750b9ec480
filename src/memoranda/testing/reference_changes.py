"""How each change alters the reference store: plain dicts, no optimisation."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from memoranda.errors import InvalidInput
from memoranda.results.maintenance import Derivation, Revision
from memoranda.storage.changes import (
    KEPT_REVISIONS,
    QUARANTINE,
    AppendMessage,
    Archive,
    Change,
    Derive,
    Edit,
    Link,
    MarkExtracted,
    NewMemory,
    Pin,
    Release,
    Remove,
    StoredMessage,
    Supersede,
    no_memory,
    version_conflict,
)
from memoranda.types import ANY, JSON, Association, Memory, Outcome, Scope


@dataclass(slots=True)
class State:
    """The content of the reference store."""

    memories: dict[int, Memory] = field(default_factory=dict)
    inputs: dict[int, NewMemory] = field(default_factory=dict)
    """The change that wrote each memory, by memory id."""
    links: dict[tuple[int, int, str], Association] = field(default_factory=dict)
    log: list[tuple[str, str | None, int]] = field(default_factory=list)
    """Tenant, user and memory id of each change; the number of a change is its position, from 1."""
    lineage: set[Derivation] = field(default_factory=set)
    revisions: dict[int, list[Revision]] = field(default_factory=dict)
    messages: dict[tuple[Scope, str], str | None] = field(default_factory=dict)
    """The content of each message, by scope and message id."""
    last_id: int = 0

    def copy(self) -> State:
        return State(
            dict(self.memories),
            dict(self.inputs),
            dict(self.links),
            list(self.log),
            set(self.lineage),
            {memory_id: list(kept) for memory_id, kept in self.revisions.items()},
            dict(self.messages),
            self.last_id,
        )


def is_in_scope(memory: Memory, scope: Scope) -> bool:
    return (
        memory.tenant == scope.tenant
        and scope.agent in (None, memory.agent)
        and (scope.user is ANY or memory.user == scope.user)
        and scope.session in (None, memory.session)
    )


def require_memory(state: State, scope: Scope, memory_id: int) -> Memory:
    """Return the memory; `NotFound` when the scope does not have it."""
    memory = state.memories.get(memory_id)
    if memory is None or not is_in_scope(memory, scope):
        raise no_memory(scope, memory_id)
    return memory


def memory_by_key(state: State, scope: Scope, key: str) -> Memory | None:
    """Return the memory saved under a key by exactly this agent, user and session."""
    owner = (scope.tenant, scope.agent, scope.user, scope.session)
    for memory in state.memories.values():
        if memory.key == key and (memory.tenant, memory.agent, memory.user, memory.session) == owner:
            return memory
    return None


def only_repeats(state: State, memory_id: int) -> bool:
    """Return whether a memory was consolidated from others that all take part in recall."""
    ids = [line.source_id for line in state.lineage if line.derived_id == memory_id and line.kind == "consolidated"]
    sources = [state.memories.get(source) for source in ids]
    return bool(ids) and all(each and each.archived_at is None and each.superseded_by is None for each in sources)


def apply_change(state: State, change: Change) -> Outcome:
    """Apply one change as the contract says; an error leaves the state half changed."""
    match change:
        case NewMemory():
            return _add(state, change)
        case MarkExtracted():
            return Outcome("stored", None)
        case AppendMessage(scope, message, _, before):
            for turn_scope, turn in (*before, (scope, message)):
                state.messages.setdefault((turn_scope, turn.message_id), turn.content)
            return Outcome("stored", None)
        case Edit(memory_id, version, new):
            return _edit(state, memory_id, version, new)
        case Remove():
            return _remove(state, change)
        case Link(scope, association):
            ends = (association.memory_id, association.related_memory_id)
            for end in ends:
                require_memory(state, scope, end)
            state.links[(*ends, association.relationship_type)] = association
            return Outcome("stored", None)
        case Derive():
            return _derive(state, change)
        case Supersede():
            return _supersede(state, change)
        case Archive(scope, ids, at):
            found = [each for each in _find(state, scope, ids) if (each.archived_at is None) is (at is not None)]
            return _update(state, [replace(memory, archived_at=at) for memory in found])
        case Release(scope, ids):
            found = [each for each in _find(state, scope, ids) if each.quarantined_at is not None]
            for each in found:
                state.inputs[each.id].quarantined_at = None
            return _update(state, [replace(each, quarantined_at=None, notes=_released(each.notes)) for each in found])
        case Pin(scope, ids, pinned):
            found = [each for each in _find(state, scope, ids) if each.pinned is not pinned]
            return _update(state, [replace(memory, pinned=pinned) for memory in found], logged=False)


def _released(notes: dict[str, JSON]) -> dict[str, JSON]:
    held = notes.get(QUARANTINE)
    kept = {name: note for name, note in notes.items() if name != QUARANTINE}
    return kept | {"claims": held["claims"]} if isinstance(held, dict) and held.get("claims") else kept


def _add(state: State, new: NewMemory) -> Outcome:
    for scope, turn in new.before:
        state.messages.setdefault((scope, turn.message_id), turn.content)
    saved = None if new.key is None else memory_by_key(state, new.scope, new.key)
    if saved is not None:
        # A value saved again is true again, whatever became of the old one.
        state.memories[saved.id] = replace(
            saved, archived_at=None, valid_to=None, superseded_by=None, superseded_at=None
        )
        return _edit(state, saved.id, saved.version, new)
    duplicate_of = _find_duplicate(state, new)
    if duplicate_of is not None:
        return Outcome("quarantined" if duplicate_of.quarantined_at else "duplicate", duplicate_of, "stored already")
    if new.message is not None and _has_other_words(state, new.scope, new.message):
        return Outcome("duplicate", None, "stored with other words")
    state.last_id += 1
    return _store(state, _to_memory(state.last_id, new), new)


def _find_duplicate(state: State, new: NewMemory) -> Memory | None:
    for memory_id, other in sorted(state.inputs.items(), key=lambda each: (each[1].expires_at is not None, each[0])):
        same_text = _has_same_text(new, other) and _still_holds(state, state.memories[memory_id])
        if same_text or _has_same_idempotency_key(new, other) or _has_same_message(new, other):
            return state.memories[memory_id]
    return None


def _has_other_words(state: State, scope: Scope, message: StoredMessage) -> bool:
    return state.messages.setdefault((scope, message.message_id), message.content) != message.content


def _has_same_idempotency_key(new: NewMemory, other: NewMemory) -> bool:
    # A retry may come from another session, so the session is not compared.
    same_key = new.idempotency_key is not None and new.idempotency_key == other.idempotency_key
    return same_key and _owner(new)[:3] == _owner(other)[:3]


def _has_same_message(new: NewMemory, other: NewMemory) -> bool:
    if new.message is None or other.message is None or _owner(new) != _owner(other):
        return False
    return new.message.message_id == other.message.message_id and new.content == other.content


def _has_same_text(new: NewMemory, other: NewMemory) -> bool:
    # Two messages with the same text are two messages: only texts without a message are compared.
    if not new.deduplicate or new.message is not None or other.message is not None:
        return False
    # What the user says is no duplicate of a suspect, which nobody can recall.
    same_state = (new.quarantined_at is None) is (other.quarantined_at is None)
    # What lasts does not repeat what expires.
    covered = other.expires_at is None or new.expires_at is not None
    return same_state and covered and new.content == other.content and _owner(new) == _owner(other)


def _still_holds(state: State, memory: Memory) -> bool:
    repeated_by = [line.derived_id for line in state.lineage if line.source_id == memory.id and line.kind == "merged"]
    if any(state.memories[memory_id].archived_at is None for memory_id in repeated_by):
        return True
    return memory.archived_at is None and memory.valid_to is None


def _edit(state: State, memory_id: int, version: int, new: NewMemory) -> Outcome:
    old = require_memory(state, Scope(new.scope.tenant, user=new.scope.user), memory_id)
    if old.version != version:
        raise version_conflict(old, version)
    before = state.inputs[memory_id]
    if new.vector is None and new.content == before.content:
        new = replace(new, vector=before.vector, generation=before.generation)
    edited_at = new.valid_from
    if old.key is None:
        edited_at = new.recorded_at
        _keep_revision(state, old, edited_at)
    # An edit does not change the owner, the origin, or when the memory was first written.
    new = replace(
        new,
        scope=before.scope,
        recorded_at=before.recorded_at,
        message=before.message,
        key=before.key,
        idempotency_key=before.idempotency_key,
    )
    edited = replace(
        _to_memory(memory_id, new, version=version + 1),
        valid_to=old.valid_to,
        superseded_by=old.superseded_by,
        superseded_at=old.superseded_at,
        archived_at=old.archived_at,
        pinned=old.pinned,
        edited_at=edited_at,
    )
    return _store(state, edited, new)


def _keep_revision(state: State, old: Memory, at: datetime) -> None:
    metadata = copy.deepcopy(old.metadata)
    revision = Revision(old.version, old.content, old.type, old.importance, old.source, metadata, at)
    state.revisions[old.id] = [*state.revisions.get(old.id, []), revision][-KEPT_REVISIONS:]


def _store(state: State, memory: Memory, new: NewMemory) -> Outcome:
    state.memories[memory.id] = memory
    state.inputs[memory.id] = copy.deepcopy(new)
    state.log.append((memory.tenant, memory.user, memory.id))
    return Outcome("quarantined" if memory.quarantined_at and memory.version == 1 else "stored", memory)


def _remove(state: State, change: Remove) -> Outcome:
    if change.all_or_none:
        for memory_id in change.ids:
            require_memory(state, change.scope, memory_id)
    removed = _find(state, change.scope, change.ids)
    for memory in removed:
        _remove_message(state, state.inputs[memory.id])
        del state.memories[memory.id], state.inputs[memory.id]
        state.revisions.pop(memory.id, None)
        state.log.append((memory.tenant, memory.user, memory.id))
    left = state.memories.keys()
    state.links = {ends: link for ends, link in state.links.items() if {ends[0], ends[1]} <= left}
    state.lineage = {line for line in state.lineage if line.derived_id in left}
    _log_consolidated(state, removed)
    return Outcome("stored", None, f"{len(removed)} removed")


def _remove_message(state: State, new: NewMemory) -> None:
    """Remove the message of a memory if no other memory comes from it."""
    used = [(each.scope, each.message.message_id) for each in state.inputs.values() if each.message is not None]
    if new.message is not None and used.count((new.scope, new.message.message_id)) == 1:
        del state.messages[new.scope, new.message.message_id]


def _derive(state: State, change: Derive) -> Outcome:
    for source in change.sources:
        require_memory(state, Scope(change.new.scope.tenant, user=change.new.scope.user), source)
    outcome = _add(state, change.new)
    if outcome.status == "stored" and outcome.memory is not None:
        state.lineage |= {Derivation(outcome.memory.id, source, change.kind) for source in change.sources}
    return outcome


def _supersede(state: State, change: Supersede) -> Outcome:
    require_memory(state, change.scope, change.by)
    others = _find(state, change.scope, [memory_id for memory_id in change.ids if memory_id != change.by])
    ended = [memory for memory in others if memory.superseded_by is None]
    if change.merged:
        state.lineage |= {Derivation(change.by, memory.id, "merged") for memory in ended}
    updated = [
        replace(
            memory,
            superseded_by=change.by,
            superseded_at=change.at,
            valid_to=memory.valid_to or change.at,
            archived_at=memory.archived_at or (change.at if change.merged else None),
        )
        for memory in ended
    ]
    return _update(state, updated)


def _find(state: State, scope: Scope, ids: Sequence[int]) -> list[Memory]:
    found = [state.memories[memory_id] for memory_id in sorted(set(ids)) if memory_id in state.memories]
    return [memory for memory in found if is_in_scope(memory, scope)]


def _update(state: State, memories: Sequence[Memory], *, logged: bool = True) -> Outcome:
    for memory in memories:
        state.memories[memory.id] = replace(memory, version=memory.version + (memory.key is None))
        if logged:
            state.log.append((memory.tenant, memory.user, memory.id))
    if logged:
        _log_consolidated(state, memories)
    return Outcome("stored", None, f"{len(memories)} updated")


def _log_consolidated(state: State, sources: Sequence[Memory]) -> None:
    """Log the memories consolidated from these: whether they take part in recall may change with them."""
    ids = {memory.id for memory in sources}
    derived = {line.derived_id for line in state.lineage if line.source_id in ids and line.kind == "consolidated"}
    state.log += [(state.memories[each].tenant, state.memories[each].user, each) for each in sorted(derived)]


def _owner(new: NewMemory) -> tuple[str, str | None, str | None, str | None]:
    scope = new.scope
    if scope.user is ANY:
        raise InvalidInput("a memory belongs to one user or to none: name the user, not ANY")
    return scope.tenant, scope.agent, scope.user, scope.session


def _to_memory(memory_id: int, new: NewMemory, *, version: int = 1) -> Memory:
    tenant, agent, user, session = _owner(new)
    return Memory(
        id=memory_id,
        content=new.content,
        type=new.type,
        importance=new.importance,
        recorded_at=new.recorded_at,
        valid_from=new.valid_from,
        tenant=tenant,
        agent=agent,
        user=user,
        session=session,
        source=new.source,
        trust=new.trust,
        metadata=copy.deepcopy(new.metadata),
        key=new.key,
        value=copy.deepcopy(new.value),
        message_id=None if new.message is None else new.message.message_id,
        speaker=None if new.message is None else new.message.speaker,
        expires_at=new.expires_at,
        notes=new.notes,
        quarantined_at=new.quarantined_at,
        version=version,
    )
