"""The vocabulary of time expressions: pieces of regular expressions, kinds of words, and holidays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from typing import Final

MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
ORDINALS: Final = {"first": 1, "1st": 1, "second": 2, "2nd": 2, "third": 3, "3rd": 3, "fourth": 4, "4th": 4, "last": -1}
_SMALL_NUMBERS: Final = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
COUNTS: Final = {word: number for number, word in enumerate(_SMALL_NUMBERS, 1)} | {
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


def optional_group(match: Match, group: str) -> str | None:
    """Return the text of a named group; None when it did not match or the pattern has no such group."""
    return match.groupdict().get(group)


def month_number(name: str) -> int:
    """Return the number of a month, 1 to 12."""
    return MONTHS.index(name[:3].lower()) + 1


def weekday_number(name: str) -> int:
    """Return the number of a weekday, 0 for Monday."""
    return WEEKDAYS.index(name[:3].lower())


def parse_count(match: Match) -> int:
    """Return the number that a match contains, as digits or words."""
    word = " ".join(match["number"].lower().split())
    return COUNTS[word] if word in COUNTS else int(word)


def direction(which: str | None) -> int | None:
    """Return -1 for last, 0 for this, 1 for next; None for None."""
    if which is None:
        return None
    words = which.lower().split()
    if words[-1] in ("last", "past", "previous"):
        return -1
    return 1 if words[-1] in ("next", "upcoming", "coming") else 0


_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_UNITS = "minute hour day night fortnight weekend week month quarter year decade"
_WORDS_BY_KIND: Final = {
    "unit": f"{_UNITS} " + " ".join(f"{unit}s" for unit in _UNITS.split()),
    "month": " ".join(MONTHS)
    + " january february march april june july august sept september october november december",
    "today": "today tonight yesterday tomorrow",
    "part": "morning afternoon evening night",
    "night": "night",
    "season": "spring summer autumn fall winter springs summers autumns falls winters",
    "weekday": _WEEKDAYS,
    "weekday-or-short": f"{_WEEKDAYS} mon tue tues wed thu thur thurs fri sat sun",
    "holiday": "christmas xmas boxing halloween valentine valentines patrick independence thanksgiving labor"
    " mother father easter",
    "quarter": "q1 q2 q3 q4 quarter",
    "ago": "ago back",
    "half": "half",
    "few": "few several many some",
    "later": "earlier later",
    "which": "last past previous this current next upcoming coming",
    "past": "past",
    "time": "time",
}
"""The words of each kind. Other kinds depend on the words next to a word."""
_COUNT_WORDS: Final = frozenset(word.split()[-1] for word in COUNTS)
_ORDINAL_WORDS: Final = frozenset(ORDINALS)
_RECURRING_WORDS: Final = frozenset(
    ("every", "each", "most", "any", "some", "per", "twice", "once", "times", "these", "all")
)
_FUTURE_WORDS: Final = frozenset(("now", "today", "time"))
_EDGE_WORDS: Final = frozenset(("start", "beginning", "middle", "end"))
TIME_WORDS_BEFORE: Final = (
    "in", "during", "since", "until", "till", "by", "before", "after", "from", "starting", "beginning", "effective",
    "early", "mid", "late", "throughout",
)  # fmt: skip
"""Words after which a month or a year alone is a date."""
_LEADING_WORDS: Final = frozenset((*TIME_WORDS_BEFORE, "over", "of", "between"))
_LEADING_WORDS_OF_YEAR: Final = _LEADING_WORDS | {"year"}


def _invert_words_by_kind() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for kind, words in _WORDS_BY_KIND.items():
        for word in words.split():
            found[word] = (*found.get(word, ()), kind)
    return found


_KINDS_BY_WORD: Final = _invert_words_by_kind()
_AUXILIARY_KINDS: Final = ("ago", "half", "few", "which", "past", "time")
"""Kinds that are not a time without another word."""
_TIME_WORDS: Final = frozenset(
    word for word, kinds in _KINDS_BY_WORD.items() if not set(kinds) <= set(_AUXILIARY_KINDS)
)
_WHICH_WORDS: Final = frozenset(_WORDS_BY_KIND["which"].split())
_FEW_WORDS: Final = frozenset(_WORDS_BY_KIND["few"].split())


def find_word_kinds(lowered: str) -> frozenset[str]:
    """Return the kinds of words in a text in lower case, and of combinations such as `which-month`: "last May".

    Only the date rules that need no other kinds are tried on the text.
    """
    words = _WORD.findall(lowered)
    if _TIME_WORDS.isdisjoint(words) and not _DIGIT.search(lowered):
        return frozenset()
    found: set[str] = set()
    for index, word in enumerate(words):
        if word in _KINDS_BY_WORD:
            found.update(_kinds_of_word(words, index))
        elif word[0].isdecimal():
            found.update(_kinds_of_number(words, index))
    return frozenset(found)


def _kinds_of_word(words: Sequence[str], index: int) -> Iterator[str]:
    previous = words[index - 1] if index else ""
    for kind in _KINDS_BY_WORD[words[index]]:
        yield kind
        if previous in _WHICH_WORDS:
            yield f"which-{kind}"
        if kind == "unit":
            yield from _kinds_of_unit(words, index)
        elif kind == "month" and _is_near_number(words, index):
            yield "dated-month"
        if kind == "season" and not {"ago", "back"}.isdisjoint(_words_after(words, index, 1)):
            yield "counted-season"
        if kind in ("month", "season") and not _LEADING_WORDS.isdisjoint(_words_before(words, index, 2)):
            yield f"led-{kind}"
        if (
            kind in ("unit", "weekday")
            and previous in _ORDINAL_WORDS
            and _words_after(words, index, 1) in (["of"], ["in"])
        ):
            yield "order"
        if kind in ("unit", "weekday", "season", "part") and not _RECURRING_WORDS.isdisjoint(
            _words_before(words, index, 3)
        ):
            yield "recurring"


def _kinds_of_unit(words: Sequence[str], index: int) -> Iterator[str]:
    lead = _words_before(words, index, 6)  # as many words as in "in more than a couple of weeks"
    previous = lead[-1] if lead else ""
    if previous in _COUNT_WORDS or previous.isdecimal():
        yield "counted"
        yield from (f"{word}-counted" for word in ("in", "for") if word in lead)
        if not _WHICH_WORDS.isdisjoint(lead):
            yield "which-counted"
        if not _FUTURE_WORDS.isdisjoint(_words_after(words, index, 2)):
            yield "sure-counted"
    if previous in _FEW_WORDS:
        yield "few-unit"
    if previous == "new":
        yield "holiday"
    if previous == "the":
        yield "the-unit"
    if not _EDGE_WORDS.isdisjoint(lead):
        yield "edge-unit"


def _kinds_of_number(words: Sequence[str], index: int) -> Iterator[str]:
    word, before = words[index], _words_before(words, index, 2)
    if len(word) == 4 and word.isdecimal():
        yield "year"
        if not _LEADING_WORDS_OF_YEAR.isdisjoint(_words_before(words, index, 3)):
            yield "led-year"
    if before[-1:] == ["the"]:
        yield "the-tens" if word.rstrip("s").endswith("0") else "the-nth"
    if len(before) == 2 and all(number[0].isdecimal() for number in before):
        yield "three-numbers"


def _is_near_number(words: Sequence[str], index: int) -> bool:
    """Return whether a number is at most two words away: "of" or "the" may come between."""
    return any(word[0].isdecimal() for word in (*_words_before(words, index, 2), *_words_after(words, index, 2)))


def _words_before(words: Sequence[str], index: int, count: int) -> Sequence[str]:
    return words[max(0, index - count) : index]


def _words_after(words: Sequence[str], index: int, count: int) -> Sequence[str]:
    return words[index + 1 : index + 1 + count]


def _fixed_date(month: int, day: int) -> Callable[[int], date]:
    return lambda year: date(year, month, day)


def _nth_weekday(month: int, weekday: int, nth: int) -> Callable[[int], date]:
    def find_date(year: int) -> date:
        first = date(year, month, 1)
        return first + timedelta(days=(weekday - first.weekday()) % 7 + 7 * (nth - 1))

    return find_date


def easter(year: int) -> date:
    """Return Easter Sunday of the western churches, by the anonymous Gregorian algorithm."""
    a, b, c = year % 19, year // 100, year % 100
    d = (19 * a + b - b // 4 - (b - (b + 8) // 25 + 1) // 3 + 15) % 30
    e = (32 + 2 * (b % 4) + 2 * (c // 4) - d - c % 4) % 7
    f = d + e - 7 * ((a + 11 * d + 22 * e) // 451) + 114
    return date(year, f // 31, f % 31 + 1)


HOLIDAYS: Final[dict[str, Callable[[int], date]]] = {
    "christmas eve": _fixed_date(12, 24),
    "christmas day": _fixed_date(12, 25),
    "christmas": _fixed_date(12, 25),
    "xmas": _fixed_date(12, 25),
    "boxing day": _fixed_date(12, 26),
    "new year's eve": _fixed_date(12, 31),
    "new year's day": _fixed_date(1, 1),
    "new year's": _fixed_date(1, 1),
    "halloween": _fixed_date(10, 31),
    "valentine's day": _fixed_date(2, 14),
    "valentines day": _fixed_date(2, 14),
    "st patrick's day": _fixed_date(3, 17),
    "independence day": _fixed_date(7, 4),
    "thanksgiving": _nth_weekday(11, 3, 4),
    "labor day": _nth_weekday(9, 0, 1),
    "mother's day": _nth_weekday(5, 6, 2),
    "father's day": _nth_weekday(6, 6, 3),
    "easter": easter,
}
