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
from memoranda.remember.reading.clauses import OPENING, find_clauses
from memoranda.remember.reading.lexicon import HAPPENED
from memoranda.text.cache import text_cache
from memoranda.text.sentences import has_content, split_sentences

_LONGEST: Final = 300
"""A longer sentence or message is not read: whoever says so much may say anything."""
_LAST: Final = 3
"""How many sentences at the end of a turn may ask something of whoever speaks next."""
_DETERMINER = r"(?:i|me|my|we|us|our|the|an?|some|any|no|(?:your|his|her|their)|\d+|two|three)"
_POINTER = r"(?:this|these|following|below|next|as follows)"
_TIMES = (
    r"(?:second|minute|hour|day|night|morning|afternoon|evening|week|weekend|month|quarter|year|spring|summer|autumn|fall|winter|time|once"
    r"|semester|term|season|(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september|october"
    r"|november|december)"
)
# Something yet to come: "the next message", "Here's a poem"; but not "this week".
_AHEAD: Final = re.compile(rf"\b{_POINTER}\b(?! {_TIMES})|^\W*here\b", re.I)
# Something said before: "that was my sister", "translate it", "still"; but not "that summer".
_BACK: Final = re.compile(
    rf"\b(?:(?<!time is )it|its|it['’]\w+|(?:that|there)['’]\w+|these|those|them|(?<!is )(?<!are )there|there(?=\W*$)|still|though|same|above|one|(?:back|so)(?! (?:far|much|many|long)\b)"
    rf"|this(?! {_TIMES})|that(?=\W*$|[,.!?;)]| (?:i|is|was|were|would|will|had|has|sounds?|means?|happened|in|into|to|from|for|more|please|again)\b))\b",
    re.I,
)
_SAYING = (
    r"sa(?:y|ys|id|ying)|t(?:ell|ells|old|elling)|ask(?:s|ed|ing)?|repl(?:y|ies|ied)|answer(?:s|ed)?|claim(?:s|ed)?|hear(?:d|ing)?|overh(?:ear|eard)"
    r"|writ(?:e|es|ing|ten)|wrote|read(?:s|ing)?|text(?:s|ed|ing)?|post(?:s|ed)?|sent|sends?"
    r"|sang|whisper\w*|talk(?:s|ed|ing)?|speak(?:s|ing)?|spoke|call(?:s|ed)? me|phoned"
    r"|record(?:s|ed)|repeat\w*|saw|seen|notic(?:e|ed)|found|receiv\w+|watch(?:ed|ing)|listen\w*|lent|borrow\w*|like,"
)
_TEXT = (
    r"words?|sentences?|phrases?|lines?|paragraphs?|passages?|excerpts?|texts?|wordings?|captions?|headlines?|titles?|lyrics|verses?|rhymes?|poems?"
    r"|poetry|haikus?|limericks?|songs?|stor(?:y|ies)|novel\w*|tales?|fables?|scripts?|scenes?|monologues?|dialogues?|chapters?|essays?|articles?"
    r"|blogs?|tweets?|letters?|e-?mails?|messages?|memos?|voice ?(?:mails?|memos?|notes?)|diar(?:y|ies)|journals?|bio|statements?|speech|eulogy|toast"
    r"|testimony|witness|confession|(?:an?|the|my|your|this) book|books|films?|movies?|headers?|drafts?|summary|example|samples?|utterances?|excerpt|page|postcards?|form"
    r"|exercises?|flashcards?|quiz|exam|homework|lesson|course|corpus|grammar|spelling|tense|participle|adverbs?|adjectives?|verbs?|nouns?|passive"
    r"|synonyms?|accent|tone|style|mistakes?|typos?|commas?|emojis?|translat\w+|proofread\w*|rephras\w*|paraphras\w*|rewrit\w*|summari[sz]\w*"
    r"|dictat\w+|transcri\w+|narrat\w+|quot\w+|recit\w+|typ(?:e|es|ed|ing)|past(?:e|ed|ing)|cop(?:y|ied)|language|news|secret|background|affirmations?|reads|verbatim|autocorrect|autocomplete"
)
_FICTION = (
    r"fiction\w*|character|personas?|protagonists?|hero(?:es|ine)?|narrator|roles?|role[ -]?play\w*|improv\w*|skit|drama|(?:an?|the|our|my|this|school) plays?|game|stage|acting|playing"
    r"|pretend\w*|make[ -]believe|imagin\w*|suppos\w+|hypothetic\w*|theor(?:y|etically)|jok(?:e|es|ing)|kidding|prank\w*|lies?|lying|dreams?|dreamt"
    r"|opposite|alter ego|simulat\w+|scenario|rehears\w+|practi[sc]\w+|interview|adventure|campaign|dare|testing"
)
_WORDS: Final = re.compile(rf"\b(?:{_SAYING}|{_TEXT}|{_FICTION})\b|[\"“«„]|\n", re.I)
"""Words about words, fiction and speech: what stands beside them may be somebody else's, or nobody's."""
_TEXTS: Final = re.compile(rf"\b(?:{_TEXT}|{_FICTION})\b|[\"“«„]|\n", re.I)
_PLAY: Final = re.compile(rf"\b(?:{_FICTION})\b", re.I)
_LASTS: Final = re.compile(
    rf"\b(?:from now on|for the rest|each|every|all|always|both|whenever|until|parts?|(\w+) by \1|(?:two|three|four|five|\d+|several|few) (?:\w+ )?(?:{_TEXT})"
    rf"|following \w+s|{_FICTION}|let['’]?s|act as|you(?:['’]re| are| be|['’]ll be| will be| play)|youth|life|childhood|years?)\b",
    re.I,
)
"""Says that a frame goes on for more than one message: "each of my messages", "two parts", "you are the doctor"."""
_ENDS: Final = re.compile(
    rf"(?:^|[.!?,\n])\W{{0,9}}(?:(?:ok|okay|so|and|but|now|please|let['’]?s|let us|time to|you can|we can|i want to|that was \w+)\b\W{{0,9}}){{0,6}}"
    rf"(?:(?:end|ending|stop|quit|exit|enough|pause|no more|done with|out of)(?: (?:of|with|out|the|this|our|that|all))*"
    rf" (?:[\w-]+ )?(?:{_TEXT}|{_FICTION}|correct\w+|playing)\b|(?:the |our |this )?(?:[\w-]+ )?(?:{_TEXT}|{_FICTION})(?: is|['’]s)? (?:over|done|finished|ended)\b"
    r"|back to (?:reality|real life|normal|the real world|being (?:me|myself))\b|(?:the end|end scene|for real now|in real life now)\b)",
    re.I,
)
_THANKS: Final = re.compile(r"\W{0,9}(?:many )?(?:thanks|thank you|thx)\b(?![^?]*\?)", re.I)
_LONG_AGO: Final = re.compile(r"\b(?:(?:19|20)\d\d|(?:twen|thir|for|fif|six|seven|eigh|nine)ties)\b", re.I)
"""A year or a decade: what follows in the story may have happened then."""
_RECENT: Final = re.compile(
    rf"\b(?:today|yesterday|tonight|just now|(?:last|this|over the|on) {_TIMES}(?<!year))\b", re.I
)
_OPEN_END: Final = (":", ",", "…", "...", "-", "–", "—", ";", "(")
_PRONOUN = r"(?:i|we|he|she|it|they|there|this|that|these|those|every(?:one|body|thing)|some(?:one|body|thing)|no(?:body|thing)|both)"
_FINITE = r"(?:is|are|was|were|am|has|have|had|does|do|did|can|could|will|would|may|might|must|should|\w+n['’]t)"
_OWNED = r"(?:my|our|his|her|their|the|an?|all|some|most|many|no|both|user['’]?s?|\w+['’]s)"
_LEAD: Final = re.compile(
    r"\W*(?:(?:now|then|just|also|still|recently|finally|today|yesterday|last \w+|this (?:week|month|year|morning)|in \w+)\b[\s,]*)*",
    re.I,
)
# A pronoun, "my flat", "the meeting", a name or a bare noun ("Rent is 900") with its verb, or a verb without one ("Got it").
_STATES: Final = re.compile(
    rf"{_PRONOUN}(?:['’]\w+)? |{_OWNED} (?:[\w'’-]+ ){{1,6}}?(?:{_FINITE}\b|\w+(?:s|ed)\b|{HAPPENED.pattern})"
    rf"|(?:(?!{_PRONOUN}\b|(?:you|what|who|which|how|where|when|why|if|whether)\b)[\w'’-]+ ){{1,4}}?(?:{_FINITE}|lives|works)\b"
    rf"|(?-i:[A-Z])[\w-]+(?:['’]s)? (?:\w+ly )?(?:{HAPPENED.pattern})|(?:been|no longer|{HAPPENED.pattern}) ",
    re.I,
)
_TO_LISTENER: Final = re.compile(
    r"\b(?:you|your|yours|let['’]?s|let (?:me|us))\b"
    r"|\b(?:i|we)(?:['’]ll| will|['’]m (?:going|about|trying) to|['’]d like| (?:want|need|would like|wanna|have) (?:you|to|this|that|it|some help|help|feedback))\b",
    re.I,
)
"""Speaks to the listener, or of what the speaker is about to do: a request, an announcement, a role."""
_ASKS: Final = re.compile(
    r"\W*(?:(?:so|and|but|ok|okay|hey|hi|well)\b\W*)*"
    r"(?:what|where|when|who|whose|which|why|how|is|are|am|was|were|do|does|did|has|have|should)(?:['’]\w+)?\b",
    re.I,
)
_REQUESTS: Final = re.compile(
    r"\W*(?:(?:so|and|ok|okay|hey|hi|please)\b\W*)*(?:can|could|will|would|may|shall) (?:you|we|i)\b", re.I
)
_NAMES_SOMETHING: Final = re.compile(
    rf"\b{_DETERMINER}\b|(?<!^)\s(?-i:[A-Z])\w|\b(?:which|what|whose|many|much) \w+ (?:is|are|do|does|did|can|should|will|has|have|\w+s)\b",
    re.I,
)
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
_DENIES: Final = re.compile(
    r"\b(?:no|nope|nah|not|never|none|\w+n['’]t|gotcha|got (?:you|ya)|as if|wait|actually|really|just|only|wish|would|did|said|maybe|sorry|mean|meant|oops)\b",
    re.I,
)
"""Words that may take from what was said, where nothing else in a sentence says something."""
_CUT_SHORT: Final = re.compile(rf"\b(?:{_FINITE}|to)\b[^\w\s]*(?:$|,)", re.I)
# "Remind me to pay the rent", "Recommend a good tea": what is asked for is named; but not "Until the end", "Rephrase please".
_ORDERS: Final = re.compile(
    rf"(?:please )?(?!(?:until|till|for|in|on|at|only|just|not|with|by|from|of|since|because|if|when|while|after|before|as|and|or|to|than"
    rf"|starting|maybe|almost|well)\b)\w+ (?:{_DETERMINER}|up|for)\b",
    re.I,
)
_WITHDRAWS: Final = re.compile(
    r"\W*(?:(?:and|but|so|oh|ah|well|haha|lol|yeah|ok|okay)\b\W*)*(?:no|nope|nah|wait|actually|sorry|oops|never ?mind(?! the| about)|false alarm|i meant?|on second thoughts?|but|except)\b",
    re.I,
)


