"""Archive, supersede, pin and derive memories; read their history."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from sqlalchemy import ColumnElement, bindparam, case, delete, func, insert, literal, or_, select, update

from memoranda.results.maintenance import Derivation, Revision
from memoranda.security.id_cipher import show_id
from memoranda.storage.add import add_memories, insert_changes
from memoranda.storage.base import ReadTransaction, Row, Transaction, chunked
from memoranda.storage.changes import KEPT_REVISIONS, QUARANTINE, RELEASED, Archive, Derive, Pin, Supersede, no_memory
from memoranda.storage.claims import write_notes
from memoranda.storage.read import get_memory, require_memories
from memoranda.storage.row_hash import REVISION_HASH, hash_as_former, hash_with_notes
from memoranda.storage.rows import (
    MEMORY_COLUMNS,
    check_revision,
    from_micros,
    in_scope,
    memory_from_row,
    micros_or_none,
    not_expired,
    stored_json,
    to_json,
    to_micros,
)
from memoranda.storage.schema import associations, claims, lineage, memories, revisions
from memoranda.types import Memory, MemoryType, Outcome, Scope

_PAGE = 500
_NAMED_MEMORY: Final = re.compile(r"^(\w+: memory )(\d{1,19})\b")
"""The memory that the stored reason of an archived one names: "consolidate: memory 7 was made from it"."""
_M = memories.c
_L = lineage.c
_R = revisions.c
_LATER = case((_M.accessed_at > bindparam("last"), _M.accessed_at), else_=bindparam("last"))
_COUNT_ACCESS = (
    update(memories)
    .where(_M.id == bindparam("memory_id"))
    .values(access_count=_M.access_count + bindparam("times"), accessed_at=_LATER)
)
_EXPLAIN_ARCHIVE = update(memories).where(_M.id == bindparam("memory_id")).values(archive_reason=bindparam("reason"))
# A value under a key is replaced whatever it was: its versions count how often it was saved.
_NEXT_VERSION = case((_M.key.is_(None), _M.version + 1), else_=_M.version)
_REVISED = (_R.version, _R.content, _R.type, _R.importance, _R.source, _R.metadata, _R.changed_at)


def derive(tx: Transaction, change: Derive) -> Outcome:
    """Write a new memory and its lineage; one that was derived before is a duplicate, its lineage unchanged."""
    require_memories(tx, Scope(change.new.scope.tenant, user=change.new.scope.user), change.sources)
    outcome = add_memories(tx, [change.new])[0]
    if outcome.status == "stored" and outcome.memory is not None and change.sources:
        _insert_lineage(tx, outcome.memory.id, change.sources, change.kind)
    return outcome


def archive(tx: Transaction, change: Archive) -> Outcome:
    """Archive memories, or restore them: what had expired is restored for good."""
    restores = change.at is None
    unmarked: ColumnElement[bool] = _M.archived_at.is_not(None) if restores else _M.archived_at.is_(None)
    values: dict[str, Any] = {"archived_at": micros_or_none(change.at), "archive_reason": None}
    if restores:
        lasts = not_expired(from_micros(tx.at))
        values["expires_at"] = case((lasts, _M.expires_at), else_=None)
        unmarked = or_(unmarked, ~lasts)
    ids = _update(tx, change.scope, change.ids, [unmarked], values)
    if change.reasons:
        reasons = dict(zip(change.ids, change.reasons, strict=True))
        tx.execute(_EXPLAIN_ARCHIVE, [{"memory_id": each, "reason": reasons[each]} for each in ids])
    log_touched(tx, "restore" if restores else "archive", [*ids, *consolidated_from(tx, ids)])
    return Outcome("stored", None, f"{len(ids)} {'restored' if restores else 'archived'}")


def read_archive_reason(tx: ReadTransaction, memory_id: int) -> str | None:
    """Return which policy of upkeep archived a memory and why; None when a person did, or it is not archived."""
    reason: str | None = tx.execute(select(_M.archive_reason).where(_M.id == memory_id)).scalar()
    return None if reason is None else show_reason(reason)


def show_reason(reason: str) -> str:
    """Return the reason of an archived memory with ids as the caller sees them."""
    return _NAMED_MEMORY.sub(lambda named: f"{named[1]}{show_id(int(named[2]))}", reason)


def end_quarantine(tx: Transaction, memory: Memory) -> dict[str, Any]:
    """Mark a memory as no longer quarantined and return its notes, with the claims that were held back."""
    held = memory.notes.get(QUARANTINE, {})
    notes = {name: note for name, note in memory.notes.items() if name != QUARANTINE} | {RELEASED: True}
    if isinstance(held, dict) and held.get("claims"):
        notes["claims"] = held["claims"]
    stored = to_json(notes)
    columns = {"quarantined_at": None, "notes": stored, "row_hash": hash_with_notes(stored), "version": _NEXT_VERSION}
    tx.execute(update(memories).where(_M.id == memory.id).values(columns))
    return notes


def supersede(tx: Transaction, change: Supersede) -> Outcome:
    require_memories(tx, change.scope, [change.by])
    ended = to_micros(change.at)
    values: dict[str, Any] = {
        "superseded_by": change.by,
        "valid_to": func.coalesce(_M.valid_to, ended),
        "superseded_at": ended,
    }
    if change.merged:
        values["archived_at"] = func.coalesce(_M.archived_at, ended)
    others = [memory_id for memory_id in change.ids if memory_id != change.by]
    ids = _update(tx, change.scope, others, [_M.superseded_by.is_(None)], values)
    if change.merged and ids:
        _insert_lineage(tx, change.by, ids, "merged")
        drop_claims(tx, ids)
    log_touched(tx, "supersede", [*ids, *consolidated_from(tx, ids)])
    return Outcome("stored", None, f"{len(ids)} superseded")


def set_end(tx: Transaction, memory_id: int, valid_to: datetime | None, superseded_by: int | None) -> None:
    """Set when a memory stopped being true and which one replaced it; with None and None it holds again.

    The end is known since the memory that replaced it was stored.
    """
    newer = memories.alias("newer").c
    known = select(newer.recorded_at).where(newer.id == superseded_by).scalar_subquery() if superseded_by else None
    values = {"valid_to": micros_or_none(valid_to), "superseded_by": superseded_by, "superseded_at": known}
    tx.execute(update(memories).where(_M.id == memory_id).values(values))
    op = "reopen" if superseded_by is None else "supersede"
    log_touched(tx, op, [memory_id, *consolidated_from(tx, [memory_id])])


def set_true_from(tx: Transaction, memory_id: int, true_from: datetime | None) -> None:
    """Set from when a memory is true; None for when it was said."""
    tx.execute(update(memories).where(_M.id == memory_id).values(true_from=micros_or_none(true_from)))
    log_touched(tx, "reopen", [memory_id])


def associate(
    tx: Transaction, memory_id: int, related_id: int, kind: str, strength: float = 1.0, metadata: str | None = None
) -> None:
    """Write an association; a repeated one takes the new strength and metadata."""
    key = ("memory_id", "related_memory_id", "relationship_type")
    row: dict[str, Any] = dict(zip(key, (memory_id, related_id, kind), strict=True))
    row |= {"strength": strength, "metadata": metadata}
    tx.upsert(associations, [row], key=key, update=("strength", "metadata"))


def read_followers(tx: ReadTransaction, ids: Sequence[int], kinds: Sequence[str]) -> dict[int, dict[int, float]]:
    """Return the memories that an association of these kinds points from and its strength, by where it points to."""
    a, found = associations.c, dict[int, dict[int, float]]()
    for part in chunked(ids):
        query = select(a.related_memory_id, a.memory_id, a.strength).where(
            a.related_memory_id.in_(part), a.relationship_type.in_(kinds)
        )
        for older, newer, strength in tx.execute(query.order_by(a.memory_id)):
            found.setdefault(older, {})[newer] = max(strength, found.get(older, {}).get(newer, 0.0))
    return found


def read_followed(tx: ReadTransaction, ids: Collection[int], kind: str) -> set[int]:
    """Return the memories that an association of this kind points to from one of these."""
    a, found = associations.c, set[int]()
    for part in chunked(sorted(ids)):
        query = select(a.related_memory_id).where(a.memory_id.in_(part), a.relationship_type == kind)
        found.update(tx.scalars(query))
    return found


def read_opposed(tx: ReadTransaction, ids: Sequence[int], kind: str) -> dict[int, list[int]]:
    """Return the memories that an association of this kind connects with each of these, in either direction."""
    a, found = associations.c, dict[int, list[int]]()
    for part in chunked(ids):
        pairs = select(a.memory_id, a.related_memory_id).where(a.relationship_type == kind)
        for one, other in tx.execute(pairs.where(or_(a.memory_id.in_(part), a.related_memory_id.in_(part)))):
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    return found


def mark(tx: Transaction, memory_id: int, key: str) -> None:
    """Set a mark in the notes of a memory."""
    notes = read_notes(tx, memory_id)
    if key not in notes:
        write_notes(tx, memory_id, {**notes, key: True})


def unmark(tx: Transaction, memory_id: int, key: str) -> None:
    """Take a mark from the notes of a memory."""
    notes = read_notes(tx, memory_id)
    if notes.pop(key, None) is not None:
        write_notes(tx, memory_id, notes)


def read_notes(tx: ReadTransaction, memory_id: int) -> dict[str, Any]:
    """Return the notes of a memory as they are now."""
    return read_memory(tx, memory_id).notes


def read_memory(tx: ReadTransaction, memory_id: int) -> Memory:
    """Return a memory that is known to exist."""
    return memory_from_row(tx.execute(select(*MEMORY_COLUMNS).where(_M.id == memory_id)).one())


def read_memories(tx: ReadTransaction, scope: Scope, ids: Sequence[int]) -> list[Memory]:
    """Return those of the memories that the scope has."""
    query = select(*MEMORY_COLUMNS).where(_M.id.in_(ids), *in_scope(scope)).order_by(_M.id)
    return [memory_from_row(row, scope) for row in tx.execute(query)]


def unlink(tx: Transaction, pairs: Collection[tuple[int, int]], kind: str) -> None:
    """Delete the associations of one kind between these memories, each in its direction."""
    a = associations.c
    for memory_id, related_id in pairs:
        conditions = (a.memory_id == memory_id, a.related_memory_id == related_id, a.relationship_type == kind)
        tx.execute(delete(associations).where(*conditions))


def drop_claims(tx: Transaction, ids: Sequence[int]) -> None:
    """Drop the claims of merged memories: the memory that repeats them makes their claims."""
    for part in chunked(ids):
        tx.execute(delete(claims).where(claims.c.memory_id.in_(part)))


def pin(tx: Transaction, change: Pin) -> Outcome:
    value = int(change.pinned)
    ids = _update(tx, change.scope, change.ids, [_M.pinned != value], {"pinned": value})
    return Outcome("stored", None, f"{len(ids)} {'pinned' if value else 'unpinned'}")


def keep_revision(tx: Transaction, memory_id: int) -> None:
    """Copy a row before an edit, and delete the oldest versions beyond the limit."""
    changed = (_M.version, _M.content, _M.type, _M.importance, _M.source, _M.metadata, literal(tx.at))
    columns = [_M.id, *changed, hash_as_former()]
    row = select(*columns).where(_M.id == memory_id, _M.key.is_(None))
    tx.execute(insert(revisions).from_select([column.name for column in (_R.memory_id, *_REVISED, _R.row_hash)], row))
    newest = select(_R.version).where(_R.memory_id == memory_id).order_by(_R.version.desc())
    if (last := tx.execute(newest.offset(KEPT_REVISIONS).limit(1)).scalar()) is not None:
        tx.execute(delete(revisions).where(_R.memory_id == memory_id, _R.version <= last))


def read_revisions(tx: ReadTransaction, scope: Scope, memory_id: int) -> list[Revision]:
    """Return former versions, oldest first; `NotFound` when the scope has no such memory.

    Values under a key keep none: they are state, and may be saved a million times.
    """
    memory = get_memory(tx, scope, memory_id)
    if memory is None:
        raise no_memory(scope, memory_id)
    query = select(*_REVISED, REVISION_HASH).join(memories, _M.id == _R.memory_id).where(_R.memory_id == memory_id)
    return [_to_revision(memory, row) for row in tx.execute(query.order_by(_R.version))]


def _to_revision(memory: Memory, row: Row) -> Revision:
    version, content, kind, importance, source, metadata, changed, stored = row
    check_revision(memory, content, metadata, stored)
    return Revision(
        version, content, MemoryType(kind), importance, source, stored_json(metadata, dict), from_micros(changed)
    )


def read_lineage(tx: ReadTransaction, scope: Scope, ids: Sequence[int] | None = None) -> list[Derivation]:
    """Return each derivation from or to one of these memories, where the scope contains the derived one.

    Ordered by derived id, then source id; all derivations of the scope when `ids` is None.
    """
    query = select(lineage).join(memories, _M.id == _L.derived_id).where(*in_scope(scope))
    queries = [query]
    if ids is not None:
        queries = [query.where(or_(_L.derived_id.in_(part), _L.source_id.in_(part))) for part in chunked(ids)]
    found = {(row[0], row[1], row[2]) for each in queries for row in tx.execute(each)}
    return [Derivation(*line) for line in sorted(found)]


def read_superseded(tx: ReadTransaction, scope: Scope, memory_id: int) -> list[int]:
    """Return the ids of the memories that this one superseded."""
    conditions = (_M.superseded_by == memory_id, *in_scope(scope))
    return list(tx.scalars(select(_M.id).where(*conditions).order_by(_M.id)))


def consolidated_from(tx: ReadTransaction, ids: Sequence[int]) -> list[int]:
    """Return the memories consolidated from one of these: whether they take part in recall may change with them."""
    found: set[int] = set()
    for part in chunked(ids):
        found.update(tx.scalars(select(_L.derived_id).where(_L.source_id.in_(part), _L.kind == "consolidated")))
    return sorted(found)


def read_all(tx: ReadTransaction, scope: Scope) -> Iterator[tuple[Memory, int, int | None]]:
    """Yield every memory of a scope by id, archived ones too, with how often and when it was last recalled."""
    query = select(*MEMORY_COLUMNS, _M.access_count, _M.accessed_at).where(*in_scope(scope)).order_by(_M.id)
    for row in tx.execute(query.execution_options(yield_per=_PAGE)):
        yield memory_from_row(row), row[-2], row[-1]


def read_users(tx: ReadTransaction, scope: Scope) -> list[str | None]:
    """Return the users that have memories in a scope, None for memories of no user."""
    rows = tx.scalars(select(_M.user).where(*in_scope(scope)).distinct().order_by(_M.user))
    return [user or None for user in rows]


def count_accesses(tx: Transaction, times: Mapping[int, int], last: datetime) -> None:
    """Add to how often these memories were recalled, the last time at `last`."""
    at = to_micros(last)
    rows = [{"memory_id": key, "times": count, "last": at} for key, count in sorted(times.items())]
    tx.execute(_COUNT_ACCESS, rows)


def log_touched(tx: Transaction, op: str, ids: Sequence[int]) -> None:
    """Enter these memories in the change log, as far as they exist."""
    for part in chunked(ids):
        rows = tx.execute(select(_M.id, _M.tenant, _M.user).where(_M.id.in_(part)).order_by(_M.id))
        insert_changes(tx, op, [(row[0], row[1], row[2]) for row in rows])


def _update(
    tx: Transaction,
    scope: Scope,
    ids: Sequence[int],
    conditions: Sequence[ColumnElement[bool]],
    values: dict[str, Any],
) -> list[int]:
    """Set the values where the conditions hold; return the ids of those memories.

    Each gets a new version, so that nobody who has read an earlier one overwrites this change unnoticed.
    """
    done: list[int] = []
    values = values | {"version": _NEXT_VERSION}
    for part in chunked(list(dict.fromkeys(ids))):
        found = list(tx.scalars(select(_M.id).where(_M.id.in_(part), *in_scope(scope), *conditions)))
        tx.execute(update(memories).where(_M.id.in_(found)).values(values))
        done += found
    return sorted(done)


def _insert_lineage(tx: Transaction, derived: int, sources: Sequence[int], kind: str) -> None:
    rows = [{"derived_id": derived, "source_id": source, "kind": kind} for source in dict.fromkeys(sources)]
    tx.upsert(lineage, rows, key=("derived_id", "source_id", "kind"))
