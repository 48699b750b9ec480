"""The kinds of sentences: statements, questions that name what they ask about, and words about words. Pure."""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.reading.clauses import OPENING
from memoranda.remember.reading.foreign_text import blank_foreign
from memoranda.remember.reading.lexicon import (
    AUXILIARY,
    DETERMINER,
    FICTION,
    HAPPENED,
    POSSESSIVES,
    PRONOUN,
    QUESTION,
    SAYING,
    TEXTS,
    TIMES,
)
from memoranda.text.cache import text_cache

_SENTENCE_END: Final = re.compile(r"(?<=[.!?\n;])\s+")
LONGEST: Final = 300
"""A longer sentence or message is not read: it may be about anything."""
# A reference to an earlier statement: "that was my sister", "translate it", "still"; but not "that summer".
REFERS_BACK: Final = re.compile(
    rf"\b(?:(?<!time is )it|^its|it['’]\w+|(?:that|there)['’]\w+|these|those|them|(?<!is )(?<!are )there|there(?=\W*$)|still|though|same(?! (?!as|old|thing|here|again|way)\w)|above|after all|one|(?:back|so)(?! (?:far|much|many|long)\b)"
    rf"|this(?! {TIMES})|that(?=\W*$|[,.!?;)]| (?:i|is|was|were|would|will|had|has|sounds?|means?|happened|in|into|to|from|for|more|please|again)\b))\b",
    re.I,
)
ABOUT_WORDS: Final = re.compile(rf"\b(?:{SAYING}|{TEXTS}|{FICTION})\b|[\"“«„]|\n", re.I)
"""Words about words, fiction and speech: a statement next to them may be another person's, or fictional."""
ABOUT_TEXTS: Final = re.compile(rf"\b(?:{TEXTS}|{FICTION})\b|[\"“«„]|\n", re.I)
_OWNED = rf"(?:{POSSESSIVES}|the|an?|all|some|most|many|no|both|user['’]?s?|\w+['’]s)"
_LEAD: Final = re.compile(
    r"\W*(?:(?:now|then|just|also|still|recently|finally|today|yesterday|last \w+|this (?:week|month|year|morning)|in \w+)\b[\s,]*)*",
    re.I,
)
# A pronoun, "my flat", "the meeting", a name or a bare noun ("Rent is 900") with its verb, or a verb without one ("Got it").
_STATES: Final = re.compile(
    rf"{PRONOUN}(?:['’]\w+)? |{_OWNED} (?:[\w'’-]+ ){{1,6}}?(?:{AUXILIARY}\b|\w+(?:s|ed)\b|{HAPPENED.pattern})"
    rf"|(?:(?!{PRONOUN}\b|(?:you|what|who|which|how|where|when|why|if|whether)\b)[\w'’-]+ ){{1,4}}?(?:{AUXILIARY}|lives|works)\b"
    rf"|(?-i:[A-Z])[\w-]+(?:['’]s)? (?:\w+ly )?(?:{HAPPENED.pattern})|(?:been|no longer|{HAPPENED.pattern}) ",
    re.I,
)
_ASKS: Final = re.compile(
    r"\W*(?:(?:so|and|but|ok|okay|hey|hi|well)\b\W*)*"
    r"(?:what|where|when|who|whose|which|why|how|is|are|am|was|were|do|does|did|has|have|should)(?:['’]\w+)?\b",
    re.I,
)
_REQUESTS: Final = re.compile(
    r"\W*(?:(?:so|and|ok|okay|hey|hi|please)\b\W*)*(?:can|could|will|would|may|shall) (?:you|we|i)\b", re.I
)
_NAMES_SOMETHING: Final = re.compile(
    rf"\b{DETERMINER}\b|(?<!^)\s(?-i:[A-Z])\w|\b(?:which|what|whose|many|much) \w+ (?:is|are|do|does|did|can|should|will|has|have|\w+s)\b",
    re.I,
)


@text_cache(4096)
def own_statements_text(text: str) -> str:
    """Return the writer's own sentences of a text that are not questions, as one text."""
    sentences = _SENTENCE_END.split(blank_foreign(text, keep_reported=True))
    return " ".join(each.strip() for each in sentences if each.strip() and not QUESTION.search(each))


def is_statement(sentence: str) -> bool:
    """Return whether a sentence makes a statement about a subject, and is not a question or a request."""
    if is_question(sentence):
        return False
    sentence = sentence[:LONGEST]
    opening = OPENING.match(sentence)
    lead = _LEAD.match(sentence, opening.end() if opening else 0)
    return lead is not None and _STATES.match(sentence, lead.end()) is not None


def is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"'”’)").endswith("?")


def is_complete_question(sentence: str) -> bool:
    """Return whether a question names what it asks about: not "Which sounds better?" or "What is this?"."""
    asks = _ASKS.match(sentence) or _REQUESTS.match(sentence)
    named = asks is not None and _NAMES_SOMETHING.search(sentence, asks.start()) is not None
    return named and REFERS_BACK.search(sentence) is None
