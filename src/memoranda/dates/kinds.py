"""Which time words stand in a text, and beside what: so that only rules that can match are tried. Pure.

A pass of a pattern over a text is the dear part of reading it, and most texts name no time. So the words are looked at
once, and each rule says of which kinds of words it is made; what it says must hold wherever it matches, no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from memoranda.dates.words import COUNTS, MONTHS, ORDINALS

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
