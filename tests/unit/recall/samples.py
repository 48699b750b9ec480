"""Hits for the tests of rendering."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from memoranda.types import Hit, Memory, MemoryType

NOW = datetime(2024, 5, 20, 12, tzinfo=UTC)
MARKER = "0123456789abcdef"


def hit(id: int, content: str, score: float = 0.5, days_ago: float = 0, **fields: Any) -> Hit:
    said_at = NOW - timedelta(days=days_ago)
    return Hit(Memory(id, content, MemoryType.SEMANTIC, 0.5, said_at, said_at, **fields), score)


def count_words(text: str) -> int:
    """A token counter whose results can be checked by eye."""
    return len(text.split())
