"""JSON schemas of tools: short enough for a model to read, and put into words when a call does not fit. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

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
