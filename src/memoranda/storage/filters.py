"""A `Filter` as SQL. Keys and values are always bound, never built into the text."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, literal, or_, select

from memoranda.storage.rows import to_micros
from memoranda.storage.schema import memories
from memoranda.types import JSON, Condition, Filter

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
