"""Items: JSON values under a caller's own key in a namespace. How they are named, selected and made into text.

The remote client imports this module, so it loads neither SQLAlchemy nor numpy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias, get_args

from memoranda import display
from memoranda.display import shown
from memoranda.errors import InvalidInput, InvalidType
from memoranda.records import Record
from memoranda.text.checks import check_characters
from memoranda.types import JSON
from memoranda.validation import MAX_CONDITIONS, MAX_DEPTH, copy_json

KEY_PREFIX: Final = "\x1fitem/"
"""How the stored key of every item begins. No value of `save` may have a key that begins like this."""
MAX_LABEL: Final = 512
"""Characters in a key, or in one name of a namespace."""
MAX_STORED_KEY: Final = 2000
"""Characters in a namespace and key together."""
MAX_PATHS: Final = 100
WILDCARD: Final = "*"
NamespacePath: TypeAlias = tuple[str, ...]
"""The names of a namespace, the widest first."""


ItemOrder: TypeAlias = Literal["updated", "-updated", "key", "-key"]
"""The order of items without a query; a minus turns it round."""


@dataclass(frozen=True, slots=True, repr=False)
class Item(Record):
    """A value under a key of a namespace."""

    namespace: NamespacePath
    key: str
    value: Any
    created_at: datetime
    updated_at: datetime
    """When it was put last."""
    expires_at: datetime | None = None
    score: float | None = None
    """How well it fits the query of a search, at most 1; None without a query, and where nothing is searched."""
    user: str | None = None
    """Whose item it is."""


@dataclass(frozen=True, slots=True, repr=False)
class NamespaceActivity(Record):
    """How many items a namespace has."""

    namespace: NamespacePath
    count: int
    last_active: datetime
    """When the latest one was put."""

    __str__ = display.activity_text


def check_namespace(value: object, name: str = "namespace", *, empty: bool = False) -> NamespacePath:
    """Check a namespace: a tuple of names, at least one unless it may be `empty`."""
    if isinstance(value, str):
        raise InvalidType(f"{name} must be a tuple of names: write ({shown(value)},)")
    if isinstance(value, Mapping | bytes) or not isinstance(value, Sequence):
        raise InvalidType(f"{name} must be a tuple of names, not {type(value).__name__}")
    if not value and not empty:
        raise InvalidInput(f"{name} is empty: give at least one name")
    return tuple(check_label(label, f"a name in the {name}") for label in value)


def check_label(value: object, name: str = "key") -> str:
    """Check a key, or one name of a namespace. It is taken exactly as it is."""
    if not isinstance(value, str):
        raise InvalidType(f"{name} must be a string, not {type(value).__name__}")
    if not value:
        raise InvalidInput(f"{name} is empty: give some text")
    if len(value) > MAX_LABEL:
        raise InvalidInput(f"{name} has {len(value):,} characters; at most {MAX_LABEL} fit: shorten it")
    return check_characters(value, name)


def check_values(values: object) -> dict[str, JSON]:
    """Check values by key, and return a copy that shares nothing with the caller's."""
    if not isinstance(values, Mapping):
        raise InvalidType(f"values must be a dict of values by key, not {type(values).__name__}")
    return {check_label(key): copy_json(value) for key, value in values.items()}


def check_order(value: object) -> ItemOrder:
    """Check the order of items."""
    orders: tuple[ItemOrder, ...] = get_args(ItemOrder)
    for order in orders:
        if isinstance(value, str) and value == order:
            return order
    raise InvalidInput(f"unknown order {shown(value)}: use one of {', '.join(orders)}")


def encode_namespace(namespace: NamespacePath) -> str:
    """Return how the stored keys of a namespace and of everything below it begin, and no others."""
    return KEY_PREFIX + "".join(f"{_quote(label)}/" for label in namespace)


def encode_key(namespace: NamespacePath, key: str) -> str:
    """Return the stored key of an item."""
    stored = f"{encode_namespace(namespace)}:{_quote(key)}"
    if len(stored) > MAX_STORED_KEY:
        raise InvalidInput(
            f"namespace and key have {len(stored):,} characters together; at most {MAX_STORED_KEY:,} fit: shorten them"
        )
    return stored


def decode_key(stored: str) -> tuple[NamespacePath, str]:
    """Return the namespace and key of an item by its stored key."""
    labels, _, key = stored.removeprefix(KEY_PREFIX).rpartition("/:")
    return tuple(map(_unquote, labels.split("/"))), _unquote(key)


def key_range(prefix: NamespacePath) -> tuple[str, str]:
    """Return the first stored key below a prefix, and the first one after all of them."""
    start = encode_namespace(prefix)
    return start, f"{start[:-1]}0"  # "0" is the character after "/"


def own_range(namespace: NamespacePath) -> tuple[str, str]:
    """Return the same for the items of exactly this namespace, without those below it."""
    start = encode_namespace(namespace)
    return f"{start}:", f"{start};"  # ";" is the character after ":"


