"""Checks on what callers hand in. Each gives the checked value, or an error that says what to do."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import isfinite
from typing import Any, Final, TypeAlias, cast

from memoranda.errors import Incompatible, InvalidInput, InvalidType
from memoranda.text import check_unicode, clean_text
from memoranda.types import JSON, AnyUser, Condition, Filter, MemoryType, Operator, RetentionPolicy, Scope

MAX_LIMIT = 1000
MAX_CHOICES = 10_000
"""How many values a filter may list."""
MAX_CONDITIONS = 100
"""How many conditions on metadata a filter may have."""
MAX_DAYS = 365_000
"""An age beyond which nothing lies: a thousand years."""
SHARED_USER = "memoranda:shared"
"""Whose the shared knowledge is: a user that no caller can name, so it is in nobody's scope by accident."""
_LARGEST_ID = 2**63 - 1
_MOST_BITS = 1023
"""Of a whole number that a floating point number can stand for."""
_OPERATORS = ("eq", "ne", "in", "gt", "gte", "lt", "lte", "exists")
_FILTERS = ("type", "source", "speaker", "after", "before", "min_importance", "max_importance", "metadata")


def check_name(value: object, what: str) -> str | None:
    """A name of an agent, user, session or source; None stays None."""
    return None if value is None else clean_text(value, what)


def make_scope(tenant: str, agent: object = None, user: object = None, session: object = None) -> Scope:
    who = user if isinstance(user, AnyUser) else check_name(user, "user")
    if who == SHARED_USER:
        raise InvalidInput(f"the user name {SHARED_USER!r} is reserved: choose another")
    return Scope(tenant, check_name(agent, "agent"), who, check_name(session, "session"))


def check_type(value: object) -> MemoryType:
    try:
        return MemoryType(str(value))
    except ValueError:
        known = ", ".join(kind.value for kind in MemoryType)
        raise InvalidInput(f"unknown memory type {value!r}: use one of {known}") from None


def check_own_type(value: object) -> MemoryType:
    """A type that a caller may write."""
    kind = check_type(value)
    if kind is MemoryType.SHARED:
        raise InvalidInput("shared knowledge is read-only for agents: it is written with add_knowledge()")
    return kind


def check_types(values: object) -> tuple[MemoryType, ...]:
    """One type, several, or none."""
    if values is None:
        return ()
    if isinstance(values, str):
        return (check_type(values),)
    if not isinstance(values, Iterable):
        raise InvalidType(f"types must be a list of memory types, not {type(values).__name__}")
    return tuple(check_type(value) for value in values)


def check_whole(value: object, what: str, *, least: int = 1, most: int | None = None) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidType(f"{what} must be a whole number, not {type(value).__name__}")
    if value < least or (most is not None and value > most):
        up_to = f" and at most {most}" if most is not None else ""
        raise InvalidInput(f"{what} is {shown(value)}: give at least {least}{up_to}")
    return value


def shown(number: float) -> str:
    """A number as an error message can show it: Python refuses to write out one of thousands of digits."""
    too_long = isinstance(number, int) and number.bit_length() > 128
    return "beyond all bounds" if too_long else str(number)


def check_days(value: object, what: str) -> timedelta:
    """A number of days, whole or not."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidType(f"{what} must be a number of days, not {type(value).__name__}")
    if not 0 <= value <= MAX_DAYS:
        raise InvalidInput(f"{what} is {shown(value)}: give at least 0 and at most {MAX_DAYS}")
    return timedelta(days=value)


def check_texts(values: object, what: str) -> list[str]:
    """Several texts; one alone is not taken for the list of its letters."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise InvalidType(f"{what} must be a list of texts, not {type(values).__name__}")
    return list(values)


def check_limit(value: object) -> int:
    return check_whole(value, "limit", most=MAX_LIMIT)


def check_id(value: object, what: str = "a memory id") -> int:
    return check_whole(value, what, most=_LARGEST_ID)


def check_after(value: object, what: str) -> int:
    """A place to go on from: an id, or 0 for the beginning."""
    return check_whole(value, what, least=0, most=_LARGEST_ID)


