"""Memories that repeat others: the best supported one stays. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from memoranda.lifecycle.base import Decision, Subject, UpkeepSettings, is_live, owner
from memoranda.text import query_terms
from memoranda.types import Memory, MemoryType

Same: TypeAlias = Callable[[Memory, Memory], bool]
"""Whether two memories say the same."""
TRUST: Final = ("user", "system", "assistant", "tool")
"""Where words come from, the most trusted first."""


def repeats(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings, same: Same) -> list[Decision]:
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


def _merged(group: list[Subject], settings: UpkeepSettings, same: Same) -> Iterator[Decision]:
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
            yield Decision("merge", "merged", memory.id, memory.content, reason, best.id)


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
    """The best supported first: pinned, important, trusted, used, saying more, said first."""
    memory = subject.memory
    strength = (not memory.pinned, -memory.importance, trust_rank(memory.trust), -subject.accesses)
    return (*strength, -len(query_terms(memory.content)), memory.id)
