"""Read the data exports of ChatGPT and Claude, and write and read conversations as files."""

from __future__ import annotations

import json
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from os import PathLike
from pathlib import Path
from typing import Final, TypeAlias, TypeVar

from memoranda.conversation.memory import build_state, check_state, parse_messages, read_json, write_atomically
from memoranda.display import shown
from memoranda.errors import Incompatible, InvalidInput, MemorandaError
from memoranda.files import read_text_file, translate_file_errors
from memoranda.messages.message import Message, text_of
from memoranda.messages.parsing import as_message
from memoranda.records import Record
from memoranda.text.checks import escape_surrogates, replace_unstorable
from memoranda.types import JSON, Progress

_FILE: Final = "conversations.json"
_MAX_UNPACKED_BYTES: Final = 2_000_000_000
_ALWAYS_UNPACKED_BYTES: Final = 32_000_000
_MAX_GROWTH: Final = 100
"""How many times its packed size an export may have: text grows five to twenty times."""
_DAMAGED: Final = (
    ValueError, EOFError, RecursionError, NotImplementedError, RuntimeError,
    zipfile.BadZipFile, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What unpacking a damaged archive raises, by how it is compressed."""
_Mapping: TypeAlias = Mapping[str, JSON]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class ImportedConversation(Record):
    """A conversation from the export of another product."""

    id: str
    title: str
    messages: tuple[Message, ...]


def read_chatgpt_export(path: str | PathLike[str], *, progress: Progress | None = None) -> list[ImportedConversation]:
    """Return the conversations of a ChatGPT data export: the zip file, or the `conversations.json` inside it.

    Of an edited conversation, only the branch that was shown last is read. The output of a tool becomes a message of
    the assistant with `{"role": "tool"}` in its metadata.
    """
    return _read_export(Path(path), "ChatGPT", "mapping", _parse_chatgpt_messages, progress)


def read_claude_export(path: str | PathLike[str], *, progress: Progress | None = None) -> list[ImportedConversation]:
    """Return the conversations of a Claude data export: the zip file, or the `conversations.json` inside it.

    The texts of attached files are in the metadata of their message.
    """
    return _read_export(Path(path), "Claude", "chat_messages", _parse_claude_messages, progress)


def _read_export(
    path: Path,
    vendor: str,
    marker: str,
    parse_messages: Callable[[_Mapping], Iterator[Message]],
    progress: Progress | None,
) -> list[ImportedConversation]:
    data = _load_export(path)
    if not isinstance(data, list):
        raise Incompatible(f"{path} is not a {vendor} export: it has no list of conversations")
    conversations = []
    for number, item in enumerate(data, start=1):
        where = f"conversation {number} in {path}"
        if not isinstance(item, dict) or marker not in item:
            raise Incompatible(f"{where} is not from {vendor}: it has no {marker!r}")
        conversations.append(_parse_conversation(item, where, parse_messages))
        if progress:
            progress(number, len(data))
    return conversations


def _parse_conversation(
    item: _Mapping, where: str, parse_messages: Callable[[_Mapping], Iterator[Message]]
) -> ImportedConversation:
    try:
        messages = tuple(parse_messages(item))
    except InvalidInput as error:
        raise Incompatible(f"{where} cannot be read: {error}") from error
    conversation_id = item.get("conversation_id") or item.get("id") or item.get("uuid") or ""
    return ImportedConversation(str(conversation_id), str(item.get("title") or item.get("name") or ""), messages)


def _load_export(path: Path) -> JSON:
    with translate_file_errors(path):
        is_archive = path.is_file() and zipfile.is_zipfile(path)
    if not is_archive:
        return read_json(path)
    try:
        with translate_file_errors(path), zipfile.ZipFile(path) as archive:
            found = next((each for each in archive.infolist() if each.filename.rpartition("/")[2] == _FILE), None)
            if found is None:
                raise Incompatible(f"{path} has no {_FILE}")
            data: JSON = json.loads(_unpack(archive, found, path))
    except _DAMAGED as error:
        raise Incompatible(f"{path} is damaged or cannot be unpacked: {error}") from error
    return data


def _unpack(archive: zipfile.ZipFile, member: zipfile.ZipInfo, path: Path) -> bytes:
    """Return the content of a file in an archive; refuse one that grows far more than any export does."""
    limit = min(_MAX_UNPACKED_BYTES, max(_ALWAYS_UNPACKED_BYTES, _MAX_GROWTH * member.compress_size))
    if member.file_size <= limit:
        with archive.open(member) as file:
            # What the archive says about its size may be wrong: never read more than that.
            content = file.read(member.file_size + 1)
        if len(content) <= member.file_size:
            return content
    raise InvalidInput(
        f"{path} unpacks to more than {limit:,} bytes, which no export does: unpack {member.filename} yourself and "
        "import that file, if you trust it"
    )


def _parse_chatgpt_messages(conversation: _Mapping) -> Iterator[Message]:
    for node in _find_shown_branch(conversation):
        message = node.get("message")
        if not isinstance(message, dict):
            continue
        author = _mapping(message.get("author"))
        role = str(author.get("role"))
        text = _chatgpt_text(_mapping(message.get("content")))
        hidden = _mapping(message.get("metadata")).get("is_visually_hidden_from_conversation")
        if not text or role == "system" or hidden:
            continue
        yield Message(
            "assistant" if role == "tool" else role,
            text,
            message_id=str(message.get("id") or node.get("id")),
            name=_text_or_none(author.get("name")),
            timestamp=_parse_time(message.get("create_time") or conversation.get("create_time")),
            metadata={"role": "tool"} if role == "tool" else None,
        )


def _find_shown_branch(conversation: _Mapping) -> list[_Mapping]:
    nodes = _mapping(conversation.get("mapping"))
    branch: list[_Mapping] = []
    node_id = conversation.get("current_node") or next(reversed(list(nodes)), None)
    # The number of nodes limits the walk, in case the parents form a circle.
    while isinstance(node_id, str) and node_id in nodes and len(branch) < len(nodes):
        node = _mapping(nodes[node_id])
        branch.append(node)
        node_id = node.get("parent")
    return branch[::-1]


def _chatgpt_text(content: _Mapping) -> str:
    parts = content.get("parts")
    if isinstance(parts, list):
        texts = [part if isinstance(part, str) else str(_mapping(part).get("text") or "") for part in parts]
        return "\n".join(text for text in texts if text).strip()
    return str(content.get("text") or content.get("result") or "").strip()


def _parse_claude_messages(conversation: _Mapping) -> Iterator[Message]:
    for item in _list(conversation.get("chat_messages")):
        message = _mapping(item)
        attachments = [_mapping(attachment) for attachment in _list(message.get("attachments"))]
        text = _claude_text(message)
        if not text and not attachments:
            continue
        files = [{"name": file.get("file_name"), "text": file.get("extracted_content")} for file in attachments]
        yield Message(
            "user" if message.get("sender") == "human" else str(message.get("sender")),
            text,
            message_id=_text_or_none(message.get("uuid")),
            timestamp=_parse_time(message.get("created_at") or conversation.get("created_at")),
            metadata={"attachments": files} if files else None,
        )


def _claude_text(message: _Mapping) -> str:
    blocks = [_mapping(block) for block in _list(message.get("content"))]
    texts = [str(block.get("text") or "") for block in blocks if block.get("type") == "text"]
    return "\n".join(text for text in texts if text).strip() or str(message.get("text") or "").strip()


def _parse_time(value: JSON) -> datetime | str:
    if isinstance(value, str):
        return value
    try:
        return datetime.fromtimestamp(value, UTC)  # type: ignore[arg-type]  # another type raises TypeError
    except (OverflowError, OSError, TypeError, ValueError) as error:
        raise InvalidInput(f"a message has no usable time: {shown(value)}") from error


def _mapping(value: JSON) -> _Mapping:
    return value if isinstance(value, dict) else {}


def _list(value: JSON) -> list[JSON]:
    return value if isinstance(value, list) else []


def _text_or_none(value: JSON) -> str | None:
    return value if isinstance(value, str) and value else None


def export_conversation(
    messages: Iterable[Message | Mapping[str, object]], path: str | PathLike[str], *, title: str = "Conversation"
) -> None:
    """Write messages to a `.json`, `.jsonl` or `.md` file. The file is complete or unchanged."""
    target = Path(path)
    write = _choose_by_suffix(_WRITERS, target, "export")
    write_atomically(target, write([as_message(message) for message in messages], title))


def import_conversation(path: str | PathLike[str], *, progress: Progress | None = None) -> list[Message]:
    """Return the messages of a `.json` or `.jsonl` file; an error names the line or message that is wrong."""
    source = Path(path)
    return _choose_by_suffix(_READERS, source, "import")(source, progress)


def to_markdown(messages: Iterable[Message], title: str = "Conversation") -> str:
    """Return a page to read: who said what and when, with tool calls and pictures."""
    return f"# {title}\n\n" + "\n".join(_format_message(message) for message in messages)


def _format_message(message: Message) -> str:
    lines = [f"**{message.name or message.role}** · {message.timestamp:%Y-%m-%d %H:%M} UTC", ""]
    if text := text_of(message):
        lines += [text, ""]
    for call in message.tool_calls or ():
        lines += [f"- calls `{call.name}` with `{call.arguments}`", ""]
    for image in message.images or ():
        lines += ["- a picture" if image.startswith("data:") else f"- picture: {image}", ""]
    return "\n".join(lines)


def _dump(value: object, indent: int | None) -> str:
    return escape_surrogates(json.dumps(value, ensure_ascii=False, indent=indent))


def _write_json(messages: Sequence[Message], title: str) -> str:
    return _dump(build_state(messages, title=title), indent=1)


def _write_jsonl(messages: Sequence[Message], _: str) -> str:
    return "".join(f"{_dump(message.to_dict(), indent=None)}\n" for message in messages)


def _read_json(path: Path, progress: Progress | None) -> list[Message]:
    data = read_json(path)
    state = {"messages": data} if isinstance(data, list) else data
    messages = parse_messages(check_state(state, (), strict=False).get("messages"))
    if progress:
        progress(len(messages), len(messages))
    return messages


def _read_jsonl(path: Path, progress: Progress | None) -> list[Message]:
    lines = read_text_file(path).split("\n")
    messages = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            messages.append(_parse_line(line, f"{path}, line {number}"))
        if progress:
            progress(number, len(lines))
    return messages


def _parse_line(line: str, where: str) -> Message:
    try:
        return as_message(json.loads(line))
    except MemorandaError as error:
        raise InvalidInput(f"{where}: {error}") from error
    except (ValueError, RecursionError) as error:
        raise Incompatible(f"{where} is damaged or not JSON: {error}") from error


_Writer: TypeAlias = Callable[[Sequence[Message], str], str]
_Reader: TypeAlias = Callable[[Path, Progress | None], list[Message]]
_WRITERS: Final[dict[str, _Writer]] = {
    ".json": _write_json,
    ".jsonl": _write_jsonl,
    ".md": lambda messages, title: replace_unstorable(to_markdown(messages, title)),
}
_READERS: Final[dict[str, _Reader]] = {".json": _read_json, ".jsonl": _read_jsonl}


def _choose_by_suffix(table: Mapping[str, _T], path: Path, action: str) -> _T:
    if path.suffix.lower() not in table:
        raise InvalidInput(f"cannot {action} {path.name!r}: its name must end in {', '.join(table)}")
    return table[path.suffix.lower()]
