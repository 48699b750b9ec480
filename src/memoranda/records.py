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
        names = (*(f.name for f in fields(self)), *self._aliases)  # type: ignore[arg-type]
        dict.update(self, {name: to_plain(getattr(self, name)) for name in names})

    keys = dict.keys  # type: ignore[assignment]
    values = dict.values
    items = dict.items  # type: ignore[assignment]
    get = dict.get  # type: ignore[assignment]
    __iter__ = dict.__iter__
    __len__ = dict.__len__
    __getitem__ = dict.__getitem__
    __contains__ = dict.__contains__


class AttributeRecord(DictRecord):
    """A record of which `record["name"]` reads every attribute as it is, where the dict has it as JSON data.

    A key that the caller has set or changed is read as it is in the dict; the attribute stays.
    """

    __slots__ = ()

    def __getitem__(self, key: str) -> Any:
        if not dict.__contains__(self, key):
            return Record.__getitem__(self, key)
        own = dict.__getitem__(self, key)
        attribute = getattr(self, key) if Record.__contains__(self, key) else own
        changed = isinstance(attribute, dict | list) or to_plain(attribute) != own
        return own if changed else attribute

    def __contains__(self, key: object) -> bool:
        return dict.__contains__(self, key) or Record.__contains__(self, key)

    get = Record.get


class HitRecord(AttributeRecord):
    """A memory with a score. Its dict has some values of the memory."""

    __slots__ = ()
    memory: Any
    score: float

    def __post_init__(self) -> None:  # written out, as every recall makes many
        memory, score = self.memory, self.score
        dict.update(
            self, id=memory.id, content=memory.content, score=score, similarity_score=score, key=memory.key,
            value=to_plain(memory.value), agent_id=memory.agent, memory_type=memory.type,
            importance_score=memory.importance, timestamp=memory.valid_from.isoformat(), source=memory.source,
            session=memory.session, message_id=memory.message_id, metadata=to_plain(memory.metadata),
        )  # fmt: skip


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
