"""Time expressions in running text → absolute intervals, read against when it was said. Pure, and no guess.

First every simple expression is found ("last Friday", "9 June 2023"); then what stands around it is joined to it
("the week before …", "since …", "… at 3 pm"). What can mean more than one time is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import Final, Literal, TypeAlias

from recollect.dates import absolute, relative
from recollect.dates.compound import Joined, joined
from recollect.dates.intervals import Interval, Precision
from recollect.dates.rules import Reading, Rule
from recollect.dates.tense import Tense, tense_around

Kind: TypeAlias = Literal["at", "since", "until"]
MAX_TEXT: Final = 20_000
"""Characters that are looked through; a longer text is a document, and its dates are not the speaker's."""
_RULES: Final[tuple[Rule, ...]] = (*absolute.RULES, *relative.RULES)
# The kinds of words that rules need: most texts hold few, and few rules are tried on them.
_KINDS: Final = re.compile(
    r"(?P<digit>\d)|(?P<unit>\b(?:minute|hour|day|fortnight|weekend|week|month|quarter|year|decade)s?\b)"
    r"|(?P<month>\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec))"
    r"|(?P<named>\b(?:today|tonight|yesterday|tomorrow|morning|afternoon|evening|nights?)\b)"
    r"|(?P<season>\b(?:spring|summer|autumn|fall|winter)\b)"
    r"|(?P<weekday>(?:mon|tues|wednes|thurs|fri|satur|sun)day|\b(?:mon|tues?|wed|thu(?:rs?)?|fri|sat|sun)\b)"
    r"|(?P<holiday>\b(?:christmas|xmas|boxing|new\s+year|halloween|valentine|st\.?\s+patrick|independence|thanksgiving"
    r"|labor\s+day|mother['’]s|father['’]s|easter))"
    r"|(?P<order>\b(?:first|second|third|fourth|last)\b)|(?P<recurring>\b(?:every|each|most|any|some|per|twice|once|times"
    r"|these|all)\b)",
    re.I,
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d")
_BESIDE: Final = {"named": ("unit",), "digit": ("order",), "holiday": ("unit",)}
"""Kinds that share words: "night" is a unit as well, "1st" an ordinal."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A time that a text names."""

    span: tuple[int, int]
    """Where the words stand in the text."""
    text: str
    start: datetime
    end: datetime
    """The first moment after it."""
    precision: Precision
    kind: Kind = "at"
    """`at`: within the interval; `since`: from its start until the text was said; `until`: up to its end."""

    @property
    def is_absolute(self) -> bool:
        """Whether the words name a year, and so mean the same whenever they are said."""
        return _YEAR.search(self.text) is not None


@dataclass(frozen=True, slots=True)
class Point:
    """A simple expression; without an interval it is one that nobody can be sure of."""

    start: int
    end: int
    interval: Interval | None


@lru_cache(maxsize=256)  # several steps read the same text, one after the other
def find_mentions(text: str, said_at: datetime, *, prefer: Tense | None = None) -> tuple[Mention, ...]:
    """The times a text names, in the order they stand; `prefer` decides where no tense does ("in May")."""
    kinds = _kinds(text) if len(text) <= MAX_TEXT else frozenset[str]()
    if not kinds - {"recurring", "order"}:
        return ()
    points = sorted(_points(text, kinds, said_at, prefer), key=lambda point: point.start)
    return tuple(_mention(text, each) for each in joined(text, said_at, [p for p in points if p.interval], prefer))


def _mention(text: str, found: Joined) -> Mention:
    interval = found.interval
    words = text[found.start : found.end]
    return Mention((found.start, found.end), words, interval.start, interval.end, interval.precision, found.kind)


def _kinds(text: str) -> frozenset[str]:
    found = {match.lastgroup for match in _KINDS.finditer(text) if match.lastgroup}
    return frozenset(found.union(*(_BESIDE.get(kind, ()) for kind in found)))


def _points(text: str, kinds: frozenset[str], said_at: datetime, prefer: Tense | None) -> Iterator[Point]:
    rest = text
    for rule in _RULES:
        if not rule.needs <= kinds:
            continue
        for match in rule.regex.finditer(rest):
            start, end = match.span("core") if "core" in rule.regex.groupindex else match.span()
            end -= text[end - 1] == "."  # an abbreviation's, or the sentence's: nobody can tell
            reading = Reading(said_at, tense_around(text, start, end) or prefer)
            try:
                interval = rule.resolve(match, reading)
            except (ValueError, OverflowError):  # the 31st of June, a thousand years ago: no such time
                interval = None
            yield Point(start, end, interval)
            # Read once, sure or not: no later rule may take a part of it.
            rest = rest[:start] + "\0" * (end - start) + rest[end:]
