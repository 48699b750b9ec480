"""Which claims are shown as facts: those that say the same to somebody who did not hear the conversation. Pure.

Claims link and end older ones, and for that a loose reading does no harm. A list of facts is read without the words
around them: "I love the idea", "the answer is gravity" and "school starts on the 2nd" say nothing there. What is left
out is still recalled.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.storage.claims import Claim
from memoranda.text.places import is_place
from memoranda.text.terms import query_terms
from memoranda.types import Memory

# A value that points at something said before, or goes on as a sentence: "lots of them", "what we had".
_POINTING: Final = re.compile(
    r"\b(?:it|its|them|this|that|these|those|mine|yours|hers|ours|theirs|i|we|you|he|she|they|please)\b", re.I
)
_RELATIVE: Final = re.compile(r"(?:on )?(?:today|tonight|tomorrow|yesterday|soon|now|(?:next|this|last) \w+)", re.I)
# Where the value goes on with what stood before it, it was cut out of a longer sentence.
_GOES_ON: Final = re.compile(r"(?:and|or|but|during|in|on|at|with|for|as|everywhere|not)\b", re.I)
_NO_SUBJECT: Final = re.compile(r"\W*[a-z]{3,}\b(?<!\bour)(?<!\buser)", re.ASCII)
"""Words that begin with a verb, or with a noun that looks like one: "so much love everywhere"."""
_NO_HABIT: Final = re.compile(
    r"(?:\b(?:am|are|is)|['’](?:m|re|s))\s+(?:\w+\s+)?like\b|(?:\b(?:have|has|recently|just)|['’]ve)\s+(?:\w+\s+)?(?:read|run)\b",
    re.I,
)
"""A comparison ("we're like a family"), or what was done once ("I've read it")."""
_MEASURED: Final = (" day", " date", " time", " money")
_FIXED_WORDS = """
    name nickname handle age birthday birthplace city employer occupation partner studies likes speaks diet condition
    subscription decided owns
"""
_FIXED: Final = frozenset(
    (*_FIXED_WORDS.split(), "birth year", "home town", "relationship status", "allergic to", "favourite", "preferred")
)
"""Attributes, or how they begin, that say what they mean whatever stands around them."""
_WHOSE: Final = re.compile(r"(?:.*?\b(?:my|our)\b|[\w'’ -]+['’]s\b)", re.I)
_THE: Final = re.compile(r"\W*(?:the|this|a|an)\b", re.I)
_NO_NOUNS_WORDS = """
    a all am any are be been being by can did do does everyone everything from had has have he her here his how i if in
    is it its like made me my no not on one only or our out please she so some such than that the their them then there
    these they this to too up us very was we were what when where which while who why will with you your
"""
_NO_NOUNS: Final = frozenset(_NO_NOUNS_WORDS.split())
_ALONE: Final = frozenset(("smoke", "vape", "meditate", "gamble", "drink"))
"""Habits that need no object: "I smoke", but not "my brother drives and I hold the cat"."""
_HAVE: Final = re.compile(r"\b(?:have|has|had|got|['’]ve)\b", re.I)
# What somebody who "has" or "got" it owns: of other nouns ("a plan", "a great deal") that cannot be known.
_BELONGINGS_WORDS = """
    accordion apartment aquarium bass bicycle bike bird boat bungalow bus cabin camera campervan canary canoe car
    caravan cat cello chicken clarinet condo cottage cow desktop dog donkey drone drum duck ebike farm fish flat flute
    garage garden goat goldfish guitar hamster harp hen horse house iguana ipad iphone kayak kitten laptop lizard
    macbook membership moped motorbike motorcycle oboe organ parrot phone piano pig pony printer puppy rabbit rat
    retriever saxophone scooter sheep smartphone snake spaniel subscription surfboard tablet telescope tent terrier
    tortoise tractor trailer trombone truck trumpet turtle ukulele van viola violin yacht
    labrador poodle beagle dachshund collie corgi sedan honda civic toyota corolla volvo tesla golf bmw audi
    brother brothers child children daughter daughters kid kids sister sisters son sons twin twins
