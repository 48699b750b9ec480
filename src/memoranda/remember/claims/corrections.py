"""Find the value that a text corrects: "it's the 21st, not the 12th", "Correction: 1985". Pure.

Such a sentence often has no subject ("They moved it. It's 2 January now instead of the 9th"). The old value itself
identifies the earlier memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from memoranda.dates.find import Mention, find_mentions
from memoranda.remember.base import Utterance
from memoranda.remember.claims.values import read_value
from memoranda.remember.reading.clauses import Clause
from memoranda.remember.reading.foreign_text import blank_foreign
from memoranda.remember.reading.lexicon import CORRECTION
from memoranda.storage.claims import ANY_ATTRIBUTE, Claim, fold
from memoranda.text.sentences import EMPTY_WORDS, Span
from memoranda.text.terms import query_terms

Day: TypeAlias = tuple[int, int]
"""Month and day."""

# The code finds the words before these: a pattern that begins with any words takes quadratic time.
_INSTEAD_OF: Final = re.compile(
    r"\b(?:not|instead\s+of|rather\s+than|no\s+longer)\s+(?:on\s+|at\s+|in\s+|for\s+)?(?:the\s+)?(?P<old>[^.!?;,\n]+)",
    re.I,
)
_SENTENCE_ENDS: Final = ".!?;\n"
_DAY_OF_MONTH: Final = re.compile(r"(?P<day>[12]?\d|3[01])(?:st|nd|rd|th)\b(?!\s+(?:of\s+)?(?-i:[A-Z]))", re.I)
_AMOUNT: Final = re.compile(
    r"[$€£]?\d+(?:[.,:]\d+)*(?:\s?(?:am|pm|%|[$€£]|euros?|dollars?|pounds?|hours?|minutes?))?\b", re.I
)
# "Correction: 1985", "I meant Thursday, not Tuesday", "it was 1985 after all", "3 May was right".
_BARE_CORRECTION: Final = re.compile(
    r"(?P<doubt>(?:(?:no+|nope|nah|wait|hm+|sorry|typo|edit)\b[\s,.:!…-]*)*)"
    r"(?:(?P<it>(?:it|that)(?:['’]s| is| was| should be| stays| remains)(?: (?:in|on|at))?\s+)|in\s+|on\s+|at\s+)?"
    r"(?P<value>[^\s.!,]\S*?(?:\s\S+?){0,2}?)"
    r"(?:\s+(?:(?:was|is) (?P<right>right|correct|true)(?: after all| all along)?|(?P<after>after all)|i meant?))?"
    r"(?P<regret>,?\s+(?:sorry|oops|typo))?"
    r"(?:,?\s+(?:and\s+)?not\s+(?P<old>\S+?(?:\s\S+?)?))?[.!]*$",
    re.I,
)
# "I meant 12, not 11": the clause ends before "not".
NOT_OLD: Final = re.compile(
    r"\s*,?\s*(?:and\s+)?not\s+(?:on\s+|in\s+|at\s+|the\s+)*(?P<old>\S+?(?:\s\S+?)?)(?=[.!,;]|\s*$)", re.I
)
_STARRED: Final = re.compile(r"\s*(?:\*[^\s*][^*\n]{0,40}|[^\s*][^*\n]{0,40}\*)\s*")
"""A word or two that replace what was mistyped: "*43", "43*"."""
_PARTICLES: Final = frozenset(("of", "de", "the", "and", "&"))
_CUE: Final = re.compile(CORRECTION, re.I)
_CUE_FIRST: Final = re.compile(rf"\W*(?:(?:oh|ah|no|sorry|wait|hm+)\b\W*)*(?:{CORRECTION})\b", re.I)
_POINTING: Final = re.compile("it|that|this|those|these|them|him|her|you|me|us|so|well|sorry|oops|wait", re.I)
# A request to an assistant: "Make it short", "Make that three copies".
_REQUEST: Final = re.compile(r"\W*make (?:it|that)\b", re.I)
_NO: Final = re.compile(r"\W*(?:(?:oh|well|hm+|no+|nope)\b\W*)+", re.I)
FIRST_PERSON: Final = frozenset(("i", "we", "me", "my", "our"))
_NAME: Final = re.compile(r"(?:[A-Z][\w’'-]*\s?)+")


@dataclass(frozen=True, slots=True)
class ReplacedValue:
    """A value that a text replaces by another one."""

    terms: tuple[str, ...]
    """The words by which an earlier memory with it is found."""
    new: str
    """The value in its place."""
    span: Span
    """Where in the text both are."""
    day: Day | None = None
    """The day that it names, whatever the year."""

    def is_in(self, content: str, said_at: datetime) -> bool:
        """Return whether an earlier text, said at this time, has the value."""
        if self.day is not None:
            return self.day in _days_in(content, said_at)
        return set(self.terms) <= set(query_terms(content))


def find_replaced_values(text: str, said_at: datetime) -> Iterator[ReplacedValue]:
    """Yield the dates, amounts and names that a text replaces by others."""
    own = blank_foreign(text)
    mentions = [each for each in find_mentions(own, said_at) if each.precision == "day" and each.kind == "at"]
    end = 0
    for match in _INSTEAD_OF.finditer(own):
        start = max(end, *(own.rfind(mark, 0, match.start()) + 1 for mark in _SENTENCE_ENDS))
        end = match.end()
        new = _without_joint(own[start : match.start()])
        new_days = [each for each in mentions if start <= each.span[0] < start + len(new)]
        if (found := _read(new, match, mentions, new_days)) is not None:
            terms, value, day = found
            yield ReplacedValue(terms, value, (start, end), day)


def _without_joint(before: str) -> str:
    """Return the words before "not" without a comma, "and" or "but" at their end; "" if "not" is part of a word."""
    bare = before.rstrip()
    if bare == before:
        return ""
    if bare[-3:].lower() in ("and", "but") and bare[-4:-3].isspace():
        bare = bare[:-3].rstrip()
    return bare.removesuffix(",")


_Read: TypeAlias = tuple[tuple[str, ...], str, Day | None]
"""The terms of an old value, the new value, and the day that the old one names."""


def _read(new: str, match: re.Match[str], mentions: list[Mention], new_days: list[Mention]) -> _Read | None:
    """Return the old value; None unless the new one before it is of the same kind."""
    old, start = match["old"], match.start("old")
    named = next((each for each in mentions if start <= each.span[0] < start + 3), None)
    if named is not None:
        return _read_day(new_days, named.start.month, named.start.day, named.text)
    if (day := _DAY_OF_MONTH.match(old)) is not None:
        # "The 12th" is a day of the month that the new date names.
        return _read_day(new_days, new_days[-1].start.month if new_days else 1, int(day["day"]))
    for pattern, words in ((_AMOUNT, new), (_NAME, new.lstrip()[1:])):
        if (known := pattern.match(old)) is not None:
            found = pattern.search(words)
            return (tuple(query_terms(known[0])), found[0].strip(), None) if found else None
    return None


def _read_day(new_days: Sequence[Mention], month: int, day: int, words: str = "") -> _Read | None:
    if not new_days:
        return None
    return (str(day), _MONTHS[month - 1], *query_terms(words)), new_days[-1].text, (month, day)


_MONTHS: Final = tuple(query_terms(" ".join((
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
))))  # fmt: skip


def _days_in(content: str, said_at: datetime) -> set[Day]:
    return {(each.start.month, each.start.day) for each in find_mentions(content, said_at) if each.precision == "day"}


def read_bare_correction(clause: Clause, utterance: Utterance) -> Claim | None:
    """Return a correction that names only the right value; the write finds the claim that it corrects.

    A `single` one confirms a value, so it counts only where that value was said before.
    """
    starred = _STARRED.fullmatch(utterance.text)
    match = _BARE_CORRECTION.match(clause.text.removeprefix("*"))
    if match is None:
        return None
    corrects = clause.corrects or starred is not None or match["regret"] is not None
    doubts = match["doubt"] or _NO.fullmatch(utterance.text[: clause.start])
    if not (corrects or match["after"] or match["right"] or (doubts and match["it"])):
        return None
    value, kind = match["value"], read_value(match["value"]).kind
    sure = corrects or match["right"] or match["after"]
    if fold(value).split()[0] in FIRST_PERSON or _REQUEST.match(clause.text):
        return None
    named = _CUE_FIRST.match(utterance.text) and not match["doubt"] and _is_word(value)
    if kind == "text" and not named:
        return None
    if kind == "name" and not (sure and _is_name(value)):
        return None
    old = NOT_OLD.match(utterance.text, clause.end)
    offset, said_at = utterance.span[0], utterance.said_at
    star = clause.text.startswith("*")
    start, end = clause.span(match.start(), match.end() + star)
    return Claim(
        subject=utterance.speaker,
        attribute=ANY_ATTRIBUTE,
        value=value,
        span=(offset + start, offset + end),
        said_at=said_at,
        valid_from=said_at,
        single=match["right"] is not None or (kind == "name" and not corrects),
        trust=utterance.role,
        operation="correct",
        skips=utterance.skips,
        replaces=match["old"] or (old and old["old"]),
    )


def _is_word(value: str) -> bool:
    """Return whether a value is one ordinary word: "I meant hazelnuts", but not "I meant it"."""
    return value.isalpha() and value.casefold() not in EMPTY_WORDS and not _POINTING.fullmatch(value)


def _is_name(value: str) -> bool:
    """Return whether words name something: not "Wrong chat", "Sorry" or "Typo", which follow a mistake as well."""
    words = value.split()
    return all(word[:1].isupper() or word in _PARTICLES for word in words) and not any(
        word.casefold() in EMPTY_WORDS or _CUE.fullmatch(word) for word in words
    )
