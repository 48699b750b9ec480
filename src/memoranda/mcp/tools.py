"""What all tools share: annotations, errors, results, and JSON schemas that are short enough for a model to read."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, Final, TypeAlias

from mcp.server.mcpserver import Context
from mcp.server.mcpserver.tools import Tool
from mcp.shared.exceptions import MCPError
from mcp_types import INTERNAL_ERROR, CallToolResult, TextContent, ToolAnnotations
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, ValidationError

from memoranda.errors import InvalidInput, MemorandaError, NotFound, Unavailable
from memoranda.recall.render import fence_lines, render_hits, render_list
from memoranda.security.fence import MARKER_BYTES
from memoranda.server.fields import MemoryId, Moment
from memoranda.types import JSON, Hit, Memory

Schema: TypeAlias = dict[str, Any]
RARE: Final = {"rare": True}
"""As `json_schema_extra`: the argument is accepted, but not part of what a model reads."""
_LIMITS: Final = frozenset({"minLength", "maxLength", "maxItems", "additionalProperties", "examples", "format", "rare"})
_DEFINITIONS: Final = "#/$defs/"
_SHOWN: Final = 3
"""Mistakes that one error names."""
_MAX_VALUE: Final = 60
_HUGE: Final = 2**31
"""A limit that no model needs to read about."""
_TYPES: Final = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
}


def inline(schema: Schema, *, nulls: bool = False) -> Schema:
    """Return the schema without references, titles and the descriptions of models.

    Args:
        schema: The schema, with its definitions.
        nulls: Keep that a value may be null, as results need it; an argument without a value is left out instead.
    """
    return _Inliner(schema.get("$defs", {}), nulls).inline(schema, described=False)


@dataclass(frozen=True, slots=True)
class _Inliner:
    definitions: Schema
    nulls: bool

    def inline(self, schema: Schema, *, described: bool = True) -> Schema:
        if "$ref" in schema:
            model = self.definitions[schema["$ref"].removeprefix(_DEFINITIONS)]
            schema = {**_without(model, "description"), **schema}
        kept = _without(schema, "$ref", "$defs", "title", *(() if described else ("description",)))
        if kept.get("default", ...) is None:
            del kept["default"]
        if "properties" in kept:
            kept["properties"] = {name: self.inline(part) for name, part in kept["properties"].items()}
        if "items" in kept:
            kept["items"] = self.inline(kept["items"])
        return self._choices(kept) if "anyOf" in kept else kept

    def _choices(self, schema: Schema) -> Schema:
        choices = [self.inline(part) for part in schema["anyOf"]]
        values = [part for part in choices if part.get("type") != "null"]
        if len(values) > 1:
            return {**schema, "anyOf": choices if self.nulls else values}
        if self.nulls and len(choices) > 1:
            values = [{**values[0], "type": [values[0]["type"], "null"]}]
        return {**values[0], **_without(schema, "anyOf")}


def _without(schema: Schema, *names: str) -> Schema:
    return {key: value for key, value in schema.items() if key not in names}


def shorten(schema: Schema, *also: str) -> Schema:
    """Return the schema as a model reads it: without limits that hardly any call reaches, and rare arguments.

    Calls are checked against all limits, and an error names the one that was passed.

    Args:
        schema: The schema, without references.
        also: More keys to leave out.
    """
    kept = _without(schema, *_LIMITS, *also)
    if "properties" in kept:
        properties = kept["properties"].items()
        kept["properties"] = {name: shorten(part, *also) for name, part in properties if not part.get("rare")}
    if "items" in kept:
        kept["items"] = shorten(kept["items"], *also)
    if "anyOf" in kept:
        kept["anyOf"] = [shorten(part, *also) for part in kept["anyOf"]]
    return kept


def describe_unknown(tool: str, names: Iterable[str], schema: Schema) -> str:
    """Return what a model reads that gave arguments a tool does not have."""
    unknown = ", ".join(_quote(name) for name in list(names)[:_SHOWN])
    known = ", ".join(shorten(schema).get("properties", {})) or "no arguments"
    return f"Nothing was done: `{tool}` does not take {unknown}. It takes: {known}. Call it again with these only."


def describe_mistakes(tool: str, error: ValidationError, schema: Schema) -> str:
    """Return what a model reads that gave wrong arguments: what each must be, and what it was."""
    mistakes: dict[str, str] = {}
    for each in error.errors(include_url=False, include_context=False):
        name, expected = _find(schema, each["loc"])
        problem = "is missing" if each["type"] == "missing" else f"is {_quote(each['input'])}"
        mistakes.setdefault(name, f"`{name}` {problem}, but must be {describe(expected)}")
    # Of a list, the item that is wrong says more than what else the argument could be.
    lists = {name.rpartition("[")[0] for name in mistakes}
    mistakes = {name: text for name, text in mistakes.items() if name not in lists}
    shown = list(mistakes.values())[:_SHOWN]
    more = f"; and {len(mistakes) - _SHOWN} more" if len(mistakes) > _SHOWN else ""
    return f"Nothing was done: {'; '.join(shown)}{more}. Correct it and call `{tool}` again."


def _find(schema: Schema, location: Iterable[int | str]) -> tuple[str, Schema]:
    """Return the name of an argument or of a part of it, and its schema."""
    name = ""
    for part in location:
        lists = [each for each in (schema, *schema.get("anyOf", ())) if "items" in each]
        if isinstance(part, int) and lists:
            name, schema = f"{name}[{part}]", lists[0]["items"]
        elif part in schema.get("properties", {}):
            name, schema = f"{name}.{part}" if name else str(part), schema["properties"][part]
        # Anything else names a choice of a union: the union as a whole says what is allowed.
    return name, schema


def describe(schema: Schema) -> str:
    """Return in words what a value must be."""
    if "anyOf" in schema:
        return ", or ".join(describe(part) for part in schema["anyOf"])
    if "enum" in schema:
        return f"one of {', '.join(map(str, schema['enum']))}"
    if schema.get("type") == "array":
        return f"a list{_limits(schema, 'minItems', 'maxItems', ' of {} items')} in which each is {_items(schema)}"
    if schema.get("format") == "date-time":
        return "a date or time such as 2026-03-01 or 2026-03-01T12:00:00+00:00"
    words = _TYPES.get(schema.get("type", ""), "another value")
    if schema.get("type") == "object" and "properties" in schema:
        return f"{words} with {', '.join(schema['properties'])}"
    if schema.get("type") == "string":
        return words + _limits(schema, "minLength", "maxLength", " of {} characters")
    return words + _limits(schema, "minimum", "maximum", " of {}")


def _items(schema: Schema) -> str:
    return describe(schema.get("items", {}))


def _limits(schema: Mapping[str, Any], low: str, high: str, form: str) -> str:
    if schema.get(high, _HUGE) < _HUGE:
        return form.format(f"{schema.get(low, 0)} to {schema[high]:,}")
    return form.format(f"at least {schema[low]}") if low in schema else ""


def _quote(value: object) -> str:
    text = "an empty text" if value == "" else repr(value)
    return text if len(text) <= _MAX_VALUE else f"{text[:_MAX_VALUE]}…"


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
