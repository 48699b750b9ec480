"""Messages as lists of parts, the form from which each vendor's format is made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.frozen import thaw
from memoranda.messages.message import Message, as_message
from memoranda.types import JSON

Part: TypeAlias = dict[str, JSON]
"""`{"type": "text", "text": …}`, `{"type": "image_url", "image_url": {"url": …}}`, or a type of one vendor."""


def parts_of(message: Message) -> list[Part]:
    """Return the content of a message in order, without tool calls and tool results.

    Structured content, structured data and agent calls become JSON text, because no vendor has a field for them.
    """
    parts = _content_parts(message)
    if message.structured_data is not None:
        parts.append(_text_part(_to_json(message.structured_data)))
    if message.agent_calls:
        parts.append(_text_part(_to_json({"agent_calls": [call.to_dict() for call in message.agent_calls]})))
    return parts + [_image_part(reference) for reference in message.images or ()]


def text_of(message: Message) -> str:
    """Return the text of a message, without images."""
    return "\n".join(str(part.get("text", "")) for part in parts_of(message) if part["type"] == "text")


def to_plain_dict(value: object) -> dict[str, object]:
    """Return a vendor's message as a dict, from a dict or from an object of the vendor's SDK."""
    if isinstance(value, Mapping):
        return {key: _to_plain(item) for key, item in value.items()}
    dumped = _dump_model(value)
    if dumped is None:
        raise InvalidType(f"expected a dict or an SDK object, not {type(value).__name__}")
    return dumped


def pair_tool_results(messages: Iterable[Message | Mapping[str, object]]) -> list[Message]:
    """Return the messages, each tool result with the `id` of its call as `tool_call_id`.

    Raise `InvalidInput` for a result without a call, and for a call without a result. Calls at the very end may be
    open: the program is about to run them.
    """
    open_calls: dict[str, str] = {}
    """`id` and `call_id` of each call without a result → its `id`."""
    paired = []
    for position, item in enumerate(messages):
        message = as_message(item)
        if message.role == "tool":
            message = _close_call(message, open_calls, position)
        elif open_calls:
            call = next(iter(open_calls.values()))
            raise InvalidInput(
                f"the tool call {call!r} has no result before message {position}: add a tool message that answers it"
            )
        paired.append(message)
        for tool_call in message.tool_calls or ():
            open_calls[tool_call.id] = tool_call.id
            open_calls[tool_call.call_id] = tool_call.id
    return paired


def _to_plain(value: object) -> object:
    if isinstance(value, str | bytes | None):
        return value
    if isinstance(value, Mapping):
        return to_plain_dict(value)
    if isinstance(value, list | tuple):
        return [_to_plain(item) for item in value]
    dumped = _dump_model(value)
    return value if dumped is None else dumped


def _dump_model(value: object) -> dict[str, object] | None:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else None


def _content_parts(message: Message) -> list[Part]:
    content = message.content
    if isinstance(content, str):
        return [_text_part(content)] if content else []
    if isinstance(content, list):
        return [_normalize_image(thaw(part)) for part in content]
    return [] if content is None else [_text_part(_to_json(content))]


def _normalize_image(part: Part) -> Part:
    """Return Anthropic's image part as an `image_url` part; other parts are unchanged."""
    source = part.get("source")
    if part["type"] != "image" or not isinstance(source, dict):
        return part
    if source.get("type") == "url":
        return _image_part(str(source.get("url")))
    if source.get("type") == "base64":
        return _image_part(f"data:{source.get('media_type')};base64,{source.get('data')}")
    return part


def _text_part(text: str) -> Part:
    return {"type": "text", "text": text}


def _image_part(reference: str) -> Part:
    return {"type": "image_url", "image_url": {"url": reference}}


def _to_json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def _close_call(message: Message, open_calls: dict[str, str], position: int) -> Message:
    result_id = message.tool_call_id
    if result_id is None:
        raise InvalidInput(f"message {position} is a tool result without a tool_call_id: say which call it answers")
    if result_id not in open_calls:
        raise InvalidInput(
            f"message {position} answers the tool call {result_id!r}, which is not open before it: "
            "keep a call and its results together (get_window does)"
        )
    call = open_calls[result_id]
    for key in [key for key, target in open_calls.items() if target == call]:
        del open_calls[key]
    return message if result_id == call else replace(message, tool_call_id=call)
