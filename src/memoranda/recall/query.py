"""Parse a question with rules: its speakers, its time, the terms to look up, the type of answer it asks for."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from memoranda.dates.find import Mention, find_mentions
from memoranda.dates.rules import DAY, WEEK, midnight
from memoranda.index.partition import Partition
from memoranda.messages.message import ROLES
from memoranda.recall.questions import (
    MAX_CHARACTERS,
    asks_for_several,
    find_answer_type,
    find_time_asked_about,
    is_about_asker,
)
from memoranda.text.sentences import EMPTY_WORDS
from memoranda.text.terms import (
    NAME_KEY,
    fold,
    has_content_terms,
    keys_in_window,
    name_parts,
    query_terms,
    terms,
    widen_terms,
)
from memoranda.types import Filter, IntArray, Scope, Window

Mode: TypeAlias = Literal["fast", "default", "best"]
MODES: tuple[Mode, ...] = ("fast", "default", "best")
MAX_TERMS = 256
"""Distinct terms looked up for one question; a question with more is a document."""


@dataclass(frozen=True, slots=True)
class RecallQuery:
    """The validated arguments of one recall."""

    text: str
    scope: Scope
    where: Filter
    limit: int
    now: datetime
    mode: Mode = "default"
    as_of: datetime | None = None
    """Answer from what was true at this time."""
    known_at: datetime | None = None
    """Answer from what was known at this time."""
    min_score: float | None = None
    """The lowest score of a hit."""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """What the rules find in a question."""

    embedded: str | None
    """The text to embed: the question without the speakers' names; None when the question is only a time."""
    terms: tuple[str, ...]
    """The terms to look up, in the order of the question."""
    speakers: tuple[str, ...]
    windows: tuple[Window, ...]
    answer_type: str | None = None
    """The index key of the texts that hold the type of answer asked for; None when the question asks for no type."""
    asks_for_time: bool = False
    """Whether it names a time, and nothing to look for by its words except people."""
    only_people: bool = False
    """Whether it names people, and nothing to look for by its words except times."""
    asks_for_several: bool = False
    """Whether the answer is a list, a count, an order or a comparison, and so in several memories."""
    notes: tuple[str, ...] = ()
    """What was done otherwise than the question says, and why."""
    was: Window | None = None
    """The time of which it asks what was true then: what has ended counts too. None when it asks about the present."""
    named: str = ""
    """The question with the names that the speakers have in the texts, for a model that reads both together."""


def parse_query(
    text: str,
    now: datetime,
    speakers: Sequence[str],
    languages: Collection[str] = (),
    aliases: Mapping[str, str] | None = None,
) -> ParsedQuery:
    """Parse a question against the asker's clock and the known speakers.

    Args:
        text: The question.
        now: The asker's clock.
        speakers: Who spoke in the scope.
        languages: The languages of the texts that are searched, except English.
        aliases: Other names in the question, and the speakers that they stand for: see `find_aliases`.
    """
    match, windows = match_speakers(_without_filler(text), speakers, aliases), parse_windows(text, now)
    notes = tuple(f"{name!r} is another name of {speaker!r}" for name, speaker in (aliases or {}).items())
    if windows and _dates_in(text, windows).issuperset(match.terms):
        # "2024-01-08" asks for what was said then, not for texts that look like a date.
        return ParsedQuery(None, (), match.speakers, windows, asks_for_time=True, notes=notes, named=text)
    was = find_time_asked_about(text, windows, now)
    several = asks_for_several(text)
    if several:
        notes = (*notes, "asks for several things: memories of different sessions come first")
    looked_up = tuple(widen_terms(text, match.terms[:MAX_TERMS], languages))
    return ParsedQuery(
        match.text,
        looked_up[:MAX_TERMS],
        match.speakers,
        windows,
        find_answer_type(text),
        asks_for_several=several,
        only_people=bool(match.speakers) and not _names_a_thing(text, (*match.speakers, *(aliases or ())), now),
        notes=notes if was is None else (*notes, "asks about the past: what has ended since counts too"),
        was=was,
        named=_replace_aliases(text, aliases or {}),
    )


_ANYTHING: Final = re.compile(
    r"\b(?:say|says|said|saying|tell|tells|told|talk\w*|mention\w*|know\w*|hear|heard|happen\w*|ever|else|anything|something|everything|"
    r"news?|up to|going on|lately|recently|story|info|information|details?|remember)\b",
    re.I,
)


def _names_a_thing(text: str, people: Sequence[str], now: datetime) -> bool:
    """Return whether a question has a word to look for besides people, times, and words for asking about anything."""
    text = _ANYTHING.sub(" ", _remove_names(text, people))
    for mention in find_mentions(text[:MAX_CHARACTERS], now, prefer="past"):
        text = text.replace(mention.text, " ")
    return has_content_terms(text)


def _replace_aliases(text: str, aliases: Mapping[str, str]) -> str:
    for name, speaker in aliases.items():
        text = re.sub(rf"\b{re.escape(name)}\b", speaker.replace("\\", r"\\"), text)
    return text


