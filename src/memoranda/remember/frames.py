"""What a turn of a conversation does to the turns beside it. Pure.

"I moved to Ghent" means nothing after "Translate my next message", after "What did you do in 1998?", or before "…in The
Sims". The ways to say so are endless. So nothing is listed that frames: what a turn may be for a change beside it to
count is listed instead. A turn is understood sentence by sentence, as small talk, as a statement with a subject, a verb
and an end, or as a question that names what it asks about. Words about words, about fiction and about somebody's speech
are never understood. In doubt a turn frames: a change is then only linked, and is recalled all the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from memoranda.remember.base import Presented
from memoranda.remember.claims.find import is_understood
from memoranda.remember.claims.reports import is_small_talk
from memoranda.remember.reading.clauses import find_clauses
from memoranda.remember.reading.lexicon import FICTION, TEXTS, TIMES
from memoranda.remember.reading.statements import (
    ABOUT_WORDS,
    LONGEST,
    is_complete_question,
    is_question,
    is_statement,
)
from memoranda.text.cache import text_cache
from memoranda.text.sentences import has_content, split_sentences

_LAST: Final = 3
"""How many sentences at the end of a turn may ask something of whoever speaks next."""
_POINTER = r"(?:this|these|following|below|next|as follows)"
# Something yet to come: "the next message", "Here's a poem"; but not "this week".
_AHEAD: Final = re.compile(rf"\b{_POINTER}\b(?! {TIMES})|^\W*here\b", re.I)
_PLAY: Final = re.compile(rf"\b(?:{FICTION})\b", re.I)
_LASTS: Final = re.compile(
    rf"\b(?:from now on|for the rest|each|every|all|always|both|whenever|until|parts?|(\w+) by \1|(?:two|three|four|five|\d+|several|few) (?:\w+ )?(?:{TEXTS})"
    rf"|following \w+s|{FICTION}|let['’]?s|act as|you(?:['’]re| are| be|['’]ll be| will be| play)|youth|life|childhood|years?)\b",
    re.I,
)
"""Says that a frame goes on for more than one message: "each of my messages", "two parts", "you are the doctor"."""
_ENDS: Final = re.compile(
    rf"(?:^|[.!?,\n])\W{{0,9}}(?:(?:ok|okay|so|and|but|now|please|let['’]?s|let us|time to|you can|we can|i want to|that was \w+)\b\W{{0,9}}){{0,6}}"
    rf"(?:(?:end|ending|stop|quit|exit|enough|pause|no more|done with|out of)(?: (?:of|with|out|the|this|our|that|all))*"
    rf" (?:[\w-]+ )?(?:{TEXTS}|{FICTION}|correct\w+|playing)\b|(?:the |our |this )?(?:[\w-]+ )?(?:{TEXTS}|{FICTION})(?: is|['’]s)? (?:over|done|finished|ended)\b"
    r"|back to (?:reality|real life|normal|the real world|being (?:me|myself))\b|(?:the end|end scene|for real now|in real life now)\b)",
    re.I,
)
_THANKS: Final = re.compile(r"\W{0,9}(?:many )?(?:thanks|thank you|thx)\b(?![^?]*\?)", re.I)
_LONG_AGO: Final = re.compile(r"\b(?:(?:19|20)\d\d|(?:twen|thir|for|fif|six|seven|eigh|nine)ties)\b", re.I)
"""A year or a decade: what follows in the story may have happened then."""
_RECENT: Final = re.compile(
    rf"\b(?:today|yesterday|tonight|just now|(?:last|this|over the|on) {TIMES}(?<!year))\b", re.I
)
_DEFINITE: Final = re.compile(r"\W*(?:the|it|this|that)\b", re.I)
_OF_ANOTHER: Final = re.compile(
    r"\b(?:his|her|their|(?!(?:it|that|this|what|who|how|where|here|there|let|he|she|today|one)['’])[^\W\d]{2,}['’]s) (?!(?:an?|the|been|not|going)\b)[^\W\d]{2,}",
    re.I,
)
_OPEN_END: Final = (":", ",", "…", "...", "-", "–", "—", ";", "(")
_TO_LISTENER: Final = re.compile(
    r"\b(?:you|your|yours|let['’]?s|let (?:me|us))\b"
    r"|\b(?:i|we)(?:['’]ll| will|['’]m (?:going|about|trying) to|['’]d like| (?:want|need|would like|wanna|have) (?:you|to|this|that|it|some help|help|feedback))\b",
    re.I,
)
"""Speaks to the listener, or of what the speaker is about to do: a request, an announcement, a role."""
# "What's new?", "How can I help?", "Tell me more", "Is that still right?", "Where do you live now?": about how things are.
_ADDRESSED: Final = re.compile(r",? (?-i:[A-Z])\w+(?=[!,.]*$)")
_OF_NEWS: Final = re.compile(
    r"(?:(?:so|and|ok|okay|(?:hey|hi|hello|welcome)(?: (?-i:[A-Z])\w+)?|well|oh|nice|great|noted|really)\b\W*)*(?:"
    r"(?:how|what) (?:can|may|else can) i (?:help|assist|do)\b.*|what (?:would|do) you (?:like|want) (?:to (?:do|talk about|discuss|know|share)|from me)\b.*"
    r"|did (?:anything|something|\w+ \w+) (?:change|happen)\b.*"
    r"|(?:what|how|where|who|which|when)(?:['’]s|['’]re)? (?:new|up|going on|happening|things|life|it going|everything)\b.*"
    r"|any(?:thing|\s)(?:\s?(?:new|news|changes?|updates?|changed|else|to \w+))\b.*"
    r"|(?:(?:what|where|who|which|how|when)(?: (?:\w+ )?\w+)? )?(?:do|does|are|is|have|has)\b(?=.*\b(?:you|your|that|it|anything|things)\b).*)\?*",
    re.I,
)
_NOT_NOW: Final = re.compile(
    r"\b(?:did(?! (?:anything|something|\w+ \w+) (?:change|happen))|was|were|had|would(?! you like)|could|should|if|ago|back then|used to|first|last|once|ever"
    r"|then|before|after|remember|(?:19|20)\d\d)\b",
    re.I,
)


def find_frame(own: Sequence[str], asked: str) -> Presented | None:
    """Return what the turns before a message may make of it; None where all of them are understood.

    A frame stays open until its speaker says something outside of it again: thanks, a question about something else, or
    that it is over. One that is said to go on ("from now on", a role play) stays open until it is said to be over.

    Args:
        own: What the same speaker said before in the conversation, the newest first.
        asked: What somebody else said right before the message; empty when nobody did.
    """
    found = _asks_for(asked, answers=bool(own) and is_question(own[0])) if asked else None
    closed = False
    for distance, text in enumerate(own):
        if _ENDS.search(text[:LONGEST]):
            break
        if closed and not _LASTS.search(text[:LONGEST]):
            continue
        opened = _opens(text)
        if opened is not None and (distance == 0 or _LASTS.search(text[:LONGEST])):
            found = opened if found is None or opened == "text" else found
        elif opened is not None:
            found = found or "doubt"
        closed = closed or (opened is None and not any(map(is_statement, split_sentences(text))))
    return found


def may_be_anothers(text: str, before: str) -> bool:
    """Return whether "the laptop" may be the one that the words before called somebody else's: "grandpa's computer"."""
    return _DEFINITE.match(text) is not None and _OF_ANOTHER.search(before[:LONGEST]) is not None


