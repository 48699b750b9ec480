"""A message as a row of parts, the form that every vendor's format is made from."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.calls import thaw
from memoranda.messages.message import Message, as_message
from memoranda.types import JSON

Part: TypeAlias = dict[str, JSON]
"""`{"type": "text", "text": …}`, `{"type": "image_url", "image_url": {"url": …}}`, or a vendor's own kind."""


def parts_of(message: Message) -> list[Part]:
    """What a message says, in order; calls and results of tools are not among it.

    Structured content, structured data and agent calls become their JSON text: no vendor has a place for them.
    """
    parts = _content_parts(message)
    if message.structured_data is not None:
        parts.append(_text(_as_json(message.structured_data)))
    if message.agent_calls:
        parts.append(_text(_as_json({"agent_calls": [call.to_dict() for call in message.agent_calls]})))
    return parts + [_image(reference) for reference in message.images or ()]


def text_of(message: Message) -> str:
    """The words of a message: what can be read, counted and summarised."""
    return "\n".join(str(part.get("text", "")) for part in parts_of(message) if part["type"] == "text")


def plain(value: object) -> dict[str, object]:
    """A vendor's message as a dict, whether it is one already or an object of the vendor's SDK."""
    if isinstance(value, Mapping):
        return {key: _plain_inside(item) for key, item in value.items()}
    dumped = _dumped(value)
    if dumped is None:
        raise InvalidType(f"expected a dict or an SDK object, not {type(value).__name__}")
    return dumped


def _plain_inside(value: object) -> object:
    if isinstance(value, str | bytes | None):
        return value
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, list | tuple):
        return [_plain_inside(item) for item in value]
    return value if _dumped(value) is None else _dumped(value)


def _dumped(value: object) -> dict[str, object] | None:
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", exclude_none=True) if callable(dump) else None


def _content_parts(message: Message) -> list[Part]:
    content = message.content
    if isinstance(content, str):
        return [_text(content)] if content else []
    if isinstance(content, list):
        return [_neutral(thaw(part)) for part in content]
    return [] if content is None else [_text(_as_json(content))]


def _neutral(part: Part) -> Part:
    source = part.get("source")
    if part["type"] != "image" or not isinstance(source, dict):
        return part
    if source.get("type") == "url":
        return _image(str(source.get("url")))
    if source.get("type") == "base64":
        return _image(f"data:{source.get('media_type')};base64,{source.get('data')}")
    return part


def _text(text: str) -> Part:
    return {"type": "text", "text": text}


def _image(reference: str) -> Part:
    return {"type": "image_url", "image_url": {"url": reference}}


def _as_json(value: JSON) -> str:
    return json.dumps(value, ensure_ascii=False)


def paired(messages: Iterable[Message | Mapping[str, object]]) -> list[Message]:
    """The messages, each result naming the `id` of its call; an error when the two do not meet.

    Calls at the very end may be open: they are what the program is about to run.
    """
    waiting: dict[str, str] = {}
    turns = []
    for position, given in enumerate(messages):
        message = as_message(given)
        if message.role == "tool":
            message = _answer(message, waiting, position)
        elif waiting:
            raise InvalidInput(_unanswered(waiting, position))
        turns.append(message)
        for call in message.tool_calls or ():
            waiting[call.id] = call.id
            waiting[call.call_id] = call.id
    return turns


def _answer(message: Message, waiting: dict[str, str], position: int) -> Message:
    named = message.tool_call_id
    if named is None:
        raise InvalidInput(f"message {position} is a tool result without a tool_call_id: say which call it answers")
    if named not in waiting:
        raise InvalidInput(
            f"message {position} answers the tool call {named!r}, which is not open before it: "
            "keep a call and its results together (get_window does)"
        )
    call = waiting[named]
    for name in [name for name, target in waiting.items() if target == call]:
        del waiting[name]
    return message if named == call else replace(message, tool_call_id=call)


def _unanswered(waiting: dict[str, str], position: int) -> str:
    call = next(iter(waiting.values()))
    return f"the tool call {call!r} has no result before message {position}: add a tool message that answers it"
