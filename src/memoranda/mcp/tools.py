"""What the tools have in common: annotations, errors, results."""

from __future__ import annotations

import functools
import json
import secrets
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Final, ParamSpec, TypeVar

from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

from memoranda.errors import MemorandaError
from memoranda.fence import MARKER_BYTES
from memoranda.recall.render import render_hits
from memoranda.types import JSON, Hit

P = ParamSpec("P")


R = TypeVar("R")


def _hints(*, reads: bool = False, removes: bool = False, once: bool = False) -> ToolAnnotations:
    return ToolAnnotations(read_only_hint=reads, destructive_hint=removes, idempotent_hint=once, open_world_hint=False)


READS: Final = _hints(reads=True, once=True)


ADDS: Final = _hints()


ADDS_ONCE: Final = _hints(once=True)


REMOVES: Final = _hints(removes=True, once=True)


def told(tool: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R | CallToolResult]]:
    """The tool, with Memoranda's errors as answers that say what to change."""

    @functools.wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> R | CallToolResult:
        try:
            return await tool(*args, **kwargs)
        except MemorandaError as error:
            return CallToolResult(content=[TextContent(type="text", text=str(error))], is_error=True)

    return call


def fenced(hits: Sequence[Hit], now: datetime) -> str:
    """Stored text as data: a mark that it cannot know stands around it."""
    return render_hits(hits, secrets.token_hex(MARKER_BYTES), now)


def answer(text: str, structured: BaseModel) -> CallToolResult:
    """Text for a model and the same as data for a program."""
    content = structured.model_dump(mode="json", by_alias=True)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


def pretty(value: JSON) -> str:
    """JSON to read."""
    return json.dumps(value, indent=2, ensure_ascii=False)
