"""Messages from dicts, from OpenAI's and Anthropic's histories, and from the objects of their SDKs.

The SDKs themselves are not needed: their objects, and LangChain's, are recognised by their fields.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from memoranda.errors import InvalidType
from memoranda.messages.content import ROLE_NAMES, ToolCallMsg
from memoranda.messages.message import (
    CONVERTERS,
    Message,
    VendorMessage,
    each_message,
    is_message,
    is_vendor_object,
    text_of,
    to_plain_dict,
)

_TOOL_BLOCKS: Final = ("tool_use", "tool_result")
_CHUNK: Final = "MessageChunk"


def as_message(value: object) -> Message:
    """Return a message from a message, a dict, or an object of OpenAI's, Anthropic's or LangChain's SDK."""
    if isinstance(value, Message):
        return value.frozen()
    if isinstance(value, Mapping):
        return Message.from_dict(value)
    if is_vendor_object(value):
        return from_vendor(value)
    raise no_message(value)


def no_message(value: object) -> InvalidType:
    """Return the error for what is not a message."""
    return InvalidType(
        f"expected a Message or a dict, not {type(value).__name__}: give one, or a reply of OpenAI's, Anthropic's or "
        f"LangChain's SDK; {CONVERTERS}"
    )


def as_text(value: object, name: str = "content") -> str:
    """Return a text, or the text of a message that stands for it."""
    if isinstance(value, str):
        return value
    if not is_message(value):
        raise InvalidType(f"{name} must be a string or a message, not {type(value).__name__}; {CONVERTERS}")
    return text_of(as_message(value))


def as_texts(values: object, name: str) -> list[str]:
    """Return the texts of a list of texts and messages; a single one is an error, not a list of its characters."""
    if isinstance(values, str | bytes | Mapping) or is_message(values) or not isinstance(values, Iterable):
        raise InvalidType(f"{name} must be a list of texts or messages, not {type(values).__name__}; {CONVERTERS}")
    return [as_text(each, f"each of {name}") for each in values]


def vendor_text(value: Any) -> Any:
    """Return the text of an object of a vendor's SDK; JSON values, dicts too, as they are."""
    if value is None or isinstance(value, str | int | float | Sequence | Mapping):
        return value
    return as_text(value)


def from_openai(messages: Iterable[object] | VendorMessage) -> list[Message]:
    """Return messages from a chat completions history of dicts, objects of OpenAI's SDK, or both.

    A whole reply gives its message, and the output of a reply of the Responses API the messages in it, without the
    reasoning.
    """
    if is_vendor_object(messages):
        return [as_message(messages)]
    plain = [to_plain_dict(message) for message in each_message(messages)]
    return [_parse_item(data) for data in plain if data.get("type") != "reasoning"]


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


def from_vendor(value: object) -> Message:
    """Return a message from an object of a vendor's SDK; `InvalidType` names the converters when it is none."""
    data: dict[str, Any] = to_plain_dict(value)
    found = Message.from_dict(data) if data.get("type") == "reasoning" else from_plain(data)
    if found is None:
        raise InvalidType(
            f"{type(value).__name__} is not a message, as it has no role: give a Message, a dict with role and "
            f"content, or a reply of OpenAI's, Anthropic's or LangChain's SDK; {CONVERTERS}"
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


def _parse_item(data: dict[str, object]) -> Message:
    if data.get("role") and data.get("type") != "message":
        return _parse_openai_message(data)

    return from_plain(data) or _parse_openai_message(data)


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
