"""What was said before an utterance: a question that it may answer, words that announce a text, a role play."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Final

from memoranda.messages.message import Message
from memoranda.remember.base import Presented, Utterance
from memoranda.remember.claims.patterns import possible_patterns
from memoranda.remember.claims.reports import is_small_talk
from memoranda.remember.reading.clauses import OPENING, find_clauses
from memoranda.remember.reading.lexicon import HAPPENED
from memoranda.storage.base import Store
from memoranda.storage.changes import StoredMessage
from memoranda.storage.message_log import read_last_messages
from memoranda.text.cache import text_cache
from memoranda.text.sentences import first_words, sentence_spans
from memoranda.types import Scope

_ANSWER_WORDS: Final = 4
_LONG_ANSWER: Final = 25
"""How many words an answer has that does what was asked."""
_ANSWERED_WITHIN: Final = timedelta(days=1)
_BETWEEN: Final = 3
"""How far back the speaker's last message is: between two of one speaker are mostly one or two of others."""
_READ_BEFORE: Final = 40
"""How many messages before a call are read: a role play may go on that long."""
_MAX_QUESTION: Final = 200
"""How many characters of a question are kept with its answer."""


@dataclass(frozen=True, slots=True)
class DialogueContext:
    """What the gate knows about the conversation around a text."""

    names: frozenset[str] = frozenset()
    """The people in it, in lower case, first names and last names apart."""
    instructions: frozenset[tuple[str, ...]] = frozenset()
    """The word runs of the system prompts."""
    question: str = ""
    """What the turn before asked: a single word can then be an answer."""
    announced_by: str | None = None
    """The speaker whose last turn announced a text."""
    in_play: bool = False
    """Whether a role play goes on."""


def read_before(store: Store, first: Utterance, scope: Scope) -> DialogueContext:
    """Return what was asked right before the first message of a call, who announced it, and whether a play goes on.

    Only a message that is short as answers are has a question.
    """
    message = first.message
    if message is None:
        return DialogueContext()
    last = store.read(lambda tx: read_last_messages(tx, scope, _READ_BEFORE), tenant=scope.tenant)
    last = [each for each in last if timedelta(0) <= first.said_at - each.said_at <= _ANSWERED_WITHIN]
    own = next((each for each in last[:_BETWEEN] if _same_speaker(each, message)), None)
    between = last[: last.index(own)] if own is not None else []
    announced = own is not None and _announces(own.content or "", [each.content or "" for each in between])
    is_answer = len(first_words(first.text, _ANSWER_WORDS + 1)) <= _ANSWER_WORDS
    return DialogueContext(
        question=_question_in(last[0].content or "") if is_answer and last and last[0] is not own else "",
        announced_by=first.speaker if announced else None,
        in_play=_is_in_play(each.content or "" for each in reversed(last) if each.role == "user"),
    )


def follow_dialogue(
    utterances: Iterable[Utterance], context: DialogueContext
) -> Iterator[tuple[Utterance, DialogueContext]]:
    """Yield each utterance, marked where it may not be about its speaker, and the context in which it was said."""
    for utterance in utterances:
        if utterance.role == "user":
            context = replace(context, in_play=_is_played(utterance.text, in_play=context.in_play))
        announced = utterance.speaker == context.announced_by
        presented: Presented | None = "play" if context.in_play else "text" if announced else None
        yield replace(utterance, presented=presented), context
        announced_by = None if announced or _is_answer(utterance.text) else context.announced_by
        announced_by = utterance.speaker if utterance.message and _waits_for_text(utterance.text) else announced_by
        context = replace(context, question=_question_in(utterance.text), announced_by=announced_by)


def _announces(text: str, answers: Iterable[str]) -> bool:
    """Return whether a message waits for the next one, and nobody answered it with more than "sure, go ahead"."""
    return _waits_for_text(text) and not any(map(_is_answer, answers))


def _is_answer(text: str) -> bool:
    return len(first_words(text, _LONG_ANSWER)) >= _LONG_ANSWER


