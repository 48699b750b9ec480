"""A pytest plugin: the harness's tests use our store in place of its SQLite store and of its in-memory store."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic_ai_harness import memory as harness

from memoranda import aio
from memoranda.integrations.pydantic_ai import MemorandaStore


class StoreInFile(MemorandaStore):
    """Takes the arguments of the harness's SQLite store."""

    def __init__(self, *, database: Path) -> None:
        super().__init__(aio.MemoryManager(database))


class StoreOfFiles(MemorandaStore):
    """Takes the arguments of the harness's in-memory store, and shows its files as that one does."""

    def __init__(self, files: Mapping[str, str] | None = None) -> None:
        super().__init__(aio.MemoryManager(Path(tempfile.mkdtemp()) / "memories.db"))
        for path, content in (files or {}).items():
            self._wait(self.write(path, content, expected_version=None))

    @property
    def files(self) -> dict[str, str]:
        async def read() -> dict[str, str]:
            return {path: content async for path, content in self._files("")}

        found: dict[str, str] = self._wait(read())
        return found

    def _wait(self, work: Any) -> Any:
        """Run to the end also where a loop runs already, as in most of the tests."""
        import threading

        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.append(asyncio.run(work)))
        thread.start()
        thread.join()
        return results[0]


harness.SqliteMemoryStore = StoreInFile  # type: ignore[misc]
harness.InMemoryStore = StoreOfFiles  # type: ignore[misc]
