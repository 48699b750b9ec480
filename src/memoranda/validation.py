"""Checks of arguments. Each function returns the checked value, or raises an error that says what to change."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from inspect import getattr_static
from math import isfinite
from pathlib import Path
from typing import Any, Final, TypeAlias, TypeVar, cast, get_args

from memoranda.display import shown
from memoranda.errors import Incompatible, InvalidInput, InvalidType
from memoranda.records import Record
from memoranda.text.checks import clean_text, escape_surrogates, plain_text, replace_in_json, replace_unstorable
from memoranda.types import (
    EVERYTHING,
    JSON,
    AnyUser,
    Clock,
    Condition,
    Filter,
    MemoryType,
    Operator,
    Progress,
    RetentionPolicy,
    Scope,
)

MAX_LIMIT: Final = 1000
MAX_NAME: Final = 512
"""Characters in the name of an agent, a user or a session, here as on a server."""
MAX_CHOICES: Final = 10_000
"""How many values a filter may list."""
MAX_CONDITIONS: Final = 100
"""How many metadata conditions a filter may have."""
MAX_DAYS: Final = 365_000
"""The largest age: a thousand years."""
MAX_BYTES: Final = 1_000_000
"""The largest size of a value as JSON."""
MAX_DEPTH: Final = 100
"""How deep lists and objects may be nested."""
SHARED_USER: Final = "memoranda:shared"
"""The user that shared knowledge belongs to. No caller can name it, so that it is in nobody's scope by accident."""
CHANGEABLE_FIELDS: Final = ("content", "memory_type", "source", "metadata", "importance")
MAX_ID: Final = 2**63 - 1
MAX_TTL: Final = 10 * 365 * 86_400.0
"""The longest time to live in seconds: ten years."""
_T = TypeVar("_T")
_MAX_FILE_NAME: Final = 255
_MAX_JSON_BITS: Final = 14_000
_MAX_FLOAT_BITS: Final = 1023
"""The largest size of an integer that a float can represent."""
_OPERATORS: Final[tuple[Operator, ...]] = get_args(Operator)
_NOTHING: Final = Condition("", "in", [])
"""An empty list of choices matches no memory, as everywhere: it must not select them all, least of all to be erased."""
_FILTERS: Final = ("type", "source", "speaker", "after", "before", "min_importance", "max_importance", "metadata")


def check_flag(value: object, name: str) -> bool:
    """Check a flag: the text "no" must not count as true."""
    if not isinstance(value, bool):
        raise InvalidType(f"{name} must be True or False, not {type(value).__name__}")
    return value


def check_path(value: object, name: str) -> Path:
    """Check the name of a file or folder."""
    try:
        path = os.fspath(value) if isinstance(value, str | os.PathLike) else None
    except TypeError:  # its `__fspath__` returns something else
        path = None
    if not isinstance(path, str):
        raise InvalidType(f"{name} must be a path, not {type(value).__name__}")
    checked = Path(clean_text(path, name))
    if any(len(os.fsencode(part)) > _MAX_FILE_NAME for part in checked.parts):
        raise InvalidInput(f"{name} has a part of more than {_MAX_FILE_NAME} bytes, which no file can have: shorten it")
    return checked


def check_progress(value: object) -> Progress | None:
    """Check a function that is told about progress, before anything is done."""
    if value is not None and not callable(value):
        raise InvalidType(f"progress must be a function of (done, total), not {type(value).__name__}")
    return cast("Progress | None", value)


def check_name(value: object, name: str) -> str | None:
    """Check the name of an agent, user, session or source; None stays None."""
    return None if value is None else clean_text(value, name)


def make_scope(tenant: str, agent: object = None, user: object = None, session: object = None) -> Scope:
    """Return the scope with checked names."""
    checked_user = user if isinstance(user, AnyUser) else _check_owner(user, "user")
    if checked_user == SHARED_USER:
        raise InvalidInput(f"the user name {SHARED_USER!r} is reserved: choose another")
    return Scope(tenant, _check_owner(agent, "agent"), checked_user, _check_owner(session, "session"))


