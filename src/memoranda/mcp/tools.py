"""What all tools share: annotations, errors and results."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, TextContent, ToolAnnotations
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from memoranda.errors import InvalidInput, MemorandaError, NotFound, Unavailable
from memoranda.mcp.schema import Schema, describe_mistakes, describe_unknown, inline, shorten
from memoranda.recall.render import fence_lines, render_hits, render_list
from memoranda.security.fence import MARKER_BYTES
from memoranda.server.requests import MemoryId, Moment
from memoranda.types import JSON, Hit, Memory

_NOTHING: Final = "Nothing was done"
_LOGGER: Final = logging.getLogger("memoranda.mcp")


def _annotations(*, read_only: bool = False, destructive: bool = False, idempotent: bool = False) -> ToolAnnotations:
    return ToolAnnotations(
        read_only_hint=read_only, destructive_hint=destructive, idempotent_hint=idempotent, open_world_hint=False
    )


READS: Final = _annotations(read_only=True, idempotent=True)
ADDS: Final = _annotations()
ADDS_ONCE: Final = _annotations(idempotent=True)
CHANGES: Final = _annotations(destructive=True)
REMOVES: Final = _annotations(destructive=True, idempotent=True)


def _to_utc(text: str) -> str:
    """Return a time with its zone: a model often gives a day, or leaves out the zone."""
    time = datetime.fromisoformat(text.strip())
    return (time if time.tzinfo else time.replace(tzinfo=UTC)).isoformat()


IsoTime = Annotated[Moment, AfterValidator(_to_utc), Field(json_schema_extra={"format": "date-time"})]


def _read_id(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("an id is a number, such as 5")  # noqa: TRY004 - pydantic reports only a ValueError
    return value.removeprefix("#") if isinstance(value, str) else value


ShownId = Annotated[MemoryId, BeforeValidator(_read_id)]
"""An id as a model copies it from a text: 5, "5" or "#5"."""


class MemoryTool(Tool):
    """A tool of the SDK with a short definition, and with errors that say what to do next."""

    full_schema: Schema = Field(default_factory=dict)
    """The arguments with all limits, also those that a model does not read."""
    if_missing: str = ""
    """What to do when the thing that the call names does not exist."""

    async def run(
        self,
        arguments: dict[str, Any],
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: ARG002 - results are always converted
    ) -> CallToolResult:
        """Call the tool; every failure is a result that a model can act on."""
        try:
            values = self._parse(arguments)
            if self.context_kwarg is not None:
                values[self.context_kwarg] = context
            done = self.fn_metadata.convert_result(await self.fn(**values))
            assert isinstance(done, CallToolResult)  # our tools never ask the user back
            return done
        except MCPError:
            raise
        except Exception as error:  # noqa: BLE001 - logged in full; the caller learns only what may be shown
            return error_result(self._explain(error))

    def _parse(self, arguments: dict[str, Any]) -> dict[str, Any]:
        unknown = [name for name in arguments if name not in self.full_schema.get("properties", {})]
        if unknown:
            raise InvalidInput(describe_unknown(self.name, unknown, self.full_schema))
        # A host that sends null for what it leaves out means that it is left out.
        given = {name: value for name, value in arguments.items() if value is not None}
        try:
            return self.fn_metadata.arg_model.model_validate(given).model_dump_one_level()
        except ValidationError as error:
            try:
                # Some hosts send a list as JSON inside a text; where a text may stand, it is the text itself.
                return self.fn_metadata.validate_arguments(given)
            except ValidationError:
                raise InvalidInput(describe_mistakes(self.name, error, self.full_schema)) from error

    def _explain(self, error: Exception) -> str:
        text = public_text(error)
        if isinstance(error, NotFound) and self.if_missing:
            # After the colon stands what a program would do.
            return f"{text.partition(': ')[0]}. {self.if_missing}"
        if isinstance(error, InvalidInput) and not text.startswith(_NOTHING):
            return f"{_NOTHING}: {text}. Correct it and call `{self.name}` again."
        if isinstance(error, Unavailable):
            return f"{text}. Wait a moment, then make the same call once more."
        return text


def make_tool(
    function: Callable[..., Awaitable[object]], title: str, annotations: ToolAnnotations, *, if_missing: str = ""
) -> MemoryTool:
    """Make a tool of a function; its name, signature and docstring describe the tool.

    Args:
        function: The function.
        title: The name to show to people.
        annotations: Hints for the host: whether it reads, adds or removes.
        if_missing: What a model should do when the thing that its call names does not exist.
    """
    description = " ".join((function.__doc__ or "").split())
    tool = MemoryTool.from_function(function, title=title, description=description, annotations=annotations)
    assert isinstance(tool, MemoryTool)
    tool.full_schema, tool.if_missing = inline(tool.parameters), if_missing
    tool.parameters = shorten(tool.full_schema)
    if tool.fn_metadata.output_schema is not None:
        # Results always have all of their fields; that need not be read with each conversation.
        tool.fn_metadata.output_schema = shorten(
            inline(tool.fn_metadata.output_schema, nulls=True), "required", "format"
        )
    return tool


def public_text(error: Exception) -> str:
    """Return what a caller may read of an error. The details of a server error, such as paths, go into the log only."""
    if not isinstance(error, MemorandaError) or error.status >= 500:
        _LOGGER.error("failed", exc_info=error)
    if isinstance(error, MemorandaError):
        return error.public_message()
    return "Memory failed on its side, and its log has the details. Tell the user; do not repeat the call"


@contextmanager
def public_errors() -> Iterator[None]:
    """Raise only errors whose text a caller may read: of a resource, the SDK sends the text itself."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - logged in full by `public_text`
        raise MCPError(INTERNAL_ERROR, public_text(error)) from None


def error_result(*texts: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(type="text", text=text) for text in texts], is_error=True)


def first_text(result: CallToolResult) -> str:
    """Return what a model reads of a result."""
    return next(part.text for part in result.content if isinstance(part, TextContent))


def tool_result(text: str, data: BaseModel) -> CallToolResult:
    """Return text for a model and structured data for a program."""
    content = data.model_dump(mode="json", by_alias=True)
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=content)


def render_fenced(hits: Sequence[Hit], now: datetime) -> str:
    """Render memories inside a fence whose random marker stored text cannot guess."""
    return render_hits(hits, secrets.token_hex(MARKER_BYTES), now)


def render_listed(memories: Sequence[Memory], now: datetime) -> str:
    """Render memories in their order inside such a fence."""
    return render_list([Hit(memory, 1.0) for memory in memories], secrets.token_hex(MARKER_BYTES), now)


def render_lines(lines: Sequence[str]) -> str:
    """Put lines of sanitized text into a fence; "" when there are none."""
    return fence_lines(lines, secrets.token_hex(MARKER_BYTES)) if lines else ""


def to_pretty_json(value: JSON) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
