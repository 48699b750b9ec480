"""Memories for the tests of the policies, and a manager for those of forgetting."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from memoranda import MemoryManager
from memoranda.maintenance.policies import UpkeepItem, UpkeepSettings
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Clock, Memory, MemoryType

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SETTINGS = UpkeepSettings()
_PLAIN = Memory(1, "plain", MemoryType.SEMANTIC, 0.5, NOW, NOW)


def make_item(
    memory_id: int, content: str = "plain", *, days: float = 0, accesses: int = 0, **fields: Any
) -> UpkeepItem:
    """Return a memory written `days` ago, with fields of `Memory` or `UpkeepItem`."""
    written = NOW - timedelta(days=days)
    item_fields = {
        name: fields.pop(name) for name in ("accessed_at", "derived", "consolidated", "merged") if name in fields
    }
    values = {"recorded_at": written, "valid_from": written, **fields, "id": memory_id, "content": content}
    return UpkeepItem(replace(_PLAIN, **values), accesses, **item_fields)


def make_turn(
    memory_id: int, content: str, *, days: float = 30, session: str = "s1", speaker: str = "Ann"
) -> UpkeepItem:
    """Return a turn of a conversation."""
    return make_item(
        memory_id,
        content,
        days=days,
        type=MemoryType.EPISODIC,
        session=session,
        speaker=speaker,
        message_id=f"m{memory_id}",
    )


def open_manager(path: Path, clock: Clock) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(), clock=clock, retention_policy="persistent")
