"""Which messages of a conversation are lines of a role play, in which nobody speaks of themselves. Pure.

"Let's play: you are the doctor, I am Mr. Hart" makes fiction of what follows, up to "end of the game". Words
that give a role to the assistant alone ("Act as a travel agent") leave what the user says as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_LONGEST: Final = 600
"""How many characters of a message are read."""
_GAME = r"(?:games?|role[ -]?play(?:ing)?|make[ -]believe|pretend(?:ing)?|scene|skit|improv|play|playing|acting|charade|simulation|character)"
_ROLE = r"(?:now )?(?:an?|the|my|your|his|her|their|our|called|named|as|mrs?\b|ms\b|dr\b|miss|sir|lady|lord|king|queen|captain|(?-i:[A-Z]))"
_YOU = rf"\byou(?:['’]re| are|['’]ll be| will be|['’]ll play| will play| can be| play| (?:to )?act as| (?:to )?be)(?: the role of)? {_ROLE}"
_I = rf"\bi(?:['’]m| am|['’]ll be| will be|['’]ll play| will play| can be| play| act as|['’]ll act as)(?: the role of)? {_ROLE}"
_TAKES_ROLE: Final = re.compile(r"\b(?:you|i)(?:['’]ll| will| can)? (?:be|play|act as)\b", re.I)
_OPENING = r"^\W{0,20}(?:(?:ok|okay|alright|all right|so|now|well|then|please|hey|hi|hello|great|thanks|cool|and|but|new)\b\W{0,20})*"
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
_PART = r"the (?!best\b|greatest\b|\w+iest\b|only\b|one\b|same\b)[\w-]{1,40}"
_YOU_ARE, _I_AM = r"you(?:['’]re| are)", r"i(?:['’]m| am)"
_BOTH_ALONE: Final = re.compile(
    rf"{_OPENING}(?:{_YOU_ARE} {_PART}[^.,;!?\n]*?[.,;!\s–—-]{{1,6}}(?:and |while )?{_I_AM} (?:{_PART}|(?-i:[A-Z]))"
    rf"|{_I_AM} (?:{_PART}|(?-i:[A-Z])\w*)[^.,;!?\n]*?[.,;!\s–—-]{{1,6}}(?:and |while )?{_YOU_ARE} {_PART})[^.!?\n]*[.!\s]*$",
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
    rf"(?:{_OPENING}|[.!?,\n]\s{{0,3}}(?:so |and |ok(?:ay)? |but |now )*)(?:(?:(?:let['’]?s|let us|can we|could we|we can|i want to|i['’]d like to|time to|that was \w+) )*"
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
    text = text[:_LONGEST]
    if _INVITED.search(text) or _BOTH_ALONE.match(text) or _STAGED.search(text):
        return True
    return _BOTH.search(text) is not None and (_FICTION.search(text) or _TAKES_ROLE.search(text)) is not None


def ends_play(text: str) -> bool:
    """Return whether a message ends a role play: "ok, end of the game"."""
    return _ENDS.search(text[:_LONGEST]) is not None


def is_played(text: str, *, in_play: bool) -> bool:
    """Return whether a message belongs to a role play, and so does what follows it."""
    return begins_play(text) or (in_play and not ends_play(text))


def is_in_play(messages: Iterable[str]) -> bool:
    """Return whether a role play goes on after these messages, the oldest first."""
    in_play = False
    for text in messages:
        in_play = is_played(text, in_play=in_play)
    return in_play
