"""What the model reads of Anthropic's memory tool: files, folders, changed lines, and what is wrong with a command."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from memoranda.errors import Conflict, InvalidInput, MemorandaError, MissingExtra, describe_mistakes

try:
    from anthropic.lib.tools import ToolError
    from pydantic import ValidationError
except ModuleNotFoundError as error:
    raise MissingExtra("Anthropic's memory tool", "anthropic") from error

C = TypeVar("C")
_ATTEMPTS: Final = 20
_MAX_LINES: Final = 999_999


def command_of_tool(method: Callable[[Any, C], str]) -> Callable[[Any, C], str]:
    """Run a command again when another program has changed the file since it was read, so that no edit is lost.

    An error of Memoranda becomes one that the model reads.
    """

    @functools.wraps(method)
    def run(self: Any, command: C) -> str:
        try:
            checked = _check_fields(command)
            with self._lock, self.synchronized():  # the threads of one tool need no second attempt
                for _ in range(_ATTEMPTS - 1):
                    try:
                        return method(self, checked)
                    except Conflict:
                        continue
                return method(self, checked)
        except MemorandaError as error:
            raise ToolError(error.public_message()) from error

    return run


def _check_fields(command: Any) -> Any:
    """Return the command with checked fields: the SDK takes whatever the model writes, and None for what is missing."""
    try:
        return type(command).model_validate(dict(command))
    except ValidationError as error:
        problems = "; ".join(f"{name} {what}" for name, what in describe_mistakes(error.errors()).items())
        raise InvalidInput(f"The command {command.command} is incomplete or wrong. {problems}") from error


def show_file(shown: str, text: str, view_range: list[int] | None) -> str:
    """Return the lines of a file, or those of a range, with their numbers."""
    lines = text.split("\n")
    if len(lines) > _MAX_LINES:
        raise InvalidInput(f"File {shown} exceeds maximum line limit of {_MAX_LINES:,} lines.")
    first, last = view_range if view_range and len(view_range) == 2 else (1, -1)
    numbered = number_lines(lines, max(1, first) - 1, len(lines) if last == -1 else last)
    return f"Here's the content of {shown} with line numbers:\n{numbered}"


def number_lines(lines: list[str], start: int, stop: int) -> str:
    """Return lines with their numbers."""
    return "\n".join(f"{start + number:>6}\t{line}" for number, line in enumerate(lines[start:stop], start=1))


def show_folder(shown: str, folder: str, files: dict[str, int]) -> str:
    """Return the files and folders of a folder, two levels deep, with their sizes."""
    sizes: dict[str, int] = {}
    for path, size in files.items():
        names = path.removeprefix(folder).strip("/").split("/")
        if any(name.startswith(".") for name in names):
            continue
        for depth in range(1, min(len(names), 2) + 1):
            entry = "/".join(names[:depth]) + ("/" if depth < len(names) else "")
            sizes[entry] = sizes.get(entry, 0) + size
    header = f"Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items:"
    below = [f"{_show_size(size)}\t{shown.rstrip('/')}/{entry}" for entry, size in sorted(sizes.items())]
    return "\n".join([header, f"{_show_size(sum(files.values()))}\t{shown}", *below])


def _show_size(size: float) -> str:
    units = iter("BKMG")
    unit = next(units)
    while size >= 1024 and unit != "G":
        size, unit = size / 1024, next(units)
    return f"{size:.0f}{unit}" if size == int(size) else f"{size:.1f}{unit}"


def find_lines(text: str, part: str) -> Iterator[int]:
    """Yield the line, from 0, in which each occurrence of a part begins."""
    position = text.find(part)
    while position >= 0:
        yield text.count("\n", 0, position)
        position = text.find(part, position + 1)
