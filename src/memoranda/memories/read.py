"""Rows → values: what the store answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, and_, exists, func, literal, or_, select
from sqlalchemy.dialects import sqlite

from memoranda.errors import Incompatible
from memoranda.memories.changes import IndexRow, PartitionKey
from memoranda.memories.lifecycle import only_repeats, require
from memoranda.memories.rows import (
    SELECT_MEMORY,
    in_scope,
    memory_from_row,
    name,
    owned_by,
    select_by_ids,
    to_json,
    to_micros,
)
from memoranda.storage.schema import associations, memories
from memoranda.storage.sqlite.connections import Fetch, chunked, driver_connection, fetch_on
from memoranda.types import ANY, JSON, Association, Condition, Filter, IntArray, Memory, Related, Scope

if TYPE_CHECKING:
    from sqlalchemy import Select


_MICROS = 1e6
_NEVER = float("inf")
HEAD = "SELECT coalesce(max(seq), 0) FROM changes"


def get_memories(fetch: Fetch, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
    found = {row[0]: memory_from_row(row) for row in fetch(*select_by_ids(scope, ids))}
    return [found.get(memory_id) for memory_id in ids]


def find_memories(connection: Connection, scope: Scope, where: Filter, limit: int, after: int) -> list[Memory]:
    wanted = SELECT_MEMORY.where(memories.c.id > after, *in_scope(scope), *passing(where))
    return [memory_from_row(row) for row in connection.execute(wanted.order_by(memories.c.id).limit(limit))]


def matching_ids(connection: Connection, scope: Scope, where: Filter) -> IntArray:
    wanted = select(memories.c.id).where(*in_scope(scope), *passing(where)).order_by(memories.c.id)
    return _ids(connection, wanted)


def memory_by_key(connection: Connection, scope: Scope, key: str) -> Memory | None:
    row = connection.execute(SELECT_MEMORY.where(memories.c.key == key, *owned_by(scope))).first()
    return None if row is None else memory_from_row(row)


def related_memories(
    connection: Connection, scope: Scope, memory_id: int, kind: str | None, depth: int
) -> list[Related]:
    """Breadth first: each memory once, at its smallest depth and by its strongest way there."""
    require(connection, scope, [memory_id])
    fetch = fetch_on(connection)
    ways: dict[int, tuple[float, str, int]] = {memory_id: (1.0, "", 0)}
    frontier = [memory_id]
    for level in range(1, depth + 1):
        reached: dict[int, tuple[float, str, int]] = {}
        for link in _links(connection, frontier, kind):
            for here, there in ((link.memory_id, link.related_memory_id), (link.related_memory_id, link.memory_id)):
                if here in ways and ways[here][2] == level - 1 and there not in ways:
                    way = (ways[here][0] * link.strength, link.relationship_type, level)
                    reached[there] = max(reached.get(there, way), way)
        # A way must not lead through a memory that the scope cannot see.
        visible = [memory.id for memory in get_memories(fetch, scope, sorted(reached)) if memory]
        ways |= {there: reached[there] for there in visible}
        frontier = visible
    del ways[memory_id]
    found = [memory for memory in get_memories(fetch, scope, sorted(ways)) if memory]
    related = [Related(memory, ways[memory.id][1], ways[memory.id][0], ways[memory.id][2]) for memory in found]
    return sorted(related, key=lambda each: (each.depth, -each.strength, each.memory.id))


def _links(connection: Connection, ids: Sequence[int], kind: str | None) -> Iterator[Association]:
    a = associations.c
    for part in chunked(ids):
        wanted = select(associations).where(or_(a.memory_id.in_(part), a.related_memory_id.in_(part)))
        if kind is not None:
            wanted = wanted.where(a.relationship_type == kind)
        yield from (Association(*row) for row in connection.execute(wanted))


def partition_keys(connection: Connection) -> list[PartitionKey]:
    """Every tenant and user that has memories."""
    whose = (memories.c.tenant, memories.c.user)
    rows = connection.execute(select(*whose).distinct().order_by(*whose))
    return [PartitionKey(tenant, user or None) for tenant, user in rows]


def changed_ids(connection: Connection, key: PartitionKey, since: int) -> IntArray:
    import numpy as np

    statement, values = _within(_CHANGED, key)
    rows = driver_connection(connection).execute(f"{statement} ORDER BY memory_id", {"since": since, **values})
    return np.fromiter((row[0] for row in rows), dtype=np.int64)


def index_rows(
    connection: Connection, key: PartitionKey, ids: IntArray | None, generation: int | None
) -> Iterator[IndexRow]:
    statement, values = _within(_INDEXED + _taking_part(), key)
    values["generation"] = generation
    if ids is not None:
        statement, values["ids"] = f"{statement} AND {_AMONG}", to_json(ids.tolist())
    yield from map(_index_row, driver_connection(connection).execute(f"{statement} ORDER BY memories.id", values))


_CHANGED = "SELECT DISTINCT memory_id FROM changes WHERE seq > :since AND tenant = :tenant"
_INDEXED = """
SELECT memories.id, agent, session, speaker, valid_from, valid_to, expires_at, terms, data FROM memories
LEFT JOIN memory_text ON memory_text.rowid = memories.id
LEFT JOIN vectors ON vectors.memory_id = memories.id AND vectors.generation = :generation
WHERE memories.tenant = :tenant AND """
_AMONG = "memories.id IN (SELECT value FROM json_each(:ids))"


def _within(statement: str, key: PartitionKey) -> tuple[str, dict[str, Any]]:
    """The statement with a partition's user inside, and the values that it takes."""
    if key.user is ANY:
        return statement, {"tenant": key.tenant}
    return f'{statement} AND "user" = :user', {"tenant": key.tenant, "user": name(key.user)}


