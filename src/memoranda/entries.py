"""`MemoryEntry`: the fields that every memory and every hit has."""

from __future__ import annotations

from abc import ABCMeta
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from memoranda.records import Record
from memoranda.types import Hit, Memory

UNKNOWN_SOURCE: Final = "unknown"


@dataclass(slots=True, repr=False)
class MemoryEntry(Record, metaclass=ABCMeta):
    """A text with its vector, metadata, time, source and importance. A `Memory` and a `Hit` are entries too."""

    content: str
    embedding: list[float] | None = None
    metadata: dict[str, Any] = field(default_factory=dict)
    timestamp: datetime = field(default_factory=lambda: datetime.now(UTC))
    source: str = UNKNOWN_SOURCE
    importance_score: float = 0.5


MemoryEntry.register(Memory)
MemoryEntry.register(Hit)


def name_source(hit: Hit) -> Hit:
    """Return a hit whose source is named, `unknown` when nobody gave one."""
    if hit.source is not None:
        return hit
    vector = getattr(hit.memory, "_vector", None)
    return replace(hit, memory=replace(hit.memory, source=UNKNOWN_SOURCE).with_embedding(vector))
