"""Read-only JSON values. A message is shared between threads without copying, so nothing in it may change."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from memoranda.errors import InvalidInput, InvalidType
from memoranda.text import check_unicode
from memoranda.types import JSON
from memoranda.validation import MAX_DEPTH

_T = TypeVar("_T")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("a message cannot be changed: take a copy with to_dict(), or build a new one")


class FrozenDict(dict[str, JSON]):
    """A read-only dict. Equal to a plain dict; `copy()` returns a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> dict[str, JSON]:
        return {key: thaw(value) for key, value in self.items()}

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, JSON]:
        return self.copy()

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, JSON]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[_T]):
    """A read-only list. Equal to a plain list; `copy()` returns a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __iadd__ = __imul__ = append = extend = insert = _refuse
    clear = pop = remove = reverse = sort = _refuse

    def copy(self) -> list[_T]:
        return [thaw(value) for value in self]

    def __deepcopy__(self, memo: dict[int, Any]) -> list[_T]:
        return self.copy()

    def __reduce__(self) -> tuple[type[FrozenList[_T]], tuple[list[_T]]]:
        return FrozenList, (list(self),)


def thaw(value: Any) -> Any:
    """Return a plain copy that the caller may change."""
    if isinstance(value, FrozenDict | FrozenList):
        return value.copy()
    return value


def freeze(value: object, name: str) -> JSON:
    """Return a read-only copy of a JSON value, or raise an error that names the part which is not JSON."""
    # Not `validation.encode_json`: this copies while it checks, and reports a bad string by its position.
    return _freeze(value, name, [])


def freeze_mapping(value: object, name: str) -> FrozenDict:
    """Return a read-only copy of a JSON object."""
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    frozen = freeze(value, name)
    assert isinstance(frozen, FrozenDict)
    return frozen


def check_string(text: object, name: str) -> str:
    """Return the text if it is a string of valid Unicode."""
    if not isinstance(text, str):
        raise InvalidType(f"{name} must be a string, not {type(text).__name__}")
    return text if text.isascii() else check_unicode(text, name)


def check_not_blank(value: object, name: str, advice: str = "give it a value") -> str:
    """Return the text if it is a string that is not blank."""
    text = check_string(value, name)
    if not text.strip():
        raise InvalidInput(f"{name} is empty: {advice}")
    return text


def _freeze(value: object, name: str, parents: list[object]) -> JSON:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return check_string(value, name)
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{name} is {value}, which JSON cannot hold")
        return value
    if isinstance(value, Mapping | list | tuple):
        return _freeze_container(value, name, parents)
    raise InvalidType(f"{name} holds a {type(value).__name__}, which is not JSON: convert it first")


def _freeze_container(value: Mapping[object, object] | Iterable[object], name: str, parents: list[object]) -> JSON:
    if any(value is parent for parent in parents):
        raise InvalidInput(f"{name} contains itself: a circular reference cannot be kept")
    if len(parents) >= MAX_DEPTH:
        raise InvalidInput(f"{name} is nested deeper than {MAX_DEPTH} levels: flatten it")
    inside = [*parents, value]
    if isinstance(value, Mapping):
        return FrozenDict(
            {_check_key(key, name): _freeze(item, f"{name}.{key}", inside) for key, item in value.items()}
        )
    return FrozenList(_freeze(item, f"{name}[{i}]", inside) for i, item in enumerate(value))


def _check_key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise InvalidType(f"{name} has the key {key!r}; keys of JSON are strings")
    return check_string(key, f"a key of {name}")
