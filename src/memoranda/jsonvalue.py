"""The one policy for JSON: what may be stored as a value or as metadata."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite
from typing import Final, TypeAlias, cast

from memoranda.errors import Incompatible, InvalidInput, InvalidType
from memoranda.types import JSON

MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 100

_SCALARS: Final = (str, int, bool, type(None))
"""Nothing in them to look at: the common case, kept short."""
_LISTS: Final = (list, tuple)
_Path: TypeAlias = "str | tuple[_Path, str | int]"
"""Where a part of a value lies: put into words only when something is wrong with it."""

_NUL: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
"""A NUL byte in JSON, and not the six characters that would stand for one."""

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode
_decode = json.JSONDecoder().decode


def encode_json(value: object, name: str = "value") -> str:
    """The value as JSON text, or `InvalidInput` that says which part of it cannot be kept."""
    _check(value, name, 0)
    try:
        text = _encode(value)
        size = len(text) if text.isascii() else len(text.encode("utf-8"))
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} holds a lone surrogate: not valid Unicode") from error
    except ValueError as error:
        raise InvalidInput(f"{name} cannot be written as JSON: {error}") from error
    if size > MAX_BYTES:
        raise InvalidInput(f"{name} takes {size:,} bytes as JSON; at most {MAX_BYTES:,} fit: split it up")
    if "\\u0000" in text and _NUL.search(text):
        raise InvalidInput(f"{name} holds a NUL byte: remove it")
    return text


def decode_json(text: str | bytes, name: str = "value") -> JSON:
    """The value behind a stored JSON text; a new one at each call."""
    try:
        return cast(JSON, _decode(text if isinstance(text, str) else text.decode("utf-8")))
    except ValueError as error:
        raise Incompatible(f"{name} was not written by Memoranda: it is no JSON; delete or overwrite it") from error


def copy_json(value: object, name: str = "value") -> JSON:
    """A copy that shares nothing with what the caller keeps."""
    return decode_json(encode_json(value, name), name)


def copy_json_object(value: object, name: str) -> dict[str, JSON]:
    """A copy of a JSON object; None is the empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    if not value:
        return {}
    return cast("dict[str, JSON]", copy_json(dict(value), name))


def _check(value: object, path: _Path, depth: int) -> None:
    if isinstance(value, dict):
        _check_depth(path, depth)
        for key, item in value.items():
            if not isinstance(key, str):
                raise InvalidInput(f"{_shown(path)} has the key {key!r}, a {type(key).__name__}: JSON keys are strings")
            if type(item) not in _SCALARS:
                _check(item, (path, key), depth + 1)
    elif isinstance(value, _LISTS):
        _check_depth(path, depth)
        for position, item in enumerate(value):
            if type(item) not in _SCALARS:
                _check(item, (path, position), depth + 1)
    elif isinstance(value, float):
        if not isfinite(value):
            raise InvalidInput(f"{_shown(path)} is {value}, which JSON cannot hold: use None or a string")
    elif not isinstance(value, _SCALARS):
        raise InvalidType(f"{_shown(path)} is a {type(value).__name__}, which JSON cannot hold: convert it first")


def _check_depth(path: _Path, depth: int) -> None:
    if depth >= MAX_DEPTH:
        raise InvalidInput(f"{_shown(path, 3)} goes more than {MAX_DEPTH} levels deep, or holds itself: flatten it")


def _shown(path: _Path, most: int = MAX_DEPTH) -> str:
    steps: list[str] = []
    while isinstance(path, tuple):
        path, step = path
        steps.append(f"[{step!r}]")
    return path + "".join(reversed(steps[-most:]))
