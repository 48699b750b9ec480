"""Dict messages as they come from elsewhere, as the fields of a `Message`; what had another form is kept as it was."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Final

from memoranda.errors import InvalidInput
from memoranda.messages.content import freeze
from memoranda.validation import check_datetime

ROLE_NAMES: Final = {
    **{role: role for role in ("system", "user", "assistant", "tool")},
    **{"developer": "system", "function": "tool"},  # OpenAI's newer and older names
    **{"human": "user", "ai": "assistant", "model": "assistant"},  # LangChain's and Google's
}
"""The role of a message by the names that vendors use."""
_EPOCH: Final = re.compile(r"\d{9,13}(\.\d+)?")
"""Seconds or milliseconds since 1970, as text; shorter texts of digits are dates."""
_MILLISECONDS_FROM: Final = 1e11
"""As seconds this would be the year 5138."""


def add_missing_fields(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a dict message with a role, and with the calls and results that it has in another form.

    What OpenAI's Responses API returns has a type instead, and its retired form calls one function by its name.
    """
    if data.get("role") is None:
        return {**data, **_fields_by_type(data)}
    call = data.get("function_call")
    if isinstance(call, Mapping) and not data.get("tool_calls"):
        return {**data, "tool_calls": [_to_call(call, call.get("name"))]}
    if data.get("role") == "function" and not data.get("tool_call_id"):
        return {**data, "tool_call_id": data.get("name")}
    return data


def _fields_by_type(data: Mapping[str, Any]) -> dict[str, Any]:
    kind = str(data.get("type"))
    if kind.endswith("_output"):
        return {"role": "tool", "content": _as_text(data.get("output")), "tool_call_id": data.get("call_id")}
    if kind == "function_call":
        return {"role": "assistant", "tool_calls": [_to_call(data, data.get("call_id"))]}
    if kind in ROLE_NAMES and "content" in data:
        return {"role": kind}
    if kind == "reasoning" or kind.endswith("_call"):
        return {"role": "assistant"}
    raise InvalidInput(f"a message needs a 'role': one of {', '.join(dict.fromkeys(ROLE_NAMES.values()))}")


def to_fields(fields: dict[str, Any], others: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the fields as a `Message` takes them, and the message's own keys with what these were as given."""
    found = dict(fields)
    if isinstance(found["role"], str):
        found["role"] = ROLE_NAMES.get(found["role"].strip().lower(), found["role"])
    if "content" in found:
        found["content"] = _to_content(found["content"])
    if isinstance(found.get("timestamp"), str | int | float):
        found["timestamp"] = to_time(_as_moment(found["timestamp"]))
    changed = {key: fields[key] for key in ("role", "content", "timestamp") if key in fields}
    return found, others | {key: value for key, value in changed.items() if not _is_same(value, found[key])}


def id_text(value: object) -> object:
    """Return a number that is used as an id as a text."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def to_time(value: object) -> datetime:
    """Return a moment with a zone, from one, its text, or the seconds or milliseconds since 1970."""
    if value is None:
        return datetime.now(UTC)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return check_datetime(value, "timestamp")
    try:
        return datetime.fromtimestamp(value / 1000 if abs(value) >= _MILLISECONDS_FROM else value, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(f"timestamp is {value!r}, which is no moment that a calendar has") from error


def _to_content(given: object) -> object:
    """Return the content as a text, an object, or parts; other JSON becomes its text."""
    if isinstance(given, bool | int | float):
        return _as_text(freeze(given, "content"))
    if not isinstance(given, list | tuple):
        return given
    parts = [_to_part(part) for part in given]
    if parts == given and _is_parts(parts):
        return given
    return parts if _is_parts(parts) else _as_text(freeze(given, "content"))


def _is_parts(values: list[object]) -> bool:
    """Return whether each is a part of a content: a dict with a type."""
    return all(isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in values)


def _to_part(given: object) -> object:
    if isinstance(given, str):
        return {"type": "text", "text": given}
    if isinstance(given, Mapping) and "type" not in given and isinstance(given.get("text"), str):
        return {"type": "text", **given}
    return given


def _to_call(data: Mapping[str, Any], call_id: object) -> dict[str, Any]:
    function = {"name": data.get("name"), "arguments": data.get("arguments") or "{}"}
    return {"id": call_id, "type": "function", "function": function}


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _is_same(given: object, found: object) -> bool:
    """Return whether a `Message` shows a field as it was given; True is not 1."""
    shown = found.isoformat() if isinstance(found, datetime) else found
    return given is found or (type(given) is type(shown) and given == shown)


def _as_moment(value: object) -> object:
    """Return a text of digits as the number that it is, and one without a zone as a moment of this computer's zone.

    `datetime.now()` writes the latter.
    """
    if isinstance(value, str) and _EPOCH.fullmatch(value):
        return float(value)
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        return moment.astimezone() if moment is not None and moment.tzinfo is None else value
    except (ValueError, OverflowError, OSError):
        return value  # the check says what is wrong with it
