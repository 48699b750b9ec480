"""Intervals of time, the definition of a date rule, and the tense of the sentence around a date."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
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
_SENTENCE_END: Final = re.compile(r"(?<![.!?;\n])[.!?;\n]+(?:\s|$)")
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
    r"|drank|chose|forgot|stole|swore|withdrew"
    r"|(?<!to )(?<!will )(?<!ll )(?<!can )(?<!must )(?<!could )(?<!should )(?<!might )quit"
    r"|been|ago|yesterday|last"
    r"|(?!excited|interested|scheduled|booked|supposed|need|indeed|speed|tired|worried|thrilled|married|based"
    r"|bored|planned|used\b|named|bed\b|red\b|feed\b|seed\b|weed\b|breed\b)\w{2,}ed)\b",
    re.I,
)
_OPEN_END: Final = re.compile(r"\b(?P<word>since|until|till|by)\s+(?:the\s+)?$", re.I)
_PERFECT: Final = re.compile(r"\b(?:have|has|haven't|hasn't|been)\b|(?:'|’)(?:ve|s)\b", re.I)


_REACH: Final = 500
"""How many characters before or after a date a word may be that counts for it, in a text without full stops."""


class TenseFinder:
    """Finds the tense around the dates of one text.

    The words that show it are looked for once in each sentence that has a date, however many it has.
    """

    def __init__(
        self, text: str, sentence_end: re.Pattern[str], past: re.Pattern[str], future: re.Pattern[str]
    ) -> None:
        breaks = [found.span() for found in sentence_end.finditer(text)]
        self._text, self._past, self._future = text, past, future
        self._starts = [0, *(end for _, end in breaks)]
        self._ends = [*(start for start, _ in breaks), len(text)]
        self._found: dict[tuple[re.Pattern[str], int], list[tuple[int, int]]] = {}

    def find(self, start: int, end: int) -> Tense | None:
        """Return the tense that the nearest cue in the sentence shows; None where there is none."""
        past, future = self._distance(self._past, start, end), self._distance(self._future, start, end)
        if past is None or future is None:
            return "future" if future is not None else "past" if past is not None else None
        return "past" if past <= future else "future"

    def _distance(self, cue: re.Pattern[str], start: int, end: int) -> int | None:
        """Return the number of characters to the nearest cue; the distance to a cue after the date counts double."""
        before = self._cues(cue, bisect_right(self._starts, start) - 1)
        after = self._cues(cue, bisect_left(self._ends, end))
        last = bisect_right(before, start, key=lambda span: span[1])
        first = bisect_left(after, end, key=lambda span: span[0])
        distances = [start - found for _, found in before[max(0, last - 1) : last] if start - found <= _REACH]
        distances += [2 * (found - end) + 1 for found, _ in after[first : first + 1] if found - end <= _REACH]
        return min(distances, default=None)

    def _cues(self, cue: re.Pattern[str], sentence: int) -> list[tuple[int, int]]:
        key = (cue, sentence)
        if key not in self._found:
            matches = cue.finditer(self._text, self._starts[sentence], self._ends[sentence])
            self._found[key] = [match.span() for match in matches]
        return self._found[key]


class EnglishTenseFinder(TenseFinder):
    """The same for English, where "since" and "until" before a date decide."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _SENTENCE_END, _PAST_CUE, _FUTURE_CUE)

    def find(self, start: int, end: int) -> Tense | None:
        open_end = _OPEN_END.search(self._text, max(0, start - 30), start)
        if open_end is None:
            return super().find(start, end)
        if open_end["word"].lower() == "since":
            return "past"
        return super().find(start, end) or "future"  # "Until May I lived in Rome"


def is_perfect(text: str, start: int) -> bool:
    """Return whether "have been …" or a similar form comes before, in the same sentence."""
    return _PERFECT.search(_SENTENCE_END.split(text_before(text, start))[-1]) is not None


def text_before(text: str, start: int) -> str:
    """Return the characters before a position that count for a date there."""
    return text[max(0, start - _REACH) : start]


def blank(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Return a text with the characters of some spans, which are in order, replaced by ones that no rule matches."""
    pieces, position = [], 0
    for start, end in spans:
        pieces += [text[position:start], "\0" * (end - start)]
        position = end
    return "".join([*pieces, text[position:]])


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
