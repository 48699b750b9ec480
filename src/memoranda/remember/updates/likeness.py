"""How likely a newer text is about the same thing as an older one: by meaning, by topics and by words. Pure.

"We got the keys, Ghent is home now" and "I live in Hamburg" have no word in common. What they share is a topic, and
one states what the other changes.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from itertools import pairwise
from typing import Final

from memoranda.remember.reading.entities import NOT_NAMES
from memoranda.remember.reading.foreign_text import blank_foreign
from memoranda.remember.reading.lexicon import (
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
from memoranda.text.cache import text_cache
from memoranda.text.sentences import words_of
from memoranda.text.terms import query_terms

_LEAD: Final = r"\W*(?:(?:and|but|so|well|ok|yes|oh|btw|also|noted|update)\W+)*"
_SOMEBODY: Final = "he|she|they|him|her|them|(?:every|some|any|no)(?:one|body)"
# Another person at the start of a sentence: "She …", "Everyone …", "One of my colleagues …", "Ben …", "Lea's …".
_OTHER_SUBJECT: Final = re.compile(
    rf"{_LEAD}(?:(?P<anybody>{_SOMEBODY})\b"
    rf"|(?:(?:(?:\w+\s+of\s+)?(?:my|our|his|her|their|the|a|an|another|user['’]s|some|most|two|three)\s+)+(?:\w+\s+)?)?(?P<kin>{PEOPLE})s?\b"
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
# What only says who is meant: "Omar, my brother, …", "Everyone at my company …".
_APPOSITION: Final = re.compile(
    rf",\s*(?:my|our)\s+(?:\w+\s+)?(?:{PEOPLE})s?\s*,|^\s+(?:at|in|of|on|from)\s+(?:my|our)\s+\w+", re.I
)
# "I", "my flat", but not "my sister"; an agent's notes speak of "the user".
_SPEAKER: Final = re.compile(
    r"\b(?:i|me|we|(?-i:us)|mine|ours|myself|ourselves|my|our|user|customer|client|patient)\b",
    re.I,
)
_OWNED: Final = re.compile(r"\b(?P<owner>[^\W\d]+)['’]s\s+(?:\w+\s+){0,2}?(?P<thing>[a-z]+)\b")
_THING_OF: Final = re.compile(
    r"\b(?P<thing>[a-z]+)\s+of\s+(?:(?:the|my|our|his|her|their|an?)\s+|(?=[A-Z]))(?P<owner>\w+)"
)
_DEFINITE: Final = re.compile(r"\b(?:(?P<it>it|them)|the\s+(?P<thing>[a-z]+(?:\s[a-z]+)?))\b")
_HAD: Final = re.compile(
    r"\b(?:my|our|(?:have|own|wear|got|need|am on|['’]m on)(?:\s+(?:an?|the))?)\s+(?P<thing>\w+(?:\s\w+)?)", re.I
)
# What was long over when it was told.
_BYGONE: Final = re.compile(
    r"\b(?:i|we|he|she|they|it|(?-i:[A-Z]\w+))\s+used\s+to\b|\b(?:years?|decades?|ages|long)\s+ago\b|\bback\s+(?:then|when|in\s+\d{4})\b|\bat\s+(?:the|that|one)\s+(?:time|point)\b"
    r"|\b(?:previously|formerly|originally|growing\s+up)\b|\bin\s+(?:those\s+days|the\s+past|my\s+(?:childhood|youth|twenties|teens|\w+\s+days))\b"
    r"|\bas\s+an?\s+(?:kid|child|student|teen\w*|boy|girl|baby|toddler|young\s+\w+|intern)\b|\bwhen\s+(?:i|we)\s+(?:was|were)\b"
    r"|\bbefore(?=\s*(?:[.!;)]|$|that\b|this\b|then\b))"
    r"|(?<!for )\bonce(?=\s*(?:[.!,;]|$|before\b|in\s+\d{4}))",
    re.I,
)
# "I paid 60 euros for shoes": it happened, and says nothing about how things are now.
_VERB_AFTER: Final = re.compile(rf"{_LEAD}(?:(?:i|we)\s+)?(?:(?:also|even|then|\w+ly)\s+)?(?P<verb>\w+)", re.I)
# Of these, the result stays: what was got is there, what was lost is not.
_LASTING: Final = re.compile(
    r"(?:got|bought|adopted|lost|broke|found|won|made|chose|hit|grew|married|eloped|proposed|passed|failed|deleted|signed|cut|packed|built|shut)\b",
    re.I,
)
_TURNING_POINT: Final = re.compile(
    r"\b(?:first|last|second|third|\d+(?:st|nd|rd|th)|off|over|out|away|back|done|gone|through|just|only|not?|never|without|too\s+\w+|\w+n['’]t)\b",
    re.I,
)
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
_PART_END: Final = re.compile(r",\s+|(?<!\s)\s+-+\s+")
_EVENT_END: Final = re.compile(
    rf"(?<![.!;])[.!;]+\s+|,\s+|(?<!\s)\s+-+\s+|(?<!\s)\s+and\s+(?={HAPPENED.pattern})", re.I
)
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
# What somebody says the measure of: "my rent is 900 euros", "the bike costs 500".
_MEASURED_THING: Final = re.compile(
    r"\W*(?:my|our|the|this)\s+(?P<thing>(?:\w+\s+){0,2}?\w+)\s+(?:is|are|was|were|costs?|weighs?)\b(?=[^.!?]*\d)", re.I
)
_UNITS: Final = frozenset(
    query_terms("euro dollar pound yen percent kg kilo km mile hour minute day week month year people times")
)
_FEW_WORDS: Final = 20
_ADDRESSED: Final = re.compile(r"\?|\b(?:you|your)\b", re.I)
_ANYBODY: Final = "somebody"
_NOTHING_SHARED: Final = -0.25
"""How much less near two texts are that share neither a topic nor a word."""


@text_cache(4096)
def statements(text: str) -> str:
    """Return the sentences of a text that are the writer's own and ask nothing."""
    sentences = _SENTENCE_END.split(blank_foreign(text, keep_told=True))
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


