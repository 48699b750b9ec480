"""Simple times and what stands around them: sides, ends, portions, hours. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, Protocol

from memoranda.dates.base import NUMBER, count_of, weekday_number
from memoranda.dates.intervals import (
    DAY,
    Interval,
    Precision,
    day_of,
    midnight,
    part_of,
    shifted,
    shifted_months,
    weekend_of,
)
from memoranda.dates.rules import Tense

_SIDE: Final = re.compile(
    rf"\b(?:{NUMBER}|the)\s+(?P<unit>day|night|weekend|week|month|year|(?:mon|tues|wednes|thurs|fri|satur|sun)day)s?\s+"
    r"(?P<side>before|after|prior\s+to|following)\s+(?:the\s+)?$",
    re.I,
)
_OPEN: Final = re.compile(r"\b(?P<word>ever\s+since|since|until|till|by|before|after|from|for)\s+(?:the\s+)?$", re.I)
_PORTION: Final = re.compile(
    r"\b(?:(?P<adverb>early|mid|late)(?:\s+in|-|\s)\s*|(?:the\s+)?(?P<noun>start|beginning|middle|end)\s+of\s+)(?:the\s+)?$",
    re.I,
)
_BETWEEN: Final = re.compile(r"\s*(?:to|until|till|through|and|-|–)\s*(?:the\s+)?", re.I)
_RANGE_LEAD: Final = re.compile(r"\b(?:from|between)\s+(?:the\s+)?$", re.I)
_HOUR_AFTER: Final = re.compile(
    r"(?:\s+at|,)?\s+(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm|a\.m\.|p\.m\.)(?!\w)"
    r"|\s+at\s+(?P<hour24>\d{1,2}):(?P<minute24>\d\d)\b|\s+at\s+(?P<noon>noon|midday)\b",
    re.I,
)
_HOUR_BEFORE: Final = re.compile(
    r"\b(?:at\s+)?(?P<hour>\d{1,2})(?::(?P<minute>\d\d))?\s*(?P<half>am|pm|a\.m\.|p\.m\.)\s+(?:on\s+)?(?:the\s+)?$",
    re.I,
)
_PART_AFTER: Final = re.compile(r"\s+(?:in\s+the\s+|at\s+)?(?P<part>morning|afternoon|evening|night)\b", re.I)


class Timed(Protocol):
    """A simple expression with its interval."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def interval(self) -> Interval | None: ...


@dataclass(frozen=True, slots=True)
class Joined:
    """A whole expression."""

    start: int
    end: int
    interval: Interval
    kind: Literal["at", "since", "until"] = "at"


def joined(text: str, said_at: datetime, points: Sequence[Timed], prefer: Tense | None) -> Iterator[Joined]:
    """The expressions that the simple ones are part of; those that are open on one side are left out."""
    del prefer
    for point in _ranges(text, [Joined(p.start, p.end, p.interval) for p in points if p.interval]):
        whole = _with_hour(text, _with_portion(text, point))
        placed = _on_a_side(text, whole)
        if placed is not None:
            opened = _opened(text, placed, said_at)
            if opened is not None:
                yield opened


def _ranges(text: str, points: list[Joined]) -> Iterator[Joined]:
    place = 0
    while place < len(points):
        first = points[place]
        second = points[place + 1] if place + 1 < len(points) else None
        lead = _RANGE_LEAD.search(text, max(0, first.start - 20), first.start)
        if second and lead and _BETWEEN.fullmatch(text, first.end, second.start) and _in_order(first, second):
            yield Joined(lead.start(), second.end, Interval(first.interval.start, second.interval.end, Precision.SPAN))
            place += 2
        else:
            yield first
            place += 1


def _in_order(first: Joined, second: Joined) -> bool:
    return first.interval.start < second.interval.end


def _with_portion(text: str, point: Joined) -> Joined:
    """Early May, the end of 2022: a third of it."""
    found = _PORTION.search(text, max(0, point.start - 30), point.start)
    whole = point.interval
    if found is None or whole.precision not in (Precision.MONTH, Precision.SEASON, Precision.YEAR, Precision.DECADE):
        return point
    third = (whole.end - whole.start) / 3
    word = (found["adverb"] or found["noun"]).lower()
    starts = (whole.start, midnight(whole.start + third), midnight(whole.end - third), whole.end)
    place = 0 if word in ("early", "start", "beginning") else 2 if word in ("late", "end") else 1
    return replace(point, start=found.start(), interval=Interval(starts[place], starts[place + 1], whole.precision))


