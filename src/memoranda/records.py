"""Base classes: of values that are read as attributes or like a dict, and of objects that a `with` block closes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, make_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import Path
from types import TracebackType, UnionType
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from memoranda import display

_T = TypeVar("_T")
_Converter: TypeAlias = Callable[[Any], Any]
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
            self, {
                "id": memory.id, "content": memory.content, "score": score, "similarity_score": score,
                "key": memory.key, "value": to_plain(memory.value), "agent_id": memory.agent,
                "memory_type": memory.type, "importance_score": memory.importance,
                "timestamp": memory.valid_from.isoformat(), "source": memory.source, "session": memory.session,
                "message_id": memory.message_id, "metadata": to_plain(memory.metadata),
            },
        )  # fmt: skip


def fast_maker(kind: type[_T]) -> Callable[..., _T]:
    """Return a function that makes a frozen record of all its fields in order, several times as fast as its class.

    The record is made by a class whose fields are not frozen, and then handed over to its own. Defaults and
    `__post_init__` do not apply.
    """
    names = [f.name for f in fields(kind)]  # type: ignore[arg-type]
    open_kind = make_dataclass(f"_{kind.__name__}", names, bases=kind.__bases__, slots=True, repr=False, eq=False)

    def make(*values: Any) -> _T:
        made = open_kind(*values)
        made.__class__ = kind
        return made  # type: ignore[no-any-return]

    return make


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
    if type(value) is dict and not value:
        return {}
    if isinstance(value, datetime):
        return value.isoformat()
    if isinstance(value, Record | dict):
        return {key: to_plain(item) for key, item in value.items()}
    if hasattr(value, "to_dict"):
        return value.to_dict()
    return [to_plain(item) for item in value] if isinstance(value, list | tuple) else value


def build(kind: type[_T], data: Any) -> _T:
    """Return a value of this type. Unknown fields are ignored; a missing field without a default raises `TypeError`."""
    return cast(_T, _converter(cast(Hashable, kind))(data))


@cache
def _converter(kind: Any) -> _Converter:
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass_converter(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if kind is datetime:
        return datetime.fromisoformat
    if kind is Path:
        return Path
    return _generic_converter(get_origin(kind), get_args(kind))


def _generic_converter(origin: Any, args: tuple[Any, ...]) -> _Converter:
    if origin in (list, tuple):
        convert = _converter(args[0])
        return lambda values: origin(convert(value) for value in values)
    if origin is dict and not isinstance(args[1], str) and "ForwardRef" not in repr(args[1]):
        convert = _converter(args[1])
        return lambda values: {key: convert(value) for key, value in values.items()}
    if origin in (Union, UnionType) and type(None) in args and len(args) == 2:
        convert = _converter(next(arg for arg in args if arg is not type(None)))
        return lambda value: None if value is None else convert(value)
    return lambda value: value


def _dataclass_converter(kind: type) -> _Converter:
    hints = get_type_hints(kind)
    types = {field.name: hints[field.name] for field in fields(kind) if field.init}

    def convert(data: Mapping[str, Any]) -> Any:
        # The fields' converters are looked up here and not above, because a type may contain itself.
        return kind(**{name: _converter(hint)(data[name]) for name, hint in types.items() if name in data})

    return convert


class Closing:
    """Calls `close` at the end of a `with` block."""

    def close(self) -> None:
        """Release what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class AsyncClosing:
    """Awaits `close` at the end of an `async with` block."""

    async def close(self) -> None:
        """Release what it holds."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
