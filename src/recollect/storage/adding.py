"""New memories → rows: what is already known is recognised, the rest is written in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, exists, or_, select, text

from recollect.storage.base import Draft, StoredMessage
from recollect.storage.rows import (
    MEMORY_COLUMNS,
    memory_from_draft,
    memory_from_row,
    micros_or_none,
    name,
    to_json,
    to_micros,
)
from recollect.storage.schema import changes, lineage, memories, memory_text, messages, vectors
from recollect.types import Memory, Outcome

_CHUNK = 500

_LAST_ID = text("SELECT seq FROM sqlite_sequence WHERE name = :table")

Kind: TypeAlias = Literal["once", "message", "text"]
Identity: TypeAlias = tuple[Kind, str, str, str, str, str | bytes]
"""How a memory may be known already: by what, tenant, agent, user, session, and the mark itself."""

_REASONS: dict[Kind, str] = {
    "once": "the idempotency key was used before",
    "message": "this message is remembered already",
    "text": "this text is remembered already",
}


def add_all(connection: Connection, drafts: Sequence[Draft], at: int) -> list[Outcome]:
    """Writes the drafts that are new, one outcome a draft, in order. A repeat inside the list counts as known."""
    marks = [identities(draft) for draft in drafts]
    known = _look_up(connection, [mark for each in marks for mark in each], at)
    next_id = free_id(connection, "memories")
    outcomes: list[Outcome] = []
    fresh: list[tuple[int, Draft]] = []
    for draft, mine in zip(drafts, marks, strict=True):
        found = next((mark for mark in mine if mark in known), None)
        if found is not None:
            outcomes.append(Outcome("duplicate", known[found], _REASONS[found[0]]))
            continue
        memory = memory_from_draft(draft, next_id + len(fresh))
        fresh.append((memory.id, draft))
        outcomes.append(Outcome("stored", memory))
        known.update(dict.fromkeys(mine, memory))
    _insert(connection, fresh, at)
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
        marks.append(("message", *place, draft.message.message_id))
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
        values = list({mark[5] for mark in marks if mark[0] == kind})
        for start in range(0, len(values), _CHUNK):
            found = select(*MEMORY_COLUMNS, column).where(column.in_(values[start : start + _CHUNK]))
            if kind == "text":
                found = found.where(memories.c.message_id.is_(None), _still_true(at))
            for row in connection.execute(found):
                memory = memory_from_row(row)
                session = "" if kind == "once" else memory.session or ""
                mark = (kind, memory.tenant, memory.agent or "", memory.user or "", session, row[-1])
                known.setdefault(mark, memory)  # type: ignore[arg-type]
    return known


def _still_true(at: int) -> ColumnElement[bool]:
    """A text that has ended, expired or been put away is news when it is said again, unless another one repeats it."""
    m = memories.c
    holds = and_(m.archived_at.is_(None), m.valid_to.is_(None), or_(m.expires_at.is_(None), m.expires_at > at))
    other, line = memories.alias("other"), lineage.c
    same = (line.source_id == m.id, line.kind == "merged", other.c.id == line.derived_id)
    return or_(holds, exists().where(*same, other.c.archived_at.is_(None)))


def _insert(connection: Connection, fresh: Sequence[tuple[int, Draft]], at: int) -> None:
    if not fresh:
        return
    spoken = _insert_messages(connection, [draft for _, draft in fresh if draft.message is not None])
    rows = []
    for memory_id, draft in fresh:
        seq = spoken.get(id(draft))
        rows.append(_row(memory_id, draft, seq))
    insert_rows(connection, memories.name, rows)
    insert_rows(connection, memory_text.name, [{"rowid": key, "terms": draft.terms} for key, draft in fresh])
    insert_vectors(connection, fresh)
    owners = [(key, draft.scope.tenant, name(draft.scope.user)) for key, draft in fresh]
    insert_changes(connection, "add", owners, at)


def insert_rows(connection: Connection, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows that all have the same columns in the same order, straight to the driver: half of a bulk write's time."""
    connection.exec_driver_sql(_insert_statement(table, tuple(rows[0])), [tuple(row.values()) for row in rows])


@cache
def _insert_statement(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"


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
    }


def _insert_messages(connection: Connection, drafts: Sequence[Draft]) -> dict[int, int]:
    """The turns behind these drafts, written; the sequence number for each draft (by its `id()`)."""
    if not drafts:
        return {}
    first = free_id(connection, "messages")
    numbered = {id(draft): first + n for n, draft in enumerate(drafts)}
    rows = [_message_row(numbered[id(draft)], draft, draft.message) for draft in drafts if draft.message]
    insert_rows(connection, messages.name, rows)
    return numbered


def _message_row(seq: int, draft: Draft, message: StoredMessage) -> dict[str, Any]:
    scope = draft.scope
    return {
        "seq": seq,
        "message_id": message.message_id,
        "tenant": scope.tenant,
        "agent": name(scope.agent),
        "user": name(scope.user),
        "session": name(scope.session),
        "role": message.role,
        "speaker": message.speaker,
        "content": message.content,
        "payload": to_json(message.payload),
        "said_at": to_micros(message.said_at),
        "recorded_at": to_micros(draft.recorded_at),
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


def free_id(connection: Connection, table: str) -> int:
    """The number that the next row takes."""
    # Ids are never used again, so the counter of AUTOINCREMENT decides and not the largest id that is left.
    last = connection.execute(_LAST_ID, {"table": table}).scalar()
    return int(last or 0) + 1
