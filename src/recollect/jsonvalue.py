"""The one policy for JSON: what may be stored as a value or as metadata."""

from __future__ import annotations

import json
import math
from typing import Final, cast

from recollect.errors import InvalidInput, InvalidType
from recollect.types import JSON

MAX_BYTES: Final = 1_000_000
MAX_DEPTH: Final = 100

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")).encode


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
    if "\\u0000" in text:
        raise InvalidInput(f"{name} holds a NUL byte: remove it")
    return text


def copy_json(value: object, name: str = "value") -> JSON:
    """A copy that shares nothing with what the caller keeps."""
    return cast(JSON, json.loads(encode_json(value, name)))


def copy_json_object(value: object, name: str) -> dict[str, JSON]:
    """A copy of a JSON object; None is the empty one."""
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidType(f"{name} must be a dict, not {type(value).__name__}")
    return cast("dict[str, JSON]", copy_json(value, name))


def _check(value: object, name: str, depth: int) -> None:
    if value is None or isinstance(value, str | bool | int):
        return
    if isinstance(value, float):
        if not math.isfinite(value):
            raise InvalidInput(f"{name} is {value}, which JSON cannot hold: use None or a string")
    elif depth >= MAX_DEPTH:
        raise InvalidInput(f"{name} lies more than {MAX_DEPTH} levels deep, or holds itself: flatten it")
    elif isinstance(value, dict):
        _check_keys(value, name)
        for key, item in value.items():
            _check(item, f"{name}[{key!r}]" if depth < 3 else name, depth + 1)
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            _check(item, f"{name}[{position}]" if depth < 3 else name, depth + 1)
    else:
        raise InvalidType(f"{name} is a {type(value).__name__}, which JSON cannot hold: convert it first")


def _check_keys(value: dict[object, object], name: str) -> None:
    for key in value:
        if not isinstance(key, str):
            raise InvalidInput(f"{name} has the key {key!r}, a {type(key).__name__}: JSON keys are strings")
