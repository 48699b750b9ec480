"""Converts messages to and from Anthropic's format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.messages.content import ToolCallMsg, image_url, split_data_url
from memoranda.messages.message import (
    Message,
    Part,
    VendorMessage,
    as_message,
    each_message,
    is_vendor_object,
    pair_tool_results,
    parts_of,
    text_of,
    to_plain_dict,
)
from memoranda.types import JSON

_TOOL_BLOCKS: Final = ("tool_use", "tool_result")
_UNSUPPORTED_PARTS: Final = ("input_audio", "file")


def format_for_anthropic(messages: Iterable[Message | Mapping[str, object]]) -> list[dict[str, JSON]]:
    """Return the messages in the format of Anthropic's API.

    Consecutive messages of one role are merged, and tool results become part of a user message. System messages are
    left out (see `system_text`), empty ones too. A user's name is put in front of the text.
    """
    turns: list[tuple[str, list[JSON]]] = []
    for message in pair_tool_results(messages):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [] if message.role == "system" else _format_message(message)
        if blocks and turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, [*blocks]))
    return [{"role": role, "content": _simplify_content(blocks)} for role, blocks in turns]


def system_text(messages: Iterable[Message | Mapping[str, object]]) -> str:
    """Return the text of the system messages, for Anthropic's `system` argument; empty when there are none."""
    system = (message for message in map(as_message, each_message(messages)) if message.role == "system")
    return "\n\n".join(text for message in system if (text := text_of(message)))


def from_anthropic(
    messages: Iterable[object] | VendorMessage, *, system: str | Iterable[object] | None = None
) -> list[Message]:
    """Return messages from an Anthropic history of dicts, objects of Anthropic's SDK, or both, or from one reply.

    A message with several tool results becomes several messages. `system` becomes the first message.
    """
    parsed = [_system_message(system)] if system else []
    for message in [messages] if is_vendor_object(messages) else each_message(messages):
        parsed += _parse_message(to_plain_dict(message))
    return parsed


def split_tool_blocks(messages: Iterable[Message | Mapping[str, object]]) -> Iterator[Message]:
    """Yield the messages; one with Anthropic's blocks of tool calls or results becomes messages with calls and results.

    Such a message was added as a dict, without `from_anthropic`.
    """
    for message in map(as_message, each_message(messages)):
        content = message.content
        blocks = content if isinstance(content, list) else []
        if any(isinstance(block, dict) and block.get("type") in _TOOL_BLOCKS for block in blocks):
            yield from (replace(each, name=message.name) for each in _parse_message(to_plain_dict(message)))
        else:
            yield message


def _format_message(message: Message) -> list[Part]:
    blocks = [block for part in parts_of(message) if (block := _format_part(part, message.role)) is not None]
    if message.role == "tool":
        return [_format_result(message, blocks)]
    if message.role == "user" and message.name:
        blocks = _add_name(message.name, blocks)
    return blocks + [_format_call(call) for call in message.tool_calls or ()]


def _format_part(part: Part, role: str) -> Part | None:
    kind = part["type"]
    if kind in _UNSUPPORTED_PARTS:
        raise InvalidInput(f"Anthropic takes no {kind!r} part: leave it out")
    if kind in ("text", "refusal"):
        text = str(part.get("text") or part.get("refusal") or "")
        caching: Part = {"cache_control": part["cache_control"]} if part.get("cache_control") else {}
        return {"type": "text", "text": text, **caching} if text.strip() else None
    image = part.get("image_url")
    if not isinstance(image, dict):
        return part
    if role == "assistant":
        raise InvalidInput("Anthropic takes no image in an assistant message: move it to a user message")
    return _format_image(image_url(str(image.get("url"))))


def _format_image(url: str) -> Part:
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, data = split_data_url(url)
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _add_name(name: str, blocks: list[Part]) -> list[Part]:
    for i, block in enumerate(blocks):
        if block["type"] == "text":
            return [*blocks[:i], {**block, "text": f"{name}: {block['text']}"}, *blocks[i + 1 :]]
    return blocks


def _format_call(call: ToolCallMsg) -> Part:
    arguments = call.parsed_arguments()
    if not isinstance(arguments, dict):
        raise InvalidInput(f"the arguments of the call to {call.name!r} must be a JSON object for Anthropic")
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _format_result(message: Message, blocks: list[Part]) -> Part:
    result: Part = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    if blocks:
        result["content"] = _simplify_content([*blocks])
    if message.metadata.get("is_error") is True:
        result["is_error"] = True
    return result


def _simplify_content(blocks: list[JSON]) -> JSON:
    only = blocks[0] if len(blocks) == 1 else None
    if isinstance(only, dict) and only["type"] == "text" and len(only) == 2:
        return only["text"]
    return blocks


def _system_message(system: str | Iterable[object]) -> Message:
    if isinstance(system, str):
        return Message("system", system)
    return Message("system", "\n\n".join(str(to_plain_dict(block).get("text", "")) for block in system))


def _parse_message(data: dict[str, object]) -> list[Message]:
    content = data.get("content")
    if not isinstance(content, list):
        return [Message(str(data.get("role")), content)]  # type: ignore[arg-type]  # the constructor checks it
    blocks = [to_plain_dict(block) for block in content]
    results = [_parse_result(block) for block in blocks if block.get("type") == "tool_result"]
    calls = [_parse_call(block) for block in blocks if block.get("type") == "tool_use"]
    others = [block for block in blocks if block.get("type") not in _TOOL_BLOCKS]
    if others or calls or not results:
        results.append(Message(str(data.get("role")), _parse_content(others), tool_calls=calls))
    return results


def _parse_content(blocks: list[dict[str, object]]) -> str | list[dict[str, object]] | None:
    if len(blocks) == 1 and blocks[0].get("type") == "text" and not blocks[0].get("cache_control"):
        return str(blocks[0].get("text", ""))
    return blocks or None


def _parse_call(block: dict[str, object]) -> ToolCallMsg:
    call_id = str(block.get("id") or "")
    return ToolCallMsg(call_id, call_id, "function", str(block.get("name") or ""), json.dumps(block.get("input", {})))


def _parse_result(block: dict[str, object]) -> Message:
    content = block.get("content")
    if isinstance(content, list):
        content = _parse_content([to_plain_dict(part) for part in content])
    metadata = {"is_error": True} if block.get("is_error") else None
    return Message("tool", content, tool_call_id=str(block.get("tool_use_id")), metadata=metadata)  # type: ignore[arg-type]
