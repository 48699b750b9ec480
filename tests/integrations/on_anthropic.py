"""Runs the memory tool tests of the Anthropic SDK on `MemorandaMemoryTool`, in place of its tool for a file system.

These tests look at files: what a test wrote into the folder is read into the store before a command, and what the store
holds is written into the folder after it.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from anthropic.lib.tools import _beta_builtin_memory_tool as theirs
from anyio import Path as AsyncPath

from memoranda import MemoryManager
from memoranda.integrations.anthropic import AsyncMemorandaMemoryTool, MemorandaMemoryTool
from memoranda.integrations.anthropic_files import MemoryFiles
from memoranda.testing.fakes import HashEmbedder


class Folder:
    """A folder that has the files of a store."""

    def __init__(self, path: Path, files: MemoryFiles) -> None:
        self._path = path
        self._files = files
        path.mkdir(parents=True)

    def __enter__(self) -> None:
        found = [path for path in self._path.rglob("*") if path.is_file()]
        texts = {str(path.relative_to(self._path)): path.read_bytes().decode() for path in found}
        self._files.write({name: text for name, text in texts.items() if self._files.read(name) != text})

    def __exit__(self, *_: object) -> None:
        shutil.rmtree(self._path)
        self._path.mkdir()
        for name, _size in self._files.below(""):
            file = self._path / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes((self._files.read(name) or "").encode())


class SwappedTool(MemorandaMemoryTool):
    """`MemorandaMemoryTool` with the constructor of the SDK's class."""

    def __init__(self, base_path: str) -> None:
        super().__init__(MemoryManager("sqlite://", embedder=HashEmbedder()))
        self.base_path, self.memory_root = Path(base_path), Path(base_path) / "memories"
        self._folder = Folder(self.memory_root, self._files)

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if name not in ("view", "create", "str_replace", "insert", "delete", "rename", "clear_all_memory"):
            return found

        def run(*command: Any) -> Any:
            with self._folder:
                return found(*command)

        return run


class AsyncSwappedTool(AsyncMemorandaMemoryTool):
    """`AsyncMemorandaMemoryTool` with the constructor of the SDK's class."""

    def __init__(self, base_path: str) -> None:
        super().__init__(MemoryManager("sqlite://", embedder=HashEmbedder()))
        self._tool = SwappedTool(base_path)
        self.base_path, self.memory_root = AsyncPath(base_path), AsyncPath(base_path) / "memories"


theirs.BetaLocalFilesystemMemoryTool = SwappedTool  # type: ignore[misc, assignment]
theirs.BetaAsyncLocalFilesystemMemoryTool = AsyncSwappedTool  # type: ignore[misc, assignment]