"""
_BELONGINGS: Final = frozenset(_BELONGINGS_WORDS.split())
_DETAIL: Final = re.compile(r"\s(?:with|for|from|of|in|on|at|to|named|called|that|who|which)\b.*", re.I | re.S)


def is_shown(claim: Claim, memory: Memory) -> bool:
    """Return whether a claim says something that stands by itself."""
    if "…" in claim.attribute or _RELATIVE.fullmatch(claim.value.strip()) or is_place(claim.subject):
        return False
    if claim.attribute.casefold() == claim.subject.casefold():
        return False  # the name was read as the attribute: "ana lives in Lyon"
    said = _said(claim, memory)
    if not claim.value:
        return _is_plain_habit(claim, said)
    if _POINTING.search(claim.value) or _GOES_ON.match(claim.value):
        return False
    if not _is_known(claim.attribute) and not _NO_NOUNS.isdisjoint(claim.attribute.split()[:-1]):
        return False
    if not claim.single and (_NO_SUBJECT.match(said) or _NO_HABIT.search(said)):
        return False
    if claim.attribute == "likes":
        return not _is_about_known_thing(claim.value, said) and not _is_choice_of_name(claim.value, memory.content)
    if claim.attribute == "owns":
        return _is_owned(claim.value, said)
    if not _is_fixed(claim.attribute) and (claim.single or _THE.match(said)):
        return _is_said_of_thing(claim, memory, said)
    return True


def _said(claim: Claim, memory: Memory) -> str:
    start = memory.evidence[0] if memory.evidence else 0
    return memory.content[max(0, claim.span[0] - start) : claim.span[1] - start]


def _is_known(attribute: str) -> bool:
    return attribute in _FIXED or attribute.startswith("preferred ")


def _is_fixed(attribute: str) -> bool:
    return _is_known(attribute) or attribute.startswith("favourite ") or attribute.endswith(" name")


def _is_plain_habit(claim: Claim, said: str) -> bool:
    """Return whether words without a value deny something, or tell a habit: "I smoke", but not "I drink mine black"."""
    if not claim.holds:
        return True
    named = query_terms(said)
    return claim.attribute in _ALONE and not _POINTING.search(said[2:]) and named[-1:] == query_terms(claim.attribute)


def _is_about_known_thing(value: str, said: str) -> bool:
    """Return whether somebody likes one thing that was spoken of: "the idea", but not jazz or the Cubs."""
    definite = re.search(rf"\b(?:the|this|that|your|his|her|their)\s+{re.escape(value)}", said, re.I)
    return definite is not None and value[:1].islower()


def _is_choice_of_name(value: str, content: str) -> bool:
    """Return whether somebody likes a name for a child, a pet or a thing, and not whoever or whatever has it."""
    return (
        value.istitle()
        and " " not in value
        and re.search(r"\b(?:names|naming|name (?:it|him|her))\b", content) is not None
    )


def _is_owned(value: str, said: str) -> bool:
    """Return whether what somebody has is theirs for long; "own", "bought" and "adopted" say so themselves."""
    if _HAVE.search(said) is None:
        return not re.search(r"\bfor\b", value)
    thing = _DETAIL.sub("", value).casefold().split()[-2:]  # not as terms: in French "car" is a stop word
    return not _BELONGINGS.isdisjoint((*thing, *(word.removesuffix("s") for word in thing)))


def _is_said_of_thing(claim: Claim, memory: Memory, said: str) -> bool:
    """Return whether words say whose thing it is, and what of it: in a conversation "the meeting" needs a measure."""
    if memory.message_id is None or _WHOSE.match(said):
        return True
    changes = (claim.operation != "state" or claim.replaces is not None) and not claim.value[:1].islower()
    return memory.trust == "user" and (changes or claim.attribute.endswith(_MEASURED))
