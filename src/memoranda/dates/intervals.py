"""Intervals of time: days, weeks, months, seasons, and shifts between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

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
