"""Time expressions in running text → absolute intervals, read against when it was said. Pure, and no guess.

First every simple expression is found ("last Friday", "9 June 2023"); then what stands around it is joined to it
("the week before …", "since …", "… at 3 pm"). What can mean more than one time is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import Final, Literal, TypeAlias

from memoranda.dates import absolute, relative
from memoranda.dates.base import kinds_in
from memoranda.dates.compound import Joined, joined
from memoranda.dates.intervals import Interval, Precision
from memoranda.dates.rules import (
    Reading,
    Rule,
    Tense,
    tense_around,
)
from memoranda.text import lower_case

Kind: TypeAlias = Literal["at", "since", "until"]
MAX_TEXT: Final = 20_000
"""Characters that are looked through; a longer text is a document, and its dates are not the speaker's."""
_RULES: Final[tuple[Rule, ...]] = (*absolute.RULES, *relative.RULES)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d")


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
    lowered = lower_case(text)
    rules = _rules_for(kinds_in(lowered)) if len(text) <= MAX_TEXT else ()
    if not rules:
        return ()
    points = sorted(_points(text, lowered, rules, said_at, prefer), key=lambda point: point.start)
    return tuple(_mention(text, each) for each in joined(text, said_at, [p for p in points if p.interval], prefer))


def _mention(text: str, found: Joined) -> Mention:
    interval = found.interval
    words = text[found.start : found.end]
    return Mention((found.start, found.end), words, interval.start, interval.end, interval.precision, found.kind)


@lru_cache(maxsize=1_024)
def _rules_for(kinds: frozenset[str]) -> tuple[Rule, ...]:
    return tuple(rule for rule in _RULES if rule.needs <= kinds)


def _points(text: str, lowered: str, rules: Iterable[Rule], said_at: datetime, prefer: Tense | None) -> Iterator[Point]:
    rest = lowered
    for rule in rules:
        regex = rule.regex
        for match in regex.finditer(rest):
            start, end = match.span("core") if "core" in regex.groupindex else match.span()
            end -= text[end - 1] == "."  # an abbreviation's, or the sentence's: nobody can tell
            reading = Reading(said_at, partial(_tense, text, start, end, prefer))
            try:
                interval = rule.resolve(match, reading)
            except (ValueError, OverflowError):  # the 31st of June, a thousand years ago: no such time
                interval = None
            yield Point(start, end, interval)
            # Read once, sure or not: no later rule may take a part of it.
            rest = rest[:start] + "\0" * (end - start) + rest[end:]


def _tense(text: str, start: int, end: int, prefer: Tense | None) -> Tense | None:
    return tense_around(text, start, end) or prefer
