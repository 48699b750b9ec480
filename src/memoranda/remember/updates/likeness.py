"""Estimate how likely a newer text is about the same thing as an older one: by meaning, topics and words. Pure.

"We got the keys, Ghent is home now" and "I live in Hamburg" have no word in common. They share a topic, and one changes
the state that the other describes.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.reading.lexicon import (
    BROAD_TOPICS,
    CHANGE,
    EVENT,
    HAPPENED,
    RECENT,
    WISH,
)
from memoranda.remember.reading.statements import own_statements_text
from memoranda.remember.reading.subjects import LEAD, terms, topics_of, without_subject
from memoranda.text.cache import text_cache
from memoranda.text.terms import query_terms

# A state that was over long before the statement.
_PAST_ONLY: Final = re.compile(
    r"\b(?:i|we|he|she|they|it|(?-i:[A-Z]\w+))\s+used\s+to\b|\b(?:years?|decades?|ages|long)\s+ago\b|\bback\s+(?:then|when|in\s+\d{4})\b|\bat\s+(?:the|that|one)\s+(?:time|point)\b"
    r"|\b(?:previously|formerly|originally|growing\s+up)\b|\bin\s+(?:those\s+days|the\s+past|my\s+(?:childhood|youth|twenties|teens|\w+\s+days))\b"
    r"|\bas\s+an?\s+(?:kid|child|student|teen\w*|boy|girl|baby|toddler|young\s+\w+|intern)\b|\bwhen\s+(?:i|we)\s+(?:was|were|lived|worked)\b"
    r"|\b(?:in|at)\s+(?:my|our)\s+(?:last|old|former|previous|first)\s+\w+\b"
    r"|\bbefore(?=\s*(?:[.!;)]|$|that\b|this\b|then\b))"
    r"|(?<!for )\bonce(?=\s*(?:[.!,;]|$|before\b|in\s+\d{4}))",
    re.I,
)
# "I paid 60 euros for shoes": a past event, which does not describe the present.
_VERB_AFTER: Final = re.compile(rf"{LEAD}(?:(?:i|we)\s+)?(?:(?:also|even|then|\w+ly)\s+)?(?P<verb>\w+)", re.I)
# Actions with a lasting result: a thing was acquired or lost.
_LASTING: Final = re.compile(
    r"(?:got|bought|adopted|lost|broke|found|won|made|chose|hit|grew|married|eloped|proposed|passed|failed|deleted|signed|cut|packed|built|shut)\b",
    re.I,
)
_TURNING_POINT: Final = re.compile(
    r"\b(?:first|last|second|third|\d+(?:st|nd|rd|th)|off|over|out|away|back|done|gone|through|just|only|not?|never|without|too\s+\w+|\w+n['’]t)\b",
    re.I,
)
# A name is not a statement about others of that name: "a dog named Malmo".
_CALLED: Final = re.compile(r"\b(?:called|named)\s+(?:[A-Z][\w'’&-]*[\s,.]*)+")
_PART_END: Final = re.compile(r",\s+|(?<!\s)\s+-+\s+")
_EVENT_END: Final = re.compile(
    rf"(?<![.!;])[.!;]+\s+|,\s+|(?<!\s)\s+-+\s+|(?<!\s)\s+and\s+(?={HAPPENED.pattern})", re.I
)
_TOPIC: Final = (0.0, 0.15, 0.23)
"""How much nearer two texts are that share no topic, one, or several."""
_NARROW: Final = 0.05
"""How much nearer they are when a topic is a narrow one."""
_WORD: Final = (0.0, 0.15, 0.25)
"""How much nearer two texts are that share no word, one, or several."""
# "I've got two cats", "he is homeschooled", "since I was fifteen": present states.
_STILL: Final = re.compile(
    r"(?:\b(?:have|has|am|is|are|be)|['’](?:ve|s|m|re))\s+(?:\w+\s+)?(?:got|been|had|made|\w+e[dn])\b|\bsince\b[^,.;]*",
    re.I,
)
# A thing and its measure: "my rent is 900 euros", "the bike costs 500".
_MEASURED_THING: Final = re.compile(
    r"\W*(?:my|our|the|this)\s+(?P<thing>(?:\w+\s+){0,2}?\w+)\s+(?:is|are|was|were|costs?|weighs?)\b(?=[^.!?]*\d)", re.I
)
_UNITS: Final = frozenset(
    query_terms("euro dollar pound yen percent kg kilo km mile hour minute day week month year people times")
)
_FEW_WORDS: Final = 20
_ADDRESSED: Final = re.compile(r"\?|\b(?:you|your)\b", re.I)
_NOTHING_SHARED: Final = -0.25
"""How much less near two texts are that share neither a topic nor a word."""


@text_cache(4096)
def events(text: str) -> str:
    """Return the parts of the sentences that describe neither a wish nor a plan."""
    return ", ".join(part for part in _PART_END.split(own_statements_text(text)) if not WISH.search(part))


@text_cache(4096)
def describes_change(text: str) -> bool:
    """Return whether a text describes a change of any kind."""
    return CHANGE.search(events(text)) is not None


@text_cache(4096)
def is_state(text: str) -> bool:
    """Return whether a text describes a state, and not an event."""
    return HAPPENED.search(_STILL.sub("", own_statements_text(text))) is None


@text_cache(4096)
def is_plain(text: str) -> bool:
    """Return whether a text is short, asks nothing and addresses nobody."""
    return len(text.split()) <= _FEW_WORDS and _ADDRESSED.search(text) is None


def describes_event(text: str) -> bool:
    """Return whether a text describes, in the writer's own words, an event from which a change can follow."""
    stated = events(text)
    return EVENT.search(stated) is not None or describes_change(text)