def _quote(label: str) -> str:
    return label.replace("%", "%25").replace("/", "%2F").replace(":", "%3A")


def _unquote(label: str) -> str:
    return label.replace("%3A", ":").replace("%2F", "/").replace("%25", "%")


def fixed_part(prefix: NamespacePath) -> NamespacePath:
    """Return the names before the first wildcard."""
    return prefix[: prefix.index(WILDCARD)] if WILDCARD in prefix else prefix


def matches(namespace: NamespacePath, prefix: NamespacePath, suffix: NamespacePath) -> bool:
    """Return whether a namespace begins and ends like this; `*` stands for any one name."""
    ends = namespace[len(namespace) - len(suffix) :] if suffix else ()
    return _begins(namespace, prefix) and len(suffix) <= len(namespace) and _begins(ends, suffix)


def _begins(namespace: NamespacePath, pattern: NamespacePath) -> bool:
    if len(pattern) > len(namespace):
        return False
    return all(wanted in (WILDCARD, label) for wanted, label in zip(pattern, namespace, strict=False))


_Test: TypeAlias = Callable[[JSON], bool]
ItemFilter: TypeAlias = tuple[tuple[str, _Test], ...]
"""Conditions on fields of a value. All must hold."""
_MISSING: Final = object()
_ABSENT: Final = object()
"""A field that its dict does not have. It equals None; `_MISSING` is one without such a dict, and equals nothing."""


def _same(found: JSON, wanted: JSON) -> bool:
    """Compare as JSON does: True is not 1."""
    if isinstance(found, bool) or isinstance(wanted, bool):
        return found is wanted
    if isinstance(found, dict) and isinstance(wanted, dict):
        return found.keys() == wanted.keys() and all(_same(found[key], wanted[key]) for key in found)
    if isinstance(found, list) and isinstance(wanted, list):
        return len(found) == len(wanted) and all(map(_same, found, wanted))
    return found == wanted


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[JSON, JSON], bool]:
    """Return a comparison of two texts or two numbers; anything else is not ordered and does not match."""

    def test(found: JSON, wanted: JSON) -> bool:
        comparable = isinstance(found, str) if isinstance(wanted, str) else _is_number(found)
        return comparable and compare(found, wanted)

    return test


def _is_number(value: JSON) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_OPERATORS: Final[dict[str, Callable[[JSON, Any], bool]]] = {
    "eq": _same,
    "ne": lambda found, wanted: not _same(found, wanted),
    "in": lambda found, wanted: any(_same(found, each) for each in wanted),
    "gt": _ordered(lambda found, wanted: found > wanted),
    "gte": _ordered(lambda found, wanted: found >= wanted),
    "lt": _ordered(lambda found, wanted: found < wanted),
    "lte": _ordered(lambda found, wanted: found <= wanted),
    "exists": lambda found, wanted: (found not in (_MISSING, _ABSENT)) is wanted,
}


def make_item_filter(filter: object) -> ItemFilter:
    """Return the conditions of a `filter` argument; an operator may be written with or without a dollar sign."""
    if filter is None:
        return ()
    if not isinstance(filter, Mapping):
        raise InvalidType(f"filter must be a dict, not {type(filter).__name__}")
    tests = tuple(test for field, wanted in filter.items() for test in _field_tests(field, wanted))
    if len(tests) > MAX_CONDITIONS:
        raise InvalidInput(f"{len(tests)} conditions in the filter: give at most {MAX_CONDITIONS}")
    return tests


def passes(value: JSON, conditions: ItemFilter) -> bool:
    """Return whether a value fulfils all conditions."""
    if not conditions:
        return True
    return all(test(_find_field(value, field)) for field, test in conditions)


def _find_field(value: JSON, field: str) -> Any:
    """Return a field of a value: one of that name, or else the one that a name with dots leads to."""
    if not isinstance(value, dict):
        return _MISSING
    if field in value:
        return value[field]
    name, _, rest = field.partition(".")
    if rest:
        return _find_field(value.get(name), rest)
    return _ABSENT


def _field_tests(field: object, wanted: object) -> Iterator[tuple[str, _Test]]:
    if not isinstance(field, str):
        raise InvalidType(f"a field in the filter must be a string, not {type(field).__name__}")
    if any(name.startswith("$") for name in field.split(".")):
        raise InvalidInput(
            f"{shown(field)} is not a field: name a field first, as in {{'rating': {{'$gte': 4}}}}; all must hold"
        )
    copied = _copy_operand(wanted, field)
    if not isinstance(copied, dict) or not _has_operators(copied):
        copied = {"eq": copied}
    for name, operand in copied.items():
        yield field, _make_test(field, name.removeprefix("$"), operand)