def _check_owner(value: object, name: str) -> str | None:
    checked = check_name(value, name)
    if checked is not None and len(checked) > MAX_NAME:
        raise InvalidInput(f"{name} has {len(checked):,} characters; at most {MAX_NAME} fit: shorten it")
    return checked


def check_type(value: object) -> MemoryType:
    """Check a memory type."""
    known = [kind.value for kind in MemoryType]
    if not isinstance(value, str) or value not in known:
        raise InvalidInput(f"unknown memory type {shown(value)}: use one of {', '.join(known)}")
    return MemoryType(value)


def check_writable_type(value: object) -> MemoryType:
    """Check a memory type that callers may write: every type except shared."""
    kind = check_type(value)
    if kind is MemoryType.SHARED:
        raise InvalidInput("shared knowledge is read-only for agents: it is written with add_knowledge()")
    return kind


def check_types(values: object) -> tuple[MemoryType, ...]:
    """Check one memory type, several, or None."""
    if values is None:
        return ()
    if isinstance(values, str):
        return (check_type(values),)
    if not isinstance(values, Iterable):
        raise InvalidType(f"types must be a list of memory types, not {type(values).__name__}")
    return tuple(check_type(value) for value in values)


def check_retention_policy(value: object) -> RetentionPolicy:
    """Check the name of a retention policy."""
    if not isinstance(value, str) or value not in list(RetentionPolicy):
        raise InvalidInput(f"unknown retention policy {shown(value)}: use one of {', '.join(RetentionPolicy)}")
    return RetentionPolicy(value)


def check_integer(value: object, name: str, *, minimum: int | None = 1, maximum: int | None = None) -> int:
    """Return the value if it is an integer within the bounds.

    Args:
        value: The argument.
        name: Its name, for the error message.
        minimum: The lowest value; None for any.
        maximum: The highest value; None for any.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise InvalidType(f"{name} must be a whole number, not {type(value).__name__}")
    if (minimum is not None and value < minimum) or (maximum is not None and value > maximum):
        up_to = f" and at most {maximum}" if maximum is not None else ""
        raise InvalidInput(f"{name} is {shown(value)}: give at least {minimum}{up_to}")
    return value


def check_limit(value: object) -> int:
    """Check a `limit`."""
    return check_integer(value, "limit", maximum=MAX_LIMIT)


def check_id(value: object, name: str = "a memory id") -> int:
    """Check an id."""
    return check_integer(value, name, maximum=MAX_ID)


def check_ids(values: object) -> list[int]:
    """Check one memory id or several."""
    one = isinstance(values, str | bytes | Record) or not isinstance(values, Iterable)
    several: Iterable[object] = [values] if one else values  # type: ignore[assignment]
    return [check_id(value) for value in several]


def check_cursor(value: object, name: str) -> int:
    """Check a position to continue from: an id, or 0 for the start."""
    return check_integer(value, name, minimum=0, maximum=MAX_ID)


def check_offset(value: object) -> int:
    """Check how many results a page leaves out at the beginning."""
    return check_integer(value, "offset", minimum=0, maximum=MAX_ID)


def page_of(values: list[_T], limit: object, offset: object) -> list[_T]:
    """Return a part of a list: `limit` values after the first `offset`; all of them when `limit` is None."""
    start = check_offset(offset)
    return values[start:] if limit is None else values[start : start + check_limit(limit)]


def check_fraction(value: object, name: str) -> float:
    """Check a number from 0 to 1."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidType(f"{name} must be a number from 0 to 1, not {type(value).__name__}")
    if not 0 <= value <= 1:
        raise InvalidInput(f"{name} must lie between 0 and 1, not {shown(value)}")
    return float(value)


