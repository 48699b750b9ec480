"""A pytest plugin: CrewAI's tests of its LanceDB storage and of its memory use ours instead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from crewai.memory.storage import lancedb_storage

from memoranda import MemoryManager
from memoranda.integrations.crewai import MemorandaStorage


class StorageInFolder(MemorandaStorage):
    """Takes the arguments of CrewAI's storage."""

    def __init__(self, path: str | Path | None = None, table_name: str = "memories", **_: Any) -> None:
        folder = Path(path or "memory")
        folder.mkdir(parents=True, exist_ok=True)
        super().__init__(MemoryManager(folder / "memories.db"), namespace=("crewai", table_name))


lancedb_storage.LanceDBStorage = StorageInFolder  # type: ignore[misc]
