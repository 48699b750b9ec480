"""Read memories: by id, by filter, by key, by association."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from sqlalchemy import TEXT, Boolean, ColumnElement, Select, Table, and_, exists, func, literal, not_, or_, select

from memoranda.results.maintenance import NameActivity, UserActivity
from memoranda.storage.base import PartitionKey, ReadTransaction, Store, chunked
from memoranda.storage.changes import no_memory
from memoranda.storage.read_budget import current_budget, reading_at_most
from memoranda.storage.rows import (
    SELECT_MEMORY,
    by_dialect,
    from_micros,
    in_scope,
    memory_from_row,
    not_expired,
    owner_conditions,
    scope_columns,
    scope_conditions,
    stored_json,
    to_json,
    to_micros,
)
from memoranda.storage.schema import associations, changes, counters, memories, messages, vectors
from memoranda.types import ANY, EVERYTHING, JSON, Condition, Filter, IntArray, Memory, Related, Scope
from memoranda.validation import SHARED_USER

_C, _M = counters.c, memories.c
_PAGE: Final = 1000


def get_memories(tx: ReadTransaction, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
    """Return memories in the order asked; None where the scope has no such memory."""
    found: dict[int, Memory] = {}
    for part in chunked(ids):
        rows = tx.execute(SELECT_MEMORY.where(_M.id.in_(part), *in_scope(scope)))
        found.update((row[0], memory_from_row(row, scope)) for row in rows)
    return [found.get(memory_id) for memory_id in ids]


def get_memory(tx: ReadTransaction, scope: Scope, memory_id: int) -> Memory | None:
    return get_memories(tx, scope, [memory_id])[0]


def require_memories(tx: ReadTransaction, scope: Scope, ids: Sequence[int]) -> None:
    """Raise `NotFound` unless the scope has all of these memories."""
    found: set[int] = set()
    for part in chunked(ids):
        found.update(tx.scalars(select(_M.id).where(_M.id.in_(part), *in_scope(scope))))
    if missing := sorted(set(ids) - found):
        raise no_memory(scope, *missing)


def find_memories(
    tx: ReadTransaction,
    scope: Scope,
    where: Filter,
    limit: int,
    after: int = 0,
    conditions: Sequence[ColumnElement[bool]] = (),
    *,
    newest_first: bool = False,
) -> list[Memory]:
    """Return memories in the order of their ids.

    Args:
        tx: The transaction.
        scope: Whose memories are read.
        where: The filters that they must pass.
        limit: The largest number of memories.
        after: Only ids that come after this one; 0 starts at the beginning.
        conditions: More conditions on `memories`.
        newest_first: Whether the largest id comes first.
    """
    conditions = (*scan_conditions(tx, scope), *filter_conditions(where), *conditions)
    if not newest_first:
        conditions = (_M.id > after, *conditions)
    elif after:
        conditions = (_M.id < after, *conditions)
    query = SELECT_MEMORY.where(*conditions).order_by(_M.id.desc() if newest_first else _M.id)
    budget = current_budget()
    if budget is None or not budget.ends_early:
        return [memory_from_row(row, scope) for row in tx.execute(query.limit(limit))]
    found = []
    for row in tx.execute(query.limit(limit)):
        if budget.was_cut or not budget.allows(row):
            budget.was_cut = True
            break
        with reading_at_most(None):
            found.append(memory_from_row(row, scope))
    return found


def scan_conditions(tx: ReadTransaction, scope: Scope) -> list[ColumnElement[bool]]:
    """Return the scope as conditions for a reading that passes its memories in the order of their ids.

    Across users, SQLite would take an index on the tenant, read each of its memories from another place, and sort them.
    Where the tenant has many of all memories, that takes ten times as long as reading them all from first to last, and
    a page that needs only a few of them takes a thousand times as long. `coalesce` hides the index; PostgreSQL
    decides by its own statistics.
    """
    if scope.user is not ANY or not _has_many(tx, scope.tenant):
        return in_scope(scope)
    columns = scope_columns(scope).items()
    return [by_dialect(func.coalesce(_M[name], "") == value, _M[name] == value) for name, value in columns]


def _has_many(tx: ReadTransaction, tenant: str) -> bool:
    """Return whether a tenant has at least one in ten of all memories, by its counters and the newest id."""
    own = select(func.coalesce(func.sum(_C.entries), 0)).where(_C.tenant == tenant, _C.kind == "type")
    newest = select(func.coalesce(func.max(_M.id), 0))
    return int(tx.execute(own).scalar_one()) * 10 >= int(tx.execute(newest).scalar_one())


def count_by_user(tx: ReadTransaction, tenant: str, limit: int, at: datetime) -> list[UserActivity]:
    """Return who has memories or messages, in the order of their names."""
    found = _count_by(tx, "user", Scope(tenant, user=ANY), limit, at)
    return [UserActivity(name, count, from_micros(last)) for name, count, last in found]


def count_by_name(tx: ReadTransaction, column: str, scope: Scope, limit: int, at: datetime) -> list[NameActivity]:
    """Return which agents or sessions, by the name of the column, have memories or messages in a scope."""
    found = _count_by(tx, column, scope, limit, at)
    return [NameActivity(name, count, from_micros(last)) for name, count, last in found]


def _count_by(tx: ReadTransaction, column: str, scope: Scope, limit: int, at: datetime) -> list[tuple[str, int, int]]:
    """Return each name in a column, how many memories have it, and when the latest memory or message was stored.

    Memories that have expired at that time do not count, and shared knowledge belongs to nobody.

    Somebody who has only talked has no memories yet, and is listed with none.
    """
    counts: dict[str, int] = {}
    latest: dict[str, int] = {}
    for table, number in ((memories, memories.c.id), (messages, messages.c.seq)):
        counted = [*scope_conditions(table, scope), *([not_expired(at)] if table is memories else [])]
        counted.append(table.c.user != SHARED_USER)
        for name, count, last in tx.execute(_count_rows(table, number, column, counted, limit)):
            counts.setdefault(name, count if table is memories else 0)
            latest[name] = max(last, latest.get(name, 0))
    return [(name, counts[name], latest[name]) for name in sorted(counts)[:limit]]


def _count_rows(
    table: Table,
    number: ColumnElement[int],
    column: str,
    conditions: Sequence[ColumnElement[bool]],
    limit: int,
) -> Select[Any]:
    name = table.c[column]
    counted = (
        select(name.label("name"), func.count().label("rows"), func.max(number).label("last"))
        .where(*conditions, name > "")
        .group_by(name)
        .order_by(name)
        .limit(limit)
        .subquery()
    )
    return select(counted.c.name, counted.c.rows, table.c.recorded_at).where(number == counted.c.last)


def latest_ids(tx: ReadTransaction, scope: Scope, limit: int) -> list[int]:
    """Return the ids of the memories of a scope that were stored last."""
    return list(tx.scalars(select(_M.id).where(*in_scope(scope)).order_by(_M.id.desc()).limit(limit)))


def ids_of_message(tx: ReadTransaction, scope: Scope, message_id: str) -> list[int]:
    """Return the ids of the memories that were made from a message of exactly this scope."""
    return list(tx.scalars(select(_M.id).where(_M.message_id == message_id, *owner_conditions(scope))))


def read_recent_notes(tx: ReadTransaction, scope: Scope, limit: int) -> list[dict[str, Any]]:
    """Return what was extracted from the newest memories of a scope."""
    query = SELECT_MEMORY.where(*in_scope(scope)).order_by(_M.id.desc()).limit(limit)
    return [memory_from_row(row, scope).notes for row in tx.execute(query)]


def walk(store: Store, scope: Scope, where: Filter = EVERYTHING) -> Iterator[Memory]:
    """Yield every memory of a scope that passes, in the order of their ids, read a page at a time."""
    after = 0
    while page := store.read(
        partial(find_memories, scope=scope, where=where, limit=_PAGE, after=after), tenant=scope.tenant
    ):
        after = page[-1].id
        yield from page


def read_sentences(tx: ReadTransaction, scope: Scope, ids: Sequence[int], generation: int | None) -> dict[int, bytes]:
    """Return the packed vectors of the sentences of memories in a scope, for those that have any."""
    query = (
        select(vectors.c.memory_id, vectors.c.sentences)
        .join(memories, memories.c.id == vectors.c.memory_id)
        .where(*in_scope(scope), vectors.c.memory_id.in_(ids), vectors.c.generation == generation)
        .where(func.length(vectors.c.sentences) > 0)
    )
    return {row[0]: bytes(row[1]) for row in tx.execute(query)}


def matching_ids(tx: ReadTransaction, scope: Scope, where: Filter, memory_id: int | None = None) -> IntArray:
    """Return the ids of all memories that pass, ascending; with a memory's id, only that one if it passes."""
    import numpy as np

    query = select(_M.id).where(*in_scope(scope), *filter_conditions(where)).order_by(_M.id)
    if memory_id is not None:
        query = query.where(_M.id == memory_id)
    return np.fromiter(tx.scalars(query), dtype=np.int64)