def _same_speaker(stored: StoredMessage, message: Message) -> bool:
    return (stored.role, stored.speaker or stored.role) == (message.role, message.name or message.role)


def _question_in(text: str) -> str:
    """Return the question that a text ends with; empty when it ends with none."""
    if not text.rstrip().endswith("?"):
        return ""
    start, end = sentence_spans(text)[-1]
    return text[start:end].strip()[-_MAX_QUESTION:]


_LEAD: Final = re.compile(
    r"\W*(?:(?:now|then|just|also|still|recently|finally|today|yesterday|last \w+|this (?:week|month|year|morning)|in \w+)\b[\s,]*)*",
    re.I,
)
_PRONOUN = r"(?:i|we|he|she|it|they|there|this|that|these|those|every(?:one|body|thing)|some(?:one|body|thing)|no(?:body|thing)|both)"
_FINITE = r"(?:is|are|was|were|am|has|have|had|does|do|did|can|could|will|would|may|might|must|should|\w+n['’]t)"
_OWNED = r"(?:my|our|his|her|their|the|an?|all|some|most|many|no|both|user['’]?s?|\w+['’]s)"
# A pronoun, "my flat", "the meeting", a name or a bare noun ("Rent is 900") with its verb, or a verb without one ("Got it").
_STATES: Final = re.compile(
    rf"{_PRONOUN}(?:['’]\w+)? |{_OWNED} (?:[\w'’-]+ ){{1,6}}?(?:{_FINITE}\b|\w+(?:s|ed)\b|{HAPPENED.pattern})"
    rf"|(?:(?!{_PRONOUN}\b|(?:you|what|who|which|how|where|when|why|if|whether)\b)[\w'’-]+ ){{1,4}}?(?:is|are|was|were|has|had|lives|works)\b"
    rf"|(?-i:[A-Z])[\w-]+(?:['’]s)? (?:\w+ly )?(?:{HAPPENED.pattern})|(?:been|no longer|{HAPPENED.pattern}) ",
    re.I,
)
_ADDRESSED: Final = re.compile(r"\W*(?:you|let['’]?s|let (?:me|us))\b", re.I)
_INTENDS: Final = re.compile(
    r"\b(?:i|we)(?:['’]ll| will|['’]m (?:going|about) to|['’]d like| (?:want|need|would like) (?:you|to|this|that|it|some help))\b",
    re.I,
)
_TIMES = (
    r"(?:second|minute|hour|day|night|morning|afternoon|evening|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter|time|once"
    r"|semester|term|season|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)"
)
# Words that point at something yet to come.
_AHEAD: Final = re.compile(rf"\b(?:this|these|following|next|below|as follows)\b(?! {_TIMES})|^\W*here\b", re.I)
_IT: Final = re.compile(r"\bit\b", re.I)
_ASKS_YOU: Final = re.compile(
    r"\W*(?:(?:so|and|ok|okay|hey|hi|please)\b\W*)*(?:can|could|will|would|may|shall|do|are) (?:you|we|i)\b", re.I
)
_ASKS_PLAINLY: Final = re.compile(
    r"\W*(?:(?:so|and|but|ok|okay|hey|hi|well)\b\W*)*(?:what|where|when|who|whose|which|why|how|is|are|am|was|were|do|does|did|has|have|should)\b",
    re.I,
)
_OWN_TEXT: Final = re.compile(r":\s*\S|[\"“«„]|\n")
_LONGEST: Final = 300
"""A longer message says itself what it is about."""


def is_statement(sentence: str) -> bool:
    """Return whether a sentence says something about somebody or something, and asks for nothing."""
    if _asks(sentence):
        return False
    sentence = sentence[:_LONGEST]
    opening = OPENING.match(sentence)
    lead = _LEAD.match(sentence, opening.end() if opening else 0)
    return lead is not None and _STATES.match(sentence, lead.end()) is not None


