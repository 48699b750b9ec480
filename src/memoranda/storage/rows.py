"""Convert between rows and values: times, scopes, JSON, and `Memory` itself; conditions for both dialects of SQL."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, and_, case, exists, func, null, or_, select, true
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TEXT, Boolean

from memoranda.errors import Incompatible, InvalidType
from memoranda.records import fast_maker
from memoranda.storage.base import IndexRow, Owner
from memoranda.storage.meta import decode
from memoranda.storage.read_budget import check_read
from memoranda.storage.row_hash import MEMORY_HASH, not_as_written, row_hash
from memoranda.storage.schema import lineage, memories, revisions, unpack
from memoranda.text.checks import escape_surrogates
from memoranda.text.own_names import WEEKDAYS, own_names
from memoranda.text.terms import HAS_TIME, NAME_KEY, name_parts, time_keys
from memoranda.text.wishes import WISH_KEY, standing_wishes
from memoranda.types import ANY, JSON, AnyUser, Memory, MemoryType, Scope


class by_dialect(FunctionElement[bool]):
    """A condition written for SQLite and for PostgreSQL. Both have the same parameters to the cache of statements."""

    type = Boolean()
    inherit_cache = True

    def __init__(self, sqlite: ColumnElement[bool], postgresql: ColumnElement[bool]) -> None:
        super().__init__(sqlite, postgresql)


@compiles(by_dialect)
def _compile_for_sqlite(element: by_dialect, compiler: SQLCompiler, **options: Any) -> str:
    sqlite, _ = element.clauses
    return f"({compiler.process(sqlite, **options)})"


@compiles(by_dialect, "postgresql")
def _compile_for_postgresql(element: by_dialect, compiler: SQLCompiler, **options: Any) -> str:
    _, postgresql = element.clauses
    return f"({compiler.process(postgresql, **options)})"


class json_items(FunctionElement[str]):
    """The items of a JSON array as rows with a column `value`."""

    name = "json_each"
    type = TEXT()
    inherit_cache = True


@compiles(json_items)
def _list_in_sqlite(element: json_items, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_each({compiler.process(element.clauses, **options)})"


@compiles(json_items, "postgresql")
def _list_in_postgresql(element: json_items, compiler: SQLCompiler, **options: Any) -> str:
    return f"json_array_elements_text(CAST({compiler.process(element.clauses, **options)} AS json))"


# One encoder for all: `json.dumps` with options creates a new one at each call.
_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MICROS = 1e6
_NEVER = float("inf")

_M = memories.c
_last_edit = select(func.max(revisions.c.changed_at)).where(revisions.c.memory_id == _M.id).correlate(memories)
# A value is replaced without a revision, and is true from then on. What was never edited is not looked up.
_EDITED_AT = case((_M.version == 1, null()), (_M.key.is_not(None), _M.valid_from), else_=_last_edit.scalar_subquery())
MEMORY_COLUMNS = [
    _M.id, _M.content, _M.type, _M.importance, _M.recorded_at, _M.valid_from, _M.tenant, _M.agent, _M.user, _M.session,
    _M.source, _M.trust, _M.metadata, _M.key, _M.value, _M.message_id, _M.speaker, _M.valid_to, _M.expires_at,
    _M.superseded_by, _M.archived_at, _M.version, MEMORY_HASH, _M.pinned, _M.notes,
    _M.quarantined_at, _M.superseded_at, _EDITED_AT,
]  # fmt: skip
SELECT_MEMORY = select(*MEMORY_COLUMNS)


@lru_cache(maxsize=256)  # memories written together share most of their times
def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


@lru_cache(maxsize=256)
def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def micros_or_none(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)


def to_json(value: JSON) -> str:
    return "{}" if value == {} else escape_surrogates(_encode(value))


def stored_name(name: str | AnyUser | None) -> str:
    """Return a scope name as the tables hold it: the empty string for None."""
    if name is ANY:
        raise InvalidType("a memory belongs to one user or to none: ANY is for reading")
    return name or ""


def scope_names(scope: Scope) -> tuple[str, str, str, str]:
    """Return tenant, agent, user and session as the tables hold them."""
    return scope.tenant, stored_name(scope.agent), stored_name(scope.user), stored_name(scope.session)


def scope_of(tenant: str, agent: str, user: str, session: str) -> Scope:
    """Return the scope with the names of a row."""
    return Scope(tenant, agent or None, user or None, session or None)


def scope_columns(scope: Scope) -> dict[str, str]:
    """Return the columns that a scope restricts, with their values: tenant and user always, others when named."""
    columns = {"tenant": scope.tenant, "agent": scope.agent, "session": scope.session}
    if scope.user is not ANY:
        columns["user"] = stored_name(scope.user)
    return {column: value for column, value in columns.items() if value is not None}


def scope_conditions(table: Table, scope: Scope) -> list[ColumnElement[bool]]:
    """Return the scope as conditions on a table that has its columns."""
    return [table.c[column] == value for column, value in scope_columns(scope).items()]


def in_scope(scope: Scope) -> list[ColumnElement[bool]]:
    """Return the scope as conditions on `memories`."""
    return scope_conditions(memories, scope)


def not_expired(at: datetime) -> ColumnElement[bool]:
    """Return the condition that a memory has not expired at a time."""
    return or_(memories.c.expires_at.is_(None), memories.c.expires_at > to_micros(at))


def owner_conditions(scope: Scope, table: Table = memories) -> list[ColumnElement[bool]]:
    """Return conditions for exactly this tenant, agent, user and session; None matches rows without that name."""
    columns = ("tenant", "agent", "user", "session")
    return [table.c[column] == name for column, name in zip(columns, scope_names(scope), strict=True)]


def in_owners(table: Table, owners: Collection[Owner]) -> ColumnElement[bool]:
    """Return a condition for rows that may be of these owners, by which PostgreSQL finds them in its indexes.

    SQLite, which has indexes on the ids and keys themselves, finds other owners' rows too: look at the owner of each.
    """
    tenants, users = ({owner[n] for owner in owners} for n in (0, 1))
    return by_dialect(true(), and_(table.c.tenant.in_(tenants), table.c.user.in_(users)))


def index_conditions() -> list[ColumnElement[bool]]:
    """Return the conditions on memories that take part in recall.

    They have a text, are not archived or quarantined, and are not consolidated from memories that all take part in
    recall themselves.
    """
    line, source = lineage.c, memories.alias("source")
    consolidated = (line.derived_id == _M.id, line.kind == "consolidated")
    recalled = exists().where(
        source.c.id == line.source_id, source.c.archived_at.is_(None), source.c.superseded_by.is_(None)
    )
    only_repeats = exists().where(*consolidated) & ~exists().where(*consolidated, ~recalled)
    return [_M.content != "", _M.archived_at.is_(None), _M.quarantined_at.is_(None), ~only_repeats]


def check_owner(is_owner: bool, what: str) -> None:
    """Raise `Incompatible` when a row that was asked for by its owner turns out to be of another one."""
    if not is_owner:
        raise Incompatible(f"an index of the database is damaged (it gives {what} to another owner): run repair")


def check_row(row: Mapping[str, Any], scope: Scope, what: str) -> None:
    """Raise `Incompatible` when a row by the names of its columns is not of this scope."""
    check_owner(all(row[column] == name for column, name in scope_columns(scope).items()), what)


def memory_from_row(row: Sequence[Any], scope: Scope | None = None) -> Memory:
    """Return the `Memory` in a row of `SELECT_MEMORY`; `Incompatible` when the row is not what was written.

    The row proves by its hash whose it is. With the scope it was asked for, that is compared too: a database finds rows
    by its indexes, and trusts them. One flipped bit in the middle of one made SQLite return memories of another user.
    """
    check_read(row)
    if scope is not None:
        check_owner(_is_of(row, scope), f"memory {row[0]}")
    try:
        memory = _build_memory(row)
        more = f"{row[12]}{row[24]}" if row[14] is None else f"{unpack(row[14])}{row[12]}{row[24]}"
        is_intact = row_hash(row[0], row[6:10], row[13], memory.content, more) == row[22]
    except (TypeError, ValueError, OverflowError, AttributeError) as error:
        raise Incompatible(f"memory {row[0]} is damaged ({error}): restore a backup") from error
    if not is_intact:
        raise not_as_written(f"memory {row[0]}")
    return memory


def owner_of_memory(memory: Memory) -> tuple[str, str, str, str]:
    """Return tenant, agent, user and session as the tables hold them."""
    return memory.tenant, memory.agent or "", memory.user or "", memory.session or ""


def check_revision(memory: Memory, content: str, metadata: str, stored: bytes | None) -> None:
    """Raise `Incompatible` unless a former version is of this memory, and is what was written."""
    if row_hash(memory.id, owner_of_memory(memory), None, content, metadata) != stored:
        raise not_as_written(f"a former version of memory {memory.id}")


def _is_of(row: Sequence[Any], scope: Scope) -> bool:
    return (
        row[6] == scope.tenant
        and (scope.user is ANY or row[8] == (scope.user or ""))
        and (scope.agent is None or row[7] == scope.agent)
        and (scope.session is None or row[9] == scope.session)
    )


_make_memory: Final = fast_maker(Memory)
_TYPES: Final = {each.value: each for each in MemoryType}  # much faster than to call the class


def _build_memory(row: Sequence[Any]) -> Memory:
    (
        memory_id, content, kind, importance, recorded_at, valid_from, tenant, agent, user, session, source, trust,
        metadata, key, value, message_id, speaker, valid_to, expires_at, superseded_by, archived_at, version, _, pinned,
        notes, quarantined_at, superseded_at, edited_at, *_,
    ) = row  # fmt: skip
    # Without a call for what most rows do not have: every recall builds a dozen.
    return _make_memory(
        memory_id, unpack(content) or "", _TYPES.get(kind) or MemoryType(kind), importance,
        from_micros(recorded_at), from_micros(valid_from),
        tenant, agent or None, user or None, session or None, source, trust,
        {} if metadata == "{}" else _from_json(metadata), key,
        None if value is None else json.loads(unpack(value) or ""), message_id, speaker,
        None if valid_to is None else from_micros(valid_to),
        None if expires_at is None else from_micros(expires_at), superseded_by,
        None if archived_at is None else from_micros(archived_at), version, bool(pinned),
        {} if notes == "{}" else _from_json(notes), None if quarantined_at is None else from_micros(quarantined_at),
        None if superseded_at is None else from_micros(superseded_at),
        None if edited_at is None else from_micros(edited_at),
    )  # fmt: skip


def _from_json(text: str) -> dict[str, Any]:
    values = json.loads(text)
    if not isinstance(values, dict):
        raise TypeError("a JSON object is expected")
    return values


def stored_json(text: str | bytes | None, kind: type = object) -> Any:
    """Return the JSON value of a column; `Incompatible` when it is none of this kind: the file is damaged."""
    return decode(text or "", lambda given: _json_of_kind(given, kind))


def _json_of_kind(text: str | bytes, kind: type) -> Any:
    value = json.loads(text)
    if not isinstance(value, kind):
        raise TypeError(f"not a {kind.__name__}")
    return value


_NAMES = frozenset(
    ("name", "preferred name", "nickname", "full name", "first name", "last name", "email", "handle", "username")
)
"""Attributes of claims whose value is a name of the subject."""


def with_note_keys(terms: str, notes: Mapping[str, JSON], speaker: str | None, user: str | None, content: str) -> str:
    """Return the terms of a memory with keys for what it says besides: times, names of its speaker, standing wishes."""
    events = [*_event_keys(notes)]
    if events and HAS_TIME not in terms.split():  # the words for times in other languages
        events.append(HAS_TIME)
    keys = [*events, *_name_keys(notes, {"user", speaker, user})]
    if speaker is not None:
        keys += [NAME_KEY + part for name in own_names(content) for part in name_parts(name)]
    if standing_wishes(content):
        keys.append(WISH_KEY)
    return " ".join([terms, *dict.fromkeys(keys)]) if keys else terms


def _event_keys(notes: Mapping[str, JSON]) -> Iterator[str]:
    events = notes.get("events")
    for event in events if isinstance(events, list) else ():
        match event:
            case {"kind": "at", "start": str(start), "end": str(end)}:
                yield from time_keys(datetime.fromisoformat(start), datetime.fromisoformat(end))


def _name_keys(notes: Mapping[str, JSON], speakers: Collection[str | None]) -> Iterator[str]:
    claims = notes.get("claims")
    for claim in claims if isinstance(claims, list) else ():
        match claim:
            case {"attribute": str(attribute), "subject": str(subject), "value": str(value), "holds": True}:
                if attribute in _NAMES and subject in speakers:
                    yield from (NAME_KEY + part for part in name_parts(value) if part not in WEEKDAYS)


_TEXT: Final = frozenset((str, type(None)))


def index_row(row: Sequence[Any]) -> IndexRow:
    """Return what an index keeps of a memory; `Incompatible` when the row is not what was written."""
    memory_id, agent, session, speaker, start, end, expiry, recorded, true_from, known_end, terms, vector = row
    kinds = {type(agent), type(session), type(speaker), type(terms)}
    if not (kinds <= _TEXT and type(start) is type(recorded) is int and (vector is None or type(vector) is bytes)):
        raise Incompatible(f"memory {memory_id} is damaged: restore a backup")
    try:
        return IndexRow(
            memory_id, agent or None, session or None, speaker, start / _MICROS,
            _seconds(end), _seconds(expiry), recorded / _MICROS, (true_from or start) / _MICROS, _seconds(known_end),
            terms or "", vector,
        )  # fmt: skip
    except TypeError as error:  # a time that is no number
        raise Incompatible(f"memory {memory_id} is damaged: restore a backup") from error


def _seconds(micros: object) -> float:
    return micros / _MICROS if isinstance(micros, int) else _NEVER