def _copy_operand(value: object, field: str, depth: int = 0) -> Any:
    """Return a value to compare with. It need not be one that can be stored: everything is below infinity."""
    if depth > MAX_DEPTH:
        raise InvalidInput(f"the filter for {shown(field)} goes more than {MAX_DEPTH} levels deep, or holds itself")
    if isinstance(value, Mapping):
        return {_check_name(name, field): _copy_operand(item, field, depth + 1) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_copy_operand(item, field, depth + 1) for item in value]
    if value is None or isinstance(value, str | int | float):
        return value
    raise InvalidType(f"the filter for {shown(field)} has a {type(value).__name__}, which JSON cannot hold: convert it")


def _check_name(name: object, field: str) -> str:
    if not isinstance(name, str):
        raise InvalidType(f"the filter for {shown(field)} has the key {shown(name)}: keys are strings")
    return name


def _has_operators(wanted: dict[str, JSON]) -> bool:
    """Return whether a dict holds operators; if not, it is a value to compare with."""
    return any(name.startswith("$") or name in _OPERATORS for name in wanted)


def _make_test(field: str, operator: str, wanted: JSON) -> _Test:
    if operator not in _OPERATORS:
        raise InvalidInput(
            f"unknown operator {shown(operator)} in the filter for {shown(field)}: use {', '.join(_OPERATORS)}; "
            "to compare with a dict, write {'eq': {...}}"
        )
    if operator == "in" and not isinstance(wanted, list):
        raise InvalidType(f"the operator 'in' in the filter for {shown(field)} needs a list")
    if operator == "exists" and not isinstance(wanted, bool):
        raise InvalidType(f"the operator 'exists' in the filter for {shown(field)} needs True or False")
    if operator in ("gt", "gte", "lt", "lte") and not (_is_number(wanted) or isinstance(wanted, str)):
        raise InvalidType(f"the operator {shown(operator)} in the filter for {shown(field)} needs a number or a text")
    compare = _OPERATORS[operator]
    if operator == "exists":
        return lambda found: compare(found, wanted)
    return lambda found: operator == "ne" if found is _MISSING else compare(None if found is _ABSENT else found, wanted)


_STEP: Final = re.compile(r"([^.\[\]{}]+)|\[(-?\d+|\*)\]|\{([^{}]*)\}")
WHOLE: Final = "$"
"""The path of the whole value."""


def check_index(index: object) -> tuple[str, ...] | bool:
    """Check what of a value is searched: True for all of it, False for nothing, or paths of fields."""
    if index is None or isinstance(index, bool):
        return index is not False
    if isinstance(index, str) or not isinstance(index, Sequence):
        raise InvalidType(f"index must be False or a list of paths such as ['title'], not {type(index).__name__}")
    if len(index) > MAX_PATHS:
        raise InvalidInput(f"index lists {len(index)} paths: give at most {MAX_PATHS}")
    for path in index:
        if not isinstance(path, str):
            raise InvalidType(f"a path in index must be a string, not {type(path).__name__}")
        _parse_path(path)
    return tuple(dict.fromkeys(index))


def values_at(value: JSON, path: str) -> list[JSON]:
    """Return what is at a path: `a.b`, `a[0]`, `a[-1]`, `a[*].b`, `a.*`, `{a,b.c}`; `$` is the whole value.

    Fields that do not exist, and those that are None, give nothing.
    """
    found = [value]
    for step in _parse_path(path):
        found = [each for one in found for each in step(one)]
    return [each for each in found if each is not None]


_Step: TypeAlias = Callable[[JSON], list[JSON]]


def _parse_path(path: str) -> list[_Step]:
    if path in ("", WHOLE):
        return []
    steps: list[_Step] = []
    for part in _split_path(path):
        name, position, names = part.groups()
        if position is not None:
            steps.append(_every_item if position == WILDCARD else _item_at(int(position)))
        elif names is not None:
            steps.append(_several([_parse_path(each.strip()) for each in names.split(",")]))
        else:
            steps.append(_every_item if name == WILDCARD else _field(name))
    return steps


def _split_path(path: str) -> Iterator[re.Match[str]]:
    """Yield the parts of a path; only a name or braces may follow a dot, and only brackets may follow directly."""
    position = 0
    while position < len(path):
        if position and path[position] == ".":
            position += 1
        elif position and path[position] != "[":
            break
        part = _STEP.match(path, position)
        if part is None or (path[position - 1 : position] == "." and part[2] is not None):
            break
        yield part
        position = part.end()
    if position < len(path) or path.endswith("."):
        raise InvalidInput(f"{shown(path)} is not a path: write it like title, author.name, tags[0] or items[*].text")


def _field(name: str) -> _Step:
    return lambda value: [value[name]] if isinstance(value, dict) and name in value else []


def _item_at(position: int) -> _Step:
    return lambda value: [value[position]] if isinstance(value, list) and -len(value) <= position < len(value) else []


def _every_item(value: JSON) -> list[JSON]:
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, list) else []


def _several(paths: list[list[_Step]]) -> _Step:
    def step(value: JSON) -> list[JSON]:
        found: list[JSON] = []
        for path in paths:
            here = [value]
            for each in path:
                here = [item for one in here for item in each(one)]
            found += here
        return found

    return step
