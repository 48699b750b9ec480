"""The policies that expire, merge, archive and delete single memories. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from math import log2

from memoranda.maintenance.base import SHORT_LIVED, UpkeepItem, UpkeepSettings, is_live, owner_key
from memoranda.remember.duplicates import fingerprint, statement_tokens
from memoranda.remember.importance.score import is_small_talk
from memoranda.results.maintenance import UpkeepAction, UpkeepDecision
from memoranda.security.id_cipher import show_id
from memoranda.types import Memory, MemoryType, trust_rank


def find_expired(items: Iterable[UpkeepItem], now: datetime) -> list[UpkeepDecision]:
    """Decide to archive memories past their expiry time, unless they are pinned.

    A saved value is nothing that a person said: it is removed at the time that its caller set.
    """
    decisions: list[UpkeepDecision] = []
    for memory in (item.memory for item in items):
        if memory.has_expired(now) and not memory.pinned and (memory.key is not None or memory.archived_at is None):
            action: UpkeepAction = "archived" if memory.key is None else "removed"
            reason = f"expired at {memory.expires_at:%Y-%m-%d %H:%M} UTC"
            decisions.append(UpkeepDecision("expire", action, memory.id, memory.content, reason))
    return decisions


def find_faded(items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Decide to archive small talk whose importance has faded below the limit.

    Whatever its importance, a text that is not recognised as small talk stays, unless the settings say otherwise.
    """
    decisions: list[UpkeepDecision] = []
    for item in items:
        memory, left = item.memory, faded_importance(item, now, settings)
        if not is_live(item, now) or left >= settings.fade_below or protection_reason(item, now, settings):
            continue
        if settings.small_talk_only and not is_small_talk(memory.content):
            continue
        days = _time_since_use(item, now).total_seconds() / 86_400
        what = "small talk: importance" if settings.small_talk_only else "importance"
        reason = f"{what} {memory.importance:g} has faded to {left:.2f} in {days:.0f} days without use"
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

    Only what had expired, small talk, and what repeats a memory that is kept. Pinned and important memories stay
    archived, and so do the sources of a consolidated memory.
    """
    kept = {item.memory.id for item in items}
    decisions: list[UpkeepDecision] = []
    for item in items:
        memory = item.memory
        if memory.archived_at is None or now - memory.archived_at < settings.grace:
            continue
        repeats = item.merged and memory.superseded_by in kept
        important = memory.importance >= settings.important and not repeats
        if memory.pinned or item.consolidated or important:
            continue
        if settings.small_talk_only and not (repeats or memory.has_expired(now) or is_small_talk(memory.content)):
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


def find_repeats(items: Iterable[UpkeepItem], now: datetime, settings: UpkeepSettings) -> list[UpkeepDecision]:
    """Decide to merge memories into another one that is the same statement.

    Turns of a conversation are compared only within one session and day: the same words said later are new information.
    """
    groups: dict[tuple[object, ...], list[UpkeepItem]] = defaultdict(list)
    for item in items:
        memory = item.memory
        mergeable = item.derived is None and memory.key is None and memory.type is not MemoryType.SHARED
        if mergeable and is_live(item, now):
            is_turn = memory.message_id is not None
            session = memory.session if is_turn else None
            words = statement_tokens(memory.content)
            # What lasts is not merged into what expires.
            kind = (memory.type, memory.expires_at is None)
            groups[(*owner_key(memory), *kind, memory.speaker, is_turn, session, words)].append(item)
    repeated = [same for group in groups.values() if len(group) > 1 for same in _group_by_times(group)]
    decisions = [decision for group in repeated for decision in _merge_group(group, settings)]
    return sorted(decisions, key=lambda decision: decision.id or 0)


def _group_by_times(group: list[UpkeepItem]) -> Iterable[list[UpkeepItem]]:
    """Group memories with the same words by the times they mention: "yesterday" said on two days is two times."""
    same: dict[object, list[UpkeepItem]] = defaultdict(list)
    for item in group:
        features = fingerprint(item.memory.content, item.memory.valid_from)
        if features.terms:
            same[features.times].append(item)
    return same.values()


def _merge_group(group: list[UpkeepItem], settings: UpkeepSettings) -> Iterator[UpkeepDecision]:
    kept: list[Memory] = []
    for item in sorted(group, key=_merge_order):
        memory = item.memory
        best = next((other for other in kept if _is_repeat(memory, other, settings)), None)
        if best is None or memory.pinned:
            kept.append(memory)
        else:
            reason = f"memory {show_id(best.id)} says the same: {best.content[:80]!r}"
            yield UpkeepDecision("merge", "merged", memory.id, memory.content, reason, best.id)


def _is_repeat(memory: Memory, kept: Memory, settings: UpkeepSettings) -> bool:
    return memory.message_id is None or abs(kept.valid_from - memory.valid_from) <= settings.same_day


def _merge_order(item: UpkeepItem) -> tuple[object, ...]:
    """Sort the memory to keep first: pinned, trusted, important, often used, old."""
    memory = item.memory
    return (not memory.pinned, -trust_rank(memory.trust), -memory.importance, -item.accesses, memory.id)