@text_cache(256)
def _waits_for_text(message: str) -> bool:
    """Return whether a message may make a text of the next one: "Translate my next message", "Here's a poem".

    In doubt it does: what follows then hides nothing, and is recalled all the same.
    """
    if len(message) > _LONGEST or _OWN_TEXT.search(message.strip()):
        return False
    return any(_waits(message[slice(*span)]) for span in sentence_spans(message))


def _waits(sentence: str) -> bool:
    if is_small_talk(sentence):
        return False
    if _asks(sentence):
        pointing = _AHEAD.search(sentence) or _IT.search(sentence) or _ASKS_YOU.match(sentence)
        return pointing is not None or _ASKS_PLAINLY.match(sentence) is None
    if _AHEAD.search(sentence) or _ADDRESSED.match(sentence) or _INTENDS.search(sentence):
        return True
    return not (is_statement(sentence) or _makes_claim(sentence))


def _makes_claim(sentence: str) -> bool:
    """Return whether a sentence claims or corrects something in another form: "Call me Kate", "Sorry, 5 May"."""
    for clause in find_clauses(sentence):
        if clause.corrects or any(pattern.regex.match(clause.text) for pattern in possible_patterns(clause.text)):
            return True
    return False


def _asks(sentence: str) -> bool:
    return sentence.rstrip(" \"'”’)").endswith("?")


