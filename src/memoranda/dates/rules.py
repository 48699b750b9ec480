"""Intervals of time, the definition of a date rule, and the tense of the sentence around a date."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from typing import Final, Literal, TypeAlias

from memoranda.dates.vocabulary import Match

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(days=7)
SEASON_STARTS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which a season starts, in the northern hemisphere."""
PARTS: Final = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""The hours of each part of the day; a night reaches into the next day."""


class Precision(StrEnum):
    """How exactly a text mentions a time."""

    MINUTE = "minute"
    HOUR = "hour"
    PART = "part_of_day"
    DAY = "day"
    WEEKEND = "weekend"
    WEEK = "week"
    MONTH = "month"
    QUARTER = "quarter"
    SEASON = "season"
    YEAR = "year"
    DECADE = "decade"
    SPAN = "span"
    """A period between two mentioned ends."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A period from `start` up to, but not including, `end`."""

    start: datetime
    end: datetime
    precision: Precision

    def shift(self, by: timedelta) -> Interval:
        """Return the interval at a later or earlier time."""
        return Interval(self.start + by, self.end + by, self.precision)


def midnight(moment: datetime) -> datetime:
    """Return the start of the moment's day."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def add_months(moment: datetime, months: int) -> datetime:
    """Return the same day some months later, or the last day of the month if it is too short."""
    index = moment.year * 12 + moment.month - 1 + months
    first = moment.replace(year=index // 12, month=index % 12 + 1, day=1)
    last = (first.replace(day=28) + 4 * DAY).replace(day=1) - DAY
    return first.replace(day=min(moment.day, last.day))


def day_of(moment: datetime) -> Interval:
    """Return the moment's day."""
    start = midnight(moment)
    return Interval(start, start + DAY, Precision.DAY)


def part_of(moment: datetime, part: str) -> Interval:
    """Return the morning, afternoon, evening or night of a day."""
    first, last = PARTS[part]
    start = midnight(moment)
    return Interval(start + timedelta(hours=first), start + timedelta(hours=last), Precision.PART)


def week_of(moment: datetime) -> Interval:
    """Return Monday to Sunday of the moment's week."""
    start = midnight(moment) - moment.weekday() * DAY
    return Interval(start, start + WEEK, Precision.WEEK)


def week_around(moment: datetime) -> Interval:
    """Return the seven days with this one in the middle: what "two weeks ago" can mean."""
    start = midnight(moment) - 3 * DAY
    return Interval(start, start + WEEK, Precision.WEEK)


def weekend_of(moment: datetime) -> Interval:
    """Return Saturday and Sunday of the moment's week."""
    start = week_of(moment).start + 5 * DAY
    return Interval(start, start + 2 * DAY, Precision.WEEKEND)


def month_of(moment: datetime) -> Interval:
    """Return the moment's month."""
    start = midnight(moment).replace(day=1)
    return Interval(start, add_months(start, 1), Precision.MONTH)


def quarter_of(moment: datetime) -> Interval:
    """Return the moment's quarter."""
    start = midnight(moment).replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
    return Interval(start, add_months(start, 3), Precision.QUARTER)


def season_of(moment: datetime, season: str, year: int) -> Interval:
    """Return the season that starts in a year; winter 2022 ends in February 2023."""
    start = midnight(moment).replace(year=year, month=SEASON_STARTS[season], day=1)
    return Interval(start, add_months(start, 3), Precision.SEASON)


def year_of(moment: datetime, year: int | None = None) -> Interval:
    """Return the given year, or else the moment's year."""
    start = midnight(moment).replace(year=year or moment.year, month=1, day=1)
    return Interval(start, add_months(start, 12), Precision.YEAR)


def decade_of(moment: datetime, year: int) -> Interval:
    """Return the decade that contains a year."""
    start = year_of(moment, year // 10 * 10).start
    return Interval(start, add_months(start, 120), Precision.DECADE)


def calendar_unit(moment: datetime, unit: str) -> Interval:
    """Return the day, week, weekend, month, quarter or year that contains the moment."""
    return _CALENDAR_UNITS[unit](moment)


def add_units(moment: datetime, unit: str, count: int) -> datetime:
    """Return the moment some units later, or earlier when the count is negative."""
    if unit in _MONTHS_PER_UNIT:
        return add_months(moment, _MONTHS_PER_UNIT[unit] * count)
    return moment + count * _UNIT_LENGTHS[unit]


def interval_around(moment: datetime, unit: str) -> Interval:
    """Return the interval around a moment that was counted in units; it is as exact as the unit."""
    if unit in ("hour", "minute"):
        half = timedelta(minutes=30) if unit == "hour" else timedelta(minutes=1)
        return Interval(moment - half, moment + half, Precision(unit))
    if unit == "week":
        return week_around(moment)
    if unit == "decade":
        middle = year_of(moment).start
        return Interval(add_months(middle, -24), add_months(middle, 36), Precision.DECADE)
    return part_of(moment, "night") if unit == "night" else calendar_unit(moment, unit)


_CALENDAR_UNITS: Final = {
    "day": day_of,
    "week": week_of,
    "weekend": weekend_of,
    "month": month_of,
    "quarter": quarter_of,
    "year": year_of,
}
_MONTHS_PER_UNIT: Final = {"month": 1, "quarter": 3, "year": 12, "decade": 120}
_UNIT_LENGTHS: Final = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "night": DAY,
    "week": WEEK,
    "weekend": WEEK,
    "fortnight": 2 * WEEK,
}


