"""The names that a speaker says to go by: "call me Kate", "Hi, I'm Kate", "my GitHub username is kate-miller"."""

from __future__ import annotations

import re
from typing import Final

# A capital letter tells "call me Kate" from "call me later"; the words around it may be in any case.
_NAME: Final = r"(?P<name>(?:(?:Dr|Mr|Mrs|Ms)\.? )?[^\W\d_a-z][\w'’-]+(?: [^\W\d_a-z][\w'’-]+){0,2})"
_AT: Final = r"(?P<name>@[A-Za-z][\w.-]*\w|[\w.+-]+@[\w-]+\.[\w.-]*\w)"
_HANDLE: Final = r"(?P<name>@?\w[\w.+-]*\w)(?=[.,!;)]|$| on\b)"
_I_AM: Final = r"(?:I['’]?m|I am)"
_IT_IS: Final = rf"(?:it['’]s|it is|{_I_AM}|my name['’]s|my name is|this is)"
_IS: Final = r"(?: is|['’]s|:) "
_WHICH: Final = (
    r"(?:first|given|middle|last|family|maiden|married|full|legal|real|birth|christian|preferred|stage|pen|user)"
)
_GREETING: Final = r"(?:hi|hello|hey|hiya|greetings|good (?:morning|afternoon|evening))(?: there| all| \w+)?[,.!]? ?"
_RULES: Final = tuple(
    (hint, re.compile(pattern))
    for hints, pattern in (
        ("call me|calls me", rf"(?i:\bcalls? me(?: by my [\w ]{{1,20}},)? ){_NAME}"),
        ("calling me", rf"(?i:\b(?:(?:stop|quit) )?calling me [^.!?]{{1,30}}[,;:.] ?(?:{_IT_IS}|use) ){_NAME}"),
        ("go by|going by", rf"(?i:\bI\b[^.!?;]{{0,25}}\bgo(?:ing)? by (?:the name (?:of )?)?){_NAME}"),
        ("be called", rf"(?i:\bI\b[^.!?;]{{0,25}}\bbe called ){_NAME}"),
        (" me as | me by ", rf"(?i:\bknows? me (?:as|by) ){_NAME}"),
        ("known as |called |named ", rf"(?i:\b{_I_AM}\b[^.!?;,]{{0,20}}\b(?:known as|called|nicknamed|named) ){_NAME}"),
        (" is what ", rf"(?:^|[.!?] ){_NAME}(?i: is what [^.!?]{{1,30}}\bcalls? me\b)"),
        ("for short", rf"(?i:^|\b{_IT_IS} [\w'’ -]{{2,30}}, ?(?:but |or )?){_NAME} for short\b"),
        (" to my ", rf"(?i:\b{_IT_IS} [\w'’ -]{{2,30}}[,(] ?(?:but |or )?){_NAME} to my \w+"),
        (
            "i'm |i’m |im |i am |this is |it's |name is ",
            rf"^(?i:{_GREETING}{_IT_IS} ){_NAME}(?=[.,!)]|$| here\b| from\b| and\b| again\b)",
        ),
        ("this is ", rf"^(?i:this is ){_NAME}(?: here| speaking)?[.!]?$"),
        (" here", rf"^(?:(?i:hi|hello|hey)[,!]? )?{_NAME} here(?=[.,!:;]|$)"),
        ("name is|name's|name’s|name:", rf"(?i:\bmy (?:(?:{_WHICH}[ -]?)?name|surname|nickname){_IS}){_NAME}"),
        ("my alias|gamer|my call", rf"(?i:\bmy (?:alias|gamer ?tag|call ?sign){_IS}){_NAME}"),
        (
            "handle|username|user name|screen name",
            rf"(?i:\bmy (?:[\w-]+ ){{0,2}}(?:handle|user ?name|screen name){_IS}){_HANDLE}",
        ),
        ("@", rf"(?i:\bmy (?:[\w-]+ ){{0,2}}(?:account|e-?mail|mail|id|tag|log-?in)(?: \w+)?{_IS}){_AT}"),
        ("@", rf"\b[Mm]y (?:[A-Z]\w+ ){{1,2}}(?:is|as) {_AT}"),
        ("@", rf"(?i:\bme (?:\w+ ){{0,3}}(?:at|as|via|under|on|by|through|with)(?: \w+)? ){_AT}"),
        ("@", rf"(?i:\b{_I_AM}(?: \w+)? ){_AT}"),
        ("ich hei|nt mich|nn mich|mein name", rf"(?i:\b(?:ich hei(?:ß|ss)e|nennt? mich|mein name ist) ){_NAME}"),
        ("appel|nom est", rf"(?i:\b(?:je m['’]appelle|appel(?:les?|ez)-moi|mon nom est) ){_NAME}"),
        ("llam|lláma|nombre", rf"(?i:\b(?:me llamo|ll[aá]mame|mi nombre es) ){_NAME}"),
        ("chiam|mio nome", rf"(?i:\b(?:mi chiamo|chiamami|il mio nome [eè]) ){_NAME}"),
        ("ik heet|noem me|naam", rf"(?i:\b(?:ik heet|noem me|mijn naam is) ){_NAME}"),
        ("me cham|meu nome", rf"(?i:\b(?:me chamo|me chame(?: de)?|meu nome [eé]) ){_NAME}"),
    )
    for hint in hints.split("|")
)
"""A word in lower case that a text holds where the pattern fits, and the pattern: most texts hold none of them."""
_DENIED: Final = re.compile(r"(?:\b(?:not|never|stop|quit|who|nobody|hate)|n['’]?t)\b[^.!?;,]{0,25}$", re.I)
_OF_ANOTHER: Final = re.compile(r"[\"“”«]|\b(?:if|when|whenever|unless)\b[^.!?;,]*$", re.I)
WEEKDAYS: Final = frozenset(("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"))
"""No names: "call me Friday" asks for a call."""
_START: Final = 1_000
"""Characters that are read: a message that is longer is no introduction."""
_BEFORE: Final = 60
"""Characters before a name in which a denial or a quotation counts."""


def own_names(text: str) -> list[str]:
    """Return the names that the speaker of a text says to go by, in the order of the text."""
    start = text[:_START]
    lowered = start.lower()
    found: dict[int, str] = {}
    for pattern in [pattern for hint, pattern in _RULES if hint in lowered]:
        found |= {match.start("name"): match["name"] for match in pattern.finditer(start) if _is_own(start, match)}
    return [found[position] for position in sorted(found)]


def _is_own(text: str, match: re.Match[str]) -> bool:
    """Return whether it is a name, and the words before neither deny it nor quote somebody else."""
    before = text[max(0, match.start() - _BEFORE) : match.start()]
    if _DENIED.search(before) or _OF_ANOTHER.search(before):
        return False
    return match["name"].casefold().split()[0] not in WEEKDAYS
