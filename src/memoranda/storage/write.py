"""The one write path: every change to memories is applied here, inside a transaction.

`store.write(MemoryWrite(changes))` applies the changes, recognises duplicates, and resolves claims: a newer claim ends
an older one, and a claim that only a removed memory had ended holds again. Nothing here calls back into a pipeline;
what a pipeline wants decided inside the transaction it passes along as a pure function.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, TypeAlias, TypeVar, assert_never

from sqlalchemy import delete, exists, select, update

from memoranda.errors import Conflict
from memoranda.storage import claim_resolution, lifecycle
from memoranda.storage.add import add_memories, edited_columns, insert_changes, insert_vectors
from memoranda.storage.base import Owner, Tenant, Transaction, chunked
from memoranda.storage.changes import (
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
    Supersede,
    no_memory,
    version_conflict,
)
from memoranda.storage.claims import CLAIMS, claims_of, index_claims, owner_of, slots_of
from memoranda.storage.message_log import append_messages, mark_extracted
from memoranda.storage.read import changed_memories, get_memories, get_memory, require_memories
from memoranda.storage.rows import SELECT_MEMORY, in_scope, memory_from_row, owner_conditions, stored_name, to_json
from memoranda.storage.schema import memories, messages, vectors
from memoranda.types import ANY, Memory, Outcome, Scope

_R = TypeVar("_R")
_MAX_TRIES: Final = 100
"""Enough for that many concurrent writers: of writers that collide, one succeeds each time."""
Duplicates: TypeAlias = dict[int, Outcome]
"""Changes that turned out to be duplicates, by position, with their outcomes."""


@dataclass(frozen=True, slots=True)
class Recheck:
    """Look for duplicates once more, among what others stored after the pipeline looked.

    Two processes that are given nearly the same at the same moment would both find no duplicate. So the second writer
    looks again inside its transaction, only at memories changed after `since`: mostly none at all.
    """

    scope: Scope
    since: int
    """The change up to which the pipeline has looked."""
    find_duplicates: Callable[[Sequence[Change], Sequence[Memory]], Duplicates]
    """A pure function: given the changes and the memories stored since, return which changes are duplicates."""
    own: frozenset[int] = frozenset()
    """Memories that an earlier commit of the same call has stored: the pipeline has compared with them."""

    @property
    def owner(self) -> tuple[str, str]:
        return self.scope.tenant, stored_name(self.scope.user)


@dataclass(frozen=True, slots=True)
class MemoryWrite:
    """Work for `store.write`: changes to memories, with one outcome each."""

    changes: Sequence[Change]
    recheck: Recheck | None = None

    @property
    def tenant(self) -> Tenant:
        """The tenant that the changes are for; ANY when they are for several."""
        found = {scope.tenant for change in self.changes for scope in _scopes_of(change)}
        return found.pop() if len(found) == 1 else ANY

    @property
    def owners(self) -> frozenset[Owner] | None:
        """The owners that the changes are for; None when one of them is for memories of all users."""
        scopes = [scope for change in self.changes for scope in _scopes_of(change)]
        if any(scope.user is ANY for scope in scopes):
            return None
        return frozenset((scope.tenant, stored_name(scope.user)) for scope in scopes)

    def __call__(self, tx: Transaction) -> list[Outcome]:
        return execute_batch(tx, [self])[0]

    @staticmethod
    def run_batch(tx: Transaction, works: Sequence[MemoryWrite]) -> list[list[Outcome]]:
        return execute_batch(tx, works)


def execute_batch(tx: Transaction, writes: Sequence[MemoryWrite]) -> list[list[Outcome]]:
    """Apply the changes of several writers, each group of them together; one list of outcomes a writer."""
    return [outcomes for group in _groups(writes) for outcomes in _execute_group(tx, group)]


def apply_changes(tx: Transaction, changes: Sequence[Change]) -> list[Outcome]:
    """Apply the changes and resolve the claims they touch; one outcome a change, in order."""
    outcomes: list[Outcome] = []
    slots: set[bytes] = set()
    for kind, run in groupby(changes, key=_bulk_kind):
        if kind is NewMemory:
            new = [change for change in run if isinstance(change, NewMemory)]
            added = list(zip(add_memories(tx, new), new, strict=True))
            for outcome, each in added:
                each.stored_id = outcome.memory.id if outcome.memory is not None else None
            outcomes += [claim_resolution.resolve_new(tx, outcome, each) for outcome, each in added]
        elif kind is AppendMessage:
            outcomes += append_messages(tx, [change for change in run if isinstance(change, AppendMessage)])
        else:
            for change in run:
                slots |= _freed_slots(tx, change)
                outcomes.append(_apply(tx, change))
    claim_resolution.resolve_slots(tx, slots)
    return outcomes


def retry_on_conflict(
    work: Callable[[], _R], again: Callable[[], _R] | None = None, *, final: tuple[type[Conflict], ...] = ()
) -> _R:
    """Run work that reads and then writes; run it again while another writer was faster, at most a hundred times.

    Args:
        work: What is run.
        again: What is run in place of it at every second try.
        final: Conflicts that would be the same at the next try.
    """
    ways = (work, again or work)
    for attempt in range(_MAX_TRIES - 1):
        try:
            return ways[attempt % 2]()
        except Conflict as error:
            if isinstance(error, final):
                raise
    return work()


def _groups(writes: Sequence[MemoryWrite]) -> Iterator[list[MemoryWrite]]:
    """Yield writes that can run together. A recheck must see what earlier writers of its owner have written."""
    group: list[MemoryWrite] = []
    owners: set[tuple[str, str]] = set()
    for write in writes:
        if write.recheck is not None:
            if write.recheck.owner in owners:
                yield group
                group, owners = [], set()
            owners.add(write.recheck.owner)
        group.append(write)
    yield group


def _execute_group(tx: Transaction, writes: Sequence[MemoryWrite]) -> list[list[Outcome]]:
    duplicates = [_find_duplicates(tx, write) for write in writes]
    changes = [
        _message_only(change) if position in found else change
        for write, found in zip(writes, duplicates, strict=True)
        for position, change in enumerate(write.changes)
    ]
    outcomes = iter(apply_changes(tx, changes))
    applied = [[next(outcomes) for _ in write.changes] for write in writes]
    return [
        [found.get(position, outcome) for position, outcome in enumerate(results)]
        for results, found in zip(applied, duplicates, strict=True)
    ]


def _find_duplicates(tx: Transaction, write: MemoryWrite) -> Duplicates:
    recheck = write.recheck
    if recheck is None:
        return {}
    stored = changed_memories(tx, recheck.scope, recheck.since, recheck.own)
    return recheck.find_duplicates(write.changes, stored) if stored else {}


def _scopes_of(change: Change) -> list[Scope]:
    if isinstance(change, MarkExtracted):
        return [scope for scope, _ in change.turns]
    return [change.new.scope if isinstance(change, Edit | Derive) else change.scope]


def _message_only(change: Change) -> AppendMessage:
    assert isinstance(change, NewMemory)
    assert change.message is not None
    return AppendMessage(change.scope, change.message, change.recorded_at, change.before)


def _bulk_kind(change: Change) -> type[NewMemory | AppendMessage] | None:
    """Return the kind of changes that are written together; None for what is written one by one."""
    if isinstance(change, AppendMessage):
        return AppendMessage
    return NewMemory if isinstance(change, NewMemory) and change.key is None else None


def _freed_slots(tx: Transaction, change: Change) -> set[bytes]:
    """Return the slots in which a change takes claims away, or gives some back."""
    # What is archived may have expired and ends nothing any more; what is restored lasts from now on.
    if isinstance(change, Remove | Archive) or (isinstance(change, Supersede) and change.merged):
        return slots_of(tx, change.scope, change.ids)
    return set()


def _apply(tx: Transaction, change: Change) -> Outcome:
    match change:
        case NewMemory():
            return _save(tx, change)
        case AppendMessage():
            return append_messages(tx, [change])[0]
        case MarkExtracted():
            return mark_extracted(tx, change)
        case Edit():
            return _edit(tx, change)
        case Remove():
            return _remove(tx, change)
        case Link():
            return _link(tx, change)
        case Derive():
            return lifecycle.derive(tx, change)
        case Archive():
            return lifecycle.archive(tx, change)
        case Release():
            return _release(tx, change)
        case Supersede():
            return lifecycle.supersede(tx, change)
        case Pin():
            return lifecycle.pin(tx, change)
        case _:
            assert_never(change)


def _save(tx: Transaction, new: NewMemory) -> Outcome:
    """Write a memory with a key: a new row, or the row of that key replaced."""
    conditions = (memories.c.key == new.key, *owner_conditions(new.scope))
    known = tx.execute(select(memories.c.id, memories.c.version, memories.c.expires_at).where(*conditions)).first()
    if known is None:
        return add_memories(tx, [new])[0]
    if known[2] is not None and known[2] <= tx.at:
        _remove(tx, Remove(new.scope, (known[0],)))  # what has expired is gone: this one is new
        return add_memories(tx, [new])[0]
    # A value saved again is true again, whatever became of the old one.
    reopen = update(memories).where(memories.c.id == known[0])
    tx.execute(reopen.values(archived_at=None, valid_to=None, superseded_by=None, superseded_at=None))
    return _replace_row(tx, Edit(known[0], known[1], new))


def _edit(tx: Transaction, change: Edit) -> Outcome:
    """Replace a row. New words make new claims; the same words keep them, except in quarantine."""
    owner = Scope(change.new.scope.tenant, user=change.new.scope.user)
    known = get_memory(tx, owner, change.id)
    if known is None or not (claims_of(known) or change.new.notes.get(CLAIMS)):
        return _replace_row(tx, change)
    held = change.new.quarantined_at is not None and known.quarantined_at is None
    if known.content == change.new.content and not held:
        change.new.notes = known.notes
        return _replace_row(tx, change)
    slots = slots_of(tx, owner, [change.id])
    claim_resolution.release(tx, known)
    outcome = _replace_row(tx, change)
    claim_resolution.resolve_slots(tx, slots | slots_of(tx, owner, [change.id]))
    claim_resolution.link_other_agents(tx, lifecycle.read_memory(tx, change.id))
    return Outcome(outcome.status, get_memory(tx, owner, change.id), outcome.reason)


def _replace_row(tx: Transaction, change: Edit) -> Outcome:
    new = change.new
    scope = Scope(new.scope.tenant, user=new.scope.user)
    row = tx.execute(SELECT_MEMORY.where(memories.c.id == change.id, *in_scope(scope))).first()
    if row is None:
        raise no_memory(scope, change.id)
    known = memory_from_row(row, scope)
    if known.version != change.version:
        raise version_conflict(known, change.version)
    lifecycle.keep_revision(tx, change.id)
    columns = edited_columns(new, known) | {"version": known.version + 1}
    tx.execute(update(memories).where(memories.c.id == change.id).values(columns))
    if new.vector is not None or new.content != known.content:
        tx.execute(delete(vectors).where(vectors.c.memory_id == change.id))
        insert_vectors(tx, [(change.id, new)])
    if known.notes or new.notes:
        index_claims(tx, change.id, owner_of(known), new.notes)
    insert_changes(tx, "edit", [(change.id, known.tenant, known.user or "")])
    return Outcome("stored", memory_from_row(tx.execute(SELECT_MEMORY.where(memories.c.id == change.id)).one()))


def _release(tx: Transaction, change: Release) -> Outcome:
    """Take memories out of quarantine; the claims that were held back are compared with the others now."""
    released = [memory for memory in get_memories(tx, change.scope, change.ids) if memory and memory.quarantined_at]
    slots: set[bytes] = set()
    for memory in released:
        notes = lifecycle.end_quarantine(tx, memory)
        index_claims(tx, memory.id, owner_of(memory), notes)
        slots |= slots_of(tx, owner_of(memory), [memory.id])
    claim_resolution.resolve_slots(tx, slots)
    for memory in released:
        claim_resolution.link_other_agents(tx, lifecycle.read_memory(tx, memory.id))
    ids = [memory.id for memory in released]
    lifecycle.log_touched(tx, "release", [*ids, *lifecycle.consolidated_from(tx, ids)])
    return Outcome("stored", None, f"{len(released)} released")


def _remove(tx: Transaction, change: Remove) -> Outcome:
    columns = (memories.c.id, memories.c.tenant, memories.c.user, memories.c.message_seq)
    rows = [
        row
        for part in chunked(change.ids)
        for row in tx.execute(select(*columns).where(memories.c.id.in_(part), *in_scope(change.scope)))
    ]
    if change.all_or_none and (missing := set(change.ids) - {row[0] for row in rows}):
        raise no_memory(change.scope, *sorted(missing))
    linked = claim_resolution.linked_with(tx, [row[0] for row in rows])
    unused = ~exists().where(memories.c.message_seq == messages.c.seq)
    for part in chunked(rows):
        tx.execute(delete(memories).where(memories.c.id.in_([row[0] for row in part])))  # the rest cascades
        spoken = [row[3] for row in part if row[3] is not None]
        tx.execute(delete(messages).where(messages.c.seq.in_(spoken), unused))
    claim_resolution.clear_marks(tx, linked)
    insert_changes(tx, "remove", [(row[0], row[1], row[2]) for row in rows])
    lifecycle.log_touched(tx, "remove", lifecycle.consolidated_from(tx, [row[0] for row in rows]))
    return Outcome("stored", None, f"{len(rows)} removed")


def _link(tx: Transaction, change: Link) -> Outcome:
    link = change.association
    require_memories(tx, change.scope, [link.memory_id, link.related_memory_id])
    metadata = to_json(link.metadata) if link.metadata else None
    lifecycle.associate(tx, link.memory_id, link.related_memory_id, link.relationship_type, link.strength, metadata)
    return Outcome("stored", None, f"{link.memory_id} {link.relationship_type} {link.related_memory_id}")
