"""Conversations out of the data exports of ChatGPT and Claude."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar

from memoranda.conversation.memory import build_state, check_state, parse_messages, read_json, write_atomically
from memoranda.errors import Incompatible, InvalidInput, MemorandaError
from memoranda.messages.message import Message, as_message
from memoranda.messages.parts import text_of
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


_T = TypeVar("_T")


def export_conversation(
    messages: Iterable[Message | Mapping[str, object]], path: str | PathLike[str], *, title: str = "Conversation"
) -> None:
    """Writes messages as the file's ending says: `.json`, `.jsonl` or `.md`. The file is never half written."""
    target = Path(path)
    writer = _chosen(_WRITERS, target, "export")
    write_atomically(target, writer([as_message(message) for message in messages], title))


def import_conversation(path: str | PathLike[str], *, progress: Progress | None = None) -> list[Message]:
    """The messages of a `.json` or `.jsonl` file; an error names the line or the message that is wrong."""
    source = Path(path)
    return _chosen(_READERS, source, "import")(source, progress)


def to_jsonl(messages: Iterable[Message]) -> str:
    """One message a line, lossless."""
    return "".join(json.dumps(message.to_dict(), ensure_ascii=False) + "\n" for message in messages)


def to_markdown(messages: Iterable[Message], title: str = "Conversation") -> str:
    """A page to read: who said what and when, with tool calls and pictures named."""
    return f"# {title}\n\n" + "\n".join(_section(message) for message in messages)


def _section(message: Message) -> str:
    who = message.name or message.role
    lines = [f"**{who}** · {message.timestamp:%Y-%m-%d %H:%M} UTC", ""]
    if text := text_of(message):
        lines += [text, ""]
    for call in message.tool_calls or ():
        lines += [f"- calls `{call.name}` with `{call.arguments}`", ""]
    for image in message.images or ():
        lines += ["- a picture" if image.startswith("data:") else f"- picture: {image}", ""]
    return "\n".join(lines)


def _write_json(messages: Sequence[Message], title: str) -> str:
    return json.dumps(build_state(messages, title=title), ensure_ascii=False, indent=1)


def _write_jsonl(messages: Sequence[Message], _: str) -> str:
    return to_jsonl(messages)


def _read_json(path: Path, progress: Progress | None) -> list[Message]:
    data = read_json(path)
    state = {"messages": data} if isinstance(data, list) else data
    messages = parse_messages(check_state(state, (), strict=False).get("messages"))
    if progress:
        progress(len(messages), len(messages))
    return messages


def _read_jsonl(path: Path, progress: Progress | None) -> list[Message]:
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise Incompatible(f"{path} is damaged or not text: {error}") from error
    messages = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            messages.append(_parsed_line(line, f"{path}, line {number}"))
        if progress:
            progress(number, len(lines))
    return messages


def _parsed_line(line: str, where: str) -> Message:
    try:
        return as_message(json.loads(line))
    except MemorandaError as error:
        raise InvalidInput(f"{where}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise Incompatible(f"{where} is damaged or not JSON: {error}") from error


_Writer = Callable[[Sequence[Message], str], str]
_Reader = Callable[[Path, Progress | None], list[Message]]
_WRITERS: Final[dict[str, _Writer]] = {".json": _write_json, ".jsonl": _write_jsonl, ".md": to_markdown}
_READERS: Final[dict[str, _Reader]] = {".json": _read_json, ".jsonl": _read_jsonl}


def _chosen(table: Mapping[str, _T], path: Path, verb: str) -> _T:
    if path.suffix.lower() not in table:
        raise InvalidInput(f"cannot {verb} {path.name!r}: its name must end in {', '.join(table)}")
    return table[path.suffix.lower()]
