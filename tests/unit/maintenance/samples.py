"""Memories for the policies: everything about them can be said in one line."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from memoranda.maintenance.base import Subject, UpkeepSettings
from memoranda.types import Memory, MemoryType

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
SETTINGS = UpkeepSettings()
_PLAIN = Memory(1, "plain", MemoryType.SEMANTIC, 0.5, NOW, NOW)


def subject(number: int, content: str = "plain", *, days: float = 0, accesses: int = 0, **fields: Any) -> Subject:
    """A memory written down so many days ago."""
    then = NOW - timedelta(days=days)
    own = {name: fields.pop(name) for name in ("accessed_at", "derived", "consolidated") if name in fields}
    memory = replace(_PLAIN, **{"recorded_at": then, "valid_from": then, **fields, "id": number, "content": content})
    return Subject(memory, accesses, **own)


def turn(number: int, content: str, *, days: float = 30, session: str = "s1", speaker: str = "Ann") -> Subject:
    """Something said in a conversation."""
    return subject(
        number,
        content,
        days=days,
        type=MemoryType.EPISODIC,
        session=session,
        speaker=speaker,
        message_id=f"m{number}",
    )