def is_statement(sentence: str) -> bool:
    """Return whether a sentence says something about somebody or something, and asks for nothing."""
    if _is_question(sentence):
        return False
    sentence = sentence[:_LONGEST]
    opening = OPENING.match(sentence)
    lead = _LEAD.match(sentence, opening.end() if opening else 0)
    return lead is not None and _STATES.match(sentence, lead.end()) is not None


def find_frame(own: Sequence[str], asked: str) -> Presented | None:
    """Return what the turns before a message may make of it; None where all of them are understood.

    A frame stays open until its speaker says something outside of it again: thanks, a question about something else, or
    that it is over. One that is said to go on ("from now on", a role play) stays open until it is said to be over.

    Args:
        own: What the same speaker said before in the conversation, the newest first.
        asked: What somebody else said right before the message; empty when nobody did.
    """
    found = _asks_for(asked, answers=bool(own) and _is_question(own[0])) if asked else None
    closed = False
    for distance, text in enumerate(own):
        if _ENDS.search(text[:_LONGEST]):
            break
        if closed and not _LASTS.search(text[:_LONGEST]):
            continue
        opened = _opens(text)
        if opened is not None and (distance == 0 or _LASTS.search(text[:_LONGEST])):
            found = opened if found is None or opened == "text" else found
        elif opened is not None:
            found = found or "doubt"
        closed = closed or (opened is None and not any(map(is_statement, split_sentences(text))))
    return found


