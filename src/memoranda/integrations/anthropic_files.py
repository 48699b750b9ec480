"""The files of Anthropic's memory tool: where they are kept, how their paths are read, and how they are shown."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from typing import Any, Final

from memoranda.errors import Conflict, InvalidInput
from memoranda.integrations.long_values import LongValues
from memoranda.items.base import Item
from memoranda.manager.manager import MemoryManager

ROOT: Final = "/memories"
_MAX_LINES: Final = 999_999
_PAGE: Final = 1000


class MemoryFiles:
    """Texts by path in one namespace. A folder exists as long as a file is below it."""

    def __init__(self, memory: MemoryManager, namespace: tuple[str, ...], owner: Mapping[str, str | None]) -> None:
        self._memory: Any = memory
        self._namespace = namespace
        self._long = LongValues(memory, (f"{namespace[0]} parts", *namespace[1:]), owner)
        self._owner = owner
        self.path_of: Callable[[str], str] = check_path
        """Returns the path of a file from what a model calls it."""

    def read(self, path: str) -> str | None:
        """Return a file; None when there is none."""
        item = self._item(path)
        return None if item is None else self._long.load(item.value)

    def _item(self, path: str) -> Item | None:
        found: Item | None = self._memory.get_item(self._namespace, path, **self._owner) if path else None
        return found

    def below(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield the files below a folder, and their sizes."""
        offset, prefix = 0, f"{folder}/" if folder else ""
        while True:
            page = self._memory.search_items(self._namespace, order="key", limit=_PAGE, offset=offset, **self._owner)
            yield from ((item.key, item.value["bytes"]) for item in page if item.key.startswith(prefix))
            if len(page) < _PAGE:
                return
            offset += len(page)

    def open(self, shown: str) -> tuple[str, str, datetime]:
        """Return the path and the text of a file that must exist, and when it was written last."""
        path = self.path_of(shown)
        item = self._item(path)
        if item is not None:
            return path, self._long.load(item.value), item.updated_at
        if self.exists(path):
            raise InvalidInput(f"The path {shown} is not a file.")
        raise InvalidInput(f"The path {shown} does not exist. Please provide a valid path.")

    def find(self, shown: str, path: str) -> list[str]:
        """Return a file, or the files of a folder, which must exist."""
        found = [path] if self.read(path) is not None else [each for each, _ in self.below(path)]
        if not found:
            raise InvalidInput(f"The path {shown} does not exist")
        return found

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder."""
        return not path or self.read(path) is not None or any(True for _ in self.below(path))

    def write(self, files: Mapping[str, str], expected: Mapping[str, datetime | None] | None = None) -> None:
        """Store files in one commit; one that exists is replaced.

        With `expected`, raise `Conflict` and store nothing when one was not last written at that time, None for never.
        """
        before = [self._item(path) for path in files]
        values = {path: {**self._long.store(text), "bytes": len(text.encode())} for path, text in files.items()}
        try:
            self._memory.put_many(self._namespace, values, index=["text"], expected=expected, **self._owner)
        except Conflict:
            for value in values.values():
                self._long.drop(value)
            raise
        for item in before:
            self._long.drop(None if item is None else item.value)

    def remove(self, paths: list[str]) -> None:
        """Delete files in one commit."""
        items = [self._item(path) for path in paths]
        if paths:
            self._memory.delete_item(self._namespace, paths, **self._owner)
        for item in items:
            self._long.drop(None if item is None else item.value)

    def check_parents(self, path: str) -> None:
        """Refuse a path below a file."""
        parent = posixpath.dirname(path)
        while parent:
            if self.read(parent) is not None:
                raise InvalidInput(f"The path {ROOT}/{parent} is a file, so nothing can be created below it")
            parent = posixpath.dirname(parent)


def check_path(shown: str) -> str:
    """Return a path below the root; "" is the root itself."""
    if shown != ROOT and not shown.startswith(f"{ROOT}/"):
        raise InvalidInput(f"Path must start with {ROOT}, got: {shown}")
    path = posixpath.normpath(f".{shown.removeprefix(ROOT)}")
    if path == ".." or path.startswith("../"):
        raise InvalidInput(f"Path {shown} would escape {ROOT} directory")
    return "" if path == "." else path


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
