"""Build dataclasses from the JSON that they were written as, by the types of their fields."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

_T = TypeVar("_T")
_Converter = Callable[[Any], Any]


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
