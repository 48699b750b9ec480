"""How likely a newer text is about the same thing as an older one: by meaning, by topics and by words. Pure.

"We got the keys, Ghent is home now" and "I live in Hamburg" have no word in common. What they share is a topic, and
one states what the other changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from memoranda.caches import text_cache
from memoranda.remember.clauses import blank_foreign
from memoranda.remember.lexicon import (
    BROAD_TOPICS,
    CHANGE,
    CHILDREN,
    EVENT,
    HAPPENED,
    PARTNERS,
    PEOPLE,
    QUESTION,
    SUPERIORS,
    WISH,
    topics_in,
)
from memoranda.text import query_terms

_SUBJECT: Final = re.compile(
    rf"(?:(?:and|but|so|well|ok|yes|btw)\W+)*(?:(?:my|our|his|her|their|the|a|an|another)\s+(?:\w+\s+)?)?(?P<kin>{PEOPLE})s?(?P<owns>['’]s?)?\b",
    re.I,
)
_OWNED: Final = re.compile(r"\b([A-Z][a-z]+)['’]s\s+([a-z]+)")
_WITH: Final = re.compile(r"\b[Ww]ith ((?:(?:Dr|Mr|Mrs|Ms|Prof)\.? )?[A-Z][a-z]+)")
_NAMES: Final = re.compile(
    r"\b(?!(?:I|The|My|Our|We|It|He|She|They|This|That|In|On|At|With|For|From|To|By|As|After|Since|When|And|But|No|Not|So"
    r"|Dr|Mr|Mrs|Ms|Prof)\b)[A-Z][a-z]+"
)
# Whom a sentence is about, or whose: "Ben works", "Ben's car", "User lives", "my friend Ann Lee's horse".
_WHOSE: Final = re.compile(
    rf"\W*(?:(?:and|but|so|well|ok|yes|oh|btw|noted|update)\W+)*(?:(?:my|our|his|her|their|the|a|an|another)\s+(?:best\s+)?)?"
    rf"(?P<who>(?:(?:user|customer|client|patient|(?:Dr|Mr|Mrs|Ms|Prof)\.?|{PEOPLE}|(?-i:{_NAMES.pattern}))(?:\b|(?<=\.))\s?)+)(?!\s*and\b)",
    re.I,
)
# What something is called says nothing about others of that name: "a dog named Malmo".
_CALLED: Final = re.compile(r"\b(?:called|named)\s+(?:[A-Z][\w'’&-]*[\s,.]*)+")
_PEOPLE: Final = re.compile(rf"\b(?:{PEOPLE})\b", re.I)
_SENTENCE_END: Final = re.compile(r"(?<=[.!?\n;])\s+")
_PART_END: Final = re.compile(r",\s+|\s+-+\s+")
_SAME_KIN: Final = {
    "grandma": "grandmother",
    "grandpa": "grandfather",
    "mom": "mother",
    "mum": "mother",
    "dad": "father",
    "kid": "child",
    "kids": "child",
    "children": "child",
    "neighbor": "neighbour",
    "boy": "son",
    "girl": "daughter",
}
_PARENTS: Final = frozenset(("mother", "father"))
# Of these, the people are what a statement says: "my girlfriend Ines" and "Ines is wearing the ring".
_VALUES_OF: Final = {
    "relation": PARTNERS,
    "wedding": PARTNERS,
    "children": CHILDREN,
    "work": SUPERIORS,
    "deadline": SUPERIORS,
}
_TOPIC: Final = (0.0, 0.15, 0.23)
"""How much nearer two texts are that share no topic, one, or several."""
_NARROW: Final = 0.05
"""How much nearer they are when a topic is a narrow one."""
_WORD: Final = (0.0, 0.15, 0.25)
"""How much nearer two texts are that share no word, one, or several."""
# "I've got two cats", "he is homeschooled", "since I was fifteen": how it is now.
_STILL: Final = re.compile(
    r"(?:\b(?:have|has|am|is|are|be)|['’](?:ve|s|m|re))\s+(?:\w+\s+)?(?:got|been|had|made|\w+e[dn])\b|\bsince\b[^,.;]*",
    re.I,
)
_FIRST_PERSON: Final = re.compile(r"\b(?:i|me|my|mine|we|us|our|ours)\b", re.I)
# A sentence about somebody who is not named: "she moved to Oslo", "everyone at work uses it".
_SOMEBODY: Final = re.compile(
    r"\W*(?:(?:and|but|so|well|oh|now)\W+)*(?:he|she|his|her|everyone|everybody|someone|somebody|a friend"
    r"|they(?=\s+(?:(?:have|just)\s+)?(?:moved|relocated|switched|went)\s+to\b))\b",
    re.I,
)
_NO_NAMES: Final = frozenset(("user", "customer", "client", "patient", "dr", "mr", "mrs", "ms", "prof"))
# What somebody says the measure of: "my rent is 900 euros", "the bike costs 500".
_MEASURED_THING: Final = re.compile(
    r"\W*(?:my|our|the|this)\s+(?P<thing>(?:\w+\s+){0,2}?\w+)\s+(?:is|are|was|were|costs?|weighs?)\b(?=[^.!?]*\d)", re.I
)
_THING: Final = re.compile(r"\W*(?:my|our|the)\s+(?P<thing>[\w-]+)\s+(?:is|are|costs?|starts?|ends?)\b", re.I)
_UNITS: Final = frozenset(
    query_terms("euro dollar pound yen percent kg kilo km mile hour minute day week month year people times")
)
_FEW_WORDS: Final = 20
_ADDRESSED: Final = re.compile(r"\?|\b(?:you|your)\b", re.I)
_NOTHING_SHARED: Final = -0.25
"""How much less near two texts are that share neither a topic nor a word."""


@text_cache(4096)
def statements(text: str) -> str:
    """Return the sentences of a text that are the writer's own and ask nothing."""
    sentences = _SENTENCE_END.split(blank_foreign(text))
    return " ".join(each.strip() for each in sentences if each.strip() and not QUESTION.search(each))


