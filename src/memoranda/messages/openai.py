"""Converts messages to and from OpenAI's chat format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.messages.anthropic import split_tool_blocks
from memoranda.messages.content import ToolCallMsg, image_url
from memoranda.messages.message import (
    Message,
    Part,
    VendorMessage,
    as_message,
    each_message,
    is_vendor_object,
    pair_tool_results,
    parts_of,
    to_plain_dict,
)
from memoranda.types import JSON

_ALLOWED_PARTS: Final[dict[str, tuple[str, ...]]] = {
    "system": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text", "image_url"),
}
# The reasoning of another vendor's model is of no use here.
_IGNORED_PARTS: Final = ("thinking", "redacted_thinking")
_MAX_NAME: Final = 64
_NOT_ALLOWED_IN_NAME: Final = re.compile(r"[\s<|\\/>]+")


def format_for_openai(messages: Iterable[Message | Mapping[str, object]]) -> list[dict[str, JSON]]:
    """Return the messages in the format of OpenAI's chat completions.

    Image files are read now. Images in a tool result are moved to a user message after it, because OpenAI accepts
    them only there.
    """
    formatted: list[dict[str, JSON]] = []
    images: list[JSON] = []
    for message in pair_tool_results(split_tool_blocks(messages)):
        if images and message.role != "tool":
            formatted.append({"role": "user", "content": images})
            images = []
        parts = [_format_part(part, message.role) for part in parts_of(message) if part["type"] not in _IGNORED_PARTS]
        if message.role == "tool":
            images += [part for part in parts if part["type"] == "image_url"]
            parts = [part for part in parts if part["type"] != "image_url"]
        formatted.append(_format_message(message, parts))
    return [*formatted, {"role": "user", "content": images}] if images else formatted


def from_openai(messages: Iterable[object] | VendorMessage) -> list[Message]:
    """Return messages from a chat completions history of dicts, objects of OpenAI's SDK, or both.

    A whole reply gives its message, and the output of a reply of the Responses API the messages in it, without the
    reasoning.
    """
    if is_vendor_object(messages):
        return [as_message(messages)]
    plain = [to_plain_dict(message) for message in each_message(messages)]
    return [_parse_item(data) for data in plain if data.get("type") != "reasoning"]


def _parse_item(data: dict[str, object]) -> Message:
    if data.get("role") and data.get("type") != "message":
        return _parse_message(data)
    from memoranda.messages.vendors import from_plain  # it imports this module

    return from_plain(data) or _parse_message(data)


def _format_message(message: Message, parts: list[Part]) -> dict[str, JSON]:
    entry: dict[str, JSON] = {"role": message.role, "content": _format_content(parts)}
    if message.tool_calls:
        entry["content"] = entry["content"] or None
        entry["tool_calls"] = [_format_call(call) for call in message.tool_calls]
    if message.role == "tool":
        entry["tool_call_id"] = message.tool_call_id
    elif message.name and (name := _NOT_ALLOWED_IN_NAME.sub("_", message.name)[:_MAX_NAME]):
        entry["name"] = name
    return entry


def _format_call(call: ToolCallMsg) -> dict[str, JSON]:
    return {key: value for key, value in call.to_dict().items() if key != "call_id"}


def _format_content(parts: list[Part]) -> JSON:
    if not parts:
        return ""
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return list(parts)


def _format_part(part: Part, role: str) -> Part:
    kind = part["type"]
    if kind not in _ALLOWED_PARTS[role]:
        raise InvalidInput(f"OpenAI takes no {kind!r} in a {role} message: leave it out, or move it to a user message")
    image = part.get("image_url")
    if isinstance(image, dict):
        return {"type": "image_url", "image_url": image | {"url": image_url(str(image.get("url")))}}
    if kind == "text":
        return {"type": "text", "text": part.get("text", "")}
    return part


def _parse_message(data: dict[str, object]) -> Message:
    calls = data.get("tool_calls")
    if isinstance(calls, list):
        data["tool_calls"] = [_fill_empty_arguments(call) for call in calls]
    return Message.from_dict(data)


def _fill_empty_arguments(call: object) -> object:
    """Replace empty arguments by `{}`: some models send them for a tool without parameters."""
    function = call.get("function") if isinstance(call, dict) else None
    if isinstance(call, dict) and isinstance(function, dict) and function.get("arguments") == "":
        return call | {"function": function | {"arguments": "{}"}}
    return call
