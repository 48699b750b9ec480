"""Add memories: recognise those that are stored already, and insert the others in bulk."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, and_, exists, func, or_, select

from memoranda.storage.base import ReadTransaction, Transaction, chunked
from memoranda.storage.changes import QUARANTINE, NewMemory, StoredTurn
from memoranda.storage.claims import described_times
from memoranda.storage.forgotten_keys import find_forgotten, refuse_forgotten
from memoranda.storage.message_log import MessageLogWriter
from memoranda.storage.row_hash import row_hash
from memoranda.storage.rows import (
    MEMORY_COLUMNS,
    in_owners,
    memory_from_row,
    micros_or_none,
    owner_of_memory,
    scope_names,
    stored_name,
    to_json,
    to_micros,
    with_note_keys,
)
from memoranda.storage.schema import changes, counters, lineage, memories, vectors
from memoranda.text.terms import content_hash
from memoranda.types import Memory, Outcome

_Kind: TypeAlias = Literal["idempotency_key", "message", "text"]
DedupKey: TypeAlias = tuple[_Kind, str, str, str, str, str | tuple[str, bytes] | tuple[bytes, bool, date | None]]
"""What makes a memory a duplicate: kind, tenant, agent, user, session, and the value."""

_REASONS: dict[_Kind, str] = {
    "idempotency_key": "the idempotency key was used before",
    "message": "this message is remembered already",
    "text": "this text is remembered already",
}
_OTHER_WORDS = "a message with this id was stored with other words: what was said is never changed"
_C = counters.c


def add_memories(tx: Transaction, new: Sequence[NewMemory]) -> list[Outcome]:
    """Write the memories that are new; one outcome each, in order. A repeat inside the list is a duplicate too."""
    keys = [dedup_keys(each) for each in new]
    known = _find_known(tx, [key for each in keys for key in each])
    forgotten = find_forgotten(tx, new)
    log = MessageLogWriter(tx, [turn for each in new for turn in (*each.before, _turn(each)) if turn])
    ids = tx.new_ids(memories, len(new))
    outcomes: list[Outcome] = []
    added: list[tuple[int, NewMemory]] = []
    rows: list[tuple[Any, ...]] = []
    for each, each_keys in zip(new, keys, strict=True):
        for turn in each.before:
            log.add(turn, each.recorded_at)
        message_id = each.message.message_id if each.message else None
        found = next((key for key in each_keys if key in known and _covers(known[key], each, key[0])), None)
        if found is not None:
            outcomes.append(_known_outcome(known[found], _REASONS[found[0]], message_id))
            continue
        refuse_forgotten(each, forgotten)
        own = _turn(each)
        if own and log.has_other_words(own):
            outcomes.append(Outcome("duplicate", None, _OTHER_WORDS, message_id))
            continue
        message_seq = log.add(own, each.recorded_at) if own else None
        memory = to_memory(each, ids[len(added)])
        added.append((memory.id, each))
        rows.append(_row(memory.id, each, message_seq))
        outcomes.append(_new_outcome(memory, message_id))
        known.update(dict.fromkeys(each_keys, memory))
    log.write()
    if added:
        insert_memories(tx, _COLUMNS, rows)
        insert_vectors(tx, added)
        insert_changes(tx, "add", [(key, each.scope.tenant, stored_name(each.scope.user)) for key, each in added])
    return outcomes


def _new_outcome(memory: Memory, message_id: str | None) -> Outcome:
    if memory.quarantined_at is None:
        return Outcome("stored", memory, message_id=message_id)
    return Outcome("quarantined", memory, quarantine_reason(memory), message_id)


def _covers(known: Memory, new: NewMemory, kind: _Kind) -> bool:
    """Return whether nothing is lost without the new one: a text that lasts does not repeat one that expires."""
    return kind != "text" or new.expires_at is not None or known.expires_at is None


def _known_outcome(memory: Memory, reason: str, message_id: str | None) -> Outcome:
    return Outcome("duplicate" if memory.quarantined_at is None else "quarantined", memory, reason, message_id)


def quarantine_reason(memory: Memory) -> str:
    """Return why a memory is quarantined."""
    note = memory.notes.get(QUARANTINE)
    return str(note.get("reason", "")) if isinstance(note, dict) else ""


def dedup_keys(new: NewMemory) -> list[DedupKey]:
    """Return the keys by which this memory may be stored already."""
    if new.idempotency_key is None and new.message is None and not new.deduplicate:
        return []
    names = scope_names(new.scope)
    keys: list[DedupKey] = []
    if new.idempotency_key is not None:
        keys.append(("idempotency_key", *names[:3], "", new.idempotency_key))
    if new.message is not None:
        keys.append(("message", *names, (new.message.message_id, new.content_hash)))
    elif new.deduplicate:
        # A text that the user says is no duplicate of a suspect's, which nobody can recall.
        day = new.valid_from.date() if new.recurs else None
        keys.append(("text", *names, (new.content_hash, new.quarantined_at is not None, day)))
    return keys


def _find_known(tx: Transaction, keys: Sequence[DedupKey]) -> dict[DedupKey, Memory]:
    if not keys:
        return {}
    columns: dict[_Kind, Any] = {
        "idempotency_key": memories.c.idempotency_key,
        "message": memories.c.message_id,
        "text": memories.c.content_hash,
    }
    known: dict[DedupKey, Memory] = {}
    for kind, column in columns.items():
        found = [(key[5][0] if isinstance(key[5], tuple) else key[5], key) for key in keys if key[0] == kind]
        for part in chunked(sorted(set(found), key=lambda each: (each[1][1], each[1][3]))):
            values, owners = {value for value, _ in part}, {(key[1], key[3]) for _, key in part}
            query = select(*MEMORY_COLUMNS, column).where(column.in_(values), in_owners(memories, owners))
            if kind == "text":
                in_tenants = memories.c.tenant.in_({tenant for tenant, _ in owners})
                query = query.where(in_tenants, memories.c.message_id.is_(None), _still_holds(tx.at))
            for row in tx.execute(query):
                memory = memory_from_row(row)
                days = (None, memory.valid_from.date()) if kind == "text" else (None,)
                for key in (_stored_key(kind, memory, row[-1], day) for day in days):
                    if key not in known or (known[key].expires_at is not None and memory.expires_at is None):
                        known[key] = memory
    return known


def _stored_key(kind: _Kind, memory: Memory, value: Any, day: date | None = None) -> DedupKey:
    """Return the key of this kind by which a stored memory is known."""
    session = "" if kind == "idempotency_key" else memory.session or ""
    key_value = value
    if kind == "message":
        key_value = (value, content_hash(memory.content))
    elif kind == "text":
        key_value = (bytes(value), memory.quarantined_at is not None, day)
    return kind, memory.tenant, memory.agent or "", memory.user or "", session, key_value


def _still_holds(at: int) -> ColumnElement[bool]:
    """Return the condition under which a stored text makes a new one a duplicate.

    A text that has ended, expired or been archived does not, unless another memory repeats it.
    """
    m = memories.c
    holds = and_(m.archived_at.is_(None), m.valid_to.is_(None), or_(m.expires_at.is_(None), m.expires_at > at))
    other, line = memories.alias("other"), lineage.c
    merged = (line.source_id == m.id, line.kind == "merged", other.c.id == line.derived_id)
    return or_(holds, exists().where(*merged, other.c.archived_at.is_(None)))


def _turn(new: NewMemory) -> StoredTurn | None:
    return None if new.message is None else (new.scope, new.message)


def to_memory(new: NewMemory, memory_id: int) -> Memory:
    """Return the `Memory` that a new memory becomes, sharing nothing with the caller's own objects."""
    scope, message = new.scope, new.message
    return Memory(
        memory_id, new.content, new.type, new.importance, new.recorded_at, new.valid_from,
        tenant=scope.tenant, agent=scope.agent, user=stored_name(scope.user) or None, session=scope.session,
        source=new.source, trust=new.trust, metadata=_copy(new.metadata) if new.metadata else {}, key=new.key,
        value=None if new.key is None else _copy(new.value), message_id=message.message_id if message else None,
        speaker=message.speaker if message else None, expires_at=new.expires_at,
        notes=_copy(new.notes) if new.notes else {}, quarantined_at=new.quarantined_at,
    )  # fmt: skip


