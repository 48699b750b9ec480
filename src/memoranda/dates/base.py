"""The words of time expressions, as pieces of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
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


_WORD: Final = re.compile(r"\w+")
_DIGIT: Final = re.compile(r"\d")
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_UNITS = "minute hour day night fortnight weekend week month quarter year decade"
_WORDS_OF: Final = {
    "unit": f"{_UNITS} " + " ".join(f"{unit}s" for unit in _UNITS.split()),
    "month": " ".join(MONTHS)
    + " january february march april june july august sept september october november december",
    "today": "today tonight yesterday tomorrow",
    "part": "morning afternoon evening night",
    "night": "night",
    "season": "spring summer autumn fall winter",
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
"""The words of a kind. A kind that is not listed here is told by what a word stands beside."""
_COUNTING: Final = frozenset(word.split()[-1] for word in COUNTS)
_ORDER: Final = frozenset(ORDINALS)
_RECURRING: Final = frozenset(("every", "each", "most", "any", "some", "per", "twice", "once", "times", "these", "all"))
_SURE: Final = frozenset(("now", "today", "time"))
_EDGES: Final = frozenset(("start", "beginning", "middle", "end"))
_LEADING: Final = frozenset((
    "in", "over", "during", "since", "until", "till", "by", "before", "after", "early", "mid", "late", "throughout",
    "of", "from", "between",
))  # fmt: skip
_LEADING_YEAR: Final = _LEADING | {"year"}


def _kinds_by_word() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for kind, words in _WORDS_OF.items():
        for word in words.split():
            found[word] = (*found.get(word, ()), kind)
    return found


_BY_WORD: Final = _kinds_by_word()
_HELPING: Final = ("ago", "half", "few", "which", "past", "time")
"""Kinds that name no time by themselves."""
_NAMING: Final = frozenset(word for word, kinds in _BY_WORD.items() if not set(kinds) <= set(_HELPING))
_WHICH: Final = frozenset(_WORDS_OF["which"].split())
_FEW: Final = frozenset(_WORDS_OF["few"].split())


def kinds_in(lowered: str) -> frozenset[str]:
    """The kinds of words that a text in lower case holds, and of pairs of them such as `which-month`: "last May"."""
    words = _WORD.findall(lowered)
    if _NAMING.isdisjoint(words) and not _DIGIT.search(lowered):
        return frozenset()
    found: set[str] = set()
    for place in [place for place, word in enumerate(words) if word in _BY_WORD or word[0].isdecimal()]:
        found.update(_of_word(words, place) if words[place] in _BY_WORD else _of_digits(words, place))
    return frozenset(found)


def _of_word(words: Sequence[str], place: int) -> Iterator[str]:
    before = words[place - 1] if place else ""
    for kind in _BY_WORD[words[place]]:
        yield kind
        if before in _WHICH:
            yield f"which-{kind}"
        if kind == "unit":
            yield from _of_unit(words, place)
        elif kind == "month" and _near_digits(words, place):
            yield "dated-month"
        if kind in ("month", "season") and not _LEADING.isdisjoint(_before(words, place, 2)):
            yield f"led-{kind}"
        if kind in ("unit", "weekday") and before in _ORDER and _after(words, place, 1) in (["of"], ["in"]):
            yield "order"
        if kind in ("unit", "weekday", "season", "part") and not _RECURRING.isdisjoint(_before(words, place, 3)):
            yield "recurring"


def _of_unit(words: Sequence[str], place: int) -> Iterator[str]:
    lead = _before(words, place, 6)  # as far as "in more than a couple of weeks" reaches
    before = lead[-1] if lead else ""
    if before in _COUNTING or before.isdecimal():
        yield "counted"
        yield from (f"{word}-counted" for word in ("in", "for") if word in lead)
        if not _WHICH.isdisjoint(lead):
            yield "which-counted"
        if not _SURE.isdisjoint(_after(words, place, 2)):
            yield "sure-counted"
    if before in _FEW:
        yield "few-unit"
    if before == "new":
        yield "holiday"
    if before == "the":
        yield "the-unit"
    if not _EDGES.isdisjoint(lead):
        yield "edge-unit"


def _of_digits(words: Sequence[str], place: int) -> Iterator[str]:
    word, before = words[place], _before(words, place, 2)
    if len(word) == 4 and word.isdecimal():
        yield "year"
        if not _LEADING_YEAR.isdisjoint(_before(words, place, 3)):
            yield "led-year"
    if before[-1:] == ["the"]:
        yield "the-tens" if word.rstrip("s").endswith("0") else "the-nth"
    if len(before) == 2 and all(each[0].isdecimal() for each in before):
        yield "three-numbers"


def _near_digits(words: Sequence[str], place: int) -> bool:
    """A day or a year stands right beside a month, but for "of" or "the"."""
    return any(word[0].isdecimal() for word in (*_before(words, place, 2), *_after(words, place, 2)))


def _before(words: Sequence[str], place: int, count: int) -> Sequence[str]:
    return words[max(0, place - count) : place]


def _after(words: Sequence[str], place: int, count: int) -> Sequence[str]:
    return words[place + 1 : place + 1 + count]


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
