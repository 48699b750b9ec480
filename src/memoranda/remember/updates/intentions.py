"""Finds wishes, plans and allergies that a text says are over, and the older words that told them. Pure.

"I no longer want to be a vet" is about "I want to be a vet", though wishes and plans fill no slot. Only the same thing in
the same words, of the same person, counts; the older words stay, and refer to the newer ones.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from memoranda.remember.reading.contractions import expand
from memoranda.text.cache import text_cache
from memoranda.text.terms import query_terms

_WISHES = (
    r"(?:wants?|wanted|wanting|wish(?:es|ing)?|hop(?:es?|ing)|plan(?:s|ning)?|intend(?:s|ing)?|aim(?:s|ing)?|dream(?:s|ing)?"
    r"|think(?:s|ing)?|consider(?:s|ing)?|look(?:s|ing)|try(?:ing)?|tries|sav(?:es?|ing)|train(?:s|ing)|prepar(?:es?|ing)|going"
    r"|would (?:like|love)|interested|keen|set|thinking|dying|determined)"
)
_WHO = r"(?P<who>i|we|(?:the )?(?:user|customer|client)|(?:my|our|his|her|their) (?:[\w'’-]+ ){0,2}?[\w'’-]+|(?-i:[A-Z])[\w'’-]+)"
_BE = r"(?:(?:am|is|are|have|has|been|now|also|really|actually|'s|'m|'re) )*"
_REST = r"(?P<rest>[^.!?;,\n]+?)"
_END = r"(?=[\s.!]*$|[,;]| (?:because|since|but|so|and (?:i|we|he|she|they)|after all|any ?more|any longer|now)\b)"
_LEAD = r"\W*(?:(?:so|and|but|well|actually|ok|okay|yeah|no|honestly|btw|update|news)\b[\s,:]*)*"
_OVER: Final = tuple(
    re.compile(_LEAD + template, re.I)
    for template in (
        rf"{_WHO} {_BE}no longer {_WISHES}(?: (?:to|of|about|in|on|for|forward to))? {_REST}{_END}",
        rf"{_WHO} {_BE}(?:(?:do|does|am|is|are) )?not (?:really )?{_WISHES}(?: (?:to|of|about|in|on|for))? {_REST}"
        r" (?:any ?more|any longer|after all|now)\b",
        rf"{_WHO} {_BE}(?:stopped|quit|done) {_WISHES}(?: (?:to|of|about|in|on|for))? {_REST}{_END}",
        rf"{_WHO} {_BE}(?:gave up|given up|dropped|abandoned|scrapped|shelved|buried|let go of|cancell?ed)(?: on)?"
        rf" (?:(?:my|our|the|his|her|their|that) )?(?:old )?(?:plans?|dreams?|idea|hopes?|wish|goal)(?: (?:to|of|about|for))? {_REST}{_END}",
        rf"{_WHO} {_BE}(?:changed (?:my|our|his|her|their) mind about|decided against|decided not to) {_REST}{_END}",
        rf"{_WHO} {_BE}(?:will not|going not to|not going to) {_REST} after all\b",
    )
)
_ALLERGY_OVER: Final = re.compile(
    rf"{_LEAD}{_WHO} {_BE}(?:outgr(?:ew|own)|got over|gotten over|got rid of|overcame|overcome|lost|no longer ha(?:ve|s)|not ha(?:ve|s)"
    r"|do(?:es)? not have)(?: (?:my|his|her|their|the|an?|any))? (?P<rest>[^.!?;,\n]*?\ballerg(?:y|ies)(?: to [^.!?;,\n]+?)?)"
    rf"{_END}",
    re.I,
)
_TOLD: Final = re.compile(rf"{_LEAD}{_WHO} {_BE}{_WISHES}\b(?P<rest>.*)", re.I | re.S)
_ALLERGIC: Final = re.compile(
    rf"{_LEAD}{_WHO} {_BE}(?:\w+ly )?(?:ha(?:ve|s) )?(?P<rest>.*\ballerg(?:ic|y|ies)\b.*)", re.I | re.S
)
_LONGEST: Final = 2_000
"""Characters that are read from the beginning of a text."""
_DENIED: Final = re.compile(r"\b(?:not|never|no longer|any ?more)\b", re.I)
_FIRST: Final = frozenset(("i", "we", "user", "the user", "customer", "the customer", "client", "the client"))
_NO_OBJECT: Final = frozenset(query_terms("allergy allergic allergies severe bad plan dream idea day soon really"))


@dataclass(frozen=True, slots=True)
class Intention:
    """Whose wish, plan or allergy it is, and the terms of what it is about."""

    who: str
    terms: frozenset[str]
    is_allergy: bool = False


@text_cache(1024)
def find_ended(text: str) -> Intention | None:
    """Return what a text says is no longer wished, planned, or an allergy; None when it says nothing like it."""
    full = _plain(text)
    if (allergy := _ALLERGY_OVER.match(full)) is not None:
        return _to_intention(allergy, is_allergy=True)
    found = next(filter(None, (pattern.match(full) for pattern in _OVER)), None)
    return None if found is None else _to_intention(found)


@text_cache(1024)
def tells(older: str, ended: Intention) -> bool:
    """Return whether a text tells what has ended since: the same person, and every word of it."""
    full = _plain(older)
    found = (_ALLERGIC if ended.is_allergy else _TOLD).match(full)
    if found is None or _DENIED.search(full):
        return False
    told = _to_intention(found)
    return told is not None and told.who == ended.who and ended.terms <= told.terms


def _plain(text: str) -> str:
    piece = expand(text[:_LONGEST]).text
    full = re.sub(r"\b(he|she|it|[A-Z]\w+)['’]s\b(?= (?:no|not|been|\w+ing)\b)", r"\1 is", piece)
    return " ".join(full.split())


def _to_intention(found: re.Match[str], *, is_allergy: bool = False) -> Intention | None:
    who = found["who"].casefold()
    terms = frozenset(query_terms(found["rest"])) - _NO_OBJECT
    return Intention("i" if who in _FIRST else who, terms, is_allergy) if terms else None