def _copy(value: Any) -> Any:
    """Return a copy of a list or dict; other JSON values cannot change."""
    if isinstance(value, dict | list):
        return json.loads(to_json(value)) if value else type(value)()
    return value


def insert_memories(tx: Transaction, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert rows of `memories` and count them in the same transaction."""
    tx.add_counts(_counts(columns, rows))
    # For SQLite's driver a NULL is the most expensive value to bind: a column that is NULL in every row is left out.
    filled = [n for n, values in enumerate(zip(*rows, strict=True)) if values.count(None) < len(values)]
    select_filled = itemgetter(*filled)
    tx.insert_rows(memories, select_filled(columns), [select_filled(row) for row in rows])


_EDITED = (
    "content", "type", "value", "metadata", "source", "trust", "importance", "valid_from", "expires_at",
    "content_hash", "notes", "terms", "true_from", "quarantined_at", "row_hash",
)  # fmt: skip
_COLUMNS = (
    "id", "tenant", "agent", "user", "session", "key", "message_seq", "message_id", "speaker", "recorded_at",
    "idempotency_key", *_EDITED,
)  # fmt: skip


def _row(memory_id: int, new: NewMemory, message_seq: int | None) -> tuple[Any, ...]:
    """Return the values of `_COLUMNS`."""
    message, names = new.message, scope_names(new.scope)
    return (
        memory_id, *names, new.key, message_seq,
        message.message_id if message else None, message.speaker if message else None, to_micros(new.recorded_at),
        new.idempotency_key, *_edited_values(new, memory_id, names, new.key),
    )  # fmt: skip


def _edited_values(
    new: NewMemory, memory_id: int, names: tuple[str, str, str, str], key: str | None
) -> tuple[Any, ...]:
    value = None if new.key is None else to_json(new.value)
    metadata, notes = to_json(new.metadata), to_json(new.notes)
    return (
        new.content, new.type.value, value, metadata, new.source, new.trust, new.importance,
        to_micros(new.valid_from), micros_or_none(new.expires_at), bytearray(new.content_hash),
        notes, _terms(new),
        micros_or_none(true_from(new)), micros_or_none(new.quarantined_at),
        bytearray(row_hash(memory_id, names, key, new.content, f"{value or ''}{metadata}{notes}")),
    )  # fmt: skip


def _terms(new: NewMemory) -> str:
    user = new.scope.user if isinstance(new.scope.user, str) else None
    return with_note_keys(new.terms, new.notes, new.message.speaker if new.message else None, user, new.content)


def true_from(new: NewMemory | Memory) -> datetime | None:
    """Return when what a memory says became true, if it says so and that is before it was said."""
    first = min((start for start, _ in described_times(new.notes)), default=None)
    return first if first is not None and first < new.valid_from else None


def edited_columns(new: NewMemory, known: Memory) -> dict[str, Any]:
    """Return the columns that an edit of a memory may change, with their values."""
    return dict(zip(_EDITED, _edited_values(new, known.id, owner_of_memory(known), known.key), strict=True))


def insert_vectors(tx: Transaction, added: Iterable[tuple[int, NewMemory]]) -> None:
    # A bytearray, since SQLite's driver sends `bytes` through its slow adapters.
    rows = [
        (
            memory_id,
            new.generation,
            bytearray(new.vector.astype("<f4", copy=False).data),
            None if new.sentences is None else bytearray(new.sentences),
        )
        for memory_id, new in added
        if new.vector is not None
    ]
    if rows:
        tx.insert_rows(vectors, ("memory_id", "generation", "data", "sentences"), rows)


def insert_changes(tx: Transaction, op: str, owners: Sequence[tuple[int, str, str]]) -> None:
    """Insert rows of the change log, for (memory id, tenant, user) each."""
    if owners:
        rows = [(op, *owner, tx.at) for owner in owners]
        tx.insert_rows(changes, ("op", "memory_id", "tenant", "user", "at"), rows)


@dataclass(frozen=True, slots=True)
class AgentCounts:
    """What one agent has written; the time in microseconds."""

    memories: int
    executions: int
    last_at: int


def count_by_type(tx: ReadTransaction, tenant: str) -> dict[str, int]:
    """Return how many memories of each type a tenant has."""
    query = select(_C.name, _C.entries).where(_C.tenant == tenant, _C.kind == "type", _C.entries > 0)
    return {row[0]: row[1] for row in tx.execute(query)}


def count_executions(tx: ReadTransaction, tenant: str) -> int:
    query = select(func.coalesce(func.sum(_C.entries), 0)).where(_C.tenant == tenant, _C.kind == "execution")
    return int(tx.execute(query).scalar_one())


def count_by_agent(tx: ReadTransaction, tenant: str, limit: int) -> dict[str, AgentCounts]:
    """Return what the agents that wrote last have written, newest first."""
    conditions = (_C.tenant == tenant, _C.kind.in_(("agent", "execution")), _C.name != "")
    last = func.max(_C.last_at)
    counts = [func.coalesce(func.sum(_C.entries).filter(_C.kind == kind), 0) for kind in ("agent", "execution")]
    query = select(_C.name, *counts, last).where(*conditions).group_by(_C.name).order_by(last.desc(), _C.name)
    return {row[0]: AgentCounts(int(row[1]), int(row[2]), row[3]) for row in tx.execute(query.limit(limit))}


def _counts(columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> list[tuple[str, str, str, int, int]]:
    """Return what new rows add to `counters`: one row for each type and agent; a trigger would run for each memory."""
    tenant, agent, kind, at = (columns.index(column) for column in ("tenant", "agent", "type", "recorded_at"))
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in rows:
        for key in ((row[tenant], "type", row[kind]), (row[tenant], "agent", row[agent])):
            entries, last = found.get(key, (0, row[at]))
            found[key] = entries + 1, max(last, row[at])
    return [(*key, *counted) for key, counted in found.items()]
