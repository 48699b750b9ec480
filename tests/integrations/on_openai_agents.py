"""Runs the session tests of the OpenAI Agents SDK on `MemorandaSession`, in place of the SDK's own SQLiteSession."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path
from threading import Thread
from typing import Any

import agents
from agents.memory import sqlite_session

from memoranda import aio
from memoranda.integrations.openai_agents import MemorandaSession
from memoranda.testing.fakes import HashEmbedder

_managers: dict[str, aio.MemoryManager] = {}
"""One for each file, as two sessions on one file share it."""


class SwappedSession(MemorandaSession):
    """`MemorandaSession` with the constructor of the SDK's class."""

    def __init__(self, session_id: str, db_path: str | Path = ":memory:", *, session_settings: Any = None) -> None:
        self._temporary = tempfile.mkdtemp() if str(db_path) == ":memory:" else None
        self._path = str(Path(self._temporary or db_path).resolve() / "memory.db" if self._temporary else db_path)
        manager = _managers.get(self._path) or aio.MemoryManager(
            f"sqlite:///{self._path}",
            embedder=HashEmbedder(),
            retention_policy="persistent",
            max_messages_per_agent=None,
        )
        _managers[self._path] = manager
        super().__init__(session_id, manager, session_settings=session_settings)

    def close(self) -> None:  # type: ignore[override]  # theirs is not awaited
        manager = _managers.pop(self._path, None)
        if manager is not None:
            thread = Thread(target=lambda: asyncio.run(manager.close()))
            thread.start()
            thread.join()
        if self._temporary is not None:
            shutil.rmtree(self._temporary, ignore_errors=True)


agents.SQLiteSession = sqlite_session.SQLiteSession = SwappedSession  # type: ignore[misc, assignment]
