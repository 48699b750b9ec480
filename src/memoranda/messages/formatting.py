"""Messages in OpenAI's and Anthropic's formats."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.messages.content import ToolCallMsg, image_url, split_data_url
from memoranda.messages.message import Message, Part, each_message, parts_of, text_of
from memoranda.messages.parsing import as_message, split_tool_blocks
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
        parts = [
            _format_openai_part(part, message.role) for part in parts_of(message) if part["type"] not in _IGNORED_PARTS
        ]
        if message.role == "tool":
            images += [part for part in parts if part["type"] == "image_url"]
            parts = [part for part in parts if part["type"] != "image_url"]
        formatted.append(_format_openai_message(message, parts))
    return [*formatted, {"role": "user", "content": images}] if images else formatted


def _format_openai_message(message: Message, parts: list[Part]) -> dict[str, JSON]:
    entry: dict[str, JSON] = {"role": message.role, "content": _format_content(parts)}
    if message.tool_calls:
        entry["content"] = entry["content"] or None
        entry["tool_calls"] = [_format_openai_call(call) for call in message.tool_calls]
    if message.role == "tool":
        entry["tool_call_id"] = message.tool_call_id
    elif message.name and (name := _NOT_ALLOWED_IN_NAME.sub("_", message.name)[:_MAX_NAME]):
        entry["name"] = name
    return entry


def _format_openai_call(call: ToolCallMsg) -> dict[str, JSON]:
    return {key: value for key, value in call.to_dict().items() if key != "call_id"}


def _format_content(parts: list[Part]) -> JSON:
    if not parts:
        return ""
    if len(parts) == 1 and parts[0]["type"] == "text":
        return parts[0]["text"]
    return list(parts)


def _format_openai_part(part: Part, role: str) -> Part:
    kind = part["type"]
    if kind not in _ALLOWED_PARTS[role]:
        raise InvalidInput(f"OpenAI takes no {kind!r} in a {role} message: leave it out, or move it to a user message")
    image = part.get("image_url")
    if isinstance(image, dict):
        return {"type": "image_url", "image_url": image | {"url": image_url(str(image.get("url")))}}
    if kind == "text":
        return {"type": "text", "text": part.get("text", "")}
    return part


_UNSUPPORTED_PARTS: Final = ("input_audio", "file")


def format_for_anthropic(messages: Iterable[Message | Mapping[str, object]]) -> list[dict[str, JSON]]:
    """Return the messages in the format of Anthropic's API.

    Consecutive messages of one role are merged, and tool results become part of a user message. System messages are
    left out (see `system_text`), empty ones too. A user's name is put in front of the text.
    """
    turns: list[tuple[str, list[JSON]]] = []
    for message in pair_tool_results(messages):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [] if message.role == "system" else _format_anthropic_message(message)
        if blocks and turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, [*blocks]))
    return [{"role": role, "content": _simplify_content(blocks)} for role, blocks in turns]


def system_text(messages: Iterable[Message | Mapping[str, object]]) -> str:
    """Return the text of the system messages, for Anthropic's `system` argument; empty when there are none."""
    system = (message for message in map(as_message, each_message(messages)) if message.role == "system")
    return "\n\n".join(text for message in system if (text := text_of(message)))


def _format_anthropic_message(message: Message) -> list[Part]:
    blocks = [block for part in parts_of(message) if (block := _format_anthropic_part(part, message.role)) is not None]
    if message.role == "tool":
        return [_format_result(message, blocks)]
    if message.role == "user" and message.name:
        blocks = _add_name(message.name, blocks)
    return blocks + [_format_anthropic_call(call) for call in message.tool_calls or ()]


def _format_anthropic_part(part: Part, role: str) -> Part | None:
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


def _format_anthropic_call(call: ToolCallMsg) -> Part:
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


def pair_tool_results(messages: Iterable[Message | Mapping[str, object]]) -> list[Message]:
    """Return the messages, each tool result with the `id` of its call as `tool_call_id`.

    Raise `InvalidInput` for a result without a call, and for a call without a result. Calls at the very end may be
    open: the program is about to run them.
    """
    open_calls: dict[str, str] = {}
    """`id` and `call_id` of each call without a result → its `id`."""
    paired = []
    for position, item in enumerate(each_message(messages)):
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
