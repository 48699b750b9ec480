"""Between rows and values: times, scope names, JSON, and `Memory` itself."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Table, exists, select

from memoranda.errors import Incompatible, InvalidType
from memoranda.storage.schema import lineage, memories
from memoranda.text import content_hash
from memoranda.types import ANY, JSON, AnyUser, Memory, MemoryType, Scope

# Made once: `json.dumps` with options makes a new encoder at each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)

_M = memories.c
MEMORY_COLUMNS = [
    _M.id, _M.content, _M.type, _M.importance, _M.recorded_at, _M.valid_from, _M.tenant, _M.agent, _M.user, _M.session,
    _M.source, _M.trust, _M.metadata, _M.key, _M.value, _M.message_id, _M.speaker, _M.valid_to, _M.expires_at,
    _M.superseded_by, _M.archived_at, _M.version, _M.content_hash, _M.pinned, _M.notes,
]  # fmt: skip
SELECT_MEMORY = select(*MEMORY_COLUMNS)


@lru_cache(maxsize=256)  # what is written together has most of its times in common
def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def micros_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def to_json(value: JSON) -> str:
    return "{}" if value == {} else _encode(value)


def _from_json(text: str) -> Any:
    return {} if text == "{}" else json.loads(text)


def name(value: str | AnyUser | None) -> str:
    """A scope name as the tables hold it: the empty string when there is none."""
    if value is ANY:
        raise InvalidType("a memory belongs to one user or to none: ANY is for reading")
    return value or ""


def names_of(scope: Scope) -> tuple[str, str, str, str]:
    """Tenant, agent, user and session as the tables hold them."""
    return scope.tenant, name(scope.agent), name(scope.user), name(scope.session)


def scope_of(tenant: str, agent: str, user: str, session: str) -> Scope:
    """The scope behind what the tables hold."""
    return Scope(tenant, agent or None, user or None, session or None)


def memory_from_row(row: Sequence[Any]) -> Memory:
    """A `Memory` from the columns of `SELECT_MEMORY`; `Incompatible` when the row is not what was written."""
    try:
        memory = _memory(row)
    except (TypeError, ValueError, OverflowError) as error:
        raise Incompatible(f"memory {row[0]} is damaged ({error}): restore a backup") from error
    if content_hash(memory.content) != row[22]:
        raise Incompatible(f"memory {row[0]} is damaged (its text is not what was written): restore a backup")
    return memory


def _memory(row: Sequence[Any]) -> Memory:
    return Memory(
        row[0], row[1], MemoryType(row[2]), row[3], from_micros(row[4]), from_micros(row[5]),
        tenant=row[6], agent=row[7] or None, user=row[8] or None, session=row[9] or None, source=row[10], trust=row[11],
        metadata=_from_json(row[12]), key=row[13], value=None if row[14] is None else json.loads(row[14]),
        message_id=row[15], speaker=row[16], valid_to=_moment(row[17]), expires_at=_moment(row[18]),
        superseded_by=row[19], archived_at=_moment(row[20]), version=row[21],
        pinned=bool(row[23]), notes=_from_json(row[24]),
    )  # fmt: skip


def within(table: Table, scope: Scope) -> list[ColumnElement[bool]]:
    """The scope as conditions on any table: tenant and user always, agent and session when named."""
    conditions = [table.c.tenant == scope.tenant]
    if scope.user is not ANY:
        conditions.append(table.c.user == name(scope.user))
    if scope.agent is not None:
        conditions.append(table.c.agent == scope.agent)
    if scope.session is not None:
        conditions.append(table.c.session == scope.session)
    return conditions


def in_scope(scope: Scope) -> list[ColumnElement[bool]]:
    """The scope as conditions on memories."""
    return within(memories, scope)


def column_values(scope: Scope) -> dict[str, str]:
    """Return the columns that a scope names, with their values: tenant and user always, others when named."""
    named = {"tenant": scope.tenant, "agent": scope.agent, "session": scope.session}
    if scope.user is not ANY:
        named["user"] = name(scope.user)
    return {column: value for column, value in named.items() if value is not None}


def owned_by(scope: Scope) -> list[ColumnElement[bool]]:
    """Exactly this tenant, agent, user and session; a name that is not set means those without one."""
    columns = (_M.tenant, _M.agent, _M.user, _M.session)
    return [column == held for column, held in zip(columns, names_of(scope), strict=True)]


def _moment(micros: int | None) -> datetime | None:
    return None if micros is None else from_micros(micros)


def in_index() -> list[ColumnElement[bool]]:
    """Return the conditions on memories that take part in recall: not archived, and not only repeating others."""
    return [_M.archived_at.is_(None), ~only_repeats()]


def only_repeats() -> ColumnElement[bool]:
    """Return whether a memory was consolidated from others that are all still in recall themselves."""
    line, source = lineage.c, memories.alias("source")
    consolidated = (line.derived_id == _M.id, line.kind == "consolidated")
    recalled = exists().where(
        source.c.id == line.source_id, source.c.archived_at.is_(None), source.c.superseded_by.is_(None)
    )
    return exists().where(*consolidated) & ~exists().where(*consolidated, ~recalled)
