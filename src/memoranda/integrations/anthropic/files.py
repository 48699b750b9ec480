"""The files of Anthropic's memory tool: in a store, and on request in a folder that people and programs can edit."""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Final, TypeAlias

from memoranda.errors import Conflict, InvalidInput
from memoranda.files import PRIVATE, atomic_replace, translate_file_errors
from memoranda.integrations.managers import LongValues, OwnedNamespace
from memoranda.items.base import Item
from memoranda.manager.manager import MemoryManager

ROOT: Final = "/memories"
_PRIVATE_FOLDER: Final = 0o700
_ERRORS: Final = "surrogatepass"
"""A text of a model may hold half of a character, which comes back as it was."""
_Stamp: TypeAlias = tuple[int, int]
"""When a file was changed, and its size."""


class MemoryFiles:
    """Texts by path in one namespace. A folder exists as long as a file is below it."""

    def __init__(self, memory: MemoryManager, namespace: tuple[str, ...], owner: Mapping[str, str | None]) -> None:
        self._items = OwnedNamespace(memory, namespace, **owner)
        self._long = LongValues(OwnedNamespace(memory, (f"{namespace[0]} parts", *namespace[1:]), **owner))
        self.path_of: Callable[[str], str] = check_path
        """Returns the path of a file from what a model calls it."""

    def read(self, path: str) -> str | None:
        """Return a file; None when there is none."""
        item = self._item(path)
        return None if item is None else self._long.load(item.value)

    def _item(self, path: str) -> Item | None:
        return self._items.get(path) if path else None

    def below(self, folder: str) -> Iterator[tuple[str, int]]:
        """Yield the files below a folder, and their sizes."""
        prefix = f"{folder}/" if folder else ""
        yield from ((item.key, item.value["bytes"]) for item in self._items.read() if item.key.startswith(prefix))

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
        values = {path: {**self._long.store(text), "bytes": len(_to_bytes(text))} for path, text in files.items()}
        try:
            self._items.put(values, ["text"], expected)
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
            self._items.delete(paths)
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


def _to_bytes(text: str) -> bytes:
    return text.encode("utf-8", _ERRORS)


class MirroredFolder:
    """The files of the tool in a folder. What is changed there is stored before the next command, and the other way.

    A file that was changed on both sides counts as it is in the folder. Files that are no text are left alone.
    """

    def __init__(self, root: Path, files: MemoryFiles) -> None:
        self.root = root
        self._files = files
        self._seen: dict[str, _Stamp] = {}

    def make(self) -> None:
        """Create the folder, readable by its owner alone, with those above it that are missing."""
        missing = [each for each in (self.root, *self.root.parents) if not each.exists()]
        with translate_file_errors(self.root):
            for folder in reversed(missing):
                folder.mkdir(_PRIVATE_FOLDER, exist_ok=True)

    def resolve(self, shown: str) -> Path:
        """Return where a path of the tool is on the disk, with links followed; one that leads out is an error."""
        root = self.root.resolve()
        target = (root / check_path(shown)).resolve()
        if not target.is_relative_to(root):
            raise InvalidInput(f"Path {shown} would escape {ROOT} directory")
        return target

    def path_of(self, shown: str) -> str:
        """Return the path of a file in the store, as `check_path` does."""
        path = self.resolve(shown).relative_to(self.root.resolve()).as_posix()
        return "" if path == "." else path

    def load(self) -> None:
        """Store what was changed or deleted in the folder since the last command."""
        if not self.root.exists():
            self._seen = {}  # whoever moves the folder away does not mean each of its files
            self.make()
        with translate_file_errors(self.root):
            found = dict(self._list())
            changed = {path: self._read(path) for path, stamp in found.items() if self._seen.get(path) != stamp}
        new = {path: text for path, text in changed.items() if text is not None and self._files.read(path) != text}
        if new:
            self._files.write(new)
        self._files.remove([path for path in self._seen if path not in found and self._files.read(path) is not None])
        self._seen = {path: stamp for path, stamp in found.items() if changed.get(path, "") is not None}

    def save(self) -> None:
        """Write into the folder what a command has changed or deleted."""
        texts = {path: self._files.read(path) or "" for path, _ in self._files.below("")}
        with translate_file_errors(self.root):
            for path in self._seen.keys() - texts.keys():
                self._delete(self.root / path)
            for path, text in texts.items():
                if self._read(path) != text:
                    self._write(self.root / path, text)
            self._seen = {path: stamp for path, stamp in self._list() if path in texts}

    def _list(self) -> Iterator[tuple[str, _Stamp]]:
        """Yield the files of the folder; links are not followed."""
        for folder, _, names in os.walk(self.root):
            for file in (Path(folder, name) for name in names):
                if file.is_file() and not file.is_symlink():
                    status = file.stat()
                    yield file.relative_to(self.root).as_posix(), (status.st_mtime_ns, status.st_size)

    def _read(self, path: str) -> str | None:
        try:
            return (self.root / path).read_bytes().decode("utf-8", _ERRORS)
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    @staticmethod
    def _write(file: Path, text: str) -> None:
        for folder in reversed([each for each in file.parents if not each.exists()]):
            folder.mkdir(_PRIVATE_FOLDER)
        with atomic_replace(file, PRIVATE) as temporary:
            temporary.write_bytes(_to_bytes(text))

    def _delete(self, file: Path) -> None:
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == self.root or any(folder.iterdir()):
                return
            folder.rmdir()
