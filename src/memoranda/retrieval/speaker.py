"""Who a question is about: names in it are matched against who spoke, not against the texts. Pure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from memoranda.text import query_terms

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