def memory_by_key(tx: ReadTransaction, scope: Scope, key: str) -> Memory | None:
    """Return the memory saved under a key by exactly this agent, user and session."""
    row = tx.execute(SELECT_MEMORY.where(_M.key == key, *owner_conditions(scope))).first()
    return None if row is None else memory_from_row(row, scope)


def has_key(tx: ReadTransaction, tenant: str, user: str, key: str) -> bool:
    """Return whether a user has a memory under a key, of whichever agent and session."""
    query = select(_M.id).where(_M.tenant == tenant, _M.user == user, _M.key == key).limit(1)
    return tx.execute(query).first() is not None


def changed_memories(
    tx: ReadTransaction, scope: Scope, since: int, ignored: Collection[int] = frozenset()
) -> list[Memory]:
    """Return the memories of a scope that were touched by a change after `since`, without those to be ignored."""
    owner = (changes.c.tenant == scope.tenant, changes.c.user == (scope.user or ""))
    query = select(changes.c.memory_id).where(changes.c.seq > since, *owner).distinct()
    ids = sorted(set(tx.scalars(query)).difference(ignored))
    return [memory for memory in get_memories(tx, scope, ids) if memory is not None] if ids else []


def related_memories(
    tx: ReadTransaction, scope: Scope, memory_id: int, kind: str | None, depth: int, at: datetime | None = None
) -> list[Related]:
    """Search breadth first; return each memory once, at its smallest depth and by its strongest path.

    What has expired by a time, if one is given, is left out.
    """
    require_memories(tx, scope, [memory_id])
    paths: dict[int, tuple[float, str, int, str]] = {memory_id: (1.0, "", 0, "")}
    frontier = [memory_id]
    for level in range(1, depth + 1):
        reached: dict[int, tuple[float, str, int, str]] = {}
        for one, other, name, strength, metadata in _links(tx, frontier, kind):
            for start, end in ((one, other), (other, one)):
                if start in paths and paths[start][2] == level - 1 and end not in paths:
                    path = (paths[start][0] * strength, name, level, metadata or "")
                    reached[end] = max(reached.get(end, path), path)
        # A path must not lead through a memory that the scope cannot see, that has expired or is in quarantine.
        seen = (memory for memory in get_memories(tx, scope, sorted(reached)) if memory)
        shown = (memory for memory in seen if at is None or not memory.has_expired(at))
        frontier = [memory.id for memory in shown if memory.quarantined_at is None]
        paths |= {end: reached[end] for end in frontier}
    del paths[memory_id]
    found = [memory for memory in get_memories(tx, scope, sorted(paths)) if memory]
    related = [_related(memory, *paths[memory.id]) for memory in found]
    return sorted(related, key=lambda each: (each.depth, -each.strength, each.memory.id))


