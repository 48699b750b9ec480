"""Between rows and the JSON objects of an export: times as ISO 8601, JSON as JSON, what is not set left out."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from sqlalchemy import REAL, TEXT, Column, Integer, Table

from memoranda.arguments import check_id, check_type, check_unit, check_whole
from memoranda.errors import InvalidInput
from memoranda.jsonvalue import copy_json, copy_json_object
from memoranda.messages.message import Message
from memoranda.storage.rows import from_micros, to_json, to_micros
from memoranda.storage.schema import associations, executions, lineage, memories, messages, revisions, sessions
from memoranda.text import check_unicode, clean_text, content_hash
from memoranda.types import JSON

_TIMES: Final = frozenset(
    (
        *("recorded_at", "valid_from", "valid_to", "expires_at", "archived_at", "quarantined_at"),
        *("accessed_at", "said_at", "changed_at", "opened_at", "ended_at"),
    )
)
_JSON: Final = frozenset(["metadata", "value", "payload", "notes", "record", "agents"])
_DERIVED: Final = frozenset(["tenant", "content_hash", "digest"])
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
    return {name: check_unit(value, name) if name in checked else value for name, value in row.items()}


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
        "importance": check_unit(row["importance"], "importance"),
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
        return check_whole(value, name, least=0)
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
