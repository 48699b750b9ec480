"""The time a question speaks of: "last March", "on 3 June 2023", "two weeks ago" → windows. Pure, and no guess.

Read against the asker's clock. What can be meant in two ways ("03/04/2023", "a few weeks ago", "recently",
"after June") gives no window.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final, TypeAlias

from recollect.types import Window

Span: TypeAlias = tuple[datetime, datetime]
_Rule: TypeAlias = Callable[[re.Match[str], datetime], Span | None]

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_WORDS: Final = ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_COUNTS: Final = {"a": 1, "an": 1, "a couple of": 2} | {word: number for number, word in enumerate(_WORDS, start=1)}
_UNIT_DAYS: Final = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}
_DAY: Final = timedelta(days=1)
_MOST_READ: Final = 2_000  # characters; whoever asks in more is not naming a date

_MONTH = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_WEEKDAY = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_NUMBER = r"(?P<number>\d{1,3}|" + "|".join(sorted(_COUNTS, key=len, reverse=True)) + ")"
_UNIT = r"(?P<unit>day|week|month|year)"
_DATE_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
# In front of a date: which side of it is meant, and how far that reaches.
_SIDE = re.compile(
    r"(?:\bthe\s+)?(?:\b(?P<unit>day|week|weekend|month|year)\s+)?\b(?P<side>before|after)\s+(?:the\s+)?$", re.I
)
_BETWEEN = re.compile(r"\bbetween\b.+\band\b|\bfrom\b.+\b(?:to|until|till)\b", re.I)
_OPEN = re.compile(r"\b(?:since|until|till|by)\s+(?:the\s+)?$", re.I)


def read_windows(text: str, now: datetime) -> tuple[Window, ...]:
    """The windows a question names that have begun by `now`; dates count before words like "last week"."""
    asked = text[:_MOST_READ]
    found, rest = _scan(asked, now, _DATES)
    if not found:
        found, _ = _scan(rest, now, _RELATIVE)
    begun = tuple(window for window in found if window.start <= now)
    return _joined(begun) if _BETWEEN.search(asked) else begun


def _scan(text: str, now: datetime, rules: tuple[tuple[re.Pattern[str], _Rule], ...]) -> tuple[list[Window], str]:
    """The windows, and the text with what was read blanked, so that no later rule reads a part of it."""
    windows = []
    for pattern, rule in rules:
        for match in pattern.finditer(text):
            window = _resolved(match, rule, text[: match.start()], now)
            if window is not None:
                windows.append(window)
        text = pattern.sub(lambda match: " " * len(match.group()), text)
    return windows, text


def _joined(windows: tuple[Window, ...]) -> tuple[Window, ...]:
    if len(windows) != 2:
        return windows
    first, last = sorted(windows, key=lambda window: window.start)
    return (Window(first.start, last.end, f"between {first.phrase} and {last.phrase}"),)


def _resolved(match: re.Match[str], rule: _Rule, before: str, now: datetime) -> Window | None:
    span, phrase = _span(match, rule, now), match.group().strip()
    side = _SIDE.search(before)
    if span is None or _OPEN.search(before) or (side is not None and side["unit"] is None):
        return None
    if side is None:
        return Window(*span, phrase)
    reach = _DAY * _UNIT_DAYS[side["unit"].lower()]
    shifted = (span[0] - reach, span[0]) if side["side"].lower() == "before" else (span[1], span[1] + reach)
    return Window(*shifted, f"{side.group().strip()} {phrase}")


def _span(match: re.Match[str], rule: _Rule, now: datetime) -> Span | None:
    try:
        return rule(match, now)
    except (ValueError, OverflowError):  # the 31st of June, a thousand years ago: no such time
        return None


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _month_from(start: datetime) -> Span:
    return start, (start + 31 * _DAY).replace(day=1)


def _month_number(match: re.Match[str]) -> int:
    return _MONTHS.index(match["month"][:3].lower()) + 1


def _day_of_month(match: re.Match[str], now: datetime) -> Span:
    known = match.groupdict().get("year")
    start = _midnight(now).replace(
        year=int(known) if known else now.year, month=_month_number(match), day=int(match["day"])
    )
    if not known and start > now:
        start = start.replace(year=now.year - 1)
    return start, start + _DAY


def _month(match: re.Match[str], now: datetime) -> Span | None:
    known = match.groupdict().get("year")
    start = _midnight(now).replace(year=int(known) if known else now.year, month=_month_number(match), day=1)
    if not known and start > now:
        start = start.replace(year=now.year - 1)
    return _month_from(start)


def _year(match: re.Match[str], now: datetime) -> Span:
    start = _midnight(now).replace(year=int(match["year"]), month=1, day=1)
    return start, start.replace(year=start.year + 1)


def _iso_day(match: re.Match[str], now: datetime) -> Span:
    start = _midnight(now).replace(year=int(match["year"]), month=int(match["m"]), day=int(match["d"]))
    return start, start + _DAY


def _ago(match: re.Match[str], now: datetime) -> Span:
    days = _UNIT_DAYS[match["unit"].lower()]
    centre = now - _count(match) * days * _DAY
    # "Three weeks ago" is said of anything from two and a half to three and a half weeks back.
    around = max(_DAY, days * _DAY / 2)
    return _midnight(centre - around), _midnight(centre + around) + _DAY


def _last_several(match: re.Match[str], now: datetime) -> Span:
    return _midnight(now - _count(match) * _UNIT_DAYS[match["unit"].lower()] * _DAY), now


def _last_one(match: re.Match[str], now: datetime) -> Span:
    today, unit = _midnight(now), match["unit"].lower()
    if unit == "week":
        monday = today - today.weekday() * _DAY
        # People count from today or from Monday: both fit.
        return min(monday - 7 * _DAY, today - 7 * _DAY), max(monday, today - _DAY)
    if unit == "weekend":
        saturday = today - ((today.weekday() - 5) % 7 or 7) * _DAY
        return saturday, saturday + 2 * _DAY
    if unit == "month":
        return (today.replace(day=1) - _DAY).replace(day=1), today.replace(day=1)
    return today.replace(year=now.year - 1, month=1, day=1), today.replace(month=1, day=1)


def _this_one(match: re.Match[str], now: datetime) -> Span:
    today, unit = _midnight(now), match["unit"].lower()
    if unit == "week":
        return today - today.weekday() * _DAY, now
    start = today.replace(day=1) if unit == "month" else today.replace(month=1, day=1)
    return start, now


def _last_weekday(match: re.Match[str], now: datetime) -> Span:
    back = (now.weekday() - _WEEKDAYS.index(match["weekday"][:3].lower())) % 7 or 7
    return _midnight(now) - back * _DAY, _midnight(now) - (back - 1) * _DAY


def _today(match: re.Match[str], now: datetime) -> Span:  # noqa: ARG001
    return _midnight(now), _midnight(now) + _DAY


def _yesterday(match: re.Match[str], now: datetime) -> Span:
    back = 2 if "before" in match.group().lower() else 1
    return _midnight(now) - back * _DAY, _midnight(now) - (back - 1) * _DAY


def _unsure(match: re.Match[str], now: datetime) -> None:  # noqa: ARG001
    return None


def _count(match: re.Match[str]) -> int:
    number = " ".join(match["number"].lower().split())
    return _COUNTS[number] if number in _COUNTS else int(number)


def _rule(pattern: str, rule: _Rule) -> tuple[re.Pattern[str], _Rule]:
    return re.compile(pattern, re.I), rule


_LATELY = r"(?:\b(?:in|over|during|within|for)\s+)?(?:\bthe\s+)?\b(?:last|past|previous)"
_LEAD = r"(?:\b(?:on|in|during|of|at)\s+)?(?:\bthe\s+)?"
_DATES: Final = (
    _rule(rf"{_LEAD}\b(?P<year>\d{{4}})-(?P<m>\d\d)-(?P<d>\d\d)\b", _iso_day),
    _rule(r"\b\d{1,2}[/.]\d{1,2}[/.]\d{2,4}\b", _unsure),
    _rule(rf"{_LEAD}\b{_DATE_DAY}\s+(?:of\s+)?{_MONTH},?\s*{_YEAR}\b", _day_of_month),
    _rule(rf"{_LEAD}\b{_MONTH}\s+{_DATE_DAY}(?:\s*,\s*|\s+){_YEAR}\b", _day_of_month),
    _rule(rf"{_LEAD}\b{_MONTH},?\s+(?:of\s+)?{_YEAR}\b", _month),
    _rule(rf"{_LEAD}\b{_DATE_DAY}\s+(?:of\s+)?{_MONTH}(?!\w)", _day_of_month),
    _rule(rf"{_LEAD}\b{_MONTH}\s+{_DATE_DAY}\b(?!\s*%)", _day_of_month),
    _rule(rf"\b(?:in|during|last|this|of)\s+{_MONTH}(?!\w)", _month),
    _rule(rf"\b(?:in|during|of|year)\s+{_YEAR}\b", _year),
)
_RELATIVE: Final = (
    _rule(rf"\b{_NUMBER}\s+{_UNIT}s?\s+ago\b", _ago),
    _rule(rf"{_LATELY}\s+{_NUMBER}\s+{_UNIT}s?\b", _last_several),
    _rule(rf"\b(?:on\s+)?last\s+{_WEEKDAY}\b", _last_weekday),
    _rule(rf"{_LATELY}\s+(?P<unit>weekend|week|month|year)\b", _last_one),
    _rule(r"\b(?:(?:in|during)\s+)?this\s+(?P<unit>week|month|year)\b", _this_one),
    _rule(r"\b(?:the\s+day\s+before\s+)?yesterday\b|\blast\s+night\b", _yesterday),
    _rule(r"\b(?:today|tonight|this\s+(?:morning|afternoon|evening))\b", _today),
)  # fmt: skip
