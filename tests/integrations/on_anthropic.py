"""Runs the memory tool tests of the Anthropic SDK on `MemorandaMemoryTool`, in place of its tool for a file system."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from anthropic.lib.tools import _beta_builtin_memory_tool as theirs
from anyio import Path as AsyncPath

from memoranda import MemoryManager
from memoranda.aio.threads import in_thread
from memoranda.integrations.anthropic import AsyncMemorandaMemoryTool, MemorandaMemoryTool
from memoranda.testing.fakes import HashEmbedder


class SwappedTool(MemorandaMemoryTool):
    """`MemorandaMemoryTool` with the constructor of the SDK's class."""

    def __init__(self, base_path: str) -> None:
        super().__init__(MemoryManager("sqlite://", embedder=HashEmbedder()), base_path=base_path)


class AsyncSwappedTool(AsyncMemorandaMemoryTool):
    """`AsyncMemorandaMemoryTool` with the constructor of the SDK's class, and private methods that its tests call."""

    def __init__(self, base_path: str) -> None:
        super().__init__(MemoryManager("sqlite://", embedder=HashEmbedder()), base_path=base_path)
        self.base_path, self.memory_root = AsyncPath(base_path), AsyncPath(base_path) / "memories"

    async def _ensure_memory_root(self) -> None:
        await in_thread(self._folder.make)

    async def _validate_path(self, path: str) -> Path:
        return await in_thread(self._folder.resolve, path)

    @property
    def _folder(self) -> Any:
        return self._tool._folder


theirs.BetaLocalFilesystemMemoryTool = SwappedTool  # type: ignore[misc, assignment]
theirs.BetaAsyncLocalFilesystemMemoryTool = AsyncSwappedTool  # type: ignore[misc, assignment]
