"""Decide whether earlier turns make a statement fictional, quoted or hypothetical. Pure.

Only turns that are fully understood (small talk, complete statements, complete questions) are trusted; any other turn
makes a change uncertain: it is linked but hides nothing. So "I moved to Ghent" counts for little after "Translate my next
message", after "What did you do in 1998?", or before "…in The Sims". Sentences about words, fiction and somebody's speech
are never understood.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from memoranda.remember.base import Framing, Utterance
from memoranda.remember.claims.confirmations import is_answered_by
from memoranda.remember.claims.find import is_claimed, is_understood
from memoranda.remember.claims.remarks import OWN, read_retraction, says_nothing, states_no_change
from memoranda.remember.claims.reports import is_opening, is_small_talk, is_undone
from memoranda.remember.claims.values import read_value
from memoranda.remember.reading.clauses import find_clauses
from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.lexicon import FICTION, RECENT, TEXTS, TIMES
from memoranda.remember.reading.questions import (
    INTERJECTIONS,
    asks_about_somebody,
    asks_for_fact,
    asks_for_news,
)
from memoranda.remember.reading.statements import (
    ABOUT_TEXTS,
    ABOUT_WORDS,
    LONGEST,
    REFERS_BACK,
    is_complete_question,
    is_question,
    is_statement,
)
from memoranda.storage.claims import RETRACTIONS, Claim
from memoranda.text.cache import text_cache
from memoranda.text.sentences import Span, blank_out, sentence_spans, split_sentences
from memoranda.text.terms import query_terms

_LAST: Final = 3
"""How many sentences at the end of a turn may ask the next speaker for something."""
_POINTER = r"(?:this|these|following|below|next|as follows)"
# Something yet to come: "the next message", "Here's a poem"; but not "this week".
_AHEAD: Final = re.compile(rf"\b{_POINTER}\b(?! {TIMES})|^\W*here\b", re.I)
_PLAY: Final = re.compile(rf"\b(?:{FICTION})\b", re.I)
_LASTS: Final = re.compile(
    rf"\b(?:from now on|for the rest|each|every|all|always|both|whenever|until|parts?|(\w+) by \1|(?:two|three|four|five|\d+|several|few) (?:\w+ )?(?:{TEXTS})"
    rf"|following \w+s|{FICTION}|let['’]?s|act as|you(?:['’]re| are| be|['’]ll be| will be| play)|youth|life|childhood|years?)\b",
    re.I,
)
"""A framing that lasts for more than one message: "each of my messages", "two parts", "you are the doctor"."""
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
_DEFINITE: Final = re.compile(r"\W*(?:the|it|this|that)\b", re.I)
_ANOTHER_PERSONS: Final = re.compile(
    r"\b(?:his|her|their|(?!(?:it|that|this|what|who|how|where|here|there|let|he|she|today|one)['’])[^\W\d]{2,}['’]s) (?!(?:an?|the|been|not|going)\b)[^\W\d]{2,}",
    re.I,
)
_OPEN_END: Final = (":", ",", "…", "...", "-", "–", "—", ";", "(")
_TO_LISTENER: Final = re.compile(
    r"\b(?:you|your|yours|let['’]?s|let (?:me|us))\b"
    r"|\b(?:i|we)(?:['’]ll| will|['’]m (?:going|about|trying) to|['’]d like| (?:want|need|would like|wanna|have) (?:you|to|this|that|it|some help|help|feedback))\b",
    re.I,
)
"""Addresses the listener, or announces what the speaker is about to do: a request, an announcement, a role."""
# "Go ahead.", "And then?", "Your turn": asks for whatever comes next.
_PROMPTS: Final = re.compile(
    r"\W*(?:(?:ok|okay|so|and|then|now|well|alright|right|please|great|sure|yes|i am ready|we are ready|let us)\b\W*)*"
    r"(?:go(?: ahead| on| for it)?|ahead|on|carry on|keep going|continue|proceed|next(?: one)?|begin|start|shoot|fire away|now you|you(?: go| start| first)?|your turn"
    r"|(?:try|once|one more)(?: again| time| it)?|again|so|and|then|what then|ready|action|what|why|how)\W*(?:(?:please|now|then|again)\W*)*",
    re.I,
)
# "Great, I updated your address.", "I'm your virtual assistant."
_NOTED: Final = re.compile(
    rf"{INTERJECTIONS}(?:i (?:(?:have|am) )?(?:just )?(?:updated|noted|saved|changed|recorded|added|remembered) (?:it|that|this|your [\w-]+)|i will (?:remember|note|keep|save) (?:it|that|this)(?: in mind)?"
    r"|(?:i am )?(?:an?|your|the) (?:\w+ )?assistant|noted|understood|done)?\W*",
    re.I,
)


def find_framing(talk: Sequence[tuple[bool, str]], said: str = "") -> Framing | None:
    """Return how earlier turns qualify a message, or None when all of them are understood.

    A framing stays open, through small talk and reports, until its speaker says that it is over. After a question of its
    speaker it only makes the message unrelated to it, unless it is a lasting one ("from now on", a role play). What
    others said stays open until the speaker says more than small talk.

    Args:
        talk: What was said before in the conversation, the newest first: whether by the same speaker, and the words.
        said: The message itself: it continues a statement that shares a word with it.
    """
    found: list[Framing | None] = [None]
    asked, left = True, False
    for distance, (own, words) in enumerate(talk):
        text = expand(words).text
        if own and _ENDS.search(text[:LONGEST]):
            break
        if own and says_nothing(text):
            continue
        if not own:
            if asked and asks_for_fact(_last_own(talk[distance:])) and not ABOUT_WORDS.search(text):
                continue
            framing = _framing_by_request(text, said) if asked else _framing_by_play(text)
            found.append("uncertain" if framing == "quoted" and distance else framing)
            continue
        opened, lasts = _framing_of_next(text), _LASTS.search(text[:LONGEST]) is not None
        if opened is None:
            unrelated = asked and not (_is_own_report(text) or _share_words(text, said) or asks_for_fact(text))
            found.append("unrelated_context" if unrelated else None)
            left = left or not any(map(is_statement, split_sentences(text)))
        else:
            found.append(opened if asked or lasts else "unrelated_context" if left else "uncertain")
        asked = False
    return max(found, key=_FRAMINGS.index)


def _last_own(talk: Sequence[tuple[bool, str]]) -> str:
    return next((text for own, text in talk if own), "")


_FRAMINGS: Final = (None, "unrelated_context", "uncertain", "quoted")
"""In the order of what they take from a message."""


def may_be_another_persons(text: str, before: str) -> bool:
    """Return whether "the laptop" may be another person's, named in the words before: "grandpa's computer"."""
    return _DEFINITE.match(text) is not None and _ANOTHER_PERSONS.search(before[:LONGEST]) is not None


