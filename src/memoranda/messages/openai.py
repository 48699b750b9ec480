"""Messages to and from OpenAI's chat format."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.messages.images import image_url
from memoranda.messages.message import Message
from memoranda.messages.parts import Part, paired, parts_of, plain
from memoranda.types import JSON

_KINDS: Final[dict[str, tuple[str, ...]]] = {
    "system": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text", "image_url"),
}
# Another vendor's reasoning means nothing to this one.
_LEFT_OUT: Final = ("thinking", "redacted_thinking")
_NAME_LIMIT: Final = 64
_NOT_IN_A_NAME: Final = re.compile(r"[\s<|\\/>]+")


def format_for_openai(messages: Iterable[Message | Mapping[str, object]]) -> list[dict[str, JSON]]:
    """Messages as OpenAI's chat completions take them.

    Files named as images are read here. Pictures in a tool's result follow it in a user turn, where OpenAI wants them.
    """
    formatted: list[dict[str, JSON]] = []
    pictures: list[JSON] = []
    for message in paired(messages):
        if pictures and message.role != "tool":
            formatted.append({"role": "user", "content": pictures})
            pictures = []
        parts = [_part(part, message.role) for part in parts_of(message) if part["type"] not in _LEFT_OUT]
        if message.role == "tool":
            pictures += [part for part in parts if part["type"] == "image_url"]
            parts = [part for part in parts if part["type"] != "image_url"]
        formatted.append(_entry(message, parts))
    return [*formatted, {"role": "user", "content": pictures}] if pictures else formatted


def from_openai(messages: Iterable[object]) -> list[Message]:
    """Messages from a chat completions history: dicts, objects of OpenAI's SDK, or both mixed."""
    return [_taken_in(plain(message)) for message in messages]


def _entry(message: Message, parts: list[Part]) -> dict[str, JSON]:
    entry: dict[str, JSON] = {"role": message.role, "content": _content(parts)}
    if message.tool_calls:
        entry["content"] = entry["content"] or None
        entry["tool_calls"] = [_call(call.to_dict()) for call in message.tool_calls]
    if message.role == "tool":
        entry["tool_call_id"] = message.tool_call_id
    elif message.name and (name := _NOT_IN_A_NAME.sub("_", message.name)[:_NAME_LIMIT]):
        entry["name"] = name
    return entry


def _call(call: dict[str, JSON]) -> dict[str, JSON]:
    return {key: value for key, value in call.items() if key != "call_id"}


def _content(parts: list[Part]) -> JSON:
    if not parts:
        return ""
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return list(parts)


def _part(part: Part, role: str) -> Part:
    kind = part["type"]
    if kind not in _KINDS[role]:
        raise InvalidInput(f"OpenAI takes no {kind!r} in a {role} message: leave it out, or move it to a user message")
    picture = part.get("image_url")
    if isinstance(picture, dict):
        return {"type": "image_url", "image_url": picture | {"url": image_url(str(picture.get("url")))}}
    if kind == "text":
        return {"type": "text", "text": part.get("text", "")}
    return part


def _taken_in(data: dict[str, object]) -> Message:
    if data.get("role") == "developer":
        data["role"] = "system"
    if data.get("function_call") or data.get("role") == "function":
        raise InvalidInput("function_call is OpenAI's retired form: convert it to tool_calls first")
    calls = data.get("tool_calls")
    if isinstance(calls, list):
        data["tool_calls"] = [_with_arguments(call) for call in calls]
    return Message.from_dict(data)


def _with_arguments(call: object) -> object:
    """A tool without parameters is sometimes called with an empty text instead of `{}`."""
    function = call.get("function") if isinstance(call, dict) else None
    if isinstance(call, dict) and isinstance(function, dict) and function.get("arguments") == "":
        return call | {"function": function | {"arguments": "{}"}}
    return call