@text_cache(4096)
def events(text: str) -> str:
    """Return the parts of the sentences that tell neither a wish nor a plan."""
    return ", ".join(part for part in _PART_END.split(statements(text)) if not WISH.search(part))


@text_cache(4096)
def tells_change(text: str) -> bool:
    """Return whether a text speaks of a change in general."""
    return CHANGE.search(events(text)) is not None


@text_cache(4096)
def is_state(text: str) -> bool:
    """Return whether a text says how something is, and not what happened."""
    return HAPPENED.search(_STILL.sub("", statements(text))) is None


@text_cache(4096)
def is_plain(text: str) -> bool:
    """Return whether a text is short and says something, without a question and without speaking to somebody."""
    return len(text.split()) <= _FEW_WORDS and _ADDRESSED.search(text) is None


def tells_event(text: str) -> bool:
    """Return whether a text tells, in the writer's own words, of something from which a change can follow."""
    told = events(text)
    return EVENT.search(told) is not None or tells_change(text)


def likeness(older: str, newer: str, nearness: float, *, whole: bool = False) -> float:
    """Return how likely a newer text is about the same thing as an older one.

    Args:
        older: The text that was said before.
        newer: The text that was said later.
        nearness: How near they are in meaning.
        whole: Count a shared topic less the more topics the texts have besides.
    """
    if not statements(older):
        return 0.0
    statement, event = _without_subject(statements(older), _CALLED.sub(" ", events(newer)))
    one, other = _topics(statement), _topics(event)
    common, shared = terms(statement) & terms(event), one & other
    if "travel" in other - one and "place" in shared:  # a visit changes nothing about who lives there
        common -= frozenset(term for word in event.split() if "place" in _topics(word) for term in terms(word))
        nearness, shared = nearness + _NOTHING_SHARED, shared - {"place"}
    words = sum(_is_telling(word) for word in common)
    if (not shared and not words) or _measure_different_things(statement, event):
        return nearness + _NOTHING_SHARED
    topic = _TOPIC[min(len(shared), 2)] + (_NARROW if shared - BROAD_TOPICS else 0.0)
    if whole:
        topic *= min(1.0, 2 * len(shared) / max(1, len(one | other)))
    return nearness + topic + _WORD[min(words, 2)]


