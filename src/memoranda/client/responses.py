"""Responses of the server: JSON becomes the dataclasses that the embedded manager returns, or its errors."""

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
_Converter = Callable[[Any], Any]
_URN: Final = "urn:memoranda:"
_ERRORS: Final = {
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


def deserialize(kind: type[_T], data: Any) -> _T:
    """Return a value of this type. Unknown fields are ignored; a missing field is an error."""
    try:
        return cast(_T, _converter(cast(Hashable, kind))(data))
    except (KeyError, TypeError, ValueError) as error:
        raise Incompatible(f"the server's {kind} does not fit this client: use the same version ({error!r})") from error


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


def to_error(status: int, body: bytes, headers: httpx2.Headers) -> Exception:
    """Return the error that a response describes."""
    problem = _parse_problem(body)
    name, detail = str(problem.get("type", "")).removeprefix(_URN), str(problem.get("detail") or f"status {status}")
    if name == "IndexError":
        return IndexError(detail)
    if status in (401, 403):
        return Denied(detail, status=status)
    if status in (408, 429, 502, 503, 504) and name != "ExtractionFailed":
        wait = headers.get("retry-after", "")
        kind = errors.OutcomeUnknown if name == "OutcomeUnknown" else Unavailable
        return kind(detail, retry_after=float(wait) if wait.isdigit() else None, status=status)
    if name in _ERRORS:
        return _ERRORS[name](detail)
    if 400 <= status < 500:
        return errors.InvalidInput(detail)
    return MemorandaError(f"the server failed: {detail} (request {headers.get('x-request-id', 'unknown')})")


@contextmanager
def translate_errors(url: str) -> Iterator[None]:
    """Turn the HTTP library's errors into ours."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise Unavailable(f"{url} did not answer in time: try again") from error
    except httpx2.TransportError as error:
        raise Unavailable(f"{url} cannot be reached ({error}): is the server running?") from error


def _parse_problem(body: bytes) -> dict[str, Any]:
    try:
        problem = json.loads(body)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}
