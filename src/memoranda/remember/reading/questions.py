"""What a question of somebody else is about: how things are with the speaker now, or with somebody else. Pure.

What is understood as a question about the speaker's present is listed; after any other ("And then?", "What would you
say?", "Go ahead.") an answer may be anything.
"""

from __future__ import annotations

import re
from typing import Final

from memoranda.remember.reading.contractions import expand
from memoranda.remember.reading.entities import NOT_NAMES
from memoranda.remember.reading.lexicon import PEOPLE, SAYING
from memoranda.text.cache import text_cache
from memoranda.text.places import is_place

_OPENS = r"\W*(?:(?:so|and|but|ok|okay|hey|hi|hello|welcome(?: back)?|well|oh|nice|great|noted|cool|thanks|really|wow|hmm|right|sure|good|by the way|just to (?:check|confirm)|tell me|(?-i:[A-Z])\w+(?=,))\b\W*){0,4}"
_TAIL = r"(?:,? (?:then|by the way|if i may ask|(?-i:[A-Z])\w+))?\W*"
_NOW = r"(?:now|currently|these days|nowadays|today|at the moment|right now|at present|lately|this (?:week|month|year))"
_PART = rf"your (?!(?:\w+ )?(?:{PEOPLE})\b(?!['’]))"
# "What's new?", "How can I help?", "Anything else?", "What can I do for you?".
_OFFERS: Final = re.compile(
    _OPENS
    + r"(?:(?:how|what) (?:can|may|could|else can) i (?:help|assist|do)\b.*|what (?:would|do) you (?:like|want) (?:to (?:do|talk about|discuss|know|share)|from me)\b.*"
    r"|(?:is there |do you (?:have|need) )?any(?:thing|\s)(?:\s?(?:new|news|changes?|updates?|changed|else|to (?:report|add|share|update)|different|i (?:should|need to|can)))\b.*"
    r"|(?:what|how)(?:['’]s| is| are|['’]re| have| has)? (?:new|up|going on|happening|things|life|it going|everything|it hanging|it all going|you(?: been)?(?: up to| doing)?)\b(?! (?:with|at) (?!you\b)).*"
    r"|what (?:has |have |did |['’]s )?(?:changed|happened (?:to you|lately|recently))\b.*|what brings you here.*|(?:has|have|did) (?:anything|something|things|it|that)\b(?: \w+)? (?:changed?|happen(?:ed)?)\b.*)",
    re.I,
)
# "Where do you live now?", "Do you still smoke?", "Is your address still right?", "You live in Ghent, right?".
_PRESENT: Final = re.compile(
    _OPENS
    + r"(?:(?:(?:what|where|who|whom|which|how|when)\b(?! about)(?: (?!(?:do|does|are|is|have|has|did|was|were|would|will|can|could|should)\b)[\w'-]+){0,4} )?"
    rf"(?:do|are|have) you\b.*|who(?:['’]s| is| are)(?: \w+)? your\b.*|(?:what|where|who|which|how|when)\b(?: [\w'-]+){{0,3}}?(?: does| is| are| has| have|['’]s|['’]re) (?:still )?{_PART}.*"
    rf"|(?:is|are|has|have|does|do) (?:still )?(?:{_PART}|it |that |this |the \w+ (?:still|now)\b).*|(?:what|where|which|how|when|who)(?: is| are|['’]s) (?:it|that|the [\w ]+?) {_NOW}"
    r"|(?:you|your) .{2,80}, (?:right|correct|isn['’]?t it|don['’]?t you|aren['’]?t you|yes|no)|(?:you|your) (?:still|now)\b.*|still .{2,60})\?"
    + r"\W*$",
    re.I,
)
_NOT_NOW: Final = re.compile(
    rf"\b(?:did(?! (?:anything|something|\w+ \w+) (?:change|happen))|was|were|had|would(?! you (?:like|say (?:you|that you|your)))|will|could|should|if|ago|back then|used to|first|last|once|ever"
    rf"|then(?!\W*$)|before|after|next|remember|want|wish|imagine|suppose|think|mean|call (?:it|that|this)|{SAYING}|example|sentence|story|(?:19|20)\d\d)\b"
    r"|\bwho are you\b|\b(?:which|what) \w+ are you\W*$|\byour (?:turn|line|answer|sentence|story|text|example|character|role|name in|move|cue|part)\b|\bdoes (?:it|that|this) (?:end|go|start|begin|continue|sound)\b"
    r"|\bhow (?:does|do|is) (?:it|that|this) (?:end|start|begin|continue|go on)\b|\bready\b|\bgoing to\b",
    re.I,
)
_YOU: Final = re.compile(
    r"\b(?:do|are|have|did|were|can|will|would|could|had|has|is|about|with|and) you\b|\byou(?:['’]\w+| (?:are|do|have|still|now))\b",
    re.I,
)
_KIN: Final = re.compile(
    rf"\byour (?P<kin>(?:(?!best\b)[\w-]+ )?(?:{PEOPLE}|ex|family|landlord|landlady|tenant|doctor|dentist|teacher))\b(?P<of>['’]s)?",
    re.I,
)
_CAPITAL: Final = re.compile(r"(?<=[\w,] )(?P<name>[A-Z][a-z\u00df-\u024f]+)\b(?P<of>['’]s)?")
# "Who is your boss now?" asks for a value of the listener.
_WHO_IS: Final = re.compile(_OPENS + r"who(?:['’]s| is| are)(?: \w+)? your\b", re.I)
_BEFORE_SUBJECT_WORDS = """
    is are was does did has about with from and of to how's what's where's for
"""
_BEFORE_SUBJECT: Final = frozenset(_BEFORE_SUBJECT_WORDS.split())
_THIRD: Final = re.compile(r"\b(?:he|she|they|him|her|them|his|their)\b", re.I)
NOT_NAMED: Final = "?"
"""Stands for a person whom a question does not name."""


@text_cache(256)
def asks_about_speaker(sentence: str) -> bool:
    """Return whether a question or an offer asks how things are now with whoever answers it."""
    sentence = expand(sentence).text.strip()
    if _OFFERS.fullmatch(sentence):
        return not asks_about_somebody(sentence)
    return (
        _PRESENT.fullmatch(sentence) is not None
        and _NOT_NOW.search(sentence) is None
        and not asks_about_somebody(sentence)
    )


@text_cache(256)
def asks_about_somebody(sentence: str) -> str:
    """Return whom a question asks about instead of its listener: "my brother", "Lena"; `NOT_NAMED` where that is not clear.

    Empty where it asks about nobody else.
    """
    if "?" not in sentence or _YOU.search(sentence) or _WHO_IS.match(sentence):
        return ""
    people = {f"my {found['kin'].lower()}" for found in _KIN.finditer(sentence) if not found["of"]}
    named = {found["name"] for found in _CAPITAL.finditer(sentence) if not found["of"]}
    people |= {
        name
        for name in named
        if not is_place(name) and name.casefold() not in NOT_NAMES and _is_subject(name, sentence)
    }
    if len(people) == 1:
        return people.pop()
    return NOT_NAMED if people or _THIRD.search(sentence) else ""


def _is_subject(name: str, sentence: str) -> bool:
    """Return whether a name is whom a question asks about: not "Is Cardiff your city?" or "Do they like Ocado?"."""
    before = sentence[: sentence.index(name)].rstrip().rpartition(" ")[2].casefold().strip("'’,")
    return before in _BEFORE_SUBJECT
