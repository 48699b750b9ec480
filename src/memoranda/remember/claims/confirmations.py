"""Decide whether the answer to a question about a change confirms or denies the change. Pure.

"Yes" confirms after "Really?", takes back after "Is that a joke?", and may mean anything after "You mean your parents?".
So only a few questions are understood, word for word, each with the answers that confirm what it is about.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, TypeAlias

from memoranda.dates.find import find_mentions
from memoranda.remember.claims.find import claims_in_text, slots_in
from memoranda.remember.claims.reports import tells_feeling
from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.questions import INTERJECTIONS, asks_for_news, read_answer
from memoranda.remember.reading.statements import LONGEST, is_question, is_statement
from memoranda.text.sentences import blank_out, has_content, split_sentences
from memoranda.text.terms import query_terms

Reply: TypeAlias = Literal["confirms", "denies", "unclear"]

_OH = r"\W{0,9}(?:(?:oh|well|haha|lol|actually|sadly|i think|and)\b\W{0,9}){0,2}"
_YES_WORDS = (
    r"(?:yes+|yeah|yep|yup|yea|indeed|absolutely|definitely|certainly|of course|sure|correct|right|exactly|really|seriously|for real"
    r"|i (?:did|have|am|do)|we (?:did|have|are|do)|it is|it['’]s true|that(?:['’]s| is) right)"
)
_NO_WORDS = (
    r"(?:no+|nope|nah|not at all|no way|never|of course not|i am not(?: joking| kidding| lying)?|it is not|i (?:did|do) not|not really|not (?:joking|kidding)|i am serious"
    r"|that(?:['’]s| is) (?:all|it)|all good|nothing(?: else)?)"
)
_POLITELY = r"(?:(?:please|thanks|thank you|finally|at last)\b[\s,.!]{0,5}){0,2}"
_YES: Final = re.compile(rf"{_OH}(?:{_YES_WORDS}\b[\s,.!]{{0,5}}){{1,3}}{_POLITELY}", re.I)
_NO: Final = re.compile(rf"{_OH}(?:{_NO_WORDS}\b[\s,.!]{{0,5}}){{1,3}}{_POLITELY}", re.I)
# "Really?", "Are you sure?": yes confirms, and no denies.
_DOUBTS: Final = re.compile(
    rf"{INTERJECTIONS}(?:really|seriously|for real|truly|honestly|are you (?:really )?(?:sure|serious|certain)|(?:did|have) you(?: really)?|you (?:did|have)"
    r"|is (?:that|this|it) (?:really |actually )?(?:true|right|correct|so|real|official|for real)|right|correct)\W*",
    re.I,
)
# "Are you kidding?": the other way round.
_DISBELIEVES: Final = re.compile(
    rf"{INTERJECTIONS}(?:are you |you are )?(?:just |only |seriously )?(?:joking|kidding|lying|teasing)(?: me)?(?:,? right)?\W*"
    rf"|{INTERJECTIONS}(?:(?:is )?(?:that|this|it)(?:['’]s)? )?an? (?:joke|lie|prank)\W*",
    re.I,
)
_WHEN: Final = re.compile(
    rf"{INTERJECTIONS}(?:when|since when|when (?:was|is) (?:that|it|this)|when did (?:that|it|this) happen|when did you (?P<verb>\w+)(?: (?:there|in|out|here))?)\W*",
    re.I,
)
_OFFERS: Final = re.compile(
    rf"{INTERJECTIONS}(?:shall i|should i|do you want me to|would you like me to|can i|may i) (?:update|note|save|remember|change|record|add)"
    r" (?:it|that|this|your (?:address|number|details|profile|information|records?))(?: down)?\W*",
    re.I,
)
# "Are you still smoking?" names all of what it asks for.
_STILL: Final = re.compile(rf"{INTERJECTIONS}(?:do|are) you still (?P<what>[^?]+)\?\W*", re.I)
_BESIDE_NAMES_WORDS = "so you your did have do are is really just now live work to in at and for"
_BESIDE_NAMES: Final = frozenset(_BESIDE_NAMES_WORDS.split())
"""What a question may say beside the words of a change that it repeats: "So you live in Ghent now?"."""
_LEAD: Final = re.compile(INTERJECTIONS, re.I)
_WORD: Final = re.compile(r"[^\W_]+")
_JUST_NOW: Final = timedelta(days=62)
"""How long ago a change may have happened that is news today."""


def read_reply(replies: Sequence[str], text: str, change: str, said_at: datetime | None) -> Reply | None:
    """Return what a message says of the change before it, as an answer to what others said since; None for no answer.

    Args:
        replies: What others said since the change, the newest first.
        text: The message.
        change: The message that told the change.
        said_at: When the answer was given; without it, no time is read.
    """
    sentences = [each for reply in reversed(replies) for each in split_sentences(expand(reply).text)]
    asked = [each for each in sentences if is_question(each)]
    answer = expand(text).text.strip()
    if len(answer) > LONGEST:
        return None
    if not asked:
        answers = sentences and (_YES.fullmatch(answer) or _NO.fullmatch(answer))
        return "unclear" if answers else None
    if tells_feeling(answer):
        return "confirms"
    if is_statement(answer) and (asks_for_news(asked[-1]) or is_answered_by(asked[-1], answer)):
        return None  # it is about something else
    read = _read_answer(asked[-1], answer, change, said_at)
    if read == "confirms" and not all(_is_confirmed_by_the_way(each, change) for each in asked[:-1]):
        return "unclear"
    return read


def _read_answer(question: str, answer: str, change: str, said_at: datetime | None) -> Reply:
    """Return what an answer to one question makes of the change that this is about."""
    yes, no = _YES.fullmatch(answer) is not None, _NO.fullmatch(answer) is not None
    if asks_for_news(question):
        return "confirms" if yes or no else "unclear"
    if _DISBELIEVES.fullmatch(question):
        yes, no = no, yes
    elif _OFFERS.fullmatch(question):
        no = False
    elif (when := _WHEN.fullmatch(question)) is not None:
        named = when["verb"] is None or set(query_terms(when["verb"])) <= set(query_terms(change))
        return "confirms" if named and said_at and _is_just_now(answer, said_at) else "unclear"
    elif not (_DOUBTS.fullmatch(question) or _repeats(question, change)):
        return "unclear"
    return "confirms" if yes else "denies" if no else "unclear"


def _is_confirmed_by_the_way(question: str, change: str) -> bool:
    """Return whether who answers the question after it confirms this one: "Really? When did you move?"."""
    return _DOUBTS.fullmatch(question) is not None or _repeats(question, change)


def _repeats(question: str, change: str) -> bool:
    """Return whether a question only repeats words of a change: "You moved to Ghent?"."""
    known, names = set(query_terms(change)), False
    lead = _LEAD.match(question)
    for word in _WORD.findall(question[lead.end() if lead else 0 :].casefold()):
        if word not in _BESIDE_NAMES and not known.issuperset(query_terms(word)):
            return False
        names = names or word not in _BESIDE_NAMES
    return names


def _is_just_now(answer: str, said_at: datetime) -> bool:
    """Return whether an answer is nothing but a time that is not long ago: "last Monday", but not "in 1998"."""
    mentions = find_mentions(answer, said_at, prefer="past")
    if not mentions or has_content(blank_out(answer, [each.span for each in mentions]), ()):
        return False
    return all(said_at - _JUST_NOW <= each.start <= said_at for each in mentions)


def is_answered_by(question: str, said: str) -> bool:
    """Return whether a message tells exactly what a question asks for: "Where do you live?" – "I moved to Ghent"."""
    if not is_question(question):
        return False
    if stated := read_answer(question, said):
        return bool(slots_in(stated))
    still = _STILL.fullmatch(question)
    if still is not None and set(query_terms(still["what"])).issubset(query_terms(said[:LONGEST])):
        return True
    claims = claims_in_text(said)
    answers = {"no", *(f"{lead}{claim.value}" for claim in claims for lead in ("", "no, "))}
    slots = {(claim.subject, claim.attribute) for claim in claims}
    return any(not slots.isdisjoint(slots_in(read_answer(question, answer))) for answer in answers)
