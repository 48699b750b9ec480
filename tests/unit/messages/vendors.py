"""The vendors' own types as judges of what we format."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from anthropic.types import MessageParam
from openai.types.chat import ChatCompletionMessageParam
from pydantic import TypeAdapter

_OPENAI: TypeAdapter[Any] = TypeAdapter(list[ChatCompletionMessageParam])
_ANTHROPIC: TypeAdapter[Any] = TypeAdapter(list[MessageParam])


def accepted_by_openai(formatted: list[dict[str, Any]]) -> bool:
    return _exhausted(_OPENAI.validate_python(formatted)) == formatted


def accepted_by_anthropic(formatted: list[dict[str, Any]]) -> bool:
    return _exhausted(_ANTHROPIC.validate_python(formatted)) == formatted


def _exhausted(value: Any) -> Any:
    """Lists inside are checked only while they are read; and what a type does not know is left out of the copy."""
    if isinstance(value, dict):
        return {key: _exhausted(item) for key, item in value.items()}
    if isinstance(value, str | bytes | int | float | None):
        return value
    if isinstance(value, list | tuple | Iterator) or hasattr(value, "__iter__"):
        return [_exhausted(item) for item in value]
    return value