def check_days(value: object, name: str) -> timedelta:
    """Check a number of days, which need not be an integer."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InvalidType(f"{name} must be a number of days, not {type(value).__name__}")
    if not 0 <= value <= MAX_DAYS:
        raise InvalidInput(f"{name} is {shown(value)}: give at least 0 and at most {MAX_DAYS}")
    return timedelta(days=value)


def check_ttl(ttl: object) -> float:
    """Return the seconds until something expires; raise `InvalidInput` when they are out of range."""
    if isinstance(ttl, bool) or not isinstance(ttl, int | float):
        raise InvalidType(f"ttl must be a number of seconds, not {type(ttl).__name__}")
    if not 0 < ttl <= MAX_TTL:
        raise InvalidInput(f"ttl is {shown(ttl)} seconds: give more than 0 and at most {MAX_TTL:.0f}")
    return float(ttl)


def check_datetime(value: object, name: str) -> datetime:
    """Return a datetime or an ISO 8601 string as a datetime in UTC."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(plain_text(value))
        except ValueError:
            raise InvalidInput(f"{name} {shown(value)} is not an ISO 8601 date and time") from None
    if not isinstance(value, datetime):
        raise InvalidType(f"{name} must be a datetime or an ISO 8601 string, not {type(value).__name__}")
    if value.tzinfo is None:
        raise InvalidInput(f"{name} {value.isoformat()} has no time zone: say which, for example with tzinfo=UTC")
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise InvalidInput(f"{name} {value.isoformat()} lies outside the years 1 to 9999 in UTC") from None


def check_optional_datetime(value: object, name: str) -> datetime | None:
    """Return a time as `check_datetime` does; None when there is none."""
    return None if value is None else check_datetime(value, name)


def check_clock(clock: object) -> Clock:
    """Return a clock that raises an error of ours when the given one returns anything but a time with a time zone."""
    if not callable(clock):
        raise InvalidType(f"clock must be a function that returns the current time, not {type(clock).__name__}")

    def checked() -> datetime:
        now = clock()
        if not isinstance(now, datetime):
            raise InvalidType(f"clock must return a datetime, not {type(now).__name__}")
        return check_datetime(now, "the time of the clock")

    return checked


def check_component(value: object, name: str, *members: str) -> None:
    """Check that an object passed for a component has the methods and properties that it needs."""
    if value is None or hasattr(type(value), "__getattr__"):  # a proxy has what its target has
        return
    # Not evaluated: a property can load a model.
    missing = [member for member in members if getattr_static(value, member, None) is None]
    if missing or isinstance(value, type):
        lacking = "pass an object, not its class" if isinstance(value, type) else f"it has no {missing[0]}"
        raise InvalidType(f"{name} must be an object with {', '.join(members)}: {lacking}")


def make_filter(where: Mapping[str, Any] | None, types: object = None) -> Filter:
    """Return a `Filter` from the `where` argument of a call; an unknown key is an error."""
    if where is None and types is None:
        return EVERYTHING
    filters = dict(check_mapping(where, "where"))
    if unknown := sorted(map(shown, set(filters) - set(_FILTERS))):
        raise InvalidInput(f"unknown filter {', '.join(unknown)}: use {', '.join(_FILTERS)}")
    conditions = _make_conditions(check_mapping(filters.get("metadata"), "metadata"))
    choices = (types, filters.get("type"), filters.get("source"), filters.get("speaker"))
    if any(isinstance(choice, Sequence) and len(choice) == 0 and choice != "" for choice in choices):
        conditions = (*conditions, _NOTHING)
    return Filter(
        types=(*check_types(types), *check_types(filters.get("type"))),
        sources=_check_names(filters.get("source"), "source"),
        speakers=_check_names(filters.get("speaker"), "speaker"),
        after=_check_optional(check_datetime, filters.get("after"), "after"),
        before=_check_optional(check_datetime, filters.get("before"), "before"),
        min_importance=_check_optional(check_fraction, filters.get("min_importance"), "min_importance"),
        max_importance=_check_optional(check_fraction, filters.get("max_importance"), "max_importance"),
        metadata=conditions,
    )


def _check_optional(check: Any, value: object, name: str) -> Any:
    return None if value is None else check(value, name)