@cache
def _taking_part() -> str:
    """What the index holds, put into words once: SQLAlchemy would take longer over it than SQLite over the rows."""
    held = memories.c.archived_at.is_(None), memories.c.quarantined_at.is_(None), ~only_repeats()
    wanted = select(memories.c.id).where(*held)
    compiled = wanted.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    return str(compiled).partition("WHERE ")[2]


def _index_row(row: Sequence[Any]) -> IndexRow:
    key, agent, session, speaker, start, end, expiry, words, data = row
    texts = all(value is None or isinstance(value, str) for value in (agent, session, speaker, words))
    if not (texts and isinstance(start, int) and isinstance(data, bytes | None)):
        raise Incompatible(f"memory {key} is damaged: restore a backup")
    return IndexRow(
        key, agent or None, session or None, speaker, start / _MICROS,
        _seconds(end), _seconds(expiry), words or "", data,
    )  # fmt: skip


def _seconds(micros: object) -> float:
    return micros / _MICROS if isinstance(micros, int) else _NEVER


def _ids(connection: Connection, wanted: Select[tuple[int]]) -> IntArray:
    import numpy as np

    return np.fromiter(connection.scalars(wanted), dtype=np.int64)


_M = memories.c
_NUMBERS = ("integer", "real")
_LARGEST = 2**63 - 1


def passing(where: Filter) -> list[ColumnElement[bool]]:
    """Every field that is set, as a condition on `memories`."""
    conditions: list[ColumnElement[bool]] = []
    if where.types:
        conditions.append(_M.type.in_([kind.value for kind in where.types]))
    if where.sources:
        conditions.append(_M.source.in_(where.sources))
    if where.speakers:
        conditions.append(_M.speaker.in_(where.speakers))
    if where.after is not None:
        conditions.append(_M.valid_from >= to_micros(where.after))
    if where.before is not None:
        conditions.append(_M.valid_from < to_micros(where.before))
    if where.min_importance is not None:
        conditions.append(_M.importance >= where.min_importance)
    if where.max_importance is not None:
        conditions.append(_M.importance <= where.max_importance)
    return conditions + [_metadata(condition) for condition in where.metadata]


def _metadata(condition: Condition) -> ColumnElement[bool]:
    # json_each lists the members of the object, so that a key is compared as a value and never parsed as a path.
    member = func.json_each(_M.metadata).table_valued("key", "value", "type", name="member")
    named = member.c.key == condition.key
    if condition.op == "exists":
        there = exists(select(1).select_from(member).where(named))
        return there if condition.value else ~there
    if condition.op == "ne":
        return ~_metadata(Condition(condition.key, "eq", condition.value))
    item = func.json_each(member.c.value).table_valued("value", "type", name="item")
    any_item = and_(member.c.type == "array", exists(select(1).select_from(item).where(_test(item.c, condition))))
    return exists(select(1).select_from(member).where(named, or_(_test(member.c, condition), any_item)))


def _test(found: Any, condition: Condition) -> ColumnElement[bool]:
    if condition.op == "in":
        assert isinstance(condition.value, list)
        return _one_of(found, condition.value)
    if condition.op == "eq":
        return _equal(found, condition.value)
    compare = {"gt": "__gt__", "gte": "__ge__", "lt": "__lt__", "lte": "__le__"}[condition.op]
    same_kind = found.type == "text" if isinstance(condition.value, str) else found.type.in_(_NUMBERS)
    ordered: ColumnElement[bool] = getattr(found.value, compare)(_bound(condition.value))
    return and_(same_kind, ordered)


def _one_of(found: Any, values: list[JSON]) -> ColumnElement[bool]:
    """One comparison for each kind of value: SQLite does not take a thousand side by side."""
    texts = [value for value in values if isinstance(value, str)]
    numbers = [_number(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)]
    others = [value for value in (None, True, False) if any(value is each for each in values)]
    return or_(
        and_(found.type == "text", found.value.in_(texts)),
        and_(found.type.in_(_NUMBERS), found.value.in_(numbers)),
        *[_equal(found, value) for value in others],
    )


def _equal(found: Any, value: JSON) -> ColumnElement[bool]:
    if value is None:
        return and_(found.type == "null")
    if isinstance(value, bool):
        return and_(found.type == str(value).lower())
    kinds = ("text",) if isinstance(value, str) else _NUMBERS
    return and_(found.type.in_(kinds), found.value == _bound(value))


def _bound(value: JSON) -> ColumnElement[Any]:
    return literal(_number(value) if isinstance(value, int) else value)


def _number(value: float) -> float:
    # What SQLite cannot hold as an integer it reads from JSON as a floating point number.
    return float(value) if isinstance(value, int) and abs(value) > _LARGEST else value
