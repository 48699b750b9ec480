"""New memories → rows: what is already known is recognised, the rest is written in bulk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, exists, func, or_, select

from memoranda.memories.changes import Draft
from memoranda.memories.message_log import Ledger, Turn
from memoranda.memories.rows import (
    MEMORY_COLUMNS,
    memory_from_draft,
    memory_from_row,
    micros_or_none,
    name,
    names_of,
    to_json,
    to_micros,
)
from memoranda.storage.schema import changes, lineage, memories, memory_text, tallies, vectors
from memoranda.storage.sqlite.connections import chunked, driver_connection, free_id, insert_rows
from memoranda.text import content_hash
from memoranda.types import Memory, Outcome

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
    rows: list[tuple[Any, ...]] = []
    for draft, mine in zip(drafts, marks, strict=True):
        message_id = draft.message.message_id if draft.message else None
        found = next((mark for mark in mine if mark in known), None) if mine else None
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
        rows.append(_values(memory.id, draft, seq))
        outcomes.append(Outcome("stored", memory, message_id=message_id))
        for mark in mine:
            known[mark] = memory
    ledger.write()
    _insert(connection, fresh, rows, at)
    return outcomes


def identities(draft: Draft) -> list[Identity]:
    """The marks by which this draft may already be there."""
    if draft.idempotency_key is None and draft.message is None and not draft.deduplicate:
        return []
    place = names_of(draft.scope)
    marks: list[Identity] = []
    if draft.idempotency_key is not None:
        marks.append(("once", *place[:3], "", draft.idempotency_key))
    if draft.message is not None:
        marks.append(("message", *place, (draft.message.message_id, draft.content_hash)))
    elif draft.deduplicate:
        marks.append(("text", *place, draft.content_hash))
    return marks


def _look_up(connection: Connection, marks: Sequence[Identity], at: int) -> dict[Identity, Memory]:
    if not marks:
        return {}
    columns = {
        "once": memories.c.idempotency_key,
        "message": memories.c.message_id,
        "text": memories.c.content_hash,
    }
    known: dict[Identity, Memory] = {}
    for kind, column in columns.items():
        values = list({_looked_up(mark) for mark in marks if mark[0] == kind})
        for part in chunked(values):
            found = select(*MEMORY_COLUMNS, column).where(column.in_(part))
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
    connection: Connection, fresh: Sequence[tuple[int, Draft]], rows: Sequence[tuple[Any, ...]], at: int
) -> None:
    if not fresh:
        return
    insert_memories(connection, _COLUMNS, rows)
    insert_rows(connection, memory_text.name, ("rowid", "terms"), [(key, draft.terms) for key, draft in fresh])
    insert_vectors(connection, fresh)
    insert_changes(connection, "add", [(key, draft.scope.tenant, name(draft.scope.user)) for key, draft in fresh], at)


def _turn(draft: Draft) -> Turn | None:
    return None if draft.message is None else (draft.scope, draft.message)


def insert_memories(connection: Connection, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Rows of `memories`, counted in the transaction that writes them."""
    count_added(connection, columns, rows)
    # For the driver a NULL is the dearest value of all to bind: a column that is NULL in every row is left out.
    given = [n for n, values in enumerate(zip(*rows, strict=True)) if values.count(None) < len(values)]
    chosen = itemgetter(*given)
    insert_rows(connection, memories.name, chosen(columns), [chosen(row) for row in rows])


_EDITED = (
    "content", "type", "value", "metadata", "source", "trust", "importance", "valid_from", "expires_at",
    "content_hash", "notes",
)  # fmt: skip
_COLUMNS = (
    "id", "tenant", "agent", "user", "session", "key", "message_seq", "message_id", "speaker", "recorded_at",
    "idempotency_key", *_EDITED,
)  # fmt: skip


def _values(memory_id: int, draft: Draft, message_seq: int | None) -> tuple[Any, ...]:
    """The values of `_COLUMNS`."""
    message = draft.message
    return (
        memory_id, *names_of(draft.scope), draft.key, message_seq,
        message.message_id if message else None, message.speaker if message else None, to_micros(draft.recorded_at),
        draft.idempotency_key, *_edited_values(draft),
    )  # fmt: skip