def _related(memory: Memory, strength: float, kind: str, depth: int, metadata: str) -> Related:
    return Related(memory, kind, strength, depth, stored_json(metadata, dict) if metadata else {})


def _links(tx: ReadTransaction, ids: Sequence[int], kind: str | None) -> Iterator[tuple[int, int, str, float, str]]:
    a = associations.c
    for part in chunked(ids):
        query = select(associations).where(or_(a.memory_id.in_(part), a.related_memory_id.in_(part)))
        if kind is not None:
            query = query.where(a.relationship_type == kind)
        yield from (tuple(row) for row in tx.execute(query))


def count_memories(tx: ReadTransaction) -> int:
    """Return how many memories there are, those that recall leaves out included."""
    return int(tx.execute(select(func.count()).select_from(memories)).scalar_one())


def partition_keys(tx: ReadTransaction) -> list[PartitionKey]:
    """Return every tenant and user that has memories."""
    owner = (_M.tenant, _M.user)
    return [PartitionKey(row[0], row[1] or None) for row in tx.execute(select(*owner).distinct().order_by(*owner))]


_NUMBERS = ("integer", "real")
_LARGEST = 2**63 - 1


def filter_conditions(where: Filter) -> list[ColumnElement[bool]]:
    """Return a condition on `memories` for each field that is set."""
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
    if where.quarantined is not None:
        conditions.append(_M.quarantined_at.is_not(None) if where.quarantined else _M.quarantined_at.is_(None))
    if where.trusts:
        conditions.append(_M.trust.in_(where.trusts))
    if where.pinned is not None:
        conditions.append(_M.pinned == int(where.pinned))
    return conditions + [by_dialect(_metadata_condition(each), _has_member(each)) for each in where.metadata]