@text_cache(256)
def _opens(text: str) -> Presented | None:
    """Return what a turn may make of its speaker's next one; None where it is understood, and can make nothing of it."""
    if text.rstrip().endswith(_OPEN_END):
        return "text"
    sentences = split_sentences(text)
    if len(text) <= LONGEST and all(map(_stands_alone, sentences)):
        return None
    return "text" if any(_presents(each[:LONGEST]) for each in sentences if not is_statement(each)) else "doubt"


def _presents(sentence: str) -> bool:
    """Return whether a sentence that states nothing says that a text or a play follows."""
    if _PLAY.search(sentence):
        return True
    ahead, words = _AHEAD.search(sentence), ABOUT_WORDS.search(sentence)
    return (ahead or words) is not None and bool(ahead or is_question(sentence) or _TO_LISTENER.search(sentence))


def _stands_alone(sentence: str) -> bool:
    """Return whether a sentence is complete, and says nothing about what comes next."""
    if is_small_talk(sentence) or is_understood(sentence):
        return True
    if ABOUT_WORDS.search(sentence) or _AHEAD.search(sentence):
        return False
    if is_question(sentence):
        return is_complete_question(sentence)
    if _TO_LISTENER.search(sentence) or not is_statement(sentence) or not sentence.endswith((".", "!")):
        return False
    return _RECENT.search(sentence) is not None or not _tells_past(sentence)


def _tells_past(sentence: str) -> bool:
    """Return whether a sentence tells of the past, so that what follows may go on with that: "In 1998 …"."""
    return _LONG_AGO.search(sentence) is not None or any(each.tense == "past" for each in find_clauses(sentence))


def _asks_for(text: str, *, answers: bool) -> Presented | None:
    """Return what a turn of somebody else makes of the next one; None where it asks for nothing but how things are.

    `answers` says that it may be the answer to a question, which need not be a sentence: "On Main Street."
    """
    for sentence in (each[-LONGEST:] for each in split_sentences(text)[-_LAST:]):
        if is_small_talk(sentence) or _THANKS.match(sentence) or not has_content(_ADDRESSED.sub("", sentence), ()):
            continue
        states = is_statement(sentence) and _TO_LISTENER.search(sentence) is None
        if ABOUT_WORDS.search(sentence) and not states:  # "I've told nobody" asks for nothing
            return "text"
        if is_question(sentence):
            if _OF_NEWS.fullmatch(sentence.strip()) is None or _NOT_NOW.search(sentence):
                return "doubt"
        elif not is_statement(sentence) and not answers:
            return "doubt"
    return None
