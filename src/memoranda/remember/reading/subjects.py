"""The subject of a text: its speaker, another person, or one of several things. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final

from memoranda.remember.reading.entities import NOT_NAMES
from memoranda.remember.reading.lexicon import (
    CHANGE,
    CHILDREN,
    EVENT,
    HAPPENED,
    PARTNERS,
    PEOPLE,
    POSSESSIVES,
    SOMEBODY,
    SUPERIORS,
    TITLES,
    USER,
    topics_in,
)
from memoranda.remember.reading.statements import own_statements_text
from memoranda.text.cache import text_cache
from memoranda.text.sentences import words_of
from memoranda.text.terms import query_terms

LEAD: Final = r"\W*(?:(?:and|but|so|well|ok|yes|oh|btw|also|noted|update)\W+)*"
# Another person at the start of a sentence: "She …", "Everyone …", "One of my colleagues …", "Ben …", "Lea's …".
_OTHER_SUBJECT: Final = re.compile(
    rf"{LEAD}(?:(?P<anybody>{SOMEBODY})\b"
    rf"|(?:(?:(?:\w+\s+of\s+)?(?:{POSSESSIVES}|the|a|an|another|user['’]s|some|most|two|three)\s+)+(?:\w+\s+)?)?(?P<kin>{PEOPLE})s?\b"
    r"|(?P<names>(?-i:[A-Z][a-zà-ÿ]+(?:\s(?:and\s)?[A-Z][a-zà-ÿ]+)*))(?:['’](?:s|d|ll)?\b|(?=,\s*(?:my|our)\b)|\s+(?P<next>[a-z]+)\b))",
    re.I,
)
_FINITE: Final = re.compile(
    r"(?:and|is|has|does|will|can|just|now|also|finally|recently|already|never|no|still|officially|apparently|says|lives|works|wants|needs"
    r"|likes|loves|hates|uses|takes|plays|drives|prefers|moves|starts|gets|goes|makes|thinks|quit|put|cut|set|let|hit)\b",
    re.I,
)
_CALLED_AFTER: Final = re.compile(
    r"(?:,|\s+is(?:\s+(?:called|named))?|\s+(?:called|named))?\s+((?-i:[A-Z][a-z]+))", re.I
)
# An apposition, which only identifies the subject: "Omar, my brother, …", "Everyone at my company …".
_APPOSITION: Final = re.compile(
    rf",\s*(?:my|our)\s+(?:\w+\s+)?(?:{PEOPLE})s?\s*,|^\s+(?:at|in|of|on|from)\s+(?:my|our)\s+\w+", re.I
)
# "I", "my flat", but not "my sister"; an agent's notes mention "the user".
_SPEAKER: Final = re.compile(
    rf"\b(?:i|me|we|(?-i:us)|mine|ours|myself|ourselves|my|our|{USER})\b",
    re.I,
)
_OWNED: Final = re.compile(r"\b(?P<owner>[^\W\d]+)['’]s\s+(?:\w+\s+){0,2}?(?P<thing>[a-z]+)\b")
_THING_OF: Final = re.compile(rf"\b(?P<thing>[a-z]+)\s+of\s+(?:(?:the|{POSSESSIVES}|an?)\s+|(?=[A-Z]))(?P<owner>\w+)")
_DEFINITE: Final = re.compile(r"\b(?:(?P<it>it|them)|the\s+(?P<thing>[a-z]+(?:\s[a-z]+)?))\b")
_HAD: Final = re.compile(
    r"\b(?:my|our|(?:have|own|wear|got|need|am on|['’]m on)(?:\s+(?:an?|the))?)\s+(?P<thing>\w+(?:\s\w+)?)", re.I
)
_WITH: Final = re.compile(rf"\b[Ww]ith ((?:(?:{TITLES})\.? )?[A-Z][a-z]+)")
_NAMES: Final = re.compile(
    r"\b(?!(?:I|The|My|Our|We|It|He|She|They|This|That|In|On|At|With|For|From|To|By|As|After|Since|When|And|But|No|Not|So"
    rf"|{TITLES})\b)[A-Z][a-z]+"
)
# The person that a sentence is about, or the owner: "Ben works", "Ben's car", "User lives", "my friend Ann Lee's horse".
_WHOSE: Final = re.compile(
    rf"\W*(?:(?:and|but|so|well|ok|yes|oh|btw|noted|update)\W+)*(?:(?:{POSSESSIVES}|the|a|an|another)\s+(?:best\s+)?)?"
    rf"(?P<who>(?:(?:{USER}|(?:{TITLES})\.?|{PEOPLE}|(?-i:{_NAMES.pattern}))(?:\b|(?<=\.))\s?)+)(?!\s*and\b)",
    re.I,
)
_PEOPLE: Final = re.compile(rf"\b(?:{PEOPLE})\b", re.I)
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
_ANYBODY: Final = "somebody"


topics_of: Final = text_cache(4096)(topics_in)


@text_cache(4096)
def terms(text: str) -> frozenset[str]:
    return frozenset(query_terms(text))


def without_subject(statement: str, event: str) -> tuple[str, str]:
    """Return two texts without the person that both are about: that they share says nothing about what is said."""
    one, other = _WHOSE.match(statement), _WHOSE.match(event)
    if one is None or other is None:
        return statement, event
    shared = {_kin(word) for word in one["who"].split()} & {_kin(word) for word in other["who"].split()}
    return _cut(one, shared), _cut(other, shared)


def _cut(found: re.Match[str], words: Collection[str]) -> str:
    kept = " ".join(word for word in found["who"].split() if _kin(word) not in words)
    return f"{kept} {found.string[found.end() :]}"


def same_people(older: str, newer: str) -> bool:
    """Return whether two texts may be about the same people: not "I am allergic" and "my daughter is not"."""
    topics = topics_of(older) & topics_of(newer)
    one, other = _others_in(older), _others_in(newer)
    if other and not _is_thing(older) and not _may_refer_to(other, newer, older, topics):
        return False
    if one and not _is_thing(newer) and not _may_refer_to(one, older, newer, topics):
        return False
    if any(_is_another_persons(found, older) for pattern in (_OWNED, _THING_OF) for found in pattern.finditer(newer)):
        return False  # "Lena's flight" is not "my flight"
    return bool(_names_in(older) & _names_in(newer)) or not (_WITH.search(older) and _WITH.search(newer))


@text_cache(4096)
def _others_in(text: str) -> frozenset[str]:
    """Return the words for the person that a text is about; none when it is about its speaker or a thing."""
    stated = own_statements_text(text)
    found = _OTHER_SUBJECT.match(stated)
    if found is None or _SPEAKER.search(_APPOSITION.sub(" ", stated[found.end() :])):
        return frozenset()
    if found["kin"]:
        called = _CALLED_AFTER.match(stated, found.end())
        return _with_parents({_kin(found["kin"]), *((called[1].casefold(),) if called else ())})
    if found["names"] is None:
        return frozenset((_ANYBODY,))
    first = found["names"].split()[0].casefold()
    verb = found["next"] is None or HAPPENED.match(found["next"]) or _FINITE.match(found["next"])
    return frozenset(found["names"].casefold().split()) if verb and _is_name(first) else frozenset()


def _is_name(word: str) -> bool:
    """Return whether a word at the start of a sentence is somebody's name, and no verb, adverb or thing."""
    known = word in NOT_NAMES or bool(topics_of(word)) or word.endswith(("ly", "ing"))
    return not known and not any(pattern.fullmatch(word) for pattern in (HAPPENED, EVENT, CHANGE))