def check_ids(values: object) -> list[int]:
    """Memory ids from one id or several."""
    several = values if isinstance(values, Iterable) and not isinstance(values, str | bytes) else [values]
    return [check_id(value) for value in several]


def check_unit(value: object, what: str) -> float:
    """A number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidType(f"{what} must be a number from 0 to 1, not {type(value).__name__}")
    if not 0 <= value <= 1:
        raise InvalidInput(f"{what} must lie between 0 and 1, not {shown(value)}")
    return float(value)


def check_moment(value: object, what: str) -> datetime:
    """An aware time, from a datetime or an ISO string."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise InvalidInput(f"{what} {value!r} is not an ISO 8601 date and time") from None
    if not isinstance(value, datetime):
        raise InvalidType(f"{what} must be a datetime or an ISO 8601 string, not {type(value).__name__}")
    if value.tzinfo is None:
        raise InvalidInput(f"{what} {value.isoformat()} has no time zone: say which, for example with tzinfo=UTC")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{what} {value.isoformat()} lies outside the years 1 to 9999 in UTC") from None


def make_filter(where: Mapping[str, Any] | None, types: object = None) -> Filter:
    """A `Filter` from the `where` of a call; a key it does not know is an error, never ignored."""
    given = dict(_mapping(where, "where"))
    if unknown := sorted(map(repr, set(given) - set(_FILTERS))):
        raise InvalidInput(f"unknown filter {', '.join(unknown)}: use {', '.join(_FILTERS)}")
    return Filter(
        types=(*check_types(types), *check_types(given.get("type"))),
        sources=_names(given.get("source"), "source"),
        speakers=_names(given.get("speaker"), "speaker"),
        after=_optional(check_moment, given.get("after"), "after"),
        before=_optional(check_moment, given.get("before"), "before"),
        min_importance=_optional(check_unit, given.get("min_importance"), "min_importance"),
        max_importance=_optional(check_unit, given.get("max_importance"), "max_importance"),
        metadata=_conditions(_mapping(given.get("metadata"), "metadata")),
    )


def _optional(check: Any, value: object, what: str) -> Any:
    return None if value is None else check(value, what)


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidType(f"{what} must be a dict, not {type(value).__name__}")
    return value


