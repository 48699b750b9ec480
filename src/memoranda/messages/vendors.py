"""Messages from objects of the vendors' SDKs: OpenAI's and Anthropic's replies, LangChain's messages, other models.

The SDKs themselves are not needed: their objects are recognised by their fields.
"""

from __future__ import annotations

import json
from typing import Any, Final

from memoranda.errors import InvalidType
from memoranda.messages.anthropic import from_anthropic
from memoranda.messages.dicts import ROLE_NAMES
from memoranda.messages.message import CONVERTERS, Message, to_plain_dict
from memoranda.messages.openai import from_openai

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