def _without_subject(statement: str, event: str) -> tuple[str, str]:
    """Return two texts without the person that both are about: that they share says nothing about what is said."""
    one, other = _WHOSE.match(statement), _WHOSE.match(event)
    if one is None or other is None:
        return statement, event
    shared = {_kin(word) for word in one["who"].split()} & {_kin(word) for word in other["who"].split()}
    return _cut(one, shared), _cut(other, shared)


def _cut(found: re.Match[str], words: Collection[str]) -> str:
    kept = " ".join(word for word in found["who"].split() if _kin(word) not in words)
    return f"{kept} {found.string[found.end() :]}"


def _is_telling(word: str) -> bool:
    """Return whether a word that two texts share says what they are about: not "I'm", a unit, or the change itself."""
    return "'" not in word and word not in _UNITS and CHANGE.fullmatch(word) is None


def _measure_different_things(one: str, other: str) -> bool:
    """Return whether each text says the measure of one thing, and those are two: "my rent is …", "the bike costs …"."""
    first, second = _MEASURED_THING.match(one), _MEASURED_THING.match(other)
    return first is not None and second is not None and not terms(first["thing"]) & terms(second["thing"])


_topics: Final = text_cache(4096)(topics_in)


@text_cache(4096)
def terms(text: str) -> frozenset[str]:
    return frozenset(query_terms(text))


def same_people(older: str, newer: str) -> bool:
    """Return whether two texts do not speak of different people: "I am allergic", "my daughter is not"."""
    subject = _WHOSE.match(statements(newer))
    if subject is not None and set(_NAMES.findall(older)) & set(_NAMES.findall(subject["who"])):
        return True
    if _is_only_anothers(older, newer):
        return False
    values = "|".join(_VALUES_OF[topic] for topic in _topics(older) & _topics(newer) if topic in _VALUES_OF)
    for one, other in ((older, newer), (newer, older)):
        kin = _subject_of(one)
        if kin and not (values and re.fullmatch(values, kin)) and kin not in _kin_in(other):
            return False
    if any(name not in older and terms(noun) & terms(older) for name, noun in _OWNED.findall(newer)):
        return False  # "Lena's flight" is not "my flight"
    first, second = _WITH.search(older), _WITH.search(newer)
    return first is None or second is None or first[1] == second[1]


def _is_only_anothers(older: str, newer: str) -> bool:
    """Return whether one text is about somebody whom the other does not speak of: "I quit Acme", "Ben quit Acme"."""
    thing = _THING.match(statements(older))
    if thing is not None and re.search(rf"\bthe {re.escape(thing['thing'])}\b", newer, re.I):
        return False  # "Kim moved the meeting to Thursday": the one that is known
    if _others_in(newer) and not _others_in(newer) & set(_NAMES.findall(older)):
        return True
    if _others_in(older) and not _others_in(older) & set(_NAMES.findall(newer)):
        return _FIRST_PERSON.search(newer) is not None or bool(_others_in(newer))
    unnamed = _SOMEBODY.match(statements(newer)) is not None and _FIRST_PERSON.search(newer) is None
    return unnamed and not _kin_in(older) and not _others_in(older)


@text_cache(4096)
def _others_in(text: str) -> frozenset[str]:
    """Return the names of the people whom a text is about, if the speaker is not one of them."""
    found = _WHOSE.match(statements(text))
    if found is None or _FIRST_PERSON.search(text):
        return frozenset()
    names = _NAMES.findall(found["who"])
    return frozenset(name for name in names if name.casefold() not in _NO_NAMES and not _topics(name))


@text_cache(4096)
def _subject_of(text: str) -> str:
    """Return the relative or acquaintance whom a text is about; empty when it is about the speaker or a thing."""
    found = _SUBJECT.match(statements(text))
    return "" if found is None else _kin(found["kin"])


@text_cache(4096)
def _kin_in(text: str) -> frozenset[str]:
    found = {_kin(word) for word in _PEOPLE.findall(text)}
    return frozenset(found | _PARENTS if "parents" in found else found)


def _kin(word: str) -> str:
    folded = word.casefold()
    return _SAME_KIN.get(folded, folded)
