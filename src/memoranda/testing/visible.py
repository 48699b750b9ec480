"""Which memories a scope and a filter let through, said as plainly as can be."""

from __future__ import annotations

from memoranda.types import ANY, JSON, Condition, Filter, Memory, Scope


def in_scope(memory: Memory, scope: Scope) -> bool:
    """Whether a scope sees a memory."""
    return (
        memory.tenant == scope.tenant
        and scope.agent in (None, memory.agent)
        and (scope.user is ANY or memory.user == scope.user)
        and scope.session in (None, memory.session)
    )


def matches(memory: Memory, where: Filter) -> bool:
    """Whether a memory passes a filter."""
    return (
        (not where.types or memory.type in where.types)
        and (not where.sources or memory.source in where.sources)
        and (not where.speakers or memory.speaker in where.speakers)
        and (where.after is None or memory.valid_from >= where.after)
        and (where.before is None or memory.valid_from < where.before)
        and (where.min_importance is None or memory.importance >= where.min_importance)
        and (where.max_importance is None or memory.importance <= where.max_importance)
        and all(_holds(memory.metadata, condition) for condition in where.metadata)
    )


def _holds(metadata: dict[str, JSON], condition: Condition) -> bool:
    present = condition.key in metadata
    if condition.op == "exists":
        return present == bool(condition.value)
    if not present:
        return condition.op == "ne"
    found = metadata[condition.key]
    items = found if isinstance(found, list) else [found]
    if condition.op == "ne":
        return not any(_same(item, condition.value) for item in items)
    return any(_passes(item, condition) for item in items)


def _passes(item: JSON, condition: Condition) -> bool:
    if condition.op == "eq":
        return _same(item, condition.value)
    if condition.op == "in":
        choices = condition.value if isinstance(condition.value, list) else [condition.value]
        return any(_same(item, choice) for choice in choices)
    return _ordered(item, condition)


def _kind(value: JSON) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _same(left: JSON, right: JSON) -> bool:
    return _kind(left) == _kind(right) and left == right


def _ordered(item: JSON, condition: Condition) -> bool:
    wanted = condition.value
    if isinstance(item, str) and isinstance(wanted, str):
        # Code points, as UTF-8 bytes order them too.
        return _compare((item > wanted) - (item < wanted), condition)
    if _kind(item) == _kind(wanted) == "number":
        return _compare((item > wanted) - (item < wanted), condition)  # type: ignore[operator]
    return False


def _compare(sign: int, condition: Condition) -> bool:
    return {"gt": sign > 0, "gte": sign >= 0, "lt": sign < 0, "lte": sign <= 0}[condition.op]