@text_cache(4096)
def changes_in(text: str) -> tuple[str, ...]:
    """Return the parts of a short sentence that each tell a change ("I quit, sold the car"), or else the whole text."""
    parts = [part for part in _EVENT_END.split(text) if part.strip()] if is_plain(text) else []
    return tuple(parts) if len(parts) > 1 and all(tells_change(part) for part in parts) else (text,)


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


@text_cache(4096)
def tells_only_past(text: str) -> bool:
    """Return whether a text only tells what once happened: "I lived there as a child", "I paid 60 euros for shoes"."""
    if _BYGONE.search(statements(text)):
        return True
    return tells_what_i_did(text) and not any(_LASTING.match(verb) for verb in _first_verbs(text))


@text_cache(4096)
def tells_what_i_did(text: str) -> bool:
    """Return whether a text tells only what its speaker did, and of no change: "I bought nuts for the birds"."""
    told = statements(text)
    if not told or CHANGE.search(told) or _TURNING_POINT.search(told):
        return False
    return all(HAPPENED.match(verb) for verb in _first_verbs(text))


def _first_verbs(text: str) -> list[str]:
    """Return the word in each part of a text where the verb is, if the part is about its speaker: "I paid", "Paid"."""
    found = (_VERB_AFTER.match(part) for part in _EVENT_END.split(statements(text)) if part.strip())
    return ["" if match is None else match["verb"] for match in found]


def same_people(older: str, newer: str) -> bool:
    """Return whether two texts do not speak of different people: "I am allergic", "my daughter is not"."""
    topics = _topics(older) & _topics(newer)
    one, other = _others_in(older), _others_in(newer)
    if other and not _is_thing(older) and not _refers(other, newer, older, topics):
        return False
    if one and not _is_thing(newer) and not _refers(one, older, newer, topics):
        return False
    if any(_is_of_another(found, older) for pattern in (_OWNED, _THING_OF) for found in pattern.finditer(newer)):
        return False  # "Lena's flight" is not "my flight"
    return bool(_names_in(older) & _names_in(newer)) or not (_WITH.search(older) and _WITH.search(newer))


