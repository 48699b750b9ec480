"""A conversation as a file of its own: JSON and JSONL to move it, Markdown to read it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Final, TypeVar

from memoranda.conversation.files import read_json, write_atomically
from memoranda.conversation.state import checked, packed, unpacked
from memoranda.errors import Incompatible, InvalidInput, MemorandaError
from memoranda.messages.message import Message, as_message
from memoranda.messages.parts import text_of
from memoranda.types import Progress

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
    return json.dumps(packed(messages, title=title), ensure_ascii=False, indent=1)


def _write_jsonl(messages: Sequence[Message], _: str) -> str:
    return to_jsonl(messages)


def _read_json(path: Path, progress: Progress | None) -> list[Message]:
    data = read_json(path)
    state = {"messages": data} if isinstance(data, list) else data
    messages = unpacked(checked(state, (), strict=False).get("messages"))
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
