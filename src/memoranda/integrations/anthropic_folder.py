"""A folder on the disk with the files of Anthropic's memory tool, for people and programs that read or edit them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from memoranda.errors import InvalidInput
from memoranda.files import PRIVATE, atomic_replace, translate_file_errors
from memoranda.integrations.anthropic_files import ROOT, MemoryFiles, check_path

_Stamp: TypeAlias = tuple[int, int]
"""When a file was changed, and its size."""
_PRIVATE_FOLDER = 0o700


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
            return (self.root / path).read_bytes().decode()
        except (FileNotFoundError, UnicodeDecodeError):
            return None

    @staticmethod
    def _write(file: Path, text: str) -> None:
        for folder in reversed([each for each in file.parents if not each.exists()]):
            folder.mkdir(_PRIVATE_FOLDER)
        with atomic_replace(file, PRIVATE) as temporary:
            temporary.write_bytes(text.encode())

    def _delete(self, file: Path) -> None:
        file.unlink(missing_ok=True)
        for folder in file.parents:
            if folder == self.root or any(folder.iterdir()):
                return
            folder.rmdir()