@text_cache(256)
def _opens(text: str) -> Presented | None:
    """Return what a turn may make of its speaker's next one; None where it is understood, and can make nothing of it."""
    if text.rstrip().endswith(_OPEN_END):
        return "text"
    sentences = split_sentences(text)
    if len(text) <= _LONGEST and all(map(_stands_alone, sentences)):
        return None
    return "text" if any(_presents(each[:_LONGEST]) for each in sentences if not is_statement(each)) else "doubt"


def _presents(sentence: str) -> bool:
    """Return whether a sentence that states nothing says that a text or a play follows."""
    if _PLAY.search(sentence):
        return True
    ahead, words = _AHEAD.search(sentence), _WORDS.search(sentence)
    return (ahead or words) is not None and bool(ahead or _is_question(sentence) or _TO_LISTENER.search(sentence))


def _stands_alone(sentence: str) -> bool:
    """Return whether a sentence is complete, and says nothing about what comes next."""
    if is_small_talk(sentence) or is_understood(sentence):
        return True
    if _WORDS.search(sentence) or _AHEAD.search(sentence):
        return False
    if _is_question(sentence):
        return _is_complete_question(sentence)
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
    for sentence in (each[-_LONGEST:] for each in split_sentences(text)[-_LAST:]):
        if is_small_talk(sentence) or _THANKS.match(sentence) or not has_content(_ADDRESSED.sub("", sentence), ()):
            continue
        states = is_statement(sentence) and _TO_LISTENER.search(sentence) is None
        if _WORDS.search(sentence) and not states:  # "I've told nobody" asks for nothing
            return "text"
        if _is_question(sentence):
            if _OF_NEWS.fullmatch(sentence.strip()) is None or _NOT_NOW.search(sentence):
                return "doubt"
        elif not is_statement(sentence) and not answers:
            return "doubt"
    return None