def _is_thing(text: str) -> bool:
    """Return whether a text is about neither its speaker nor another person: "The meeting is on Monday"."""
    return not _others_in(text) and _SPEAKER.search(text) is None


def _may_refer_to(people: frozenset[str], text: str, other: str, topics: Collection[str]) -> bool:
    """Return whether another text may refer to the people that a text is about, or mentions them."""
    if _others_in(other) & people or _ANYBODY in _others_in(other):
        return True
    values = "|".join(_VALUES_OF[topic] for topic in topics if topic in _VALUES_OF)
    if _ANYBODY in people:
        return bool(values or _others_in(other) or _kin_in(other) or re.search(rf"\b(?:{SOMEBODY})\b", other, re.I))
    if people & _kin_in(other) or any(values and re.fullmatch(values, each) for each in people):
        return True
    if people & {word.casefold() for word in words_of(other)}:
        return True
    return not _kin_in(text) and any(_is_same_thing(found, other) for found in _DEFINITE.finditer(text))


def _is_same_thing(found: re.Match[str], older: str) -> bool:
    """Return whether "the rent" or "it" may be a thing that the speaker has according to an older text."""
    had = [terms(each["thing"]) for each in _HAD.finditer(older)]
    return bool(had) and (found["it"] is not None or any(terms(found["thing"]) & each for each in had))