def _with_hour(text: str, point: Joined) -> Joined:
    """Tomorrow at 3 pm, Friday evening."""
    if point.interval.precision is not Precision.DAY:
        return point
    day = point.interval.start
    part = _PART_AFTER.match(text, point.end)
    if part is not None:
        return replace(point, end=part.end(), interval=part_of(day, part["part"].lower()))
    after = _HOUR_AFTER.match(text, point.end)
    before = None if after else _HOUR_BEFORE.search(text, max(0, point.start - 20), point.start)
    found = after or before
    moment = _moment(day, found) if found else None
    if moment is None or found is None:
        return point
    return replace(
        point, start=found.start() if before else point.start, end=found.end() if after else point.end, interval=moment
    )


def _moment(day: datetime, found: re.Match[str]) -> Interval | None:
    groups = found.groupdict()
    hour, minute = _clock(groups)
    if hour > 23 or minute > 59:
        return None
    exact = bool(groups.get("minute") or groups.get("minute24"))
    start = day + timedelta(hours=hour, minutes=minute)
    length = timedelta(minutes=1) if exact else timedelta(hours=1)
    return Interval(start, start + length, Precision.MINUTE if exact else Precision.HOUR)


def _clock(groups: dict[str, str | None]) -> tuple[int, int]:
    if groups.get("noon"):
        return 12, 0
    if groups.get("hour24"):
        return int(groups["hour24"] or 0), int(groups["minute24"] or 0)
    hour, minute = int(groups["hour"] or 0), int(groups["minute"] or 0)
    if not 1 <= hour <= 12:
        return 99, 0
    return hour % 12 + (12 if (groups["half"] or "").lower().startswith("p") else 0), minute


def _on_a_side(text: str, point: Joined) -> Joined | None:
    """The week before 9 June 2023, two days after Christmas; None for what cannot be placed."""
    found = _SIDE.search(text, max(0, point.start - 45), point.start)
    if found is None:
        return point
    sign = -1 if found["side"].lower().startswith(("before", "prior")) else 1
    unit = found["unit"].lower()
    interval = _beside(point.interval, unit, sign, count_of(found) if found["number"] else None)
    return replace(point, start=found.start(), interval=interval)


def _beside(anchor: Interval, unit: str, sign: int, count: int | None) -> Interval:
    edge = anchor.start if sign < 0 else anchor.end
    if unit.endswith("day") and unit != "day":
        return _weekday_beside(edge, weekday_number(unit), sign)
    if unit == "weekend":
        near = weekend_of(edge - DAY if sign < 0 else edge)
        fits = near.end <= edge if sign < 0 else near.start >= edge
        return near.moved(sign * 7 * DAY * ((count or 1) - fits))
    if count is not None:
        return _counted(anchor, unit, sign * count)
    if unit in ("day", "night"):
        day = day_of(edge - DAY if sign < 0 else edge)
        return part_of(day.start, "night") if unit == "night" else day
    reach = shifted(edge, unit, sign)
    return Interval(min(edge, reach), max(edge, reach), Precision(unit))


def _counted(anchor: Interval, unit: str, count: int) -> Interval:
    """Two days before: as exact as the day it is counted from."""
    if unit == "month" or unit == "year":
        months = count * (12 if unit == "year" else 1)
        return Interval(shifted_months(anchor.start, months), shifted_months(anchor.end, months), anchor.precision)
    return anchor.moved(shifted(anchor.start, unit, count) - anchor.start)


def _weekday_beside(edge: datetime, number: int, sign: int) -> Interval:
    if sign < 0:
        return day_of(edge - ((edge.weekday() - number) % 7 or 7) * DAY)
    return day_of(edge + (number - edge.weekday()) % 7 * DAY)


def _opened(text: str, point: Joined, said_at: datetime) -> Joined | None:
    found = _OPEN.search(text, max(0, point.start - 16), point.start)
    if found is None:
        return point
    word, whole = found["word"].lower().split()[-1], point.interval
    if word == "for":  # "for three years", up to now; "for Christmas" is a day like any other
        return Joined(found.start(), point.end, whole, "since") if whole.end == said_at else point
    if word == "since" and whole.start < said_at:
        return Joined(found.start(), point.end, Interval(whole.start, said_at, whole.precision), "since")
    if word in ("until", "till", "by") and whole.end > said_at:
        return Joined(found.start(), point.end, Interval(said_at, whole.end, whole.precision), "until")
    if word == "from":
        return point
    return None
