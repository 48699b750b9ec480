"""What a date rule is, and the tense around a date."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, Literal, TypeAlias

from memoranda.dates.base import Match
from memoranda.dates.intervals import Interval

Tense: TypeAlias = Literal["past", "future"]


_BOUNDARY: Final = re.compile(r"[.!?;\n]+(?:\s|$)")


_FUTURE: Final = re.compile(
    r"\b(?:will|won't|shall|gonna|going\s+to|upcoming|looking\s+forward|can't\s+wait|cannot\s+wait|hop(?:e|ing)\s+to"
    r"|wants?\s+to|would\s+like\s+to|due|deadline|scheduled|booked|remind|let's|appointment|coming\s+up|see\s+you"
    r"|ha(?:ve|s)\s+to|needs?\s+to|must|should|starts|begins|opens|ends|arrives|supposed\s+to|i'd\s+love\s+to|tomorrow"
    r"|plan(?:s|ning)?(?=\s+(?:to|on|for|a|an|my|our|the)\b)|excited\s+(?:for|about|to))\b"
    r"|(?:'|’)ll\b"
    r"|(?:\b(?:am|is|are)|(?:'|’)(?:m|re|s))\s+(?:\w+\s+)?\w+ing\b(?!\s+from)"
    r"|\b(?:am|is|are)\s+(?=(?:on|in|at|due)\b)|(?:'|’)s\s+(?=(?:on|in)\b)",
    re.I,
)


_PAST: Final = re.compile(
    r"\b(?:was|were|wasn't|weren't|did|didn't|had|went|got|took|made|bought|saw|met|came|gave|told|said|found|ran|won"
    r"|lost|ate|wrote|left|began|broke|brought|built|caught|drove|felt|flew|held|kept|knew|led|paid|sent|sold|spent"
    r"|taught|thought|wore|became|fell|grew|heard|hit|lent|rode|sang|slept|spoke|stood|swam|threw|understood|woke"
    r"|been|ago|yesterday|last"
    r"|(?!excited|interested|scheduled|booked|supposed|need|indeed|speed|tired|worried|thrilled|married|based"
    r"|bored|planned|used\b|named|bed\b|red\b|feed\b|seed\b|weed\b|breed\b)\w{2,}ed)\b",
    re.I,
)


_EDGE: Final = re.compile(r"\b(?P<word>since|until|till|by)\s+(?:the\s+)?$", re.I)


_PERFECT: Final = re.compile(r"\b(?:have|has|haven't|hasn't|been)\b|(?:'|’)(?:ve|s)\b", re.I)


def tense_around(text: str, start: int, end: int) -> Tense | None:
    """What the sentence around a time expression speaks of; None when it does not say."""
    before, after = _clause(text, start, end)
    edge = _EDGE.search(before)
    if edge is not None:
        return "past" if edge["word"].lower() == "since" else "future"
    past = _distance(_PAST, before, after)
    future = _distance(_FUTURE, before, after)
    if past is None and future is None:
        return None
    if past is None or future is None:
        return "future" if past is None else "past"
    return "past" if past <= future else "future"


def is_perfect(text: str, start: int) -> bool:
    """Whether "have been …" or the like stands before, in the same sentence."""
    return _PERFECT.search(_clause(text, start, start)[0]) is not None


def _clause(text: str, start: int, end: int) -> tuple[str, str]:
    before = _BOUNDARY.split(text[:start])[-1]
    after = _BOUNDARY.split(text[end:], maxsplit=1)[0]
    return before, after


def _distance(cue: re.Pattern[str], before: str, after: str) -> int | None:
    """Letters to the nearest cue; one that follows counts as twice as far away."""
    places = [len(before) - match.end() for match in cue.finditer(before)]
    places += [2 * match.start() + 1 for match in cue.finditer(after)]
    return min(places, default=None)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a match is read against."""

    now: datetime
    """When it was said."""
    find_tense: Callable[[], Tense | None]
    """Asked only where it matters: a sentence is dear to read."""

    @property
    def tense(self) -> Tense | None:
        """Of the sentence around it."""
        return self.find_tense()


Resolve: TypeAlias = Callable[[Match, Reading], Interval | None]
"""The interval; None when the words can mean more than one time."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern over text in lower case, and what it means. `needs` names the kinds without which it cannot match."""

    pattern: str
    resolve: Resolve
    needs: frozenset[str]

    @property
    def regex(self) -> re.Pattern[str]:
        return _compiled(self.pattern)


@cache  # made when first needed: importing this module costs nothing
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def rule(needs: str, pattern: str, resolve: Resolve) -> Rule:
    return Rule(pattern, resolve, frozenset(needs.split()))


def unsure(match: Match, reading: Reading) -> None:  # noqa: ARG001
    """Words that no later rule may read a part of."""
    return


def by_tense(reading: Reading, start_of: Callable[[int], datetime]) -> datetime | None:
    """Of what comes back each year: the last one that has begun, or the next; None when the sentence does not say."""
    tense = reading.tense
    if tense is None:
        return None
    step = -1 if tense == "past" else 1
    years = (reading.now.year, reading.now.year + step)
    for start in map(start_of, years):
        if (start <= reading.now) == (tense == "past"):
            return start
    return None
