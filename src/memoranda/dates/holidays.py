"""The days that English speakers name instead of dating them. Pure."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Final


def _fixed(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _nth_weekday(month: int, weekday: int, nth: int) -> Callable[[int], date]:
    def found(year: int) -> date:
        first = date(year, month, 1)
        return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))

    return found


def easter(year: int) -> date:
    """Easter Sunday of the western churches, by the anonymous Gregorian rule."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


HOLIDAYS: Final[dict[str, Callable[[int], date]]] = {
    "christmas eve": _fixed(12, 24),
    "christmas day": _fixed(12, 25),
    "christmas": _fixed(12, 25),
    "xmas": _fixed(12, 25),
    "boxing day": _fixed(12, 26),
    "new year's eve": _fixed(12, 31),
    "new year's day": _fixed(1, 1),
    "new year's": _fixed(1, 1),
    "halloween": _fixed(10, 31),
    "valentine's day": _fixed(2, 14),
    "valentines day": _fixed(2, 14),
    "st patrick's day": _fixed(3, 17),
    "independence day": _fixed(7, 4),
    "thanksgiving": _nth_weekday(11, 3, 4),
    "labor day": _nth_weekday(9, 0, 1),
    "mother's day": _nth_weekday(5, 6, 2),
    "father's day": _nth_weekday(6, 6, 3),
    "easter": easter,
}
