"""mem0's filters: whose memories a call reads, and which of them match. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any, Final, TypeAlias, TypedDict

from memoranda.display import shown
from memoranda.errors import InvalidInput, InvalidType
from memoranda.types import ANY, AnyUser

Payload: TypeAlias = dict[str, Any]
"""What mem0 stores with a memory: its owner and its metadata, in one flat dict."""
OWNERS: Final = {"user_id": "user", "agent_id": "agent", "run_id": "session"}
_JOINED: Final[dict[str, Callable[[list[bool]], bool]]] = {"AND": all, "OR": any, "NOT": lambda held: not any(held)}


class ReadOwner(TypedDict):
    """The scope arguments of a manager method that reads. mem0 reads across users where no user is named."""

    user: str | AnyUser
    agent: str | None
    session: str | None


def read_owner(filters: Mapping[str, Any]) -> ReadOwner:
    """Return whose memories the filters ask for; they must name a user, an agent or a run, as in mem0."""
    named = [*filters.items(), *(pair for each in _conditions(filters, "AND") for pair in each.items())]
    found = {OWNERS[key]: check_name(value, key) for key, value in named if key in OWNERS and _is_one_name(value)}
    if not _names_owner(filters):
        raise InvalidInput("filters must name a user_id, an agent_id or a run_id, as in filters={'user_id': 'u1'}")
    return {"user": found.get("user", ANY), "agent": found.get("agent"), "session": found.get("session")}


def _names_owner(filters: Mapping[str, Any]) -> bool:
    """Return whether nothing passes but what belongs to an owner that the filters name."""
    either = _conditions(filters, "OR")
    named = any(key in OWNERS for key in filters) or any(map(_names_owner, _conditions(filters, "AND")))
    return named or (bool(either) and all(map(_names_owner, either)))


def check_name(value: object, key: str) -> str:
    """Return the name of a user, an agent or a run; a number becomes a text, as in mem0."""
    name = str(value).strip()
    if not name:
        raise InvalidInput(f"{key} is empty: give a name, or leave it out")
    return name


def check_filters(filters: object) -> Payload:
    """Return a copy of the filters; an unknown operator is an error, whether or not there is a memory to compare."""
    if not isinstance(filters, Mapping):
        raise InvalidType(f"filters must be a dict, not {type(filters).__name__}")
    for key, condition in filters.items():
        if key in _JOINED:
            list(map(check_filters, _conditions(filters, key)))
        elif isinstance(key, str) and (key.startswith("$") or key.upper() in _JOINED):
            raise InvalidInput(f"unknown filter {shown(key)}: use {', '.join(_JOINED)}, each with a list of filters")
        else:
            _check_operators(key, condition)
    return dict(filters)


def matches(payload: Payload, filters: Mapping[str, Any]) -> bool:
    """Return whether a payload passes all filters: values, lists, operators, "*", and AND, OR and NOT of them."""
    return all(_holds(payload, key, condition) for key, condition in filters.items())


def is_expired(payload: Payload, now: datetime) -> bool:
    """Return whether the day in `expiration_date` is over."""
    try:
        return date.fromisoformat(str(payload.get("expiration_date"))) < now.astimezone(UTC).date()
    except ValueError:
        return False  # no day, or a text that the caller's own metadata has under this name


def check_expiration_date(value: object) -> str | None:
    """Return a day as YYYY-MM-DD."""
    if isinstance(value, datetime):
        value = value.date()
    if value is None or isinstance(value, date):
        return None if value is None else value.isoformat()
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        raise InvalidInput(f"expiration_date is {shown(value)}: give a day as YYYY-MM-DD") from error


def _holds(payload: Payload, key: str, condition: Any) -> bool:
    if key in _JOINED:
        return _JOINED[key]([matches(payload, each) for each in _conditions({key: condition}, key)])
    if isinstance(condition, str) and condition == "*":
        return True
    stored = payload.get(key)
    values = stored if isinstance(stored, list) else [] if stored is None else [stored]
    if key in OWNERS and not isinstance(condition, Mapping | list):
        condition = check_name(condition, key)
    return all(any(_COMPARISONS[name](value, operand) for value in values) for name, operand in _operators(condition))


def _operators(condition: Any) -> list[tuple[str, Any]]:
    if isinstance(condition, Mapping):
        return list(condition.items())
    return [("in" if isinstance(condition, list | tuple) else "eq", condition)]


def _conditions(filters: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    conditions = filters.get(key, [])
    if not isinstance(conditions, list | tuple) or not all(isinstance(each, Mapping) for each in conditions):
        raise InvalidType(f"{key} needs a list of filters, such as [{{'topic': 'travel'}}]")
    if key in filters and not conditions:
        raise InvalidInput(f"{key} is an empty list: give conditions, or leave it out")
    return list(conditions)


def _check_operators(key: str, condition: object) -> None:
    operators = _operators(condition)
    if unknown := [name for name, _ in operators if name not in _COMPARISONS]:
        raise InvalidInput(f"unknown operator {shown(unknown[0])} for {shown(key)}: use {', '.join(_COMPARISONS)}")
    if not operators or any(name in ("in", "nin") and not isinstance(each, list | tuple) for name, each in operators):
        raise InvalidType(f"the filter for {shown(key)} needs an operator, and 'in' and 'nin' need a list")
    if key in OWNERS and (excluding := [name for name, _ in operators if name not in ("eq", "in")]):
        raise InvalidInput(
            f"{shown(excluding[0])} for {shown(key)} would match whoever is not named: name the owners themselves"
        )


def _equal(value: Any, operand: Any) -> bool:
    return isinstance(value, bool) == isinstance(operand, bool) and bool(value == operand)


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """Return a comparison of numbers with numbers and of dates with dates; nothing else has an order."""

    def holds(value: Any, operand: Any) -> bool:
        pair = [_to_number(value), _to_number(operand)]
        return None not in pair and compare(*pair)

    return holds


def _to_number(value: Any) -> float | None:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    try:
        moment = datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _is_one_name(value: Any) -> bool:
    return value is not None and not isinstance(value, Mapping | list | tuple) and value != "*"


_COMPARISONS: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "eq": _equal,
    "ne": lambda value, operand: not _equal(value, operand),
    "in": lambda value, operand: any(_equal(value, each) for each in operand),
    "nin": lambda value, operand: not any(_equal(value, each) for each in operand),
    "gt": _ordered(lambda value, operand: bool(value > operand)),
    "gte": _ordered(lambda value, operand: bool(value >= operand)),
    "lt": _ordered(lambda value, operand: bool(value < operand)),
    "lte": _ordered(lambda value, operand: bool(value <= operand)),
    "contains": lambda value, operand: str(operand) in str(value),
    "icontains": lambda value, operand: str(operand).casefold() in str(value).casefold(),
}
