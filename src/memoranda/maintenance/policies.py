"""The policies that expire, merge, archive and delete single memories. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from math import log2
from typing import Final, TypeAlias

from memoranda.maintenance.base import SHORT_LIVED, UpkeepItem, UpkeepSettings, is_live, owner_key
from memoranda.results import UpkeepDecision
from memoranda.text import query_terms
from memoranda.types import Memory, MemoryType

SaysTheSame: TypeAlias = Callable[[Memory, Memory], bool]
"""Whether two memories say the same."""
_TRUST_ORDER: Final = ("user", "system", "assistant", "tool")
"""The sources of a text, the most trusted first."""


def find_expired(items: Iterable[UpkeepItem], now: datetime) -> list[UpkeepDecision]:
    """Decide to remove memories past their expiry time, unless they are pinned."""
    return [
        UpkeepDecision("expire", "removed", memory.id, memory.content, f"expired at {memory.expires_at:%Y-%m-%d %H:%M}")
        for memory in (item.memory for item in items)
        if memory.has_expired(now) and not memory.pinned
    ]


def find_faded(items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Decide to archive memories whose importance has faded below the limit."""
    decisions: list[UpkeepDecision] = []
    for item in items:
        memory, left = item.memory, faded_importance(item, now, settings)
        if not is_live(item, now) or left >= settings.fade_below or protection_reason(item, now, settings):
            continue
        days = _time_since_use(item, now).total_seconds() / 86_400
        reason = f"importance {memory.importance:g} has faded to {left:.2f} in {days:.1f} days without use"
        decisions.append(UpkeepDecision("fade", "archived", memory.id, memory.content, reason))
    return decisions


def find_beyond_window(items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Decide to archive all but the newest short-term memories of each agent, user and session."""
    windows: dict[tuple[str, ...], list[UpkeepItem]] = defaultdict(list)
    for item in items:
        memory = item.memory
        if memory.type in SHORT_LIVED and is_live(item, now):
            windows[(*owner_key(memory), memory.session or "")].append(item)
    decisions: list[UpkeepDecision] = []
    for window in windows.values():
        newest_first = sorted(window, key=lambda item: (item.memory.recorded_at, item.memory.id), reverse=True)
        for position, item in enumerate(newest_first[settings.keep_short_term :], settings.keep_short_term + 1):
            # A window limits the number, not the age: a recent memory can fall out of it.
            if protection_reason(item, now, settings) in (None, "recent"):
                reason = f"number {position} of a window of {settings.keep_short_term}"
                decisions.append(UpkeepDecision("window", "archived", item.memory.id, item.memory.content, reason))
    return sorted(decisions, key=lambda decision: decision.id or 0)


def find_deletable(items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Decide to remove archived memories whose grace period is over.

    Pinned and important memories stay archived, and so do the sources of a consolidated memory.
    """
    decisions: list[UpkeepDecision] = []
    for item in items:
        memory = item.memory
        if memory.archived_at is None or now - memory.archived_at < settings.grace:
            continue
        # The memory that superseded an important one still holds its content.
        important = memory.importance >= settings.important and memory.superseded_by is None
        if memory.pinned or item.consolidated or important:
            continue
        reason = f"archived {(now - memory.archived_at).days} days ago, and nobody restored it"
        decisions.append(UpkeepDecision("delete", "removed", memory.id, memory.content, reason, memory.superseded_by))
    return decisions


def faded_importance(item: UpkeepItem, now: datetime, settings: UpkeepSettings) -> float:
    """Return what is left of the importance.

    It halves with the time since the last use, more slowly the more often the memory was used. A share of it, the
    floor, never fades.
    """
    memory = item.memory
    half_life = settings.short_term_half_life if memory.type in SHORT_LIVED else settings.half_life
    stretch = 1 + log2(1 + item.accesses)
    left: float = 0.5 ** (_time_since_use(item, now) / (half_life * stretch))
    return memory.importance * (settings.floor + (1 - settings.floor) * left)


def protection_reason(item: UpkeepItem, now: datetime, settings: UpkeepSettings) -> str | None:
    """Return why the memory must not be archived; None when it may be."""
    memory = item.memory
    recent = settings.recent_short_term if memory.type in SHORT_LIVED else settings.recent
    if memory.pinned:
        return "pinned"
    if memory.type is MemoryType.SHARED:
        return "shared knowledge"
    if memory.key is not None:
        return "a saved value"
    if memory.importance >= settings.important:
        return f"importance {memory.importance:g}"
    return "recent" if _time_since_use(item, now) < recent else None


def _time_since_use(item: UpkeepItem, now: datetime) -> timedelta:
    last = max(item.memory.recorded_at, item.accessed_at or item.memory.recorded_at)
    return max(now - last, timedelta(0))


def find_repeats(
    items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings, says_the_same: SaysTheSame
) -> list[UpkeepDecision]:
    """Decide to merge memories into another one that says the same and holds all their content words.

    Turns of a conversation are compared only within one session and day: the same words said later are new information.
    """
    groups: dict[tuple[object, ...], list[UpkeepItem]] = defaultdict(list)
    for item in items:
        memory = item.memory
        mergeable = item.derived is None and memory.key is None and memory.type is not MemoryType.SHARED
        if mergeable and is_live(item, now):
            is_turn = memory.message_id is not None
            session = memory.session if is_turn else None
            groups[(*owner_key(memory), memory.type, memory.speaker, is_turn, session)].append(item)
    decisions = [decision for group in groups.values() for decision in _merge_group(group, settings, says_the_same)]
    return sorted(decisions, key=lambda decision: decision.id or 0)


def trust_rank(trust: str) -> int:
    """Return the position in the order of trust, 0 for the most trusted."""
    return _TRUST_ORDER.index(trust) if trust in _TRUST_ORDER else len(_TRUST_ORDER)


def _merge_group(
    group: list[UpkeepItem], settings: UpkeepSettings, says_the_same: SaysTheSame
) -> Iterator[UpkeepDecision]:
    kept: dict[int, tuple[Memory, frozenset[str]]] = {}
    by_word: dict[str, list[int]] = defaultdict(list)

    def find_kept(memory: Memory, words: frozenset[str]) -> Memory | None:
        # A memory that holds all the words holds the rarest of them.
        rarest = min(words, key=lambda word: len(by_word.get(word, ())), default="")
        for memory_id in by_word.get(rarest, ()):
            other, other_words = kept[memory_id]
            is_turn = memory.message_id is not None
            if is_turn and abs(other.valid_from - memory.valid_from) > settings.same_day:
                continue
            if words <= other_words and says_the_same(other, memory):
                return other
        return None

    for item in sorted(group, key=_merge_order):
        memory, words = item.memory, frozenset(query_terms(item.memory.content))
        best = find_kept(memory, words)
        if best is None or memory.pinned:
            kept[memory.id] = (memory, words)
            for word in words:
                by_word[word].append(memory.id)
        else:
            reason = f"memory {best.id} says the same: {best.content[:80]!r}"
            yield UpkeepDecision("merge", "merged", memory.id, memory.content, reason, best.id)


def _merge_order(item: UpkeepItem) -> tuple[object, ...]:
    """Sort the memory to keep first: pinned, important, trusted, often used, long, old."""
    memory = item.memory
    strength = (not memory.pinned, -memory.importance, trust_rank(memory.trust), -item.accesses)
    return (*strength, -len(query_terms(memory.content)), memory.id)