def _names(value: object, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    several = [value] if isinstance(value, str) else value
    if not isinstance(several, Sequence):
        raise InvalidType(f"the filter {what} must be a string or a list of strings")
    return tuple(clean_text(name, what) for name in _choices(several, f"the filter {what}"))


def _conditions(given: Mapping[str, Any]) -> tuple[Condition, ...]:
    conditions = tuple(condition for key, value in given.items() for condition in _tests(key, value))
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidInput(f"{len(conditions)} conditions on metadata: give at most {MAX_CONDITIONS}")
    return conditions


def _tests(key: str, value: object) -> list[Condition]:
    """`{"topic": "x"}` is equality, a list means any of these, a dict holds operators."""
    if isinstance(value, Mapping):
        if not value:
            raise InvalidInput(f"the filter for metadata {key!r} holds no operator: use {', '.join(_OPERATORS)}")
        return [_test(key, op, operand) for op, operand in value.items()]
    return [_test(key, "in" if isinstance(value, list | tuple) else "eq", value)]


def _test(key: str, op: str, value: object) -> Condition:
    if not isinstance(key, str):
        raise InvalidType(f"a metadata key must be a string, not {type(key).__name__}")
    check_unicode(key, "a metadata key")
    if op not in _OPERATORS:
        raise InvalidInput(f"unknown operator {op!r} for metadata {key!r}: use {', '.join(_OPERATORS)}")
    if op == "in":
        if not isinstance(value, list | tuple):
            raise InvalidType(f"the operator 'in' for metadata {key!r} needs a list")
        return Condition(key, "in", [_scalar(key, item) for item in _choices(value, f"metadata {key!r}")])
    if op == "exists" and not isinstance(value, bool):
        raise InvalidType(f"the operator 'exists' for metadata {key!r} needs True or False")
    if op in ("gt", "gte", "lt", "lte") and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise InvalidType(f"the operator {op!r} for metadata {key!r} needs a number or a string")
    return Condition(key, cast(Operator, op), _scalar(key, value))


def _choices(values: Sequence[Any], what: str) -> Sequence[Any]:
    if len(values) > MAX_CHOICES:
        raise InvalidInput(f"{what} lists {len(values)} values: give at most {MAX_CHOICES}")
    return values


def _scalar(key: str, value: object) -> JSON:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(f"the filter for metadata {key!r} is {value}: give a finite number")
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise InvalidInput(f"the filter for metadata {key!r} is {shown(value)}: give a smaller number")
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return check_unicode(value, f"the filter for metadata {key!r}")
    raise InvalidType(f"metadata {key!r} can be compared with text, numbers, booleans and null only")


MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 100

_SCALARS: Final = (str, int, bool, type(None))
"""Nothing in them to look at: the common case, kept short."""
_LISTS: Final = (list, tuple)
_Path: TypeAlias = "str | tuple[_Path, str | int]"
"""Where a part of a value lies: put into words only when something is wrong with it."""

_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL byte in JSON, and not the six characters that would stand for one."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def encode_json(value: object, name: str = "value") -> str:
    """The value as JSON text, or `InvalidInput` that says which part of it cannot be kept."""
    _check(value, name, 0)
    try:
        text = _encode(value)
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} holds a lone surrogate: not valid Unicode") from error
    except ValueError as error:
        raise InvalidInput(f"{name} cannot be written as JSON: {error}") from error
    if size > MAX_BYTES:
        raise InvalidInput(f"{name} takes {size:,} bytes as JSON; at most {MAX_BYTES:,} fit: split it up")
    if "\\u0000" in text and _NUL.search(text):
        raise InvalidInput(f"{name} holds a NUL byte: remove it")
    return text


def decode_json(text: str | bytes, name: str = "value") -> JSON:
    """The value behind a stored JSON text; a new one at each call."""
    try:
        return cast(JSON, _decode(text if isinstance(text, str) else text.decode("utf-8")))
    except ValueError as error:
        raise Incompatible(f"{name} was not written by Memoranda: it is no JSON; delete or overwrite it") from error


def copy_json(value: object, name: str = "value") -> JSON:
    """A copy that shares nothing with what the caller keeps."""
    return decode_json(encode_json(value, name), name)


def copy_json_object(value: object, name: str) -> dict[str, JSON]:
    """A copy of a JSON object; None is the empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    if not value:
        return {}
    return cast("dict[str, JSON]", copy_json(dict(value), name))


def _check(value: object, path: _Path, depth: int) -> None:
    if isinstance(value, dict):
        _check_depth(path, depth)
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"{_shown(path)} has the key {key!r}, a {type(key).__name__}: JSON keys are strings")
            if type(item) not in _SCALARS:
                _check(item, (path, key), depth + 1)
    elif isinstance(value, _LISTS):
        _check_depth(path, depth)
        for position, item in enumerate(value):
            if type(item) not in _SCALARS:
                _check(item, (path, position), depth + 1)
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(f"{_shown(path)} is {value}, which JSON cannot hold: use None or a string")
    elif not isinstance(value, _SCALARS):
        raise InvalidType(f"{_shown(path)} is a {type(value).__name__}, which JSON cannot hold: convert it first")


def _check_depth(path: _Path, depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"{_shown(path, 3)} goes more than {MAX_DEPTH} levels deep, or holds itself: flatten it")


def _shown(path: _Path, most: int = MAX_DEPTH) -> str:
    steps: list[str] = []
    while isinstance(path, tuple):
        path, step = path
        steps.append(f"[{step!r}]")
    return path + "".join(reversed(steps[-most:]))


def check_policy(given: str) -> RetentionPolicy:
    """The policy of that name, or an error that lists them."""
    try:
        return RetentionPolicy(given)
    except ValueError as error:
        known = ", ".join(RetentionPolicy)
        raise InvalidInput(f"unknown retention policy {given!r}: use one of {known}") from error