@text_cache(256)
def _framing_of_next(text: str) -> Framing | None:
    """Return how a turn may qualify its speaker's next one; None where the turn is understood."""
    if text.rstrip().endswith(_OPEN_END):
        return "quoted"
    sentences = split_sentences(text)
    if len(text) <= LONGEST and all(map(_is_understood_alone, sentences)):
        return None
    return (
        "quoted"
        if any(_announces_text(each[:LONGEST]) for each in sentences if not is_statement(each))
        else "uncertain"
    )


_TAG: Final = re.compile(r"\s/[a-z]{1,5}\W*$", re.I)
"""Says at the end of a message how it is meant: "/s", "/jk"."""
_LETTER: Final = re.compile(r"\W*dear\s+[^\n,.!?]{2,40},", re.I)
_ENDS_AHEAD: Final = re.compile(rf"\b{_POINTER}\W*$", re.I)
_THAT_TEXT: Final = re.compile(rf"\b(?:that|this|these|those)\s+(?:\w+\s+)?(?:{TEXTS})\b", re.I)
_CONDITION: Final = re.compile(
    r"\W*(?:but |and )?(?:if|unless|provided|assuming|once|as soon as|as long as|in case)\b", re.I
)


def apply_framing(utterance: Utterance, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """Return the claims of a message; those that the words around them may qualify are marked as uncertain or quoted."""
    offset = utterance.span[0]
    spans = [(first - offset, last - offset) for first, last in (claim.span for claim in claims)]
    kept: list[Claim] = []
    for claim, span in zip(claims, spans, strict=True):
        # A value of a list-valued attribute replaces no other value.
        may_hide = claim.single and claim.operation not in RETRACTIONS
        framing = _framing_in_message(utterance.text, span, spans) if may_hide else None
        weak = replace(claim, operation="state" if claim.operation == "update" else claim.operation)
        kept.append(claim if framing is None else replace(weak, reported=framing == "quoted", doubted=True))
    return tuple(kept)


def _framing_in_message(text: str, span: Span, spans: Sequence[Span]) -> Framing | None:
    """Return how the rest of a message may qualify one of its claims."""
    if _TAG.search(text) or _LETTER.match(text):
        return "quoted"
    found: set[Framing | None] = set()
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        if start <= span[0] < end:
            found.add(_framing_in_sentence(text, (start, end), span, spans))
        elif not is_opening(sentence) and len(sentence) <= LONGEST:
            found.add(
                _framing_of_following(sentence) if end <= span[0] else _framing_of_preceding(sentence, text[:start])
            )
    return "quoted" if "quoted" in found else "uncertain" if "uncertain" in found else None


def _framing_in_sentence(text: str, sentence: Span, span: Span, spans: Sequence[Span]) -> Framing | None:
    """Return how the rest of its sentence may qualify a claim: "As she sang, …", "… is how my essay begins"."""
    left = blank_out(text, spans)
    before, after = left[sentence[0] : span[0]], left[span[1] : sentence[1]]
    if ABOUT_WORDS.search(before) and not OWN.match(before) and not is_opening(before):
        return "quoted"
    if ABOUT_WORDS.search(after):
        points = REFERS_BACK.search(after) or _THAT_TEXT.search(after)
        goes_on = is_question(after) or is_statement(after.lstrip(" ,;-–—…"))
        if points or not goes_on:
            return "quoted" if points or ABOUT_TEXTS.search(after) else "uncertain"
    return "uncertain" if _CONDITION.match(after) else None


def _framing_of_following(sentence: str) -> Framing | None:
    """Return how a sentence may qualify those after it in the same message."""
    if not (ABOUT_TEXTS.search(sentence) or _AHEAD.search(sentence)):
        return None
    if _AHEAD.search(sentence) and (ABOUT_WORDS.search(sentence) or _ENDS_AHEAD.search(sentence)):
        return "quoted"
    if is_statement(sentence):
        return None if OWN.match(sentence) else "uncertain"
    return "quoted" if ABOUT_TEXTS.search(sentence) else None


def _framing_of_preceding(sentence: str, before: str) -> Framing | None:
    """Return how a sentence may qualify those before it in the same message: "That's the first line of my novel."."""
    if ABOUT_WORDS.search(sentence) and (REFERS_BACK.search(sentence) or _THAT_TEXT.search(sentence)):
        return "quoted"
    if is_statement(sentence) or is_question(sentence):
        return "uncertain" if is_undone(sentence) or states_no_change(sentence, before) else None
    if ABOUT_TEXTS.search(sentence) and _TO_LISTENER.search(sentence) is None:
        return "quoted"
    return "uncertain" if read_retraction(sentence) in ("retract", "doubt") else None


def _announces_text(sentence: str) -> bool:
    """Return whether a sentence that states nothing says that a text or a play follows."""
    if _PLAY.search(sentence):
        return True
    ahead, words = _AHEAD.search(sentence), ABOUT_WORDS.search(sentence)
    return (ahead or words) is not None and bool(ahead or is_question(sentence) or _TO_LISTENER.search(sentence))


def _is_own_report(text: str) -> bool:
    """Return whether a turn consists of small talk, and facts about its speaker."""
    return all(is_opening(each) or (OWN.match(each) is not None and is_claimed(each)) for each in split_sentences(text))


def _share_words(text: str, said: str) -> bool:
    """Return whether a message continues a statement: both share a word."""
    asks = any(map(is_question, split_sentences(text)))
    return not asks and not set(query_terms(text)).isdisjoint(query_terms(said[:LONGEST]))


def _is_about_text(sentence: str) -> bool:
    """Return whether a sentence measures a text: "Chapter two is set in 1943", but not "My email is a@b.example"."""
    return ABOUT_TEXTS.search(sentence) is not None and read_value(sentence).kind != "address"


def _is_understood_alone(sentence: str) -> bool:
    """Return whether a sentence is complete, and says nothing about what comes next."""
    if is_small_talk(sentence) or (is_understood(sentence) and not _is_about_text(sentence)):
        return True
    if ABOUT_WORDS.search(sentence) or _AHEAD.search(sentence):
        return False
    if is_question(sentence):
        return is_complete_question(sentence)
    if _TO_LISTENER.search(sentence) or not is_statement(sentence) or not sentence.endswith((".", "!")):
        return False
    return RECENT.search(sentence) is not None or not _describes_past(sentence)


def _describes_past(sentence: str) -> bool:
    """Return whether a sentence describes the past, which the next sentences may continue: "In 1998 …"."""
    return _LONG_AGO.search(sentence) is not None or any(each.tense == "past" for each in find_clauses(sentence))


def _acknowledges(sentence: str) -> bool:
    """Return whether a sentence is small talk that asks for nothing: not "Say something in English."."""
    if is_question(sentence) or ABOUT_WORDS.search(sentence):
        return False
    return says_nothing(sentence) or _NOTED.fullmatch(sentence) is not None


def _framing_by_request(text: str, said: str) -> Framing | None:
    """Return how another person's turn may qualify the next one; None where it only asks about the present state."""
    found: list[Framing | None] = [None]
    sentences = split_sentences(text)
    for sentence in (each[-LONGEST:] for each in sentences[-_LAST:]):
        if asks_for_news(sentence) or is_answered_by(sentence, said):
            continue
        if _PROMPTS.fullmatch(sentence):
            found.append("uncertain")
        elif not (is_small_talk(sentence) or _THANKS.match(sentence) or _acknowledges(sentence)):
            found.append(_framing_by_sentence(sentence))
    if not all(is_small_talk(each) or _acknowledges(each) or is_understood(each) for each in sentences[:-_LAST]):
        found.append("unrelated_context")
    return max(found, key=_FRAMINGS.index)


def _framing_by_sentence(sentence: str) -> Framing | None:
    """Return how another person's sentence that is not small talk may qualify the next turn."""
    states = is_statement(sentence) and _TO_LISTENER.search(sentence) is None
    if states:
        return None if is_understood(sentence) else "unrelated_context"
    if ABOUT_WORDS.search(sentence):
        return "quoted"
    return "unrelated_context" if is_question(sentence) and asks_about_somebody(sentence) else "uncertain"


def _framing_by_play(text: str) -> Framing | None:
    """Return how another person's turn may qualify all later ones: it may begin a play."""
    return "uncertain" if any(_PLAY.search(each) and not is_statement(each) for each in split_sentences(text)) else None
