"""The lexical keys of the times that a text mentions, and of those inside a window that a question names."""

from __future__ import annotations

from datetime import datetime, timedelta

from memoranda.text import HAS_TIME

_WEEK, _MAX_MONTHS, _MAX_MENTIONED = 7, 100, 366
"""Days of a period up to which its days, its months, or only its year are keys."""
_MAX_KEYS = 200


def time_keys(start: datetime, end: datetime) -> list[str]:
    """Return the lexical keys of a text that mentions this period: its days, months and years, if they are few."""
    length = (end - start).days
    if length > _MAX_MENTIONED:
        return []
    days = [start + timedelta(days=n) for n in range(max(1, length))] if length <= _WEEK else []
    months = days or [start + timedelta(days=n) for n in range(0, length, 28)] + [end - timedelta(days=1)]
    is_year = length > _MAX_MONTHS
    keys = [f"{HAS_TIME}{day:%Y-%m-%d}" for day in days] + [f"{HAS_TIME}{day:%Y-%m}" for day in months if not is_year]
    return list(dict.fromkeys([*keys, *(f"{HAS_TIME}{day:%Y}" for day in months)]))


def keys_in_window(start: datetime, end: datetime) -> list[str]:
    """Return the lexical keys of texts that mention a time inside a window: whole years and months, and single days."""
    keys: list[str] = []
    day = start
    while day < end and len(keys) < _MAX_KEYS:
        for pattern, after in (
            ("%Y", _year_after(day)),
            ("%Y-%m", _month_after(day)),
            ("%Y-%m-%d", day + timedelta(1)),
        ):
            is_first = day.day == 1 and (pattern != "%Y" or day.month == 1)
            if pattern == "%Y-%m-%d" or (is_first and after <= end):
                keys.append(HAS_TIME + day.strftime(pattern))
                day = after
                break
    return keys


def _month_after(day: datetime) -> datetime:
    return day.replace(year=day.year + day.month // 12, month=day.month % 12 + 1, day=1)


def _year_after(day: datetime) -> datetime:
    return day.replace(year=day.year + 1, month=1, day=1)