def _has_member(condition: Condition) -> ColumnElement[bool]:
    """Return the condition for PostgreSQL, which has a function for it (`postgres.schema`)."""
    negated = {"ne": "eq", "exists": "exists" if not condition.value else ""}.get(condition.op)
    values = (condition.key, negated or condition.op, to_json(condition.value))
    has_member = func.memoranda_has_member(_M.metadata, *(literal(value, TEXT) for value in values), type_=Boolean)
    return not_(has_member) if negated else has_member


def _metadata_condition(condition: Condition) -> ColumnElement[bool]:
    # json_each lists the members of the object, so that a key is compared as a value and never parsed as a path.
    member = func.json_each(_M.metadata).table_valued("key", "value", "type", name="member")
    has_key = member.c.key == condition.key
    if condition.op == "exists":
        present = exists(select(1).select_from(member).where(has_key))
        return present if condition.value else ~present
    if condition.op == "ne":
        return ~_metadata_condition(Condition(condition.key, "eq", condition.value))
    item = func.json_each(member.c.value).table_valued("value", "type", name="item")
    any_item = and_(member.c.type == "array", exists(select(1).select_from(item).where(_test(item.c, condition))))
    return exists(select(1).select_from(member).where(has_key, or_(_test(member.c, condition), any_item)))


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
    """Compare once for each kind of value: SQLite does not take a thousand comparisons in one statement."""
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
    # An integer that is too large for SQLite is read from JSON as a floating point number.
    return float(value) if isinstance(value, int) and abs(value) > _LARGEST else value


def read_held(tx: ReadTransaction, ids: Sequence[int], tenant: str | None = None) -> set[int]:
    """Return those ids that a memory of the tenant has, or of any tenant when None."""
    own = () if tenant is None else (_M.tenant == tenant,)
    return {found for part in chunked(ids) for found in tx.scalars(select(_M.id).where(_M.id.in_(part), *own))}
