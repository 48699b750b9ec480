"""Between rows and the JSON objects of an export: times as ISO 8601, JSON as JSON, what is not set left out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import REAL, TEXT, Column, Integer, Table, bindparam, func, insert, select, update
from sqlalchemy.schema import DefaultClause

from memoranda.errors import InvalidInput
from memoranda.messages.message import Message
from memoranda.storage import add
from memoranda.storage.base import Transaction
from memoranda.storage.changes import NewMemory
from memoranda.storage.claims import ENDED_BY, index_claims, without_enders
from memoranda.storage.lifecycle import drop_claims
from memoranda.storage.rows import from_micros, scope_of, to_json, to_micros
from memoranda.storage.schema import (
    associations,
    executions,
    lineage,
    memories,
    messages,
    revisions,
    sessions,
)
from memoranda.text import check_unicode, clean_text, content_hash
from memoranda.types import JSON
from memoranda.validation import check_fraction, check_id, check_integer, check_type, copy_json, copy_json_object

_TIMES: Final = frozenset(
    (
        *("recorded_at", "valid_from", "valid_to", "expires_at", "archived_at"),
        *("accessed_at", "said_at", "changed_at", "opened_at", "ended_at"),
    )
)
_JSON: Final = frozenset(["metadata", "value", "payload", "notes", "record", "agents"])
_DERIVED: Final = frozenset(["tenant", "content_hash", "digest", "terms"])
_REQUIRED: Final = {
    "memory": ("id", "content", "type", "importance", "recorded_at", "valid_from"),
    "message": ("seq", "message_id", "role", "payload", "said_at", "recorded_at"),
    "session": ("id", "workflow", "opened_at", "ended_at"),
    "execution": ("id", "agent", "record", "recorded_at"),
}
TABLES: Final[dict[str, Table]] = {"message": messages, "memory": memories}
LINKS: Final[dict[str, tuple[Table, tuple[str, ...]]]] = {
    "association": (associations, ("memory_id", "related_memory_id")),
    "lineage": (lineage, ("derived_id", "source_id")),
    "revision": (revisions, ("memory_id",)),
}
"""What hangs on memories, and the columns with their numbers."""
LOGS: Final[dict[str, Table]] = {"session": sessions, "execution": executions}
"""What took place, which belongs to no user."""
_MAY_BE_GONE: Final = "source_id"
_RENAMED: Final = {"kind": "how"}


def to_record(kind: str, row: Mapping[str, Any]) -> dict[str, JSON]:
    """A row as an export has it."""
    record: dict[str, JSON] = {"kind": kind}
    for name, value in row.items():
        if value is None or value == "" or name in _DERIVED:
            continue
        record[_RENAMED.get(name, name)] = _outward(name, value)
    return record


def to_row(kind: str, record: Mapping[str, JSON], tenant: str) -> dict[str, Any]:
    """A row of this tenant; `InvalidInput` when the record is not one of ours."""
    row = _row(kind, TABLES[kind], record)
    for name in ("agent", "user", "session"):
        row.setdefault(name, "")
    if kind == "message" and not Message.is_valid_role(row["role"]):
        raise InvalidInput(f"unknown role {row['role']!r}")
    return row | {"tenant": tenant} | (_memory_columns(row) if kind == "memory" else {})


def to_entry(kind: str, record: Mapping[str, JSON]) -> dict[str, Any]:
    """A row of a log; its number, where it has one, is the store's to give."""
    row = _row(kind, LOGS[kind], record)
    return {
        name: clean_text(value, name) if name in ("id", "agent", "workflow") else value for name, value in row.items()
    }


def _row(kind: str, table: Table, record: Mapping[str, JSON]) -> dict[str, Any]:
    missing = [name for name in _REQUIRED[kind] if name not in record]
    if missing:
        raise InvalidInput(f"the {kind} has no {', '.join(missing)}")
    known = [name for name in record if name in table.columns and name not in _DERIVED]
    return {name: _inward(table.columns[name], record[name]) for name in known}


def to_link(kind: str, record: Mapping[str, JSON], numbers: Mapping[int, int]) -> dict[str, Any] | None:
    """A row with the numbers of this store; None when it tells of a memory that is gone."""
    table, ends = LINKS[kind]
    row = {name: _inward(table.c[name], record[_RENAMED.get(name, name)]) for name in _columns(kind, record)}
    for end in ends:
        number = check_id(row[end], end)
        if number not in numbers:
            if end == _MAY_BE_GONE:
                return None
            raise InvalidInput(f"the {kind} names memory {number}, which is not in the file")
        row[end] = numbers[number]
    checked = ("strength", "importance")
    return {name: check_fraction(value, name) if name in checked else value for name, value in row.items()}