def check_mapping(value: object, name: str) -> Mapping[str, Any]:
    """Check a dict; None gives an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    return value


def _check_names(value: object, name: str) -> tuple[str, ...]:
    if value is None:
        return ()
    values = [value] if isinstance(value, str) else value
    if not isinstance(values, Sequence):
        raise InvalidType(f"the filter {name} must be a string or a list of strings")
    return tuple(clean_text(item, name) for item in _check_choices(values, f"the filter {name}"))


def _make_conditions(metadata: Mapping[str, Any]) -> tuple[Condition, ...]:
    conditions = tuple(condition for key, value in metadata.items() for condition in _conditions_of_key(key, value))
    if len(conditions) > MAX_CONDITIONS:
        raise InvalidInput(f"{len(conditions)} conditions on metadata: give at most {MAX_CONDITIONS}")
    return conditions


def _conditions_of_key(key: str, value: object) -> list[Condition]:
    """`{"topic": "x"}` means equality, a list means any of its values, a dict contains operators."""
    if isinstance(value, Mapping):
        if not value:
            raise InvalidInput(f"the filter for metadata {shown(key)} holds no operator: use {', '.join(_OPERATORS)}")
        return [_make_condition(key, operator, operand) for operator, operand in value.items()]
    return [_make_condition(key, "in" if isinstance(value, list | tuple) else "eq", value)]


def flatten_conditions(conditions: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Return conditions on fields of fields as conditions on names with dots: a dict without operators names fields."""
    found: dict[str, Any] = {}
    for name, wanted in conditions.items():
        key = f"{prefix}{_check_key(name)}"
        names = [_check_key(each) for each in wanted] if isinstance(wanted, Mapping) else []
        if not names or any(each.removeprefix("$") in _OPERATORS or each[:1] == "$" for each in names):
            found[key] = wanted
        elif key.count(".") >= MAX_DEPTH:
            raise InvalidInput(f"the filter goes more than {MAX_DEPTH} levels deep, or holds itself")
        else:
            found |= flatten_conditions(wanted, f"{key}.")
    return found


def _check_key(key: object) -> str:
    if not isinstance(key, str):
        raise InvalidType(f"a metadata key must be a string, not {type(key).__name__}")
    return plain_text(key)


def _make_condition(key: str, operator: str, value: object) -> Condition:
    name = replace_unstorable(_check_key(key))
    if operator not in _OPERATORS:
        raise InvalidInput(f"unknown operator {shown(operator)} for metadata {shown(key)}: use {', '.join(_OPERATORS)}")
    if operator == "in":
        if not isinstance(value, list | tuple):
            raise InvalidType(f"the operator 'in' for metadata {shown(key)} needs a list")
        return Condition(
            name, "in", [_check_operand(key, item) for item in _check_choices(value, f"metadata {shown(key)}")]
        )
    if operator == "exists" and not isinstance(value, bool):
        raise InvalidType(f"the operator 'exists' for metadata {shown(key)} needs True or False")
    ordered = operator in ("gt", "gte", "lt", "lte")
    if ordered and (isinstance(value, bool) or not isinstance(value, int | float | str)):
        raise InvalidType(f"the operator {shown(operator)} for metadata {shown(key)} needs a number or a string")
    return Condition(name, cast(Operator, operator), _check_operand(key, value))


def _check_choices(values: Sequence[Any], name: str) -> Sequence[Any]:
    if len(values) > MAX_CHOICES:
        raise InvalidInput(f"{name} lists {len(values)} values: give at most {MAX_CHOICES}")
    return values


def _check_operand(key: str, value: object) -> JSON:
    if isinstance(value, float) and not isfinite(value):
        raise InvalidInput(f"the filter for metadata {shown(key)} is {value}: give a finite number")
    if isinstance(value, int) and value.bit_length() > _MAX_FLOAT_BITS:
        raise InvalidInput(f"the filter for metadata {shown(key)} is {shown(value)}: give a smaller number")
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, str):
        return replace_unstorable(value)
    raise InvalidType(f"metadata {shown(key)} can be compared with text, numbers, booleans and null only")


