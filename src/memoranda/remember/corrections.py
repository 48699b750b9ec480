"""Finds the value that a sentence takes back in words: "it's the 21st, not the 12th", "4 pm instead of 3 pm". Pure.

The sentence often does not say what the value belongs to ("They moved it. It's 2 January now instead of the 9th"), so
no claim can be made from it. The old value itself tells which earlier memory is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from memoranda.dates.find import Mention, find_mentions
from memoranda.remember.clauses import blank_foreign
from memoranda.text import query_terms

Day: TypeAlias = tuple[int, int]
"""Month and day."""

_TAKEN_BACK: Final = re.compile(
    r"[^.!?;\n]*?(?P<between>,?\s+(?:and\s+|but\s+)?(?:not|instead\s+of|rather\s+than|no\s+longer)\s+)"
    r"(?:on\s+|at\s+|in\s+|for\s+)?(?:the\s+)?(?P<old>[^.!?;,\n]+)",
    re.I,
)
_DAY_OF_MONTH: Final = re.compile(r"(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)\b(?!\s+(?:of\s+)?(?-i:[A-Z]))", re.I)
_AMOUNT: Final = re.compile(
    r"[$€£]?\d+(?:[.,:]\d+)*(?:\s?(?:am|pm|%|[$€£]|euros?|dollars?|pounds?|hours?|minutes?))?\b", re.I
)
_NAME: Final = re.compile(r"(?:[A-Z][\w’'-]*\s?)+")


@dataclass(frozen=True, slots=True)
class TakenBack:
    """A value that a text says is not true, or no longer."""

    terms: tuple[str, ...]
    """The words by which an earlier memory with it is found."""
    day: Day | None = None
    """The day that it names, whatever the year."""

    def is_in(self, content: str, said_at: datetime) -> bool:
        """Return whether an earlier text, said at this time, has the value."""
        if self.day is not None:
            return self.day in _days_in(content, said_at)
        return set(self.terms) <= set(query_terms(content))


def find_taken_back(text: str, said_at: datetime) -> Iterator[TakenBack]:
    """Yield the dates, amounts and names that a text replaces by others."""
    own = blank_foreign(text)
    mentions = [each for each in find_mentions(own, said_at) if each.precision == "day" and each.kind == "at"]
    for match in _TAKEN_BACK.finditer(own):
        new_days = [each for each in mentions if match.start() <= each.span[0] < match.start("between")]
        if (found := _read(match, mentions, new_days)) is not None:
            yield found


def _read(match: re.Match[str], mentions: list[Mention], new_days: list[Mention]) -> TakenBack | None:
    """Return the old value; None unless the new one before it is of the same kind."""
    new, old, start = match.group(0)[: match.start("between") - match.start()], match["old"], match.start("old")
    named = next((each for each in mentions if start <= each.span[0] < start + 3), None)
    if named is not None:
        return _day(named.start.month, named.start.day, named.text) if new_days else None
    if (day := _DAY_OF_MONTH.match(old)) is not None:
        # "The 12th" is a day of the month that the new date names.
        return _day(new_days[-1].start.month, int(day["day"])) if new_days else None
    if (amount := _AMOUNT.match(old)) is not None:
        return TakenBack(tuple(query_terms(amount[0]))) if _AMOUNT.search(new) else None
    if (name := _NAME.match(old)) is not None:
        return TakenBack(tuple(query_terms(name[0]))) if _NAME.search(new.lstrip()[1:]) else None
    return None


def _day(month: int, day: int, words: str = "") -> TakenBack:
    return TakenBack((str(day), _MONTHS[month - 1], *query_terms(words)), (month, day))


_MONTHS: Final = tuple(query_terms(" ".join((
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
))))  # fmt: skip


def _days_in(content: str, said_at: datetime) -> set[Day]:
    return {(each.start.month, each.start.day) for each in find_mentions(content, said_at) if each.precision == "day"}
