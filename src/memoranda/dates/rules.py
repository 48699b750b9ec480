"""The definition of a date rule, and the tense of the sentence around a date."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Final, Literal, TypeAlias

from memoranda.dates.intervals import Interval
from memoranda.dates.vocabulary import Match

Tense: TypeAlias = Literal["past", "future"]
_SENTENCE_END: Final = re.compile(r"[.!?;\n]+(?:\s|$)")
_FUTURE_CUE: Final = re.compile(
    r"\b(?:will|won't|shall|gonna|going\s+to|upcoming|looking\s+forward|can't\s+wait|cannot\s+wait|hop(?:e|ing)\s+to"
    r"|wants?\s+to|would\s+like\s+to|due|deadline|scheduled|booked|remind|let's|appointment|coming\s+up|see\s+you"
    r"|ha(?:ve|s)\s+to|needs?\s+to|must|should|starts|begins|opens|ends|arrives|supposed\s+to|i'd\s+love\s+to|tomorrow"
    r"|plan(?:s|ning)?(?=\s+(?:to|on|for|a|an|my|our|the)\b)|excited\s+(?:for|about|to))\b"
    r"|(?:'|’)ll\b"
    r"|(?:\b(?:am|is|are)|(?:'|’)(?:m|re|s))\s+(?:\w+\s+)?\w+ing\b(?!\s+from)"
    r"|\b(?:am|is|are)\s+(?=(?:on|in|at|due)\b)|(?:'|’)s\s+(?=(?:on|in)\b)",
    re.I,
)
_PAST_CUE: Final = re.compile(
    r"\b(?:was|were|wasn't|weren't|did|didn't|had|went|got|took|made|bought|saw|met|came|gave|told|said|found|ran|won"
    r"|lost|ate|wrote|left|began|broke|brought|built|caught|drove|felt|flew|held|kept|knew|led|paid|sent|sold|spent"
    r"|taught|thought|wore|became|fell|grew|heard|hit|lent|rode|sang|slept|spoke|stood|swam|threw|understood|woke"
    r"|been|ago|yesterday|last"
    r"|(?!excited|interested|scheduled|booked|supposed|need|indeed|speed|tired|worried|thrilled|married|based"
    r"|bored|planned|used\b|named|bed\b|red\b|feed\b|seed\b|weed\b|breed\b)\w{2,}ed)\b",
    re.I,
)
_OPEN_END: Final = re.compile(r"\b(?P<word>since|until|till|by)\s+(?:the\s+)?$", re.I)
_PERFECT: Final = re.compile(r"\b(?:have|has|haven't|hasn't|been)\b|(?:'|’)(?:ve|s)\b", re.I)


def tense_around(text: str, start: int, end: int) -> Tense | None:
    """Return the tense of the sentence around a time expression; None when the sentence does not show it."""
    before, after = _sentence_around(text, start, end)
    open_end = _OPEN_END.search(before)
    if open_end is not None:
        return "past" if open_end["word"].lower() == "since" else "future"
    past = _distance(_PAST_CUE, before, after)
    future = _distance(_FUTURE_CUE, before, after)
    if past is None and future is None:
        return None
    if past is None or future is None:
        return "future" if past is None else "past"
    return "past" if past <= future else "future"


def is_perfect(text: str, start: int) -> bool:
    """Return whether "have been …" or a similar form comes before, in the same sentence."""
    return _PERFECT.search(_sentence_around(text, start, start)[0]) is not None


def _sentence_around(text: str, start: int, end: int) -> tuple[str, str]:
    before = _SENTENCE_END.split(text[:start])[-1]
    after = _SENTENCE_END.split(text[end:], maxsplit=1)[0]
    return before, after


def _distance(cue: re.Pattern[str], before: str, after: str) -> int | None:
    """Return the number of characters to the nearest cue; the distance to a cue after the expression counts double."""
    distances = [len(before) - match.end() for match in cue.finditer(before)]
    distances += [2 * match.start() + 1 for match in cue.finditer(after)]
    return min(distances, default=None)


@dataclass(frozen=True, slots=True)
class DateContext:
    """What a match is resolved against: when the text was said, and the tense of the sentence."""

    now: datetime
    find_tense: Callable[[], Tense | None]
    """Called only where the tense matters, because it is slow."""

    @property
    def tense(self) -> Tense | None:
        """The tense of the sentence around the match."""
        return self.find_tense()


Resolve: TypeAlias = Callable[[Match, DateContext], Interval | None]
"""Returns the interval, or None when the words can mean more than one time."""


@dataclass(frozen=True, slots=True)
class DateRule:
    """A pattern for text in lower case, and the function that resolves a match.

    It can match only a text that contains all word kinds in `needs`.
    """

    pattern: str
    resolve: Resolve
    needs: frozenset[str]

    @property
    def regex(self) -> re.Pattern[str]:
        return _compile(self.pattern)


@cache  # on first use, so that importing the rules is fast
def _compile(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def rule(needs: str, pattern: str, resolve: Resolve) -> DateRule:
    """Return a rule; `needs` are word kinds separated by spaces."""
    return DateRule(pattern, resolve, frozenset(needs.split()))


def ambiguous(match: Match, context: DateContext) -> None:  # noqa: ARG001
    """Resolve to nothing. The words are ambiguous, and no later rule may match a part of them."""
    return


def choose_by_tense(context: DateContext, start_in_year: Callable[[int], datetime]) -> datetime | None:
    """Return the start of a yearly event: the last one that has begun, or the next one, by the tense of the sentence.

    Return None when the sentence does not show a tense.
    """
    tense = context.tense
    if tense is None:
        return None
    step = -1 if tense == "past" else 1
    years = (context.now.year, context.now.year + step)
    for start in map(start_in_year, years):
        if (start <= context.now) == (tense == "past"):
            return start
    return None
