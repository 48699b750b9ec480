"""Intervals of time: days, weeks, months, seasons, and shifts between them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

DAY: Final = timedelta(days=1)


WEEK: Final = timedelta(days=7)


SEASON_STARTS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
"""The month in which a season starts, on the northern half of the globe."""


PARTS: Final = {"morning": (5, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}
"""The hours of a part of the day; a night reaches into the next one."""


class Precision(StrEnum):
    """How exactly a time was named."""

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
    """A stretch between two named ends."""


@dataclass(frozen=True, slots=True)
class Interval:
    """From `start` up to, not including, `end`."""

    start: datetime
    end: datetime
    precision: Precision

    def moved(self, by: timedelta) -> Interval:
        return Interval(self.start + by, self.end + by, self.precision)


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def shifted_months(moment: datetime, months: int) -> datetime:
    """The same day so many months on, or the last day of a month that is too short for it."""
    index = moment.year * 12 + moment.month - 1 + months
    first = moment.replace(year=index // 12, month=index % 12 + 1, day=1)
    last = (first.replace(day=28) + 4 * DAY).replace(day=1) - DAY
    return first.replace(day=min(moment.day, last.day))


def day_of(moment: datetime) -> Interval:
    start = midnight(moment)
    return Interval(start, start + DAY, Precision.DAY)


def part_of(moment: datetime, part: str) -> Interval:
    """The morning, afternoon, evening or night of a day."""
    first, last = PARTS[part]
    start = midnight(moment)
    return Interval(start + timedelta(hours=first), start + timedelta(hours=last), Precision.PART)


def week_of(moment: datetime) -> Interval:
    """Monday to Sunday."""
    start = midnight(moment) - moment.weekday() * DAY
    return Interval(start, start + WEEK, Precision.WEEK)


def week_around(moment: datetime) -> Interval:
    """The seven days with this one in the middle: what "two weeks ago" can be said of."""
    start = midnight(moment) - 3 * DAY
    return Interval(start, start + WEEK, Precision.WEEK)


def weekend_of(moment: datetime) -> Interval:
    """Saturday and Sunday of the moment's week."""
    start = week_of(moment).start + 5 * DAY
    return Interval(start, start + 2 * DAY, Precision.WEEKEND)


def month_of(moment: datetime) -> Interval:
    start = midnight(moment).replace(day=1)
    return Interval(start, shifted_months(start, 1), Precision.MONTH)


def quarter_of(moment: datetime) -> Interval:
    start = midnight(moment).replace(month=(moment.month - 1) // 3 * 3 + 1, day=1)
    return Interval(start, shifted_months(start, 3), Precision.QUARTER)


def season_of(now: datetime, season: str, year: int) -> Interval:
    """The season that starts in a year: winter 2022 ends in February 2023."""
    start = midnight(now).replace(year=year, month=SEASON_STARTS[season], day=1)
    return Interval(start, shifted_months(start, 3), Precision.SEASON)


def year_of(moment: datetime, year: int | None = None) -> Interval:
    start = midnight(moment).replace(year=year or moment.year, month=1, day=1)
    return Interval(start, shifted_months(start, 12), Precision.YEAR)


def decade_of(now: datetime, year: int) -> Interval:
    start = year_of(now, year // 10 * 10).start
    return Interval(start, shifted_months(start, 120), Precision.DECADE)


def calendar_unit(moment: datetime, unit: str) -> Interval:
    """The day, week, weekend, month, quarter or year that holds the moment."""
    return _UNITS[unit](moment)


def shifted(moment: datetime, unit: str, count: int) -> datetime:
    """So many units later, or earlier when the count is negative."""
    if unit in _MONTHS_PER:
        return shifted_months(moment, _MONTHS_PER[unit] * count)
    return moment + count * _LENGTHS[unit]


def around(moment: datetime, unit: str) -> Interval:
    """What "so many units ago" means when it leads to this moment: as exact as the unit is."""
    if unit in ("hour", "minute"):
        half = timedelta(minutes=30) if unit == "hour" else timedelta(minutes=1)
        return Interval(moment - half, moment + half, Precision(unit))
    if unit == "week":
        return week_around(moment)
    if unit == "decade":
        middle = year_of(moment).start
        return Interval(shifted_months(middle, -24), shifted_months(middle, 36), Precision.DECADE)
    return part_of(moment, "night") if unit == "night" else calendar_unit(moment, unit)


_UNITS: Final = {
    "day": day_of,
    "week": week_of,
    "weekend": weekend_of,
    "month": month_of,
    "quarter": quarter_of,
    "year": year_of,
}


_MONTHS_PER: Final = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


_LENGTHS: Final = {
    "minute": timedelta(minutes=1),
    "hour": timedelta(hours=1),
    "day": DAY,
    "night": DAY,
    "week": WEEK,
    "weekend": WEEK,
    "fortnight": 2 * WEEK,
}