@text_cache(4096)
def _others_in(text: str) -> frozenset[str]:
    """Return by which words the person is meant that a text is about; none when it is about its speaker or a thing."""
    told = statements(text)
    found = _OTHER_SUBJECT.match(told)
    if found is None or _SPEAKER.search(_APPOSITION.sub(" ", told[found.end() :])):
        return frozenset()
    if found["kin"]:
        called = _CALLED_AFTER.match(told, found.end())
        return _with_parents({_kin(found["kin"]), *((called[1].casefold(),) if called else ())})
    if found["names"] is None:
        return frozenset((_ANYBODY,))
    first = found["names"].split()[0].casefold()
    verb = found["next"] is None or HAPPENED.match(found["next"]) or _FINITE.match(found["next"])
    return frozenset(found["names"].casefold().split()) if verb and _is_name(first) else frozenset()


def _is_name(word: str) -> bool:
    """Return whether a word at the start of a sentence is somebody's name, and no verb, adverb or thing."""
    known = word in NOT_NAMES or bool(_topics(word)) or word.endswith(("ly", "ing"))
    return not known and not any(pattern.fullmatch(word) for pattern in (HAPPENED, EVENT, CHANGE))


def _is_thing(text: str) -> bool:
    """Return whether a text is about neither its speaker nor another person: "The meeting is on Monday"."""
    return not _others_in(text) and _SPEAKER.search(text) is None


def _refers(people: frozenset[str], text: str, other: str, topics: Collection[str]) -> bool:
    """Return whether people whom a text is about may be meant by another text as well, or are what it speaks of."""
    if _others_in(other) & people or _ANYBODY in _others_in(other):
        return True
    values = "|".join(_VALUES_OF[topic] for topic in topics if topic in _VALUES_OF)
    if _ANYBODY in people:
        return bool(values or _others_in(other) or _kin_in(other) or re.search(rf"\b(?:{_SOMEBODY})\b", other, re.I))
    if people & _kin_in(other) or any(values and re.fullmatch(values, each) for each in people):
        return True
    if people & {word.casefold() for word in words_of(other)}:
        return True
    return not _kin_in(text) and any(_is_same_thing(found, other) for found in _DEFINITE.finditer(text))


def _is_same_thing(found: re.Match[str], older: str) -> bool:
    """Return whether "the rent" or "it" may be what an older text says the speaker has."""
    had = [terms(each["thing"]) for each in _HAD.finditer(older)]
    return bool(had) and (found["it"] is not None or any(terms(found["thing"]) & each for each in had))


def _is_of_another(found: re.Match[str], older: str) -> bool:
    """Return whether the same kind of thing is another person's: "the plumber's number" after "my number"."""
    owner, thing = found["owner"].casefold(), found["thing"]
    if owner in NOT_NAMES or not terms(thing) & terms(older):
        return False
    return not (terms(owner) & terms(older) or _topics(owner) & _topics(older))


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
"""Of two things with such words before the same noun, each is another one."""
_SAME_THING: Final = frozenset(("new", "old", "current", "former", "next", "own", "favourite", "favorite", "actual"))
"""Words before a noun that do not say which of several it is."""
_THING: Final = re.compile(
    rf"{_LEAD}(?:(?:my|our|the|his|her|their|this|user['’]s)\s+|(?=(?-i:[A-Z])\w+\s+#?(?-i:[A-Z])*\d))(?P<words>(?:[\w'’#-]+\s+){{0,4}}[\w'’#-]+)",
    re.I,
)
_KIN: Final = re.compile(PEOPLE, re.I)


def tells_of_another(one: str, other: str) -> bool:
    """Return whether two texts are about different things of a kind: the left and the right knee, invoices 41 and 14.

    They differ in the words that say which one is meant, not in what is said of it.
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
            return _tell_apart(before) or (_tell_apart(after) and all(_identifies(each, word) for each in after))
    return False


def _tell_apart(words: tuple[str, str]) -> bool:
    return all(words) and words[0] != words[1] and _SAME_THING.isdisjoint(words)


def _identifies(word: str, noun: str) -> bool:
    """Return whether a word after a noun says which one it is: "invoice 1041", "my sister Anna"."""
    return any(char.isdigit() for char in word) or (word[:1].isupper() and _KIN.fullmatch(noun) is not None)
