"""What goes by its date or its place: expired memories, and short-term ones beyond their window. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime

from memoranda.lifecycle.base import PASSING, Decision, Subject, UpkeepSettings, has_expired, is_live, owner
from memoranda.lifecycle.decay import protection


def expired(subjects: Iterable[Subject], now: datetime) -> list[Decision]:
    """Memories whose time is up are removed, unless they are pinned: the caller set the time."""
    return [
        Decision("expire", "removed", memory.id, memory.content, f"expired at {memory.expires_at:%Y-%m-%d %H:%M}")
        for memory in (subject.memory for subject in subjects)
        if has_expired(memory, now) and not memory.pinned
    ]


def beyond_window(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[Decision]:
    """Short-term memories older than the newest so many of their agent, user and session are archived."""
    windows: dict[tuple[str, ...], list[Subject]] = defaultdict(list)
    for subject in subjects:
        memory = subject.memory
        if memory.type in PASSING and is_live(subject, now):
            windows[(*owner(memory), memory.session or "")].append(subject)
    decided: list[Decision] = []
    for window in windows.values():
        newest_first = sorted(window, key=lambda each: (each.memory.recorded_at, each.memory.id), reverse=True)
        for place, subject in enumerate(newest_first[settings.keep_short_term :], settings.keep_short_term + 1):
            if _must_stay(subject, now, settings):
                continue
            reason = f"number {place} of a window of {settings.keep_short_term}"
            decided.append(Decision("window", "archived", subject.memory.id, subject.memory.content, reason))
    return sorted(decided, key=lambda each: each.id or 0)


def _must_stay(subject: Subject, now: datetime, settings: UpkeepSettings) -> bool:
    # A window is about number, not age: what is recent may fall out of it.
    return protection(subject, now, settings) not in (None, "recent")
