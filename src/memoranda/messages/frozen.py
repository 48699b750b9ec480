"""JSON values that cannot be changed: what a message holds is shared by threads and never copied."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn, TypeVar

from memoranda.errors import InvalidInput, InvalidType
from memoranda.text import check_unicode
from memoranda.types import JSON

MAX_DEPTH = 100
"""Levels of lists and dicts inside one value; deeper data is refused."""

_T = TypeVar("_T")


def _refuse(*_: object, **__: object) -> NoReturn:
    raise TypeError("a message cannot be changed: take a copy with to_dict(), or build a new one")


class FrozenDict(dict[str, JSON]):
    """A dict to read. Equal to a plain dict; `copy()` gives a plain one."""

    __slots__ = ()
    __setitem__ = __delitem__ = __ior__ = clear = pop = popitem = setdefault = update = _refuse

    def copy(self) -> dict[str, JSON]:
        return {key: thaw(value) for key, value in self.items()}

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, JSON]:
        return self.copy()

    def __reduce__(self) -> tuple[type[FrozenDict], tuple[dict[str, JSON]]]:
        return FrozenDict, (dict(self),)


class FrozenList(list[_T]):
    """A list to read. Equal to a plain list; `copy()` gives a plain one."""

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
    """A plain copy that is the caller's own."""
    if isinstance(value, FrozenDict | FrozenList):
        return value.copy()
    return value


def freeze(value: object, name: str) -> JSON:
    """A read-only copy of a JSON value, or an error that says where it is not JSON."""
    return _freeze(value, name, [])


def freeze_text(text: object, name: str) -> str:
    """The text, or an error when it is not a string that can leave this process."""
    if not isinstance(text, str):
        raise InvalidType(f"{name} must be a string, not {type(text).__name__}")
    return text if text.isascii() else check_unicode(text, name)


def freeze_mapping(value: object, name: str) -> FrozenDict:
    """A read-only copy of a JSON object."""
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    frozen = freeze(value, name)
    assert isinstance(frozen, FrozenDict)
    return frozen


def _freeze(value: object, name: str, above: list[object]) -> JSON:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return freeze_text(value, name)
    if isinstance(value, float):
        return _finite(value, name)
    if isinstance(value, Mapping | list | tuple):
        return _freeze_container(value, name, above)
    raise InvalidType(f"{name} holds a {type(value).__name__}, which is not JSON: convert it first")


def _freeze_container(value: Mapping[object, object] | Iterable[object], name: str, above: list[object]) -> JSON:
    if any(value is outer for outer in above):
        raise InvalidInput(f"{name} contains itself: a circular reference cannot be kept")
    if len(above) >= MAX_DEPTH:
        raise InvalidInput(f"{name} is nested deeper than {MAX_DEPTH} levels: flatten it")
    inside = [*above, value]
    if isinstance(value, Mapping):
        return FrozenDict({_key(key, name): _freeze(item, f"{name}.{key}", inside) for key, item in value.items()})
    return FrozenList(_freeze(item, f"{name}[{i}]", inside) for i, item in enumerate(value))


def _key(key: object, name: str) -> str:
    if not isinstance(key, str):
        raise InvalidType(f"{name} has the key {key!r}; keys of JSON are strings")
    return freeze_text(key, f"a key of {name}")


def _finite(value: float, name: str) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{name} is {value}, which JSON cannot hold")
    return value
