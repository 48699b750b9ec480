"""The words of time expressions, as pieces of regular expressions."""

from __future__ import annotations

import re
from typing import Final

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ORDINALS: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1}
_SMALL: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
COUNTS: Final = {word: number for number, word in enumerate(_SMALL, 1)} | {
    "a": 1, "an": 1, "a couple of": 2, "a couple": 2, "couple of": 2, "couple": 2, "thirty": 30, "forty": 40,
    "fifty": 50, "a dozen": 12, "ninety": 90,
}  # fmt: skip

MONTH: Final = (
    r"(?P<month>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?"
    r"|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
MONTH2: Final = MONTH.replace("<month>", "<month2>")
WEEKDAY: Final = r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
SHORT_WEEKDAY: Final = (
    r"(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day|mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b\.?"
)
YEAR: Final = r"(?P<year>(?:19|20)\d\d)\b"
NUMBER: Final = r"(?P<number>\d{1,3}|" + "|".join(sorted(COUNTS, key=len, reverse=True)) + r")"
ABOUT: Final = r"(?:\b(?:about|around|roughly|approximately|exactly|nearly|almost|over|more\s+than|some|like|just)\s+)?"
UNIT: Final = r"(?P<unit>minute|hour|day|night|fortnight|weekend|week|month|quarter|year|decade)"
SEASON: Final = r"(?P<season>spring|summer|autumn|fall|winter)\b"
PART: Final = r"(?P<part>morning|afternoon|evening|night)\b"
WHICH: Final = (
    r"(?P<which>last|past|previous|this\s+past|this\s+coming|the\s+past|this|current|next|upcoming|coming|the\s+coming)"
)
DATE_DAY: Final = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?(?!\d)"
DATE_DAY2: Final = DATE_DAY.replace("<day>", "<day2>")
DASH: Final = r"\s*(?:-|–|—|to|and|through|until|till)\s*"

Match = re.Match[str]


def named(match: Match, group: str) -> str | None:
    """What a named group holds; None when this pattern has none of that name."""
    return match.groupdict().get(group)


def month_number(name: str) -> int:
    return MONTHS.index(name[:3].lower()) + 1


def weekday_number(name: str) -> int:
    return WEEKDAYS.index(name[:3].lower())


def count_of(match: Match) -> int:
    word = " ".join(match["number"].lower().split())
    return COUNTS[word] if word in COUNTS else int(word)


def direction(which: str | None) -> int | None:
    """-1 for last, 0 for this, 1 for next; None when nothing says it."""
    if which is None:
        return None
    words = which.lower().split()
    if words[-1] in ("last", "past", "previous"):
        return -1
    return 1 if words[-1] in ("next", "upcoming", "coming") else 0
