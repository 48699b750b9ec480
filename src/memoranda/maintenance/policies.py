"""Put away first, delete later: what has faded, and what nobody asked back. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from math import log2
from typing import Final, TypeAlias

from memoranda.maintenance.base import PASSING, Subject, UpkeepSettings, has_expired, is_live, owner
from memoranda.results import UpkeepDecision
from memoranda.text import query_terms
from memoranda.types import Memory, MemoryType


def faded(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Memories whose importance has faded below the limit are archived."""
    decided: list[UpkeepDecision] = []
    for subject in subjects:
        memory, left = subject.memory, faded_importance(subject, now, settings)
        if not is_live(subject, now) or left >= settings.fade_below or protection(subject, now, settings):
            continue
        days = unused_for(subject, now).total_seconds() / 86_400
        reason = f"importance {memory.importance:g} has faded to {left:.2f} in {days:.1f} days without use"
        decided.append(UpkeepDecision("fade", "archived", memory.id, memory.content, reason))
    return decided


def outlived(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Archived memories whose time of grace is over are removed.

    Those that are pinned or important stay archived, and so does the evidence behind a consolidated memory.
    """
    decided: list[UpkeepDecision] = []
    for subject in subjects:
        memory = subject.memory
        if memory.archived_at is None or now - memory.archived_at < settings.grace or _kept(subject, settings):
            continue
        days = (now - memory.archived_at).days
        reason = f"archived {days} days ago, and nobody restored it"
        decided.append(UpkeepDecision("delete", "removed", memory.id, memory.content, reason, memory.superseded_by))
    return decided


def _kept(subject: Subject, settings: UpkeepSettings) -> bool:
    memory = subject.memory
    # What another one repeats is not lost with it.
    repeated = memory.superseded_by is not None
    return memory.pinned or subject.consolidated or (memory.importance >= settings.important and not repeated)


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


def expired(subjects: Iterable[Subject], now: datetime) -> list[UpkeepDecision]:
    """Memories whose time is up are removed, unless they are pinned: the caller set the time."""
    return [
        UpkeepDecision("expire", "removed", memory.id, memory.content, f"expired at {memory.expires_at:%Y-%m-%d %H:%M}")
        for memory in (subject.memory for subject in subjects)
        if has_expired(memory, now) and not memory.pinned
    ]


def beyond_window(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Short-term memories older than the newest so many of their agent, user and session are archived."""
    windows: dict[tuple[str, ...], list[Subject]] = defaultdict(list)
    for subject in subjects:
        memory = subject.memory
        if memory.type in PASSING and is_live(subject, now):
            windows[(*owner(memory), memory.session or "")].append(subject)
    decided: list[UpkeepDecision] = []
    for window in windows.values():
        newest_first = sorted(window, key=lambda each: (each.memory.recorded_at, each.memory.id), reverse=True)
        for place, subject in enumerate(newest_first[settings.keep_short_term :], settings.keep_short_term + 1):
            if _must_stay(subject, now, settings):
                continue
            reason = f"number {place} of a window of {settings.keep_short_term}"
            decided.append(UpkeepDecision("window", "archived", subject.memory.id, subject.memory.content, reason))
    return sorted(decided, key=lambda each: each.id or 0)


def _must_stay(subject: Subject, now: datetime, settings: UpkeepSettings) -> bool:
    # A window is about number, not age: what is recent may fall out of it.
    return protection(subject, now, settings) not in (None, "recent")


Same: TypeAlias = Callable[[Memory, Memory], bool]
"""Whether two memories say the same."""
TRUST: Final = ("user", "system", "assistant", "tool")
"""Where words come from, the most trusted first."""


def repeats(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings, same: Same) -> list[UpkeepDecision]:
    """Which memories only repeat another one, that one holding every telling word of theirs.

    What was said in a conversation repeats only within its session and day: later, the same words are news.
    """
    groups: dict[tuple[object, ...], list[Subject]] = defaultdict(list)
    for subject in subjects:
        if _may_repeat(subject, now):
            groups[_group(subject.memory)].append(subject)
    found = [decision for group in groups.values() for decision in _merged(group, settings, same)]
    return sorted(found, key=lambda each: each.id or 0)


def trust_rank(trust: str) -> int:
    """0 for the most trusted."""
    return TRUST.index(trust) if trust in TRUST else len(TRUST)


def _may_repeat(subject: Subject, now: datetime) -> bool:
    memory = subject.memory
    made_or_kept = subject.derived is not None or memory.key is not None
    return is_live(subject, now) and not made_or_kept and memory.type is not MemoryType.SHARED


def _group(memory: Memory) -> tuple[object, ...]:
    session = memory.session if memory.message_id is not None else None
    return (*owner(memory), memory.type, memory.speaker, memory.message_id is not None, session)


def _merged(group: list[Subject], settings: UpkeepSettings, same: Same) -> Iterator[UpkeepDecision]:
    kept: dict[int, tuple[Memory, frozenset[str]]] = {}
    by_word: dict[str, list[int]] = defaultdict(list)
    for subject in sorted(group, key=_support):
        memory, words = subject.memory, frozenset(query_terms(subject.memory.content))
        best = _holding(memory, words, kept, by_word, settings.same_day, same)
        if best is None or memory.pinned:
            kept[memory.id] = (memory, words)
            for word in words:
                by_word[word].append(memory.id)
        else:
            reason = f"memory {best.id} says the same: {best.content[:80]!r}"
            yield UpkeepDecision("merge", "merged", memory.id, memory.content, reason, best.id)


def _holding(
    memory: Memory,
    words: frozenset[str],
    kept: dict[int, tuple[Memory, frozenset[str]]],
    by_word: dict[str, list[int]],
    same_day: timedelta,
    same: Same,
) -> Memory | None:
    if not words:
        return None
    # Whatever holds all the words holds the rarest of them.
    rarest = min(words, key=lambda word: len(by_word.get(word, ())))
    for key in by_word.get(rarest, ()):
        other, held = kept[key]
        spoken = memory.message_id is not None
        if spoken and abs(other.valid_from - memory.valid_from) > same_day:
            continue
        if words <= held and same(other, memory):
            return other
    return None


def _support(subject: Subject) -> tuple[object, ...]:
    """The best supported first: pinned, important, trusted, used, utterance more, said first."""
    memory = subject.memory
    strength = (not memory.pinned, -memory.importance, trust_rank(memory.trust), -subject.accesses)
    return (*strength, -len(query_terms(memory.content)), memory.id)