def _dates_in(text: str, windows: Sequence[Window]) -> set[str]:
    """Return the terms of the windows' phrases, as they are and as the whole question is stemmed."""
    without = text
    for window in windows:
        without = without.replace(window.phrase, " ")
    phrases = {term for window in windows for term in terms(window.phrase)}
    return phrases | set(terms(text)).difference(terms(without) if without.strip() else ())


def widen_useless_windows(partition: Partition, query: RecallQuery, parsed: ParsedQuery) -> ParsedQuery:
    """Return the question as it is looked up when its time tells no memories apart: by its words and its meaning.

    A time is a preference, not a filter. When all memories or none lie inside it, a question that names nothing else
    would find nothing.
    """
    if not parsed.asks_for_time:
        return parsed
    times = _times_in_scope(partition, query)
    inside = np.zeros(len(times), dtype=np.bool_)
    for window in parsed.windows:
        inside |= (times >= window.start.timestamp()) & (times < window.end.timestamp())
    keys = (key for window in parsed.windows for key in keys_in_window(window.start, window.end))
    mentioned = any(map(partition.postings.contains, keys))
    if not len(times) or mentioned or 0 < np.count_nonzero(inside) < len(times):
        return parsed
    phrases = " or ".join(f"{window.phrase.strip()!r}" for window in parsed.windows)
    note = f"{'every' if inside.any() else 'no'} memory lies in {phrases}: the time does not tell them apart"
    looked_up = tuple(query_terms(query.text)[:MAX_TERMS])
    return replace(
        parsed, embedded=_remove_names(query.text, parsed.speakers), terms=looked_up, notes=(*parsed.notes, note)
    )


def _times_in_scope(partition: Partition, query: RecallQuery) -> NDArray[np.float64]:
    timeline, eligible = partition.timeline(), _eligible(partition, query)
    return timeline.times if eligible is None else timeline.times[timeline.positions(eligible)]


def _eligible(partition: Partition, query: RecallQuery) -> IntArray | None:
    """Return the ids of what the scope holds by now; None for the whole partition."""
    return partition.eligible(query.scope.agent, query.scope.session, query.now.timestamp())


_PRESENT: Final = re.compile(
    r"\b(?:these\s+days|nowadays|at\s+(?:the\s+moment|present)|right\s+now|as\s+of\s+now)\b", re.I
)


_OPENING: Final = re.compile(
    r"^(?:(?:ok|okay|hi|hello|hey|hiya|thanks|yes|yeah|yep|sure|alright|well|great|good|perfect|cool|right|so)\b"
    r"[,.!:;…-]+\s+|(?:ok|okay|hi|hello|hey|hiya)\s+(?:there\b[,.!]*\s+)?)+",
    re.I,
)


def _without_filler(text: str) -> str:
    """Return the question without a greeting at its start, and without words that only say that it is about now."""
    rest = " ".join(_PRESENT.sub(" ", _OPENING.sub("", text)).split())
    return rest if _WORD.search(rest) else text


_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class SpeakerMatch:
    """The speakers a question is about, and the question without their names."""

    speakers: tuple[str, ...]
    text: str
    """Without names: people seldom say their own name, and a name would dominate the vector of the question."""
    terms: tuple[str, ...]
    """The terms to look up."""


def find_speakers(partition: Partition, query: RecallQuery) -> tuple[str, ...]:
    """Return who spoke inside the scope; a name known only from outside the scope is an ordinary word."""
    speakers, scope = partition.speakers, query.scope
    if scope.agent is None and scope.session is None:
        return speakers
    eligible = _eligible(partition, query)
    if eligible is None:
        return speakers
    named = find_names(query.text, speakers)
    possible = [name for name in speakers if name in ROLES or name in named]
    return tuple(name for name in possible if np.isin(partition.said_by(name), eligible).any())


def match_speakers(question: str, speakers: Sequence[str], aliases: Mapping[str, str] | None = None) -> SpeakerMatch:
    """Match the speakers named in the question; without a name, the user where the question is about "I" or "my".

    What is looked up keeps an alias: the people around somebody use it.
    """
    named = find_names(question, speakers)
    terms = tuple(query_terms(question))
    if aliases:
        people = tuple(dict.fromkeys([*named, *aliases.values()]))
        return SpeakerMatch(people, _remove_names(question, [*named, *aliases]) or question, terms)
    if not named:
        return SpeakerMatch(_match_asker(question, speakers), question, terms)
    name_terms = {term for name in named for term in query_terms(name)}
    other_terms = tuple(term for term in terms if term not in name_terms)
    if not other_terms:  # the question holds nothing but the name
        return SpeakerMatch(named, question, terms)
    return SpeakerMatch(named, _remove_names(question, named), other_terms)


