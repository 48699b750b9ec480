"""The filters of LangGraph's stores as those of items."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from memoranda.errors import InvalidInput, InvalidType
from memoranda.validation import MAX_CONDITIONS, MAX_DEPTH


def to_item_filter(conditions: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the filter for the manager. A dict is conditions on its fields, which get names with dots."""
    if not conditions:
        return None
    if not isinstance(conditions, Mapping):
        raise InvalidType(f"filter must be a dict, not {type(conditions).__name__}")
    found: dict[str, Any] = {}
    for field, wanted in (each for key, inner in conditions.items() for each in _to_conditions(key, inner)):
        if field in found or len(found) >= MAX_CONDITIONS:
            raise InvalidInput(f"the filter has {field!r} twice, or more than {MAX_CONDITIONS} conditions: give fewer")
        found[field] = wanted
    return found


def is_empty(value: Any, field: str) -> bool:
    """Return whether a field, with dots between its names, is None or missing in the dict that would have it."""
    *outer, last = field.split(".")
    for name in outer:
        value = value.get(name) if isinstance(value, Mapping) else None
    return isinstance(value, Mapping) and value.get(last) is None


def _to_conditions(field: str, wanted: Any) -> Iterator[tuple[str, Any]]:
    if _has_operators(wanted):
        yield field, wanted
    elif isinstance(wanted, Mapping) and wanted and field.count(".") < MAX_DEPTH:
        for name, inner in wanted.items():
            yield from _to_conditions(f"{field}.{name}", inner)
    else:
        yield field, {"$eq": wanted}


def _has_operators(wanted: object) -> bool:
    return isinstance(wanted, Mapping) and any(str(name).startswith("$") for name in wanted)
