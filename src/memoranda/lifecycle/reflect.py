"""Which stretches of time are over and worth looking back on. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import UTC, datetime

from memoranda.lifecycle.base import PASSING, Subject, UpkeepSettings, is_live, owner
from memoranda.lifecycle.summaries import Work, in_order, seen_already
from memoranda.types import Memory, MemoryType

REFLECTION = "reflection"
PERIOD = "period"
# A Monday, so that periods of a week are weeks.
_FIRST = datetime(1970, 1, 5, tzinfo=UTC)


def finished_periods(subjects: Iterable[Subject], now: datetime, settings: UpkeepSettings) -> list[Work]:
    """For each agent and user, the periods that are over, have enough in them, and were not looked back on yet."""
    lived: dict[tuple[tuple[str, ...], int], list[Memory]] = defaultdict(list)
    reflections: dict[tuple[tuple[str, ...], int], list[Memory]] = defaultdict(list)
    for subject in subjects:
        memory = subject.memory
        if not is_live(subject, now):
            continue
        if subject.derived == REFLECTION:
            reflections[owner(memory), int(memory.metadata.get(PERIOD, -1))].append(memory)
        elif _counts(subject):
            lived[owner(memory), period_of(memory.valid_from, settings)].append(memory)
    return [
        Work(_described(number, settings), in_order(said), tuple(each.id for each in reflections[whose, number]))
        for (whose, number), said in sorted(lived.items(), key=lambda item: item[0])
        if len(said) >= settings.period_least
        and _end(number, settings) + settings.session_timeout < now
        and max(memory.recorded_at for memory in said) + settings.session_timeout < now
        and not seen_already(reflections[whose, number], said)
    ]


def period_of(moment: datetime, settings: UpkeepSettings) -> int:
    """The number of the period that a moment lies in."""
    return (moment - _FIRST) // settings.period


def _counts(subject: Subject) -> bool:
    passing = subject.memory.type in PASSING or subject.memory.type is MemoryType.SHARED
    return subject.derived is None and not passing and subject.memory.key is None


def _end(number: int, settings: UpkeepSettings) -> datetime:
    return _FIRST + (number + 1) * settings.period


def _described(number: int, settings: UpkeepSettings) -> str:
    start = _FIRST + number * settings.period
    return f"{start:%Y-%m-%d} to {_end(number, settings):%Y-%m-%d}"