_LONGEST_PLAYED: Final = 600
"""How many characters of a message are read."""
_GAME = r"(?:games?|role[ -]?play(?:ing)?|make[ -]believe|pretend(?:ing)?|scene|skit|improv|play|playing|acting|charade|simulation|character)"
_ROLE = r"(?:now )?(?:an?|the|my|your|his|her|their|our|called|named|as|mrs?\b|ms\b|dr\b|miss|sir|lady|lord|king|queen|captain|(?-i:[A-Z]))"
_YOU = rf"\byou(?:['’]re| are|['’]ll be| will be|['’]ll play| will play| can be| play| (?:to )?act as| (?:to )?be)(?: the role of)? {_ROLE}"
_I = rf"\bi(?:['’]m| am|['’]ll be| will be|['’]ll play| will play| can be| play| act as|['’]ll act as)(?: the role of)? {_ROLE}"
_TAKES_ROLE: Final = re.compile(r"\b(?:you|i)(?:['’]ll| will| can)? (?:be|play|act as)\b", re.I)
_OPENING = (
    r"^\W*(?:(?:ok|okay|alright|all right|so|now|well|then|please|hey|hi|hello|great|thanks|cool|and|but|new)\b\W*)*"
)
_INVITES = (
    r"(?:let['’]?s|let us|(?:can|could|shall|should) we|we (?:can|could)|(?:do you )?(?:want to|wanna)"
    r"|(?:i|we)(?:['’]d like| want| would like)(?: you| us)? to|(?:can|could|will|would) you|time to|start|begin)"
)
_INVITED: Final = re.compile(
    rf"\b{_INVITES}\s(?:[\w'’-]+ ){{0,4}}?(?:role[ -]?play|pretend\b|make[ -]believe\b|act out\b|improvi[sz]e\b|play (?:pretend|make[ -]believe|a scene|out)\b)"
    rf"|{_OPENING}role[ -]?play(?:ing)?\b\s*(?:time|game|exercise)?\s*(?:[:.!,–—-]|with\b|in which\b|where\b|$)"
    rf"|{_OPENING}(?:mock|practi[cs]e|fake|pretend) (?:job )?(?:interview|call|exam|trial|conversation|dialogue)\b"
    rf"|{_OPENING}pretend (?:that )?(?:i['’]?m|i am|we['’]?re|we are|my name)\b",
    re.I,
)
_BOTH: Final = re.compile(rf"{_YOU}.{{0,200}}?{_I}|{_I}.{{0,200}}?{_YOU}", re.I | re.S)
# "You're the waiter and I'm the guest", but not "You're the best, I'm the luckiest".
_PART = r"the (?!best\b|greatest\b|\w+iest\b|only\b|one\b|same\b)[\w-]+"
_YOU_ARE, _I_AM = r"you(?:['’]re| are)", r"i(?:['’]m| am)"
_BOTH_ALONE: Final = re.compile(
    rf"{_OPENING}(?:{_YOU_ARE} {_PART}[^.,;!?\n]*?[.,;!\s–—-]+(?:and |while )?{_I_AM} (?:{_PART}|(?-i:[A-Z]))"
    rf"|{_I_AM} (?:{_PART}|(?-i:[A-Z])\w*)[^.,;!?\n]*?[.,;!\s–—-]+(?:and |while )?{_YOU_ARE} {_PART})[^.!?\n]*[.!\s]*$",
    re.I,
)
# "Simulate a call: I am a customer", "In this game I'm a wizard": who else has a role is not said.
_STAGED: Final = re.compile(
    r"\b(?:simulat(?:e|ing)|act(?:ing)? out|improvis(?:e|ing)|in (?:this|our) (?:\w+ )?(?:game|story|scene|scenario|adventure|campaign|play)"
    r"|(?:start|begin|play|write|continue) (?:an?|the|our|this) (?:\w+ )?(?:story|scene|adventure|campaign|skit|role))\b"
    rf".{{0,80}}?(?:{_I}|{_YOU})|\bact out (?:an?|the|this|our)\b",
    re.I | re.S,
)
# Words that make fiction likely where both have a role: "You are a great help, I am a happy customer" has none.
_FICTION: Final = re.compile(
    rf"\b(?:{_GAME}|let['’]?s|imagine|suppose|roles?|story|scenario|rehears\w+|practi[sc]e|interview|simulat\w+|act|dialogue|adventure)\b",
    re.I,
)
_ENDS: Final = re.compile(
    rf"(?:{_OPENING}|[.!?,\n]\s*(?:so |and |ok(?:ay)? |but |now )*)(?:(?:(?:let['’]?s|let us|can we|could we|we can|i want to|i['’]d like to|time to|that was \w+) )*"
    rf"(?:end|ending|stop|finish|quit|exit|leave|enough|pause|drop|break|out|no more|done|abort)(?: of| with| out of)?(?: (?:the|this|our|that|my))*"
    rf"(?: (?:[\w-]+ )?{_GAME}\b| pretend play)\s*(?:now|here|please|thanks|for now|for today|mode)?\s*(?:[.,!;:)–—-]|$)"
    rf"|(?:the |our |this )?(?:[\w-]+ )?{_GAME}(?: is|['’]s)? (?:over|done|finished|ended|ends)\b"
    r"|(?:let['’]?s (?:go |get )?)?back to (?:reality|real life|normal|the real world|being (?:me|myself|ourselves))\b"
    r"|(?:the end|end scene|and scene|ooc|out of character|for real now|in real life now)\b)",
    re.I,
)


def begins_play(text: str) -> bool:
    """Return whether a message begins a role play in which its speaker has a role too.

    In doubt it does: lines of a play hide nothing, and are recalled all the same.
    """
    text = text[:_LONGEST_PLAYED]
    if _INVITED.search(text) or _BOTH_ALONE.match(text) or _STAGED.search(text):
        return True
    return _BOTH.search(text) is not None and (_FICTION.search(text) or _TAKES_ROLE.search(text)) is not None


def ends_play(text: str) -> bool:
    """Return whether a message ends a role play: "ok, end of the game"."""
    return _ENDS.search(text[:_LONGEST_PLAYED]) is not None


def _is_played(text: str, *, in_play: bool) -> bool:
    """Return whether a message belongs to a role play, and so does what follows it."""
    return begins_play(text) or (in_play and not ends_play(text))


def _is_in_play(messages: Iterable[str]) -> bool:
    """Return whether a role play goes on after these messages, the oldest first."""
    in_play = False
    for text in messages:
        in_play = _is_played(text, in_play=in_play)
    return in_play