_SCALARS: Final = (str, int, bool, type(None))
"""Types without content to check: the common case, tested first."""
_LISTS: Final = (list, tuple)
_Path: TypeAlias = "str | tuple[_Path, str | int]"
"""The position inside a value: a name, or a parent and a key. Formatted only for an error message."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def check_json_integer(value: int, name: str) -> int:
    """Return an integer that JSON can hold: Python neither writes nor reads one of thousands of digits."""
    if value.bit_length() > _MAX_JSON_BITS:
        raise InvalidInput(f"{name} is {shown(value)}, which JSON cannot hold: use a string")
    return value


def encode_json(value: object, name: str = "value") -> str:
    """Return the value as JSON text, or raise `InvalidInput` that names the part which is not valid."""
    _check_json(value, name, 0)
    try:
        text = escape_surrogates(_encode(value))
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except ValueError as error:
        raise InvalidInput(f"{name} cannot be written as JSON: {error}") from error
    if size > MAX_BYTES:
        raise InvalidInput(f"{name} takes {size:,} bytes as JSON; at most {MAX_BYTES:,} fit: split it up")
    return text


def decode_json(text: str | bytes, name: str = "value") -> JSON:
    """Return the value of a stored JSON text, a new object at each call."""
    try:
        return cast(JSON, _decode(text if isinstance(text, str) else text.decode("utf-8")))
    except ValueError as error:
        raise Incompatible(f"{name} was not written by Memoranda: it is not JSON; delete or overwrite it") from error


def copy_json(value: object, name: str = "value") -> JSON:
    """Return a checked copy that shares nothing with the caller's value."""
    return decode_json(encode_json(value, name), name)


def copy_json_object(value: object, name: str) -> dict[str, JSON]:
    """Return a checked copy of a JSON object; None gives an empty one."""
    mapping = check_mapping(value, name)
    return cast("dict[str, JSON]", copy_json(dict(mapping), name)) if mapping else {}


def copy_metadata(value: object, name: str = "metadata") -> dict[str, JSON]:
    """Return a checked copy of what the database itself compares: U+FFFD in place of what it cannot hold."""
    mapping = check_mapping(value, name)
    text = replace_in_json(encode_json(dict(mapping), name)) if mapping else "{}"
    return cast("dict[str, JSON]", decode_json(text, name))


def check_changed_fields(fields: object) -> dict[str, Any]:
    """Return the fields that a function given to `update` has returned, by their names as arguments of `update`."""
    if not isinstance(fields, Mapping):
        raise InvalidType(f"change must return a dict of the changed fields, not {type(fields).__name__}")
    if unknown := [key for key in fields if key not in CHANGEABLE_FIELDS]:
        raise InvalidInput(
            f"change returned {shown(unknown[0])}, which cannot be changed: {', '.join(CHANGEABLE_FIELDS)} can"
        )
    return {key: value for key, value in fields.items() if value is not None}


def _check_json(value: object, path: _Path, depth: int) -> None:
    if isinstance(value, dict):
        _check_depth(path, depth)
        for key, item in value.items():
            if not isinstance(key, str):
                where = _format_path(path)
                raise InvalidInput(f"{where} has the key {shown(key)}, a {type(key).__name__}: JSON keys are strings")
            if type(item) not in _SCALARS:
                _check_json(item, (path, key), depth + 1)
    elif isinstance(value, _LISTS):
        _check_depth(path, depth)
        for position, item in enumerate(value):
            if type(item) not in _SCALARS:
                _check_json(item, (path, position), depth + 1)
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(f"{_format_path(path)} is {value}, which JSON cannot hold: use None or a string")
    elif not isinstance(value, _SCALARS):
        raise InvalidType(f"{_format_path(path)} is a {type(value).__name__}, which JSON cannot hold: convert it first")


def _check_depth(path: _Path, depth: int) -> None:
    if depth >= MAX_DEPTH:
        where = _format_path(path, 3)
        raise InvalidInput(f"{where} goes more than {MAX_DEPTH} levels deep, or holds itself: flatten it")


def _format_path(path: _Path, max_steps: int = MAX_DEPTH) -> str:
    steps: list[str] = []
    while isinstance(path, tuple):
        path, step = path
        steps.append(f"[{shown(step)}]")
    return path + "".join(reversed(steps[-max_steps:]))
