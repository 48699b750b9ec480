"""Finds time expressions in text and resolves them to absolute intervals, relative to when the text was said.

First every simple expression is found ("last Friday", "9 June 2023"). Then the words around it are combined with it
("the week before …", "since …", "… at 3 pm"). An expression that can mean more than one time is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache, partial
from typing import Final

from memoranda.dates import absolute, relative
from memoranda.dates.compound import Expression, MentionKind, expand_expressions
from memoranda.dates.intervals import Precision
from memoranda.dates.rules import DateContext, DateRule, Tense, tense_around
from memoranda.dates.vocabulary import find_word_kinds
from memoranda.text import lower_case

MAX_TEXT: Final = 20_000
"""The longest text that is searched. A longer text is a document, whose dates are not relative to the speaker."""
_RULES: Final[tuple[DateRule, ...]] = (*absolute.RULES, *relative.RULES)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d")


@dataclass(frozen=True, slots=True)
class Mention:
    """A time that a text mentions."""

    span: tuple[int, int]
    """The position of the words in the text."""
    text: str
    start: datetime
    end: datetime
    """The first moment after it."""
    precision: Precision
    kind: MentionKind = "at"
    """`at`: within the interval; `since`: from its start until the text was said; `until`: up to its end."""

    @property
    def is_absolute(self) -> bool:
        """Whether the words contain a year, so that they mean the same whenever they are said."""
        return _YEAR.search(self.text) is not None


@lru_cache(maxsize=256)  # several steps use the same text one after the other
def find_mentions(text: str, said_at: datetime, *, prefer: Tense | None = None) -> tuple[Mention, ...]:
    """Return the times that a text mentions, in order.

    Args:
        text: The text; nothing is found in one longer than `MAX_TEXT`.
        said_at: When it was said.
        prefer: Whether to assume the past or the future where the sentence does not show it ("in May").
    """
    lowered = lower_case(text)
    rules = _select_rules(find_word_kinds(lowered)) if len(text) <= MAX_TEXT else ()
    if not rules:
        return ()
    expressions = sorted(_find_expressions(text, lowered, rules, said_at, prefer), key=lambda found: found.start)
    return tuple(_to_mention(text, expression) for expression in expand_expressions(text, said_at, expressions))


def _to_mention(text: str, found: Expression) -> Mention:
    interval = found.interval
    words = text[found.start : found.end]
    return Mention((found.start, found.end), words, interval.start, interval.end, interval.precision, found.kind)


@lru_cache(maxsize=1_024)
def _select_rules(kinds: frozenset[str]) -> tuple[DateRule, ...]:
    return tuple(rule for rule in _RULES if rule.needs <= kinds)


def _find_expressions(
    text: str, lowered: str, rules: Iterable[DateRule], said_at: datetime, prefer: Tense | None
) -> Iterator[Expression]:
    remaining = lowered
    for rule in rules:
        regex = rule.regex
        for match in regex.finditer(remaining):
            start, end = match.span("core") if "core" in regex.groupindex else match.span()
            end -= text[end - 1] == "."  # it ends an abbreviation or the sentence; both are possible
            context = DateContext(said_at, partial(_find_tense, text, start, end, prefer))
            try:
                interval = rule.resolve(match, context)
            except (ValueError, OverflowError):  # 31 June, or a thousand years ago: no such time
                interval = None
            if interval is not None:
                yield Expression(start, end, interval)
            # Resolved or not, no later rule may match a part of it.
            remaining = remaining[:start] + "\0" * (end - start) + remaining[end:]


def _find_tense(text: str, start: int, end: int, prefer: Tense | None) -> Tense | None:
    return tense_around(text, start, end) or prefer
