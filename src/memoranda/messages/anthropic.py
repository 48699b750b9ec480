"""Messages to and from Anthropic's format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from memoranda.errors import InvalidInput
from memoranda.messages.calls import ToolCallMsg
from memoranda.messages.images import image_url, split_data_url
from memoranda.messages.message import Message, as_message
from memoranda.messages.parts import Part, paired, parts_of, plain, text_of
from memoranda.types import JSON

_FOREIGN: Final = ("input_audio", "file")


def format_for_anthropic(messages: Iterable[Message | Mapping[str, object]]) -> list[dict[str, JSON]]:
    """Messages as Anthropic's API takes them: turns of one role merged, results of tools in the user's turn.

    System messages are apart (`system_text`), empty ones are left out, and a user's name stands before the words.
    """
    turns: list[tuple[str, list[JSON]]] = []
    for message in paired(messages):
        role = "assistant" if message.role == "assistant" else "user"
        blocks = [] if message.role == "system" else _blocks(message)
        if blocks and turns and turns[-1][0] == role:
            turns[-1][1].extend(blocks)
        elif blocks:
            turns.append((role, [*blocks]))
    return [{"role": role, "content": _collapsed(blocks)} for role, blocks in turns]


def system_text(messages: Iterable[Message | Mapping[str, object]]) -> str:
    """What the system messages say, for Anthropic's `system` argument; empty when there are none."""
    said = (as_message(message) for message in messages)
    return "\n\n".join(text for message in said if message.role == "system" and (text := text_of(message)))


def from_anthropic(messages: Iterable[object], *, system: str | Iterable[object] | None = None) -> list[Message]:
    """Messages from an Anthropic history: dicts, objects of Anthropic's SDK, or both mixed.

    A turn that answers several tool calls becomes several messages. `system` is put in front.
    """
    taken = [_system_message(system)] if system else []
    for message in messages:
        taken += _taken_in(plain(message))
    return taken


def _blocks(message: Message) -> list[Part]:
    blocks = [block for part in parts_of(message) if (block := _block(part, message.role)) is not None]
    if message.role == "tool":
        return [_result(message, blocks)]
    if message.role == "user" and message.name:
        blocks = _named(message.name, blocks)
    return blocks + [_use(call) for call in message.tool_calls or ()]


def _block(part: Part, role: str) -> Part | None:
    kind = part["type"]
    if kind in _FOREIGN:
        raise InvalidInput(f"Anthropic takes no {kind!r} part: leave it out")
    if kind in ("text", "refusal"):
        text = str(part.get("text") or part.get("refusal") or "")
        hint: Part = {"cache_control": part["cache_control"]} if part.get("cache_control") else {}
        return {"type": "text", "text": text, **hint} if text.strip() else None
    picture = part.get("image_url")
    if not isinstance(picture, dict):
        return part
    if role == "assistant":
        raise InvalidInput("Anthropic takes no image in an assistant message: move it to a user message")
    return _image(image_url(str(picture.get("url"))))


def _image(url: str) -> Part:
    if not url.startswith("data:"):
        return {"type": "image", "source": {"type": "url", "url": url}}
    kind, data = split_data_url(url)
    return {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}}


def _named(name: str, blocks: list[Part]) -> list[Part]:
    for i, block in enumerate(blocks):
        if block["type"] == "text":
            return [*blocks[:i], {**block, "text": f"{name}: {block['text']}"}, *blocks[i + 1 :]]
    return blocks


def _use(call: ToolCallMsg) -> Part:
    arguments = call.parsed_arguments()
    if not isinstance(arguments, dict):
        raise InvalidInput(f"the arguments of the call to {call.name!r} must be a JSON object for Anthropic")
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _result(message: Message, blocks: list[Part]) -> Part:
    result: Part = {"type": "tool_result", "tool_use_id": message.tool_call_id}
    if blocks:
        result["content"] = _collapsed([*blocks])
    if message.metadata.get("is_error") is True:
        result["is_error"] = True
    return result


def _collapsed(blocks: list[JSON]) -> JSON:
    only = blocks[0] if len(blocks) == 1 else None
    if isinstance(only, dict) and only["type"] == "text" and len(only) == 2:
        return only["text"]
    return blocks


def _system_message(system: str | Iterable[object]) -> Message:
    if isinstance(system, str):
        return Message("system", system)
    return Message("system", "\n\n".join(str(plain(block).get("text", "")) for block in system))


def _taken_in(data: dict[str, object]) -> list[Message]:
    content = data.get("content")
    if not isinstance(content, list):
        return [Message(str(data.get("role")), content)]  # type: ignore[arg-type]  # the constructor checks it
    blocks = [plain(block) for block in content]
    results = [_from_result(block) for block in blocks if block.get("type") == "tool_result"]
    calls = [_from_use(block) for block in blocks if block.get("type") == "tool_use"]
    said = [block for block in blocks if block.get("type") not in ("tool_result", "tool_use")]
    if said or calls or not results:
        results.append(Message(str(data.get("role")), _said(said), tool_calls=calls))
    return results


def _said(blocks: list[dict[str, object]]) -> str | list[dict[str, object]] | None:
    if len(blocks) == 1 and blocks[0].get("type") == "text" and not blocks[0].get("cache_control"):
        return str(blocks[0].get("text", ""))
    return blocks or None


def _from_use(block: dict[str, object]) -> ToolCallMsg:
    identity = str(block.get("id") or "")
    return ToolCallMsg(identity, identity, "function", str(block.get("name") or ""), json.dumps(block.get("input", {})))


def _from_result(block: dict[str, object]) -> Message:
    content = block.get("content")
    if isinstance(content, list):
        content = _said([plain(part) for part in content])
    failed = {"is_error": True} if block.get("is_error") else None
    return Message("tool", content, tool_call_id=str(block.get("tool_use_id")), metadata=failed)  # type: ignore[arg-type]
