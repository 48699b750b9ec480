"""Validates formatted messages with the vendors' own types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

_OPENAI: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
_ANTHROPIC: TypeAdapter[Any] = TypeAdapter(list[MessageParam])


def is_valid_for_openai(formatted: list[dict[str, Any]]) -> bool:
    return _read_all(_OPENAI.validate_python(formatted)) == formatted


def is_valid_for_anthropic(formatted: list[dict[str, Any]]) -> bool:
    return _read_all(_ANTHROPIC.validate_python(formatted)) == formatted


def _read_all(value: Any) -> Any:
    """Nested lists are validated only while they are read, and unknown keys are missing in the copy."""
    if isinstance(value, dict):
        return {key: _read_all(item) for key, item in value.items()}
    if isinstance(value, str | bytes | int | float | None):
        return value
    if isinstance(value, list | tuple | Iterator) or hasattr(value, "__iter__"):
        return [_read_all(item) for item in value]
    return value
