"""New memories → rows: what is already known is recognised, the rest is written in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select

from recollect.storage.base import Draft
from recollect.storage.ledger import Ledger, Turn
from recollect.storage.rows import (
    MEMORY_COLUMNS,
    memory_from_draft,
    memory_from_row,
    micros_or_none,
    name,
    to_json,
    to_micros,
)
from recollect.storage.schema import changes, lineage, memories, memory_text, vectors
from recollect.storage.tables import free_id, insert_rows
from recollect.text import content_hash
from recollect.types import Memory, Outcome

_CHUNK = 500

Kind: TypeAlias = Literal["once", "message", "text"]
Identity: TypeAlias = tuple[Kind, str, str, str, str, str | bytes | tuple[str, bytes]]
"""How a memory may be known already: by what, tenant, agent, user, session, and the mark itself."""

_REASONS: dict[Kind, str] = {
    "once": "the idempotency key was used before",
    "message": "this message is remembered already",
    "text": "this text is remembered already",
}
_SAID_OTHERWISE = "a message of this id was said already, in other words: what was said is never changed"


def add_all(connection: Connection, drafts: Sequence[Draft], at: int) -> list[Outcome]:
    """Writes the drafts that are new, one outcome a draft, in order. A repeat inside the list counts as known."""
    marks = [identities(draft) for draft in drafts]
    known = _look_up(connection, [mark for each in marks for mark in each], at)
    ledger = Ledger(connection, [turn for draft in drafts if (turn := _turn(draft))])
    next_id = free_id(connection, "memories")
    outcomes: list[Outcome] = []
    fresh: list[tuple[int, Draft]] = []
    rows: list[dict[str, Any]] = []
    for draft, mine in zip(drafts, marks, strict=True):
        message_id = draft.message.message_id if draft.message else None
        found = next((mark for mark in mine if mark in known), None)
        if found is not None:
            outcomes.append(Outcome("duplicate", known[found], _REASONS[found[0]], message_id))
            continue
        turn = _turn(draft)
        if turn and ledger.said_otherwise(turn):
            outcomes.append(Outcome("duplicate", None, _SAID_OTHERWISE, message_id))
            continue
        seq = ledger.number(turn, draft.recorded_at) if turn else None
        memory = memory_from_draft(draft, next_id + len(fresh))
        fresh.append((memory.id, draft))
        rows.append(_row(memory.id, draft, seq))
        outcomes.append(Outcome("stored", memory, message_id=message_id))
        known.update(dict.fromkeys(mine, memory))
    ledger.write()
    _insert(connection, fresh, rows, at)
    return outcomes


def identities(draft: Draft) -> list[Identity]:
    """The marks by which this draft may already be there."""
    scope = draft.scope
    owner = (scope.tenant, name(scope.agent), name(scope.user))
    place = (*owner, name(scope.session))
    marks: list[Identity] = []
    if draft.idempotency_key is not None:
        marks.append(("once", *owner, "", draft.idempotency_key))
    if draft.message is not None:
        marks.append(("message", *place, (draft.message.message_id, draft.content_hash)))
    elif draft.deduplicate:
        marks.append(("text", *place, draft.content_hash))
    return marks


def _look_up(connection: Connection, marks: Sequence[Identity], at: int) -> dict[Identity, Memory]:
    columns = {
        "once": memories.c.idempotency_key,
        "message": memories.c.message_id,
        "text": memories.c.content_hash,
    }
    known: dict[Identity, Memory] = {}
    for kind, column in columns.items():
        values = list({_looked_up(mark) for mark in marks if mark[0] == kind})
        for start in range(0, len(values), _CHUNK):
            found = select(*MEMORY_COLUMNS, column).where(column.in_(values[start : start + _CHUNK]))
            if kind == "text":
                found = found.where(memories.c.message_id.is_(None), _still_true(at))
            for row in connection.execute(found):
                memory = memory_from_row(row)
                known.setdefault(_mark_of(kind, memory, row[-1]), memory)  # type: ignore[arg-type]
    return known


def _looked_up(mark: Identity) -> str | bytes:
    return mark[5][0] if isinstance(mark[5], tuple) else mark[5]


def _mark_of(kind: Kind, memory: Memory, value: Any) -> Identity:
    """By what a stored memory is known, where one of this kind was asked for."""
    session = "" if kind == "once" else memory.session or ""
    mark = (value, content_hash(memory.content)) if kind == "message" else value
    return kind, memory.tenant, memory.agent or "", memory.user or "", session, mark


def _still_true(at: int) -> ColumnElement[bool]:
    """A text that has ended, expired or been put away is news when it is said again, unless another one repeats it."""
    m = memories.c
    holds = and_(m.archived_at.is_(None), m.valid_to.is_(None), or_(m.expires_at.is_(None), m.expires_at > at))
    other, line = memories.alias("other"), lineage.c
    same = (line.source_id == m.id, line.kind == "merged", other.c.id == line.derived_id)
    return or_(holds, exists().where(*same, other.c.archived_at.is_(None)))


def _insert(
    connection: Connection, fresh: Sequence[tuple[int, Draft]], rows: Sequence[Mapping[str, Any]], at: int
) -> None:
    if not fresh:
        return
    insert_rows(connection, memories.name, rows)
    insert_rows(connection, memory_text.name, [{"rowid": key, "terms": draft.terms} for key, draft in fresh])
    insert_vectors(connection, fresh)
    owners = [(key, draft.scope.tenant, name(draft.scope.user)) for key, draft in fresh]
    insert_changes(connection, "add", owners, at)


def _turn(draft: Draft) -> Turn | None:
    return None if draft.message is None else (draft.scope, draft.message)


def _row(memory_id: int, draft: Draft, message_seq: int | None) -> dict[str, Any]:
    scope, message = draft.scope, draft.message
    return edited_columns(draft) | {
        "id": memory_id,
        "tenant": scope.tenant,
        "agent": name(scope.agent),
        "user": name(scope.user),
        "session": name(scope.session),
        "key": draft.key,
        "message_seq": message_seq,
        "message_id": message.message_id if message else None,
        "speaker": message.speaker if message else None,
        "recorded_at": to_micros(draft.recorded_at),
        "idempotency_key": draft.idempotency_key,
    }


def edited_columns(draft: Draft) -> dict[str, Any]:
    """The columns that an edit may change."""
    return {
        "content": draft.content,
        "type": draft.type.value,
        "value": None if draft.key is None else to_json(draft.value),
        "metadata": to_json(draft.metadata),
        "source": draft.source,
        "trust": draft.trust,
        "importance": draft.importance,
        "valid_from": to_micros(draft.valid_from),
        "expires_at": micros_or_none(draft.expires_at),
        "content_hash": draft.content_hash,
        "notes": to_json(draft.notes),
    }


def insert_vectors(connection: Connection, fresh: Iterable[tuple[int, Draft]]) -> None:
    rows = [
        {"memory_id": key, "generation": draft.generation, "data": draft.vector.astype("<f4").tobytes()}
        for key, draft in fresh
        if draft.vector is not None
    ]
    if rows:
        insert_rows(connection, vectors.name, rows)


def insert_changes(connection: Connection, op: str, owners: Sequence[tuple[int, str, str]], at: int) -> None:
    """The change log's rows: (memory id, tenant, user) each."""
    rows = [{"op": op, "memory_id": key, "tenant": tenant, "user": user, "at": at} for key, tenant, user in owners]
    if rows:
        insert_rows(connection, changes.name, rows)
