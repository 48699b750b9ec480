"""Hits made by hand, for the pure half of a context."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memoranda.types import Hit, Memory, MemoryType

NOW = datetime(2024, 5, 20, 12, tzinfo=UTC)
MARKER = "0123456789abcdef"


def hit(id: int, content: str, score: float = 0.5, days_ago: float = 0, **fields: Any) -> Hit:
    said = NOW - timedelta(days=days_ago)
    return Hit(Memory(id, content, MemoryType.SEMANTIC, 0.5, said, said, **fields), score)


def words(text: str) -> int:
    """A counter whose answers can be checked by eye."""
    return len(text.split())
