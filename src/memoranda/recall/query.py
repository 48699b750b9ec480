"""A question as the arms see it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from memoranda.dates.find import Mention, find_mentions
from memoranda.text import HAS_NAME, HAS_NUMBER, HAS_TIME, query_terms, terms
from memoranda.types import Filter, Scope, Window

Mode: TypeAlias = Literal["fast", "default", "best"]
MODES: tuple[Mode, ...] = ("fast", "default", "best")
MAX_TERMS = 256
"""Different words of one question that are looked up; a question of more is a document."""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked, of whose memories, when, and how much of an answer is wanted."""

    text: str
    scope: Scope
    where: Filter
    limit: int
    now: datetime
    mode: Mode = "default"
    as_of: datetime | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """What the rules read in a question."""

    embedded: str | None
    """What is looked for by meaning: the question without the speakers' names; None when it names a time only."""
    terms: tuple[str, ...]
    """The words to look up, in the order asked."""
    speakers: tuple[str, ...]
    windows: tuple[Window, ...]
    wanted: str | None = None
    """The lexical key of the texts that hold the kind of answer asked for."""


def read_query(text: str, now: datetime, speakers: Sequence[str]) -> Reading:
    """A question read against the asker's clock and those who spoke."""
    about, windows = read_speakers(text, speakers), read_windows(text, now)
    dated = {word for window in windows for word in terms(window.phrase)}
    if windows and dated.issuperset(about.terms):
        # "2024-01-08" means what was said then, not texts that look like a date.
        return Reading(None, (), about.named, windows)
    return Reading(about.text, about.terms[:MAX_TERMS], about.named, windows, wanted_kind(text))


ROLES = frozenset({"user", "assistant", "tool", "system"})
"""Speakers that are no names: turns whose message had none."""
_WORD = re.compile(r"\w+")
_FIRST_PERSON = re.compile(r"\b(?:i|i'm|i've|me|my|mine|myself)\b", re.I)
_SECOND_PERSON = re.compile(r"\b(?:you|your|yours|we|our|us)\b", re.I)


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who is meant, and the question as it reads without the names."""

    named: tuple[str, ...]
    text: str
    """People seldom say their own name, and a name in a question drowns the rest of its meaning."""
    terms: tuple[str, ...]
    """The words to look up."""


def read_speakers(question: str, speakers: Sequence[str]) -> Speakers:
    """The speakers whose names stand in the question; the user, where only "I" or "my" does."""
    named = named_in(question, speakers)
    terms = tuple(query_terms(question))
    if not named:
        return Speakers(_asker(question, speakers), question, terms)
    names = {part for name in named for part in query_terms(name)}
    kept = tuple(term for term in terms if term not in names)
    if not kept:  # the name is all there is to go by
        return Speakers(named, question, terms)
    return Speakers(named, _without(question, named), kept)


def named_in(question: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """The speakers whose whole names stand in the question; roles are no names."""
    words = {word.casefold() for word in _WORD.findall(question)}
    found = []
    for name in speakers:
        parts = _WORD.findall(name.casefold())
        if name not in ROLES and parts and words.issuperset(parts):
            found.append(name)
    return tuple(found)


def _asker(question: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """The asker, where a question is about the asker alone: what an assistant said is asked with "you" or "we"."""
    alone = _FIRST_PERSON.search(question) and not _SECOND_PERSON.search(question)
    return ("user",) if alone and "user" in speakers else ()


def _without(question: str, named: Sequence[str]) -> str:
    for name in sorted(named, key=len, reverse=True):
        spelled = r"\s+".join(re.escape(part) for part in name.split())
        question = re.sub(rf"\b{spelled}(?:['’]s)?\b", " ", question, flags=re.I)
    return " ".join(question.split())


_DAY: Final = timedelta(days=1)
_MOST_READ: Final = 2_000  # characters; whoever asks in more is not naming a date
_LEAD: Final = re.compile(r"(?:\b(?:on|in|during|of|at|over|within|for)\s+)?(?:\bthe\s+)?$", re.I)
_LEAD_REACH: Final = 20
_WEEK: Final = timedelta(days=7)
_COUNTED_BACK: Final = re.compile(r"\b(?:ago|back)$", re.I)
# "The Sunday mass", "the Friday report": which one, a question rarely says.
_BARE_WEEKDAY: Final = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.I)


def read_windows(text: str, now: datetime) -> tuple[Window, ...]:
    """The windows a question names that have begun by `now`; dates with a year count before words like "last week"."""
    asked = text[:_MOST_READ]
    named = [each for each in find_mentions(asked, now, prefer="past") if each.start <= now and _is_sure(each)]
    dates = [mention for mention in named if mention.is_absolute]
    return tuple(window for mention in dates or named if (window := _window(asked, mention)))


def _is_sure(mention: Mention) -> bool:
    return mention.kind == "at" and not _BARE_WEEKDAY.fullmatch(mention.text)


def _window(text: str, mention: Mention) -> Window | None:
    """The days around what is named; None where they lie before the first year or after the last."""
    first, last = mention.span
    lead = _LEAD.search(text, max(0, first - _LEAD_REACH), first)
    around = _vagueness(mention)
    try:
        start, end = mention.start - around, mention.end + around + _DAY - timedelta.resolution
    except OverflowError:
        return None
    return Window(_midnight(start), _midnight(end), text[lead.start() if lead else first : last])


def _vagueness(mention: Mention) -> timedelta:
    """How far the time that is meant may lie beside the one that is named."""
    length = mention.end - mention.start
    if mention.is_absolute or not (length == _WEEK or _COUNTED_BACK.search(mention.text)):
        return timedelta(0)
    return max(_DAY, length / 4)


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


_QUESTION_WORD: Final = re.compile(
    r"\b(?:(?P<time>when|how\s+long|(?:what|which)\s+(?:year|month|day|date|time|week|season))"
    r"|(?P<number>how\s+(?:many|much|old|often|far|big|tall|large|fast|heavy)|what\s+(?:age|number|amount|price|percentage))"
    r"|(?P<name>who|whom|whose|where|what|which))\b",
    re.I,
)
_KEYS: Final = {"time": HAS_TIME, "number": HAS_NUMBER, "name": HAS_NAME}


def wanted_kind(question: str) -> str | None:
    """The lexical key of the texts that can answer; the first question word decides, and without one nothing does."""
    asked = _QUESTION_WORD.search(question)
    return _KEYS[str(asked.lastgroup)] if asked else None