def _is_another_persons(found: re.Match[str], older: str) -> bool:
    """Return whether a thing of the same kind is another person's: "the plumber's number" after "my number"."""
    owner, thing = found["owner"].casefold(), found["thing"]
    if owner in NOT_NAMES or not terms(thing) & terms(older):
        return False
    return not (terms(owner) & terms(older) or topics_of(owner) & topics_of(older))


@text_cache(4096)
def _names_in(text: str) -> frozenset[str]:
    return frozenset(_NAMES.findall(text))


@text_cache(4096)
def _kin_in(text: str) -> frozenset[str]:
    return _with_parents({_kin(word) for word in _PEOPLE.findall(text)})


def _with_parents(people: set[str]) -> frozenset[str]:
    return frozenset(people | _PARENTS if "parents" in people else people)


def _kin(word: str) -> str:
    folded = word.casefold()
    return _SAME_KIN.get(folded, folded)


_SIDES_WORDS = """
    left right upper lower front rear inner outer top bottom north south east west morning afternoon evening night
    first second third
"""
_SIDES: Final = frozenset(_SIDES_WORDS.split())
"""Words before a noun that distinguish two things of the same kind."""
_SAME_THING: Final = frozenset(("new", "old", "current", "former", "next", "own", "favourite", "favorite", "actual"))
"""Words before a noun that do not distinguish one thing of a kind from another."""
_THING: Final = re.compile(
    rf"{LEAD}(?:(?:my|our|the|his|her|their|this|user['’]s)\s+|(?=(?-i:[A-Z])\w+\s+#?(?-i:[A-Z])*\d))(?P<words>(?:[\w'’#-]+\s+){{0,4}}[\w'’#-]+)",
    re.I,
)
_KIN: Final = re.compile(PEOPLE, re.I)


def are_different_things(one: str, other: str) -> bool:
    """Return whether two texts are about different things of a kind: the left and the right knee, invoices 41 and 14.

    The texts differ in the words that identify the thing, not only in the statement about it.
    """
    words = [[word.casefold() for word in words_of(text)] for text in (one, other)]
    sides = [{noun: side for side, noun in pairwise(found) if side in _SIDES} for found in words]
    if any(sides[0][noun] != sides[1][noun] for noun in sides[0].keys() & sides[1].keys()):
        return not set(sides[0].values()) & set(words[1])  # "moved from the left to the right lane" names both
    things = [match["words"].split() if (match := _THING.match(text)) else [] for text in (one, other)]
    folded = [[word.casefold() for word in found] for found in things]
    for n, word in enumerate(folded[0]):
        if word in folded[1] and word not in NOT_NAMES:
            m = folded[1].index(word)
            before = (folded[0][n - 1] if n else "", folded[1][m - 1] if m else "")
            after = ("".join(things[0][n + 1 : n + 2]), "".join(things[1][m + 1 : m + 2]))
            return _distinguish(before) or (_distinguish(after) and all(_identifies(each, word) for each in after))
    return False


def _distinguish(words: tuple[str, str]) -> bool:
    return all(words) and words[0] != words[1] and _SAME_THING.isdisjoint(words)


def _identifies(word: str, noun: str) -> bool:
    """Return whether a word after a noun identifies it: "invoice 1041", "my sister Anna"."""
    return any(char.isdigit() for char in word) or (word[:1].isupper() and _KIN.fullmatch(noun) is not None)
