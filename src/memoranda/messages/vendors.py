"""Messages of vendors: `Message` to and from OpenAI's and Anthropic's formats, and from the objects of their SDKs.

The SDKs themselves are not needed: their objects, and LangChain's, are recognised by their fields.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.content import ROLE_NAMES, ToolCallMsg, image_url, split_data_url
from memoranda.messages.message import (
    CONVERTERS,
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
        return _parse_openai_message(data)

    return from_plain(data) or _parse_openai_message(data)


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


def _parse_openai_message(data: dict[str, object]) -> Message:
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


def from_anthropic(
    messages: Iterable[object] | VendorMessage, *, system: str | Iterable[object] | None = None
) -> list[Message]:
    """Return messages from an Anthropic history of dicts, objects of Anthropic's SDK, or both, or from one reply.

    A message with several tool results becomes several messages. `system` becomes the first message.
    """
    parsed = [_system_message(system)] if system else []
    for message in [messages] if is_vendor_object(messages) else each_message(messages):
        parsed += _parse_anthropic_message(to_plain_dict(message))
    return parsed


def split_tool_blocks(messages: Iterable[Message | Mapping[str, object]]) -> Iterator[Message]:
    """Yield the messages; one with Anthropic's blocks of tool calls or results becomes messages with calls and results.

    Such a message was added as a dict, without `from_anthropic`.
    """
    for message in map(as_message, each_message(messages)):
        content = message.content
        blocks = content if isinstance(content, list) else []
        if any(isinstance(block, dict) and block.get("type") in _TOOL_BLOCKS for block in blocks):
            yield from (replace(each, name=message.name) for each in _parse_anthropic_message(to_plain_dict(message)))
        else:
            yield message


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


def _system_message(system: str | Iterable[object]) -> Message:
    if isinstance(system, str):
        return Message("system", system)
    return Message("system", "\n\n".join(str(to_plain_dict(block).get("text", "")) for block in system))


def _parse_anthropic_message(data: dict[str, object]) -> list[Message]:
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


_CHUNK: Final = "MessageChunk"


def from_vendor(value: object) -> Message:
    """Return a message from an object of a vendor's SDK; `InvalidType` names the converters when it is none."""
    data: dict[str, Any] = to_plain_dict(value)
    found = Message.from_dict(data) if data.get("type") == "reasoning" else from_plain(data)
    if found is None:
        raise InvalidType(
            f"{type(value).__name__} is no message, as it has no role: give a Message, a dict with role and content, "
            f"or a reply of OpenAI's, Anthropic's or LangChain's SDK; {CONVERTERS}"
        )
    return found


def from_plain(data: dict[str, Any]) -> Message | None:
    """Return a message from the fields of a vendor's object; None when it is no message."""
    if data.get("choices"):
        reply = data["choices"][0].get("message")  # a chunk of a stream has a delta instead
        return reply and _from_openai({**reply, "id": data.get("id"), "timestamp": data.get("created")})
    if data.get("object") == "response":
        return _from_response(data)
    if isinstance(data.get("message"), dict) and "finish_reason" in data:  # a choice of a completion
        return _from_openai(data["message"])
    if data.get("type") == "function_call":
        return _from_response({"output": [data], "id": data.get("id")})
    if data.get("type") == "function_call_output":
        return _from_call_output(data)
    if str(data.get("type")).removesuffix(_CHUNK).lower() in ROLE_NAMES and "content" in data:
        return _from_langchain(data)
    if data.get("type") == "message" and isinstance(data.get("content"), list):
        return _from_blocks(data)
    return _from_openai(data) if data.get("role") else None


def _from_openai(data: dict[str, Any]) -> Message:
    names = ("role", "content", "name", "tool_calls", "tool_call_id", "id", "message_id", "timestamp", "refusal")
    kept = {name: data[name] for name in names if data.get(name) is not None}
    if kept.pop("refusal", None) and "content" not in kept:
        kept["content"] = data["refusal"]
    return from_openai([kept])[0]


def _from_response(data: dict[str, Any]) -> Message:
    """Return a reply of OpenAI's Responses API: its texts and its calls as one message."""
    output = [item for item in data.get("output", ()) if isinstance(item, dict)]
    texts = [part.get("text", "") for item in output for part in item.get("content") or () if "text" in part]
    calls = [
        {"id": item["call_id"], "function": {"name": item["name"], "arguments": item["arguments"]}}
        for item in output
        if item.get("type") == "function_call"
    ]
    reply = {"role": "assistant", "content": "\n".join(texts) or None, "tool_calls": calls or None}
    return _from_openai({**reply, "id": data.get("id"), "timestamp": data.get("created_at")})


def _from_call_output(data: dict[str, Any]) -> Message:
    """Return the result of a call in OpenAI's Responses API as a tool message."""
    output = data.get("output")
    content = output if isinstance(output, str) else json.dumps(output, ensure_ascii=False)
    return _from_openai({"role": "tool", "content": content, "tool_call_id": data.get("call_id"), "id": data.get("id")})


def _from_blocks(data: dict[str, Any]) -> Message:
    """Return a message that is made of blocks: Anthropic's, or a part of OpenAI's Responses API."""
    texts = ("output_text", "input_text")
    blocks = [{**block, "type": "text"} if block.get("type") in texts else block for block in data["content"]]
    message = from_anthropic([{"role": data.get("role"), "content": blocks}])[-1]
    return Message.from_dict({**message.to_dict(), "message_id": data["id"]}) if data.get("id") else message


def _from_langchain(data: dict[str, Any]) -> Message:
    kind = str(data["type"]).removesuffix(_CHUNK).lower()
    calls = [
        {"id": call.get("id"), "function": {"name": call.get("name"), "arguments": json.dumps(call.get("args", {}))}}
        for call in data.get("tool_calls") or ()
    ]
    return _from_openai({**data, "role": kind, "tool_calls": calls or None})
