"""Errors of pydantic in words for a person or a model: what a field must be, and what it was. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

_MAX_QUOTED: Final = 60
_MUST_BE: Final = "must be "
TYPE_ERRORS: Final = {
    "string_type": "must be a text",
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_attributes_type": "must be an object",
}
"""What a field must be, for errors of pydantic about its type."""
_LIMITS: Final = {
    "string_unicode": "holds a lone surrogate: not valid Unicode",
    "missing": "is missing",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "finite_number": "must be a finite number",
    "literal_error": "must be {expected}",
    "string_too_short": "must be a text of at least {min_length} characters",
    "string_too_long": "must be a text of at most {max_length} characters",
    "string_pattern_mismatch": "must be a text that matches {pattern}",
    "too_short": "must be a list of at least {min_length} items",
    "too_long": "must be a list of at most {max_length} items",
}
_CHOICES: Final = frozenset({"str", "int", "float", "bool"})
"""Names of a union's choices that could be names of fields."""


def describe_mistakes(errors: Iterable[Mapping[str, Any]], *, skip: int = 0) -> dict[str, str]:
    """Return what is wrong with each field, by its name, in words for a person.

    Args:
        errors: The errors of pydantic.
        skip: How many steps of each location come before the name of the field.
    """
    choices: dict[str, list[str]] = {}
    inputs: dict[str, str] = {}
    for error in errors:
        name = _field_name(error["loc"][skip:])
        choices.setdefault(name, []).append(_describe_mistake(error))
        inputs.setdefault(name, _quote(error.get("input")))
    return {name: _join(dict.fromkeys(found), inputs[name]) for name, found in choices.items()}


def _field_name(location: Sequence[int | str]) -> str:
    """Return the name of a field without the names of pydantic's choices."""
    name = ""
    for step in location:
        if isinstance(step, int):
            name += f"[{step}]"
        elif not step.isidentifier() or step in _CHOICES:
            break
        else:
            name += f".{step}" if name else step
    return name


def _describe_mistake(error: Mapping[str, Any]) -> str:
    kind, context = error["type"], error.get("ctx") or {}
    words = TYPE_ERRORS.get(kind) or _LIMITS.get(kind)
    whole = {name: int(value) for name, value in context.items() if isinstance(value, float) and value.is_integer()}
    return words.format(**{**context, **whole}) if words else str(error["msg"])


def _join(found: Iterable[str], value: str) -> str:
    """Return what a field must be: one of these, and not what was given."""
    words = list(found)
    if not all(each.startswith(_MUST_BE) for each in words):
        return words[0]
    return f"{_MUST_BE}{' or '.join(each.removeprefix(_MUST_BE) for each in words)}, not {value}"


def _quote(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=lambda other: type(other).__name__)
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]}…"
