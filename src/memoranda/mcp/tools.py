"""What all tools share: annotations, errors and results."""

from __future__ import annotations

import functools
import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Final, ParamSpec, TypeVar

from mcp.server.mcpserver import MCPServer
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel

from memoranda.errors import MemorandaError
from memoranda.fence import MARKER_BYTES
from memoranda.recall.render import fence_lines, render_hits
from memoranda.types import JSON, Hit

_LOGGER: Final = logging.getLogger("memoranda.mcp")
P = ParamSpec("P")
R = TypeVar("R")


def _annotations(*, read_only: bool = False, destructive: bool = False, idempotent: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=read_only, destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False
    )


READS: Final = _annotations(read_only=True, idempotent=True)
ADDS: Final = _annotations()
ADDS_ONCE: Final = _annotations(idempotent=True)
CHANGES: Final = _annotations(destructive=True)
REMOVES: Final = _annotations(destructive=True, idempotent=True)


def add_tool(server: MCPServer, tool: Callable[P, Awaitable[object]], title: str, annotations: ToolAnnotations) -> None:
    """Add a tool to a server; Memoranda's errors become results that say what to change.

    Args:
        server: The server.
        tool: The function; its name, signature and docstring describe the tool.
        title: The name to show to people.
        annotations: Hints for the host: whether it reads, adds or removes.
    """

    @functools.wraps(tool)
    async def call(*args: P.args, **kwargs: P.kwargs) -> object:
        try:
            return await tool(*args, **kwargs)
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - logged in full; the caller learns only what may be shown
            return error_result(public_text(error))

    server.add_tool(call, title=title, annotations=annotations)


def public_text(error: Exception) -> str:
    """Return what a caller may read of an error. The details of a server error, such as paths, go into the log only."""
    if not isinstance(error, MemorandaError) or error.status >= 500:
        _LOGGER.error("failed", exc_info=error)
    if isinstance(error, MemorandaError):
        return error.public_message()
    return "The server failed; its log has the details"


@contextmanager
def public_errors() -> Iterator[None]:
    """Raise only errors whose text a caller may read: of a resource, the SDK sends the text itself."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - logged in full by `public_text`
        raise MCPError(INTERNAL_ERROR, public_text(error)) from None


def error_result(*texts: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], is_error=True)


def tool_result(text: str, data: BaseModel) -> CallToolResult:
    """Return text for a model and structured data for a program."""
    content = data.model_dump(mode="json", by_alias=True)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


def render_fenced(hits: Sequence[Hit], now: datetime) -> str:
    """Render memories inside a fence whose random marker stored text cannot guess."""
    return render_hits(hits, secrets.token_hex(MARKER_BYTES), now)


def render_lines(lines: Sequence[str]) -> str:
    """Put lines of sanitized text into a fence; "" when there are none."""
    return fence_lines(lines, secrets.token_hex(MARKER_BYTES)) if lines else ""


def to_pretty_json(value: JSON) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
