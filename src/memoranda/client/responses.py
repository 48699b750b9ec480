"""JSON → the values that were sent: the same dataclasses the embedded manager gives."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from pathlib import Path
from types import UnionType
from typing import Any, Final, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import httpx2

from memoranda import errors
from memoranda.errors import Denied, Incompatible, MemorandaError, Unavailable

_T = TypeVar("_T")
_Build = Callable[[Any], Any]


def build(kind: type[_T], data: Any) -> _T:
    """A value of this type. A field that this version does not know is passed over, a missing one is an error."""
    try:
        return cast(_T, _builder(cast(Hashable, kind))(data))
    except (KeyError, TypeError, ValueError) as error:
        raise Incompatible(f"the server's {kind} does not fit this client: use the same version ({error!r})") from error


@cache
def _builder(kind: Any) -> _Build:
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass(kind)
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if kind is datetime:
        return datetime.fromisoformat
    if kind is Path:
        return Path
    return _generic(get_origin(kind), get_args(kind))


def _generic(origin: Any, args: tuple[Any, ...]) -> _Build:
    if origin is list:
        item = _builder(args[0])
        return lambda values: [item(value) for value in values]
    if origin is tuple:
        item = _builder(args[0])
        return lambda values: tuple(item(value) for value in values)
    if origin is dict and not isinstance(args[1], str) and "ForwardRef" not in repr(args[1]):
        item = _builder(args[1])
        return lambda values: {key: item(value) for key, value in values.items()}
    if origin in (Union, UnionType) and type(None) in args and len(args) == 2:
        inner = _builder(next(each for each in args if each is not type(None)))
        return lambda value: None if value is None else inner(value)
    return lambda value: value


def _dataclass(kind: type) -> _Build:
    hints = get_type_hints(kind)
    builders = {each.name: _lazily(hints[each.name]) for each in fields(kind) if each.init}

    def make(data: Mapping[str, Any]) -> Any:
        return kind(**{name: make_field(data[name]) for name, make_field in builders.items() if name in data})

    return make


def _lazily(kind: Any) -> _Build:
    # A type may hold itself: its fields are looked at when the first value comes.
    return lambda value: _builder(kind)(value)


_URN: Final = "urn:memoranda:"
_KNOWN: Final = {
    kind.__name__: kind
    for kind in (
        errors.InvalidInput,
        errors.InvalidType,
        errors.NotFound,
        errors.Conflict,
        errors.ExtractionFailed,
        errors.Incompatible,
        errors.Closed,
    )
}


def error_of(status: int, body: bytes, headers: httpx2.Headers) -> Exception:
    """The error that an answer stands for."""
    problem = _problem(body)
    name, detail = str(problem.get("type", "")).removeprefix(_URN), str(problem.get("detail") or f"status {status}")
    if name == "IndexError":
        return IndexError(detail)
    if status in (401, 403):
        return Denied(detail, status=status)
    if status in (408, 429, 502, 503, 504) and name != "ExtractionFailed":
        wait = headers.get("retry-after", "")
        return Unavailable(detail, retry_after=float(wait) if wait.isdigit() else None, status=status)
    if name in _KNOWN:
        return _KNOWN[name](detail)
    if 400 <= status < 500:
        return errors.InvalidInput(detail)
    return MemorandaError(f"the server failed: {detail} (request {headers.get('x-request-id', 'unknown')})")


@contextmanager
def translated(url: str) -> Iterator[None]:
    """Foreign errors become ours here, and nowhere else."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise Unavailable(f"{url} did not answer in time: try again") from error
    except httpx2.TransportError as error:
        raise Unavailable(f"{url} cannot be reached ({error}): is the server running?") from error


def _problem(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
