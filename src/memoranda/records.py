"""The base of every value that users handle: attributes, and the same read like a dict."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import fields
from datetime import datetime
from typing import Any, ClassVar, TypeVar

from memoranda import display

_T = TypeVar("_T")
_PLAIN = frozenset((str, int, float, bool, type(None)))


class Record(display.Shown):
    """A value that can also be read like a dict: `hit["score"]`, `dict(message)`, `len`, `items()`."""

    __slots__ = ()
    _aliases: ClassVar[tuple[str, ...]] = ()

    def keys(self) -> list[str]:
        return [f.name for f in fields(self)]  # type: ignore[arg-type]

    def items(self) -> list[tuple[str, Any]]:
        return [(key, self[key]) for key in self.keys()]

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __getitem__(self, key: str) -> Any:
        if key in self:
            return getattr(self, key)
        raise KeyError(key)

    def get(self, key: str, default: Any = None) -> Any:
        try:
            return self[key]
        except KeyError:
            return default

    def __contains__(self, key: object) -> bool:
        return key in self._aliases or any(f.name == key for f in fields(self))  # type: ignore[arg-type]

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain JSON data."""
        return {key: to_plain(self[key]) for key in self.keys()}


def to_dict(value: Any) -> dict[str, Any]:
    """Return a dataclass that is no record as plain JSON data."""
    return {f.name: to_plain(getattr(value, f.name)) for f in fields(value)}


class DictRecord(Record, dict[str, Any]):
    """A record that is a dict of plain JSON data too: JSON encoders and code that asks for a dict take it as it is.

    The dict is the caller's own. Changing it changes neither the attributes nor what is stored.
    """

    __slots__ = ()

    def __post_init__(self) -> None:
        dict.update(self, {name: to_plain(getattr(self, name)) for name in self._keys()})

    def _keys(self) -> tuple[str, ...]:
        """Return the names of the attributes that the dict has."""
        return (*(f.name for f in fields(self)), *self._aliases)  # type: ignore[arg-type]

    keys = dict.keys  # type: ignore[assignment]
    values = dict.values
    items = dict.items  # type: ignore[assignment]
    get = dict.get  # type: ignore[assignment]
    __iter__ = dict.__iter__
    __len__ = dict.__len__
    __getitem__ = dict.__getitem__
    __contains__ = dict.__contains__


class SummaryRecord(DictRecord):
    """A record whose dict has only some attributes, as JSON data; `record["name"]` reads every attribute as it is."""

    __slots__ = ()
    _plain: ClassVar[tuple[str, ...]] = ()

    def _keys(self) -> tuple[str, ...]:
        return self._plain

    __getitem__ = Record.__getitem__
    __contains__ = Record.__contains__
    get = Record.get


class ResultList(list[_T]):
    """The results of one call: a list that prints a line for each, and is a table in a notebook.

    Args:
        results: Values that have a text and a row of their own.
        noun: What one of them is called, such as "memory".
    """

    __slots__ = ("_noun",)

    def __init__(self, results: Iterable[_T] = (), noun: str = "result") -> None:
        super().__init__(results)
        self._noun = noun

    def __repr__(self) -> str:
        return display.list_repr(self, self._noun)

    def __str__(self) -> str:
        return display.list_text(self, self._noun)

    def _repr_html_(self) -> str:
        return display.list_html(self, self._noun)


def to_plain(value: Any) -> Any:
    """Return a value as plain JSON data."""
    if type(value) in _PLAIN:
        return value
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Record | dict):
        return {key: to_plain(item) for key, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value
