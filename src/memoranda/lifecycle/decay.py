"""How important a memory still is, and what keeps it whatever its importance. Pure.

The importance a caller gave is never changed: it fades only in the eyes of upkeep.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from math import log2

from memoranda.lifecycle.base import PASSING, Subject, UpkeepSettings
from memoranda.types import MemoryType


def faded_importance(subject: Subject, now: datetime, settings: UpkeepSettings) -> float:
    """The importance that is left: it halves with time since the last use, slower the more often it was used.

    A share of it, the floor, never fades.
    """
    memory = subject.memory
    passing = memory.type in PASSING
    half_life = settings.short_term_half_life if passing else settings.half_life
    stretch = 1 + log2(1 + subject.accesses)
    left: float = 0.5 ** (unused_for(subject, now) / (half_life * stretch))
    return memory.importance * (settings.floor + (1 - settings.floor) * left)


def unused_for(subject: Subject, now: datetime) -> timedelta:
    """The time since it was written down or last recalled."""
    last = max(subject.memory.recorded_at, subject.accessed_at or subject.memory.recorded_at)
    return max(now - last, timedelta(0))


def protection(subject: Subject, now: datetime, settings: UpkeepSettings) -> str | None:
    """Why a memory must stay as it is; None when it need not."""
    memory = subject.memory
    recent = settings.recent_short_term if memory.type in PASSING else settings.recent
    if memory.pinned:
        return "pinned"
    if memory.type is MemoryType.SHARED:
        return "shared knowledge"
    if memory.key is not None:
        return "a saved value"
    if memory.importance >= settings.important:
        return f"importance {memory.importance:g}"
    if unused_for(subject, now) < recent:
        return "recent"
    return None
