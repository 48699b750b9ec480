"""What a rule is: a pattern, and a function that makes an interval of its match."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TypeAlias

from memoranda.dates.intervals import Interval
from memoranda.dates.tense import Tense
from memoranda.dates.words import Match


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