@text_cache(4096)
def changes_in(text: str) -> tuple[str, ...]:
    """Return the parts of a short sentence that each describe a change ("I quit, sold the car"), or else the text."""
    parts = [part for part in _EVENT_END.split(text) if part.strip()] if is_plain(text) else []
    return tuple(parts) if len(parts) > 1 and all(describes_change(part) for part in parts) else (text,)


def likeness(older: str, newer: str, nearness: float, *, whole: bool = False) -> float:
    """Return how likely a newer text is about the same thing as an older one.

    Args:
        older: The text that was said before.
        newer: The text that was said later.
        nearness: How near they are in meaning.
        whole: Count a shared topic less the more topics the texts have besides.
    """
    if not own_statements_text(older):
        return 0.0
    statement, event = without_subject(own_statements_text(older), _CALLED.sub(" ", events(newer)))
    one, other = topics_of(statement), topics_of(event)
    common, shared = terms(statement) & terms(event), one & other
    if "travel" in other - one and "place" in shared:  # a visit changes nothing about who lives there
        common -= frozenset(term for word in event.split() if "place" in topics_of(word) for term in terms(word))
        nearness, shared = nearness + _NOTHING_SHARED, shared - {"place"}
    words = sum(_is_specific(word) for word in common)
    if (not shared and not words) or _measure_different_things(statement, event):
        return nearness + _NOTHING_SHARED
    topic = _TOPIC[min(len(shared), 2)] + (_NARROW if shared - BROAD_TOPICS else 0.0)
    if whole:
        topic *= min(1.0, 2 * len(shared) / max(1, len(one | other)))
    return nearness + topic + _WORD[min(words, 2)]


def _is_specific(word: str) -> bool:
    """Return whether a word that two texts share is specific to their subject: not "I'm", a unit, or the change itself."""
    return "'" not in word and word not in _UNITS and CHANGE.fullmatch(word) is None


def _measure_different_things(one: str, other: str) -> bool:
    """Return whether the texts state the measures of two different things: "my rent is …", "the bike costs …"."""
    first, second = _MEASURED_THING.match(one), _MEASURED_THING.match(other)
    return first is not None and second is not None and not terms(first["thing"]) & terms(second["thing"])


@text_cache(4096)
def is_past_only(text: str) -> bool:
    """Return whether a text describes only the past: "I lived there as a child", "I paid 60 euros for shoes"."""
    if _PAST_ONLY.search(own_statements_text(text)):
        return True
    return is_own_past_action(text) and not any(_LASTING.match(verb) for verb in _first_verbs(text))


def names_recent_time(text: str) -> bool:
    """Return whether a text names a time of the last days or weeks."""
    return RECENT.search(text) is not None


@text_cache(4096)
def is_own_past_action(text: str) -> bool:
    """Return whether a text describes only an action of its speaker that is no change: "I bought nuts for the birds"."""
    stated = own_statements_text(text)
    if not stated or CHANGE.search(stated) or _TURNING_POINT.search(stated):
        return False
    return all(HAPPENED.match(verb) for verb in _first_verbs(text))


def _first_verbs(text: str) -> list[str]:
    """Return the verb of each part of a text, where the part is about its speaker: "I paid", "Paid"."""
    found = (_VERB_AFTER.match(part) for part in _EVENT_END.split(own_statements_text(text)) if part.strip())
    return ["" if match is None else match["verb"] for match in found]