def _columns(kind: str, record: Mapping[str, JSON]) -> list[str]:
    columns = LINKS[kind][0].columns
    missing = [each.name for each in columns if not each.nullable and _RENAMED.get(each.name, each.name) not in record]
    if missing:
        raise InvalidInput(f"the {kind} has no {', '.join(missing)}")
    return [each.name for each in columns if _RENAMED.get(each.name, each.name) in record]


def _memory_columns(row: Mapping[str, Any]) -> dict[str, Any]:
    content = clean_text(row["content"])
    return {
        "content": content,
        "content_hash": content_hash(content),
        "type": check_type(row["type"]).value,
        "importance": check_fraction(row["importance"], "importance"),
        "metadata": row.get("metadata", "{}"),
        "value": row.get("value", "null") if row.get("key") is not None else None,
    }


def _outward(name: str, value: Any) -> JSON:
    if name in _TIMES:
        return from_micros(value).isoformat()
    if name in _JSON:
        parsed: JSON = json.loads(value)
        return parsed
    kept: JSON = value
    return kept


def _inward(column: Column[Any], value: JSON) -> Any:
    name = column.name
    if value is None and column.nullable:
        return None
    if name in _TIMES:
        return to_micros(_moment(name, value))
    if name in _JSON:
        return to_json(copy_json(value) if name == "value" else copy_json_object(value, name))
    if isinstance(column.type, Integer):
        return check_integer(value, name, minimum=0)
    if isinstance(column.type, TEXT) and isinstance(value, str):
        return check_unicode(value, name)
    if isinstance(column.type, REAL) and isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise InvalidInput(f"{name} cannot be {type(value).__name__}")


def _moment(name: str, value: JSON) -> datetime:
    try:
        moment = datetime.fromisoformat(str(value))
    except ValueError as error:
        raise InvalidInput(f"{name} is {value!r}, not a time such as 2026-05-01T12:00:00+00:00") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


_SCOPE = ("tenant", "agent", "user", "session")
_M = memories.c
_T = messages.c

# Built once, and each so that SQLite finds it by one of its partial indexes.
_LOADED = select(_M.id, _M.agent, _M.user, _M.idempotency_key, _M.tenant).where(
    _M.idempotency_key.in_(bindparam("keys", expanding=True))
)
_SAVED = select(_M.id).where(_M.key == bindparam("in_key"), *(_M[name] == bindparam(f"in_{name}") for name in _SCOPE))
_TURNS = [_T[name] == bindparam(f"in_{name}") for name in _SCOPE]
_SAME = [_T.message_id == bindparam("in_message_id"), *_TURNS]
_TURN = select(_T.seq).where(*_SAME, _T.position.is_(None))
_PLACED_TURN = select(_T.seq).where(*_SAME, _T.position.is_not(None))
_NEWEST = select(func.max(_T.position)).where(*_TURNS, _T.position.is_not(None))
_INSERT_MESSAGE = insert(messages)
_SESSION_OF = select(sessions.c.tenant).where(sessions.c.id == bindparam("in_id"))


@dataclass(slots=True)
class Loaded:
    """What one batch became: old number → new number, and how many of them were new."""

    numbers: dict[int, int] = field(default_factory=dict)
    fresh: int = 0
    others: set[int] = field(default_factory=set)
    """Old numbers of values whose key was taken: what stands there is somebody else's, and stays as it is."""


