"""The policies of upkeep: names, settings, input values, and those for single memories. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import datetime, timedelta
from math import log2
from typing import Final

from memoranda.display import shown
from memoranda.errors import InvalidInput
from memoranda.remember.duplicates import fingerprint, statement_tokens
from memoranda.remember.importance.score import is_small_talk
from memoranda.results.maintenance import DerivationKind, PolicyName, UpkeepAction, UpkeepDecision
from memoranda.security.id_cipher import show_id
from memoranda.types import Memory, MemoryType, trust_rank

POLICIES: Final[tuple[PolicyName, ...]] = (
    "extract",
    "expire",
    "merge",
    "summarize",
    "consolidate",
    "reflect",
    "window",
    "fade",
    "delete",
)
"""Every policy, in the order in which they run: new memories are derived before any are archived."""
DEFAULT_POLICIES: Final[tuple[PolicyName, ...]] = ("extract", "expire", "merge", "consolidate", "fade")
"""The policies that cost no recall and delete nothing that a person said.

Summaries and reflections take the place of their sources among the hits; `window` and `delete` take away what was said.
"""
SHORT_LIVED: Final = (MemoryType.SHORT_TERM, MemoryType.WORKING)
_FLAGS: Final = ("archive_sources", "small_talk_only")
_COUNTS: Final = ("keep_short_term", "cluster_least", "cluster_most", "session_least", "period_least")


@dataclass(frozen=True, slots=True)
class UpkeepItem:
    """A memory with the access and lineage data that policies use."""

    memory: Memory
    accesses: int = 0
    accessed_at: datetime | None = None
    derived: DerivationKind | None = None
    """How upkeep derived the memory; None when it did not."""
    consolidated: bool = False
    """Whether a consolidated memory was already made from it."""
    merged: bool = False
    """Whether it repeats the memory that it was merged into."""


def is_live(item: UpkeepItem, now: datetime) -> bool:
    """Return whether the memory takes part in recall: not archived or quarantined, not expired, still valid."""
    memory = item.memory
    ended = memory.valid_to is not None and memory.valid_to <= now
    return memory.archived_at is None and memory.quarantined_at is None and not memory.has_expired(now) and not ended


def owner_key(memory: Memory) -> tuple[str, str, str]:
    """Return tenant, agent and user as a sortable key."""
    return memory.tenant, memory.agent or "", memory.user or ""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpkeepSettings:
    """Limits of the upkeep policies. With the defaults, only expired memories and small talk are archived."""

    recent: timedelta = timedelta(days=7)
    """A memory written or recalled within this time is protected."""
    recent_short_term: timedelta = timedelta(hours=1)
    """The same for short-term and working memories."""
    important: float = 0.7
    """A memory with at least this importance is never archived."""
    half_life: timedelta = timedelta(days=30)
    """After this time without use, the part of an importance that can fade has halved."""
    short_term_half_life: timedelta = timedelta(hours=6)
    """The same for short-term and working memories."""
    floor: float = 0.3
    """The share of an importance that never fades."""
    fade_below: float = 0.03
    """A memory whose faded importance is below this is archived."""
    small_talk_only: bool = True
    """Whether only small talk fades and is deleted; if not, also what a person said, by its importance."""
    keep_short_term: int = 200
    """How many short-term memories are kept per agent, user and session: the newest ones."""
    grace: timedelta = timedelta(days=30)
    """How long an archived memory can be restored before it is deleted."""
    same_day: timedelta = timedelta(days=1)
    """The same words said within this time are a repetition; said later, they are new information."""
    related: float = 0.5
    """How similar two texts in one cluster must be, from 0 (unrelated) to 1 (equal)."""
    same_session: float = 0.1
    """How much lower that limit is within one session."""
    cluster_span: timedelta = timedelta(days=30)
    """The longest time between two consecutive memories of one cluster."""
    cluster_least: int = 3
    """The smallest size of a cluster."""
    cluster_most: int = 8
    """The largest size of a cluster."""
    archive_sources: bool = False
    """Whether memories are archived once a consolidated memory was made from them."""
    session_timeout: timedelta = timedelta(hours=1)
    """A conversation without a new turn for this long is finished."""
    session_least: int = 8
    """A conversation with fewer turns gets no summary."""
    period: timedelta = timedelta(days=7)
    """The time that one reflection covers."""
    period_least: int = 20
    """A period with fewer memories gets no reflection."""

    def __post_init__(self) -> None:
        for spec in fields(self):
            _check(spec.name, getattr(self, spec.name))


def _check(name: str, value: object) -> None:
    if isinstance(value, timedelta):
        if value <= timedelta(0):
            raise InvalidInput(f"{name} must be longer than 0, not {value}")
    elif name in _COUNTS:
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidInput(f"{name} must be an integer of at least 1, not {shown(value)}")
    elif name in _FLAGS:
        if not isinstance(value, bool):
            raise InvalidInput(f"{name} must be True or False, not {shown(value)}")
    elif not isinstance(value, int | float) or not 0 <= value <= 1:
        raise InvalidInput(f"{name} must be a number from 0 to 1 or a timedelta, not {shown(value)}")


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
