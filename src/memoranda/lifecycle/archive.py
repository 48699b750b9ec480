"""Put away first, delete later: what has faded, and what nobody asked back. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memoranda.lifecycle.base import Decision, Subject, UpkeepSettings, is_live
from memoranda.lifecycle.decay import faded_importance, protection, unused_for


def faded(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[Decision]:
    """Memories whose importance has faded below the limit are archived."""
    decided: list[Decision] = []
    for subject in subjects:
        memory, left = subject.memory, faded_importance(subject, now, settings)
        if not is_live(subject, now) or left >= settings.fade_below or protection(subject, now, settings):
            continue
        days = unused_for(subject, now).total_seconds() / 86_400
        reason = f"importance {memory.importance:g} has faded to {left:.2f} in {days:.1f} days without use"
        decided.append(Decision("fade", "archived", memory.id, memory.content, reason))
    return decided


def outlived(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[Decision]:
    """Archived memories whose time of grace is over are removed.

    Those that are pinned or important stay archived, and so does the evidence behind a consolidated memory.
    """
    decided: list[Decision] = []
    for subject in subjects:
        memory = subject.memory
        if memory.archived_at is None or now - memory.archived_at < settings.grace or _kept(subject, settings):
            continue
        days = (now - memory.archived_at).days
        reason = f"archived {days} days ago, and nobody restored it"
        decided.append(Decision("delete", "removed", memory.id, memory.content, reason, memory.superseded_by))
    return decided


def _kept(subject: Subject, settings: UpkeepSettings) -> bool:
    memory = subject.memory
    # What another one repeats is not lost with it.
    repeated = memory.superseded_by is not None
    return memory.pinned or subject.consolidated or (memory.importance >= settings.important and not repeated)
