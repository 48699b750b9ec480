"""What kind of sentence somebody says: small talk, a statement, or one that waits for what is said next. Pure.

A sentence that is not recognised as small talk, a statement or a question is taken for a request: "Shorten this", "Two
teas please", "Scene one".
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.claim_patterns import possible_patterns
from memoranda.remember.clauses import OPENING, find_clauses
from memoranda.remember.lexicon import HAPPENED
from memoranda.text.cache import text_cache
from memoranda.text.sentences import sentence_spans

# What may open a report of one's own: a greeting, a conjunction, words that announce news or a correction.
REPORT_OPENING: Final = re.compile(
    r"(?:(?:and|but|so|well|yes|yep|ok|okay|hey|hi|hello|good (?:morning|afternoon|evening)|also|plus|anyway|btw|by the way|fyi"
    r"|(?:i |we )?(?:just )?want(?:ed)? to let you know(?: that)?|just (?:so you know|to let you know)|for the record|for your (?:records|information)"
    r"|(?:(?:a|some|quick|small|big|good|great|bad|sad|personal|life|important) )*(?:news|updates?)|it['’]s official|as you know"
    r"|(?:please )?note(?: that)?|noted|reminder|remember(?: that)?|ps|p\.s\.|guess what|(?:it )?turns out|long story short|heads[- ]?up"
    r"|no|nope|wait|sorry|actually|correction|edit|i meant?|oops|my (?:mistake|bad)|i (?:misspoke|was wrong)|hm+|um+|uh+|ah"
    r"|finally|at last|sadly|unfortunately|luckily|thankfully)\b[\s,!:.-]*)+",
    re.I,
)
_VERY = r"(?:(?:so|very|really|still|just|pretty|quite|super|a bit|absolutely|both|all) )*"
_FEELING = (
    r"(?:happy|glad|excited|thrilled|proud|relieved|sad|tired|exhausted|nervous|grateful|lucky|great|good|nice|lovely|wonderful|amazing"
    r"|awesome|fantastic|perfect|exciting|fun|cool|weird|strange|hard|tough|stressful|crazy|okay|ok|fine)"
)
_RECORDS = (
    r"(?:profile|records?|notes?|files?|memory|address|number|e-?mail|details|contacts?|data|calendar|info(?:rmation)?)"
)
_SMALL_TALK: Final = re.compile(
    r"(?:(?:yay|phew|wow|woohoo|hooray|finally|and|but|so|oh|well|hi|hey|hello)\b[\s,!]*)*(?:there|all|everyone|again"
    # How somebody feels about it: "I'm so happy", "What a crazy week", "We love it here".
    rf"|(?:(?:i|we)(?:['’]m|['’]re| am| are| feel)|(?:it|that|this)(?:['’]s| is| was| feels)|life(?:['’]s| is)|feeling|what an?|such an?)? ?{_VERY}{_FEELING}"
    r"(?: (?:about (?:it|that|this)|day|week|month|year|news|time|to be (?:here|home|back)|so far|here|there|now))*"
    r"|(?:(?:i|we) )?(?:really |just |absolutely |still )*(?:love|like|enjoy|loving|enjoying|miss|hate) it(?: (?:here|there|so far|so much|a lot|already|now))*"
    r"|(?:many )?(?:thanks|thank you|thx|cheers)(?: (?:so much|a lot|again|for (?:your|the|all your|all the) (?:help|support|time)|for (?:asking|listening)|in advance))*"
    r"|(?:i )?hope (?:you(?:['’]re| are)|all is) (?:well|doing well|good|fine)|how are (?:you|things)(?: (?:today|doing))?"
    # What a memory is asked for: it keeps what the words say, and does nothing with the words.
    r"|(?:please )?(?:remember|note|don['’]t forget) (?:this|that|it|the following)(?: (?:for me|for later|please))*"
    rf"|(?:so )?(?:please |can you |could you )*(?:update|correct|change|adjust) (?:that in )?(?:my|your|our) (?:[\w-]+ )?{_RECORDS}(?: (?:accordingly|please|too))*"
    r")?[\s.!?,🎉🥳🙂😊😀❤️👍-]*",
    re.I,
)
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


def is_small_talk(sentence: str) -> bool:
    """Return whether a whole sentence only greets, thanks, tells a feeling, or asks a memory to keep what was said."""
    return len(sentence) <= _LONGEST and _SMALL_TALK.fullmatch(sentence) is not None


def is_statement(sentence: str) -> bool:
    """Return whether a sentence says something about somebody or something, and asks for nothing."""
    if _asks(sentence):
        return False
    sentence = sentence[:_LONGEST]
    opening = OPENING.match(sentence)
    lead = _LEAD.match(sentence, opening.end() if opening else 0)
    return lead is not None and _STATES.match(sentence, lead.end()) is not None


@text_cache(256)
def waits_for_text(message: str) -> bool:
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
