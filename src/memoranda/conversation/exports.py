"""Conversations out of the data exports of ChatGPT and Claude."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Final

from memoranda.conversation.files import read_json
from memoranda.errors import Incompatible, InvalidInput
from memoranda.messages.message import Message
from memoranda.types import JSON, Progress, Record

_FILE: Final = "conversations.json"
_MAX_UNPACKED: Final = 2_000_000_000


@dataclass(frozen=True, slots=True)
class ImportedConversation(Record):
    """One conversation of an export."""

    id: str
    title: str
    messages: tuple[Message, ...]


def read_chatgpt_export(path: str | PathLike[str], *, progress: Progress | None = None) -> list[ImportedConversation]:
    """The conversations of a ChatGPT data export: the zip as it came, or the `conversations.json` inside it.

    Of a conversation that was edited, the branch last shown is taken. What tools said becomes the assistant's words,
    marked in the metadata.
    """
    return _read(Path(path), "ChatGPT", "mapping", _chatgpt_messages, progress)


def read_claude_export(path: str | PathLike[str], *, progress: Progress | None = None) -> list[ImportedConversation]:
    """The conversations of a Claude data export: the zip as it came, or the `conversations.json` inside it.

    The texts of attached files are kept in the metadata.
    """
    return _read(Path(path), "Claude", "chat_messages", _claude_messages, progress)


_Mapping = Mapping[str, JSON]


def _read(
    path: Path,
    vendor: str,
    marker: str,
    messages_of: Callable[[_Mapping], Iterator[Message]],
    progress: Progress | None,
) -> list[ImportedConversation]:
    data = _load(path)
    if not isinstance(data, list):
        raise Incompatible(f"{path} is not a {vendor} export: it holds no list of conversations")
    found = []
    for number, item in enumerate(data, start=1):
        found.append(_conversation(item, f"conversation {number} in {path}", vendor, marker, messages_of))
        if progress:
            progress(number, len(data))
    return found


def _conversation(
    item: JSON, where: str, vendor: str, marker: str, messages_of: Callable[[_Mapping], Iterator[Message]]
) -> ImportedConversation:
    if not isinstance(item, dict) or marker not in item:
        raise Incompatible(f"{where} is not one of {vendor}'s: it has no {marker!r}")
    try:
        messages = tuple(messages_of(item))
    except InvalidInput as error:
        raise Incompatible(f"{where} cannot be read: {error}") from error
    identity = item.get("conversation_id") or item.get("id") or item.get("uuid") or ""
    return ImportedConversation(str(identity), str(item.get("title") or item.get("name") or ""), messages)


def _load(path: Path) -> JSON:
    if not zipfile.is_zipfile(path):
        return read_json(path)
    try:
        with zipfile.ZipFile(path) as archive:
            name = next((n for n in archive.namelist() if n.rpartition("/")[2] == _FILE), None)
            if name is None or archive.getinfo(name).file_size > _MAX_UNPACKED:
                raise Incompatible(f"{path} has no {_FILE} that can be read")
            data: JSON = json.loads(archive.read(name))
    except (ValueError, RecursionError, zipfile.BadZipFile) as error:
        raise Incompatible(f"{path} is damaged: {error}") from error
    return data


def _chatgpt_messages(conversation: _Mapping) -> Iterator[Message]:
    for node in _shown_branch(conversation):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author = _mapping(message.get("author"))
        role = str(author.get("role"))
        text = _chatgpt_text(_mapping(message.get("content")))
        if not text or role == "system" or _is_hidden(message):
            continue
        yield Message(
            "assistant" if role == "tool" else role,
            text,
            message_id=str(message.get("id") or node.get("id")),
            name=_text_or_none(author.get("name")),
            timestamp=_moment(message.get("create_time") or conversation.get("create_time")),
            metadata={"role": "tool"} if role == "tool" else None,
        )


def _shown_branch(conversation: _Mapping) -> list[_Mapping]:
    nodes = _mapping(conversation.get("mapping"))
    branch: list[_Mapping] = []
    at = conversation.get("current_node") or next(reversed(list(nodes)), None)
    while isinstance(at, str) and at in nodes and len(branch) < len(nodes):
        node = _mapping(nodes[at])
        branch.append(node)
        at = node.get("parent")
    return branch[::-1]


def _is_hidden(message: _Mapping) -> bool:
    return bool(_mapping(message.get("metadata")).get("is_visually_hidden_from_conversation"))


def _chatgpt_text(content: _Mapping) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = [part if isinstance(part, str) else str(_mapping(part).get("text") or "") for part in parts]
        return "\n".join(text for text in texts if text).strip()
    return str(content.get("text") or content.get("result") or "").strip()


def _claude_messages(conversation: _Mapping) -> Iterator[Message]:
    turns = conversation.get("chat_messages")
    for turn in turns if isinstance(turns, list) else ():
        given = _mapping(turn)
        attached = [_mapping(item) for item in _list(given.get("attachments"))]
        text = _claude_text(given)
        if not text and not attached:
            continue
        files = [{"name": item.get("file_name"), "text": item.get("extracted_content")} for item in attached]
        yield Message(
            "user" if given.get("sender") == "human" else str(given.get("sender")),
            text,
            message_id=_text_or_none(given.get("uuid")),
            timestamp=_moment(given.get("created_at") or conversation.get("created_at")),
            metadata={"attachments": files} if files else None,
        )


def _claude_text(turn: _Mapping) -> str:
    blocks = [_mapping(block) for block in _list(turn.get("content"))]
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if text).strip() or str(turn.get("text") or "").strip()


def _moment(value: JSON) -> datetime | str:
    if isinstance(value, str):
        return value
    try:
        return datetime.fromtimestamp(value, UTC)  # type: ignore[arg-type]  # what is not a number is refused below
    except (OverflowError, OSError, TypeError, ValueError) as error:
        raise InvalidInput(f"a message has no usable time: {value!r}") from error


def _mapping(value: JSON) -> _Mapping:
    return value if isinstance(value, dict) else {}


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _text_or_none(value: JSON) -> str | None:
    return value if isinstance(value, str) and value else None