@text_cache(64)
def points_back(text: str, *, answers: bool = False) -> bool:
    """Return whether a message may take from what its speaker said just before, because it says nothing of its own.

    "jk", "…in The Sims", "That was my sister", "Is this correct?" have no subject of their own, or speak of words. What
    `answers` a question need not have one.
    """
    return len(text) <= _LONGEST and not all(_is_new(each, answers=answers) for each in split_sentences(text))


def _is_new(sentence: str, *, answers: bool) -> bool:
    """Return whether a sentence says or asks something of its own, or is small talk."""
    if is_small_talk(sentence):
        return True
    if not has_content(sentence, ()) and not _BACK.search(sentence):
        return answers or _DENIES.search(sentence) is None
    if _TEXTS.search(sentence) or _BACK.search(sentence) or _WITHDRAWS.match(sentence):
        return False
    if _is_question(sentence):
        return _is_complete_question(sentence) and _WORDS.search(sentence) is None
    if is_statement(sentence):
        return sentence[0].isalnum() and not HAPPENED.match(sentence) and not _CUT_SHORT.search(sentence)
    return _ORDERS.match(sentence) is not None or (answers and _DENIES.search(sentence) is None)


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"'”’)").endswith("?")


def _is_complete_question(sentence: str) -> bool:
    """Return whether a question names what it asks about: not "Which sounds better?" or "What is this?"."""
    asks = _ASKS.match(sentence) or _REQUESTS.match(sentence)
    named = asks is not None and _NAMES_SOMETHING.search(sentence, asks.start()) is not None
    return named and _BACK.search(sentence) is None