def load_messages(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> Loaded:
    done = Loaded()
    for row in rows:
        same = _TURN if row.get("position") is None else _PLACED_TURN
        known: int | None = tx.execute(same, _bound(row, "message_id")).scalar()
        if known is None:
            known = _insert_message(tx, row)
            done.fresh += 1
        done.numbers[row["seq"]] = known
    return done


def load_memories(
    tx: Transaction, rows: Sequence[tuple[Mapping[str, Any], NewMemory]], spoken: Mapping[int, int]
) -> Loaded:
    """Rows, their full text and their vectors; `spoken` maps the numbers of the messages behind them."""
    done, fresh = Loaded(), list[tuple[int, Mapping[str, Any], NewMemory]]()
    known, next_id = _loaded_before(tx, [row for row, _ in rows]), tx.next_id(memories)
    for row, draft in rows:
        number = known.get(_mark(row))
        if number is None and (number := _same_key(tx, row)) is not None:
            done.others.add(row["id"])
        if number is None:
            number = known[_mark(row)] = next_id + len(fresh)
            fresh.append((number, row, draft))
        done.numbers[row["id"]] = number
    _insert_memories(tx, fresh, spoken)
    done.fresh = len(fresh)
    return done


def load_links(tx: Transaction, kind: str, rows: Sequence[Mapping[str, Any]]) -> int:
    """How many there are now that were not there before; a known one stays as it is."""
    table, _ = LINKS[kind]
    if kind == "lineage":
        drop_claims(tx, [row["source_id"] for row in rows if row["kind"] == "merged"])
    key = [column.name for column in table.primary_key]
    return sum(tx.upsert(table, [_complete(table, row)], key=key) for row in rows)


def load_sessions(tx: Transaction, tenant: str, rows: Sequence[Mapping[str, Any]]) -> int:
    """How many were new."""
    fresh = 0
    for row in rows:
        held = tx.execute(_SESSION_OF, {"in_id": row["id"]}).scalar()
        # Taken by another tenant of this store, it goes by a name made from both: the same one each time.
        name = row["id"] if held in (None, tenant) else content_hash(f"{tenant}:{row['id']}").hex()[:32]
        fresh += tx.upsert(sessions, [_complete(sessions, row) | {"id": name, "tenant": tenant}], key=("id",))
    return fresh


def supersede(tx: Transaction, pairs: Mapping[int, int]) -> None:
    """memory → the one that took its place, once both are there; one that holds again by now is left alone."""
    for old, new in pairs.items():
        ended = (_M.id == old, _M.valid_to.is_not(None))
        tx.execute(update(memories).where(*ended).values(superseded_by=new))


def _mark(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return row["agent"], row["user"], row["idempotency_key"]


def _loaded_before(tx: Transaction, rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str], int]:
    found = tx.execute(_LOADED, {"keys": [row["idempotency_key"] for row in rows]})
    tenants = {row["tenant"] for row in rows}
    return {(agent, user, key): number for number, agent, user, key, tenant in found if tenant in tenants}


def _same_key(tx: Transaction, row: Mapping[str, Any]) -> int | None:
    if row.get("key") is None:
        return None
    known: int | None = tx.execute(_SAVED, _bound(row, "key")).scalar()
    return known


def _insert_memories(
    tx: Transaction,
    fresh: Sequence[tuple[int, Mapping[str, Any], NewMemory]],
    spoken: Mapping[int, int],
) -> None:
    if not fresh:
        return
    # Numbers of memories that may not be here yet are left out; the importer names them when all are.
    rows = [
        _complete(memories, row)
        | {
            "id": number,
            "terms": draft.terms,
            "superseded_by": None,
            "message_seq": spoken.get(row.get("message_seq") or 0),
        }
        | ({"notes": to_json(without_enders(json.loads(row["notes"])))} if ENDED_BY in row.get("notes", "") else {})
        for number, row, draft in fresh
    ]
    add.insert_memories(tx, tuple(rows[0]), [tuple(row.values()) for row in rows])
    add.insert_vectors(tx, [(number, draft) for number, _, draft in fresh])
    add.insert_changes(tx, "add", [(number, row["tenant"], row["user"]) for number, row, _ in fresh])
    for number, row, _ in fresh:
        if row.get("notes", "{}") != "{}":
            index_claims(tx, number, scope_of(*(row[column] for column in _SCOPE)), json.loads(row["notes"]))


def _insert_message(tx: Transaction, row: Mapping[str, Any]) -> int:
    values = {name: value for name, value in _complete(messages, row).items() if name != "seq"}
    if row.get("position") is not None:
        values["position"] = (tx.execute(_NEWEST, _bound(row)).scalar() or 0) + 1
    key = tx.execute(_INSERT_MESSAGE, values).inserted_primary_key
    assert key is not None
    return int(key[0])


def _bound(row: Mapping[str, Any], *more: str) -> dict[str, Any]:
    return {f"in_{name}": row[name] for name in (*_SCOPE, *more)}


def _complete(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with every column, so that many are written by one statement."""
    return {column.name: row.get(column.name, _default(column)) for column in table.columns}


def _default(column: Column[Any]) -> int | str | None:
    given = column.server_default
    if not isinstance(given, DefaultClause):
        return None
    text = str(given.arg)
    return int(text) if isinstance(column.type, Integer) else text