def find_names(question: str, speakers: Sequence[str]) -> tuple[str, ...]:
    """Return the speakers whose whole names occur in the question; roles are not names."""
    words = {word.casefold() for word in _WORD.findall(question)}
    found = []
    for name in speakers:
        parts = _WORD.findall(name.casefold())
        if name not in ROLES and parts and words.issuperset(parts):
            found.append(name)
    return tuple(found)


def find_aliases(partition: Partition, query: RecallQuery) -> dict[str, str]:
    """Return the words of a question that are another name of one speaker in the scope, and that speaker.

    A name is learnt from what the speaker said ("call me Kate", an e-mail address), or is a part of the label that
    the speaker has ("Kate Miller", "kate.miller@example.com"), or the id of a user who speaks without a name.
    A name of several speakers stands for none of them.
    """
    speakers = partition.speakers
    if not speakers:
        return {}
    named = set(find_names(query.text, speakers))
    parts = {part for name in named for part in name_parts(name)}
    found: dict[str, str] = {}
    for word in dict.fromkeys(_WORD.findall(query.text)):
        folded = "".join(name_parts(word))
        if not folded or folded in parts or folded in EMPTY_WORDS:
            continue
        people = set(_learnt(partition, folded))
        if not people and word[0].isupper():
            people = _labelled(speakers, folded) or _known_by_id(query.scope, speakers, folded)
        if len(people) == 1 and not people & named and _speaks_in_scope(partition, query, *people):
            found[word] = people.pop()
    return found


def _learnt(partition: Partition, name: str) -> tuple[str, ...]:
    key = NAME_KEY + name
    return partition.speakers_of(partition.postings.ids_with(key)) if partition.postings.contains(key) else ()


def _labelled(speakers: Sequence[str], name: str) -> set[str]:
    """Return the speakers with this name as a part of theirs; one that is the whole of it is no other name."""
    return {
        speaker
        for speaker in speakers
        if speaker not in ROLES and name != fold(speaker) and name in name_parts(_INNER_START.sub(" ", speaker))
    }


def _known_by_id(scope: Scope, speakers: Sequence[str], name: str) -> set[str]:
    """Return the user who speaks without a name, where the id that the user has in the scope is that name."""
    known = name_parts(_INNER_START.sub(" ", scope.user)) if isinstance(scope.user, str) else ()
    return {"user"} if "user" in speakers and name.isalpha() and name in known else set()


_INNER_START: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
"""Where a part of a label such as "kateMiller" begins."""


def _speaks_in_scope(partition: Partition, query: RecallQuery, speaker: str) -> bool:
    eligible = _eligible(partition, query)
    return eligible is None or bool(np.isin(partition.said_by(speaker), eligible).any())


def _match_asker(question: str, speakers: Sequence[str]) -> tuple[str, ...]:
    return ("user",) if "user" in speakers and is_about_asker(question) else ()


def _remove_names(question: str, names: Sequence[str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        pattern = r"\s+".join(re.escape(part) for part in name.split())
        question = re.sub(rf"\b{pattern}(?:['’]s)?\b", " ", question, flags=re.I)
    return " ".join(question.split())


_LEADING_WORDS: Final = re.compile(r"(?:\b(?:on|in|during|of|at|over|within|for)\s+)?(?:\bthe\s+)?$", re.I)
_MAX_LEADING: Final = 20  # characters before a date that are searched for leading words
_COUNTED_BACK: Final = re.compile(r"\b(?:ago|back)$", re.I)
# "The Sunday mass", "the Friday report": a question rarely says which one.
_BARE_WEEKDAY: Final = re.compile(r"(?:mon|tues|wednes|thurs|fri|satur|sun)day", re.I)


def parse_windows(text: str, now: datetime) -> tuple[Window, ...]:
    """Return the time windows in a question that start by `now`; dates with a year win over words like "last week"."""
    start = text[:MAX_CHARACTERS]
    mentions = [each for each in find_mentions(start, now, prefer="past") if each.start <= now and _is_certain(each)]
    dates = [mention for mention in mentions if mention.is_absolute]
    return tuple(window for mention in dates or mentions if (window := _to_window(start, mention)))


def _is_certain(mention: Mention) -> bool:
    return mention.kind == "at" and not _BARE_WEEKDAY.fullmatch(mention.english)


def _to_window(text: str, mention: Mention) -> Window | None:
    """Return the whole days of a mention; None when they lie before the first year or after the last."""
    first, last = mention.span
    leading = _LEADING_WORDS.search(text, max(0, first - _MAX_LEADING), first)
    margin = _margin(mention)
    try:
        start, end = mention.start - margin, mention.end + margin + DAY - timedelta.resolution
    except OverflowError:
        return None
    return Window(midnight(start), midnight(end), text[leading.start() if leading else first : last])


def _margin(mention: Mention) -> timedelta:
    """Return how far the time that is meant may lie from the one that is named."""
    length = mention.end - mention.start
    if mention.is_absolute or not (length == WEEK or _COUNTED_BACK.search(mention.english)):
        return timedelta(0)
    return max(DAY, length / 4)