Tense: TypeAlias = Literal["past", "future"]
_SENTENCE_END: Final = re.compile(r"[.!?;\n]+(?:\s|$)")
_FUTURE_CUE: Final = re.compile(
    r"\b(?:will|won't|shall|gonna|going\s+to|upcoming|looking\s+forward|can't\s+wait|cannot\s+wait|hop(?:e|ing)\s+to"
    r"|wants?\s+to|would\s+like\s+to|due|deadline|scheduled|booked|remind|let's|appointment|coming\s+up|see\s+you"
    r"|ha(?:ve|s)\s+to|needs?\s+to|must|should|starts|begins|opens|ends|arrives|supposed\s+to|i'd\s+love\s+to|tomorrow"
    r"|plan(?:s|ning)?(?=\s+(?:to|on|for|a|an|my|our|the)\b)|excited\s+(?:for|about|to))\b"
    r"|(?:'|’)ll\b"
    r"|(?:\b(?:am|is|are)|(?:'|’)(?:m|re|s))\s+(?:\w+\s+)?\w+ing\b(?!\s+from)"
    r"|\b(?:am|is|are)\s+(?=(?:on|in|at|due)\b)|(?:'|’)s\s+(?=(?:on|in)\b)",
    re.I,
)
_PAST_CUE: Final = re.compile(
    r"\b(?:was|were|wasn't|weren't|did|didn't|had|went|got|took|made|bought|saw|met|came|gave|told|said|found|ran|won"
    r"|lost|ate|wrote|left|began|broke|brought|built|caught|drove|felt|flew|held|kept|knew|led|paid|sent|sold|spent"
    r"|taught|thought|wore|became|fell|grew|heard|hit|lent|rode|sang|slept|spoke|stood|swam|threw|understood|woke"
    r"|been|ago|yesterday|last"
    r"|(?!excited|interested|scheduled|booked|supposed|need|indeed|speed|tired|worried|thrilled|married|based"
    r"|bored|planned|used\b|named|bed\b|red\b|feed\b|seed\b|weed\b|breed\b)\w{2,}ed)\b",
    re.I,
)
_OPEN_END: Final = re.compile(r"\b(?P<word>since|until|till|by)\s+(?:the\s+)?$", re.I)
_PERFECT: Final = re.compile(r"\b(?:have|has|haven't|hasn't|been)\b|(?:'|’)(?:ve|s)\b", re.I)


def tense_around(text: str, start: int, end: int) -> Tense | None:
    """Return the tense of the sentence around a time expression; None when the sentence does not show it."""
    before, after = _sentence_around(text, start, end)
    open_end = _OPEN_END.search(before)
    if open_end is not None:
        return "past" if open_end["word"].lower() == "since" else "future"
    past = _distance(_PAST_CUE, before, after)
    future = _distance(_FUTURE_CUE, before, after)
    if past is None and future is None:
        return None
    if past is None or future is None:
        return "future" if past is None else "past"
    return "past" if past <= future else "future"


_SENTENCE_LENGTH: Final = 500
"""Characters that are searched on each side: a "sentence" of many thousands, with hundreds of dates, takes seconds."""


def is_perfect(text: str, start: int) -> bool:
    """Return whether "have been …" or a similar form comes before, in the same sentence."""
    return _PERFECT.search(_sentence_around(text, start, start)[0]) is not None


def _sentence_around(text: str, start: int, end: int) -> tuple[str, str]:
    before = _SENTENCE_END.split(text[max(0, start - _SENTENCE_LENGTH) : start])[-1]
    after = _SENTENCE_END.split(text[end : end + _SENTENCE_LENGTH], maxsplit=1)[0]
    return before, after


def _distance(cue: re.Pattern[str], before: str, after: str) -> int | None:
    """Return the number of characters to the nearest cue; the distance to a cue after the expression counts double."""
    distances = [len(before) - match.end() for match in cue.finditer(before)]
    distances += [2 * match.start() + 1 for match in cue.finditer(after)]
    return min(distances, default=None)


@dataclass(frozen=True, slots=True)
class DateContext:
    """What a match is resolved against: when the text was said, and the tense of the sentence."""

    now: datetime
    find_tense: Callable[[], Tense | None]
    """Called only where the tense matters, because it is slow."""

    @property
    def tense(self) -> Tense | None:
        """The tense of the sentence around the match."""
        return self.find_tense()


Resolve: TypeAlias = Callable[[Match, DateContext], Interval | None]
"""Returns the interval, or None when the words can mean more than one time."""


@dataclass(frozen=True, slots=True)
class DateRule:
    """A pattern for text in lower case, and the function that resolves a match.

    It can match only a text that contains all word kinds in `needs`.
    """

    pattern: str
    resolve: Resolve
    needs: frozenset[str]

    @property
    def regex(self) -> re.Pattern[str]:
        return _compile(self.pattern)


@cache  # on first use, so that importing the rules is fast
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def rule(needs: str, pattern: str, resolve: Resolve) -> DateRule:
    """Return a rule; `needs` are word kinds separated by spaces."""
    return DateRule(pattern, resolve, frozenset(needs.split()))


def ambiguous(match: Match, context: DateContext) -> None:  # noqa: ARG001
    """Resolve to nothing. The words are ambiguous, and no later rule may match a part of them."""
    return


def choose_by_tense(context: DateContext, start_in_year: Callable[[int], datetime]) -> datetime | None:
    """Return the start of a yearly event: the last one that has begun, or the next one, by the tense of the sentence.

    Return None when the sentence does not show a tense.
    """
    tense = context.tense
    if tense is None:
        return None
    step = -1 if tense == "past" else 1
    years = (context.now.year, context.now.year + step)
    for start in map(start_in_year, years):
        if (start <= context.now) == (tense == "past"):
            return start
    return None