def _edited_values(draft: Draft) -> tuple[Any, ...]:
    value = None if draft.key is None else to_json(draft.value)
    return (
        draft.content, draft.type.value, value, to_json(draft.metadata), draft.source, draft.trust, draft.importance,
        to_micros(draft.valid_from), micros_or_none(draft.expires_at), bytearray(draft.content_hash),
        to_json(draft.notes),
    )  # fmt: skip


def edited_columns(draft: Draft) -> dict[str, Any]:
    """The columns that an edit may change."""
    return dict(zip(_EDITED, _edited_values(draft), strict=True))


def insert_vectors(connection: Connection, fresh: Iterable[tuple[int, Draft]]) -> None:
    # A bytearray, since the driver puts `bytes` through its slow way of adapting values.
    rows = [
        (key, draft.generation, bytearray(draft.vector.astype("<f4", copy=False).data))
        for key, draft in fresh
        if draft.vector is not None
    ]
    if rows:
        insert_rows(connection, vectors.name, ("memory_id", "generation", "data"), rows)


def insert_changes(connection: Connection, op: str, owners: Sequence[tuple[int, str, str]], at: int) -> None:
    """The change log's rows: (memory id, tenant, user) each."""
    if owners:
        rows = [(op, *owner, at) for owner in owners]
        insert_rows(connection, changes.name, ("op", "memory_id", "tenant", "user", "at"), rows)


_T = tallies.c
_BY_TYPE = select(_T.name, _T.entries).where(_T.kind == "type", _T.entries > 0)

_ADD = """
INSERT INTO tallies VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, last_at = max(last_at, excluded.last_at)
"""


@dataclass(frozen=True, slots=True)
class AgentTally:
    """What one agent has done; the time in microseconds."""

    memories: int
    executions: int
    last_at: int


@dataclass(frozen=True, slots=True)
class Activity:
    """What a tenant's agents have done."""

    executions: int
    agents: dict[str, AgentTally]
    """Those active last, newest first."""


def count_added(connection: Connection, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
    """Counts new rows of `memories`: once a type and an agent, where a trigger would count each row twice over."""
    tenant, agent, kind, at = (columns.index(name) for name in ("tenant", "agent", "type", "recorded_at"))
    found: dict[tuple[str, str, str], tuple[int, int]] = {}
    for row in rows:
        for key in ((row[tenant], "type", row[kind]), (row[tenant], "agent", row[agent])):
            entries, last = found.get(key, (0, row[at]))
            found[key] = entries + 1, max(last, row[at])
    driver_connection(connection).executemany(_ADD, [(*key, *counted) for key, counted in found.items()])


def by_type(connection: Connection, tenant: str) -> dict[str, int]:
    """How many memories of each type a tenant has."""
    return {row[0]: row[1] for row in connection.execute(_BY_TYPE.where(_T.tenant == tenant))}


def activity(connection: Connection, tenant: str, limit: int) -> Activity:
    return Activity(_executions(connection, tenant), _agents(connection, tenant, limit))


def _executions(connection: Connection, tenant: str) -> int:
    wanted = select(func.total(_T.entries)).where(_T.tenant == tenant, _T.kind == "execution")
    return int(connection.execute(wanted).scalar_one())


def _agents(connection: Connection, tenant: str, limit: int) -> dict[str, AgentTally]:
    mine = (_T.tenant == tenant, _T.kind.in_(("agent", "execution")), _T.name != "")
    last = func.max(_T.last_at)
    counts = [func.total(_T.entries).filter(_T.kind == kind) for kind in ("agent", "execution")]
    wanted = select(_T.name, *counts, last).where(*mine).group_by(_T.name).order_by(last.desc(), _T.name).limit(limit)
    return {row[0]: AgentTally(int(row[1]), int(row[2]), row[3]) for row in connection.execute(wanted)}
