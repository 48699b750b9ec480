"""Whether a sentence says a change and nothing beside it: only then the change may hide what was said before. Pure.

What stands beside a change can take from it in any number of ways: "but it didn't last", "if the rumours are true", "in
the game", "for one file". So what leaves a change as it is, is listed here: when, why, with whom. A change with other
words beside it is only linked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from memoranda.remember.clauses import OPENING
from memoranda.remember.frames import is_presented
from memoranda.remember.lexicon import CHILDREN, PARTNERS, RELATIVES
from memoranda.text.sentences import Span, sentence_spans

# The longer ones first: what was matched is not tried again, so that a long text takes no longer than its length.
_HARMLESS: Final = re.compile(
    rf"[\s.,!;:)%-]+|(?:with (?:my|our|his|her|their|the) (?:new )?(?:family|team|{PARTNERS}|{CHILDREN}|{RELATIVES})"
    r"|from (?-i:[A-Z])\w+|as (?:an?|the|of|head|ceo|cto|my|our) [\w -]+|(?:instead of|rather than) [\w -]+"
    r"|for (?:good|work|school|college|real|ever)|for (?:an?|my|his|her|the|our) (?:new )?job|full[- ]time|part[- ]time"
    r"|now(?! and (?:then|again)\b)|already|officially|finally|again|instead|permanently|recently|just|yet|today"
    r"|yesterday|tonight|any ?more|these days|nowadays|currently|earlier|ago|later|early|late|this|last|next|since"
    r"|from|on|in|at|by|of"
    r"|about|around|starting|effective|please|thanks?|too|and|but|so|then|the|an?|few|couple|two|three|\d+|am|pm"
    r"|(?:week|month|year|day|morning|evening|summer|spring|autumn|winter|noon|midnight)s?)\b",
    re.I,
)
# "Because of the rent, but not for long": what is joined to a reason is no part of it.
_REASON: Final = re.compile(
    r"\b(?:because|since|due to)\b(?:(?!\b(?:and|or|but|yet|then|though|although|however|until|till|except)\b).)*",
    re.I | re.S,
)
# Beside a denial these say what is denied: "I no longer work at Acme full time", "… with my brother".
_CIRCUMSTANCE: Final = re.compile(r"\b(?:full|part)[- ]time\b|\b(?:with|as|for)\b", re.I)
_DENIAL: Final = re.compile(r"\b(?:no longer|not)\b|n['’]t\b", re.I)
# Of "Sporting in the league" and "VS Code for one file" only the beginning is the value.
_DETAIL: Final = re.compile(
    r" (?:for|in|on|at|with|when|while|during|under|whenever|according|by|as|like|except|per)\b"
)
_CONTRAST: Final = re.compile(r"\s*,?\s*(?:and\s+)?not\s+[^.!,;]+", re.I)
# "I've moved to Rome! ...is what I'd love to write": a sentence that goes on.
_GOES_ON: Final = re.compile(r"\s*(?:\.\.|…|[a-z])")


def stands_alone(text: str, span: Span, value: str, others: Iterable[Span], *, contrasts: bool = False) -> bool:
    """Return whether a sentence says a change, and nothing that may take from it.

    Args:
        text: The whole text.
        span: Where in it the change is told.
        value: The new value, which the words of the change end with; empty when they name none.
        others: The parts that are read by themselves: other claims and times.
        contrasts: Whether the words after it may say what it is not: "Kate, not Katie".
    """
    if is_presented(text, span):
        return False
    start, end = _sentence_around(text, span)
    detail = _DETAIL.search(value)
    stop = span[1] - (len(value) - detail.start() if detail and text[: span[1]].endswith(value) else 0)
    kept = list(text)
    for first, last in others:
        if not (first <= span[0] and span[1] <= last):
            kept[first:last] = " " * (last - first)
    before, after = "".join(kept[start : span[0]]), "".join(kept[stop:end])
    if contrasts:
        after = _CONTRAST.sub(" ", after, count=1)
    after = _REASON.sub(" ", after, count=1)
    if _DENIAL.search(text, span[0], span[1]) and _CIRCUMSTANCE.search(after):
        return False
    return _consists_of((OPENING, _HARMLESS), before) and _consists_of((_HARMLESS,), after)


def _consists_of(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    position = 0
    while position < len(text):
        found = (pattern.match(text, position) for pattern in patterns)
        end = max((match.end() for match in found if match), default=position)
        if end == position:
            return False
        position = end
    return True


def _sentence_around(text: str, span: Span) -> Span:
    """Return the sentence that holds a span, with the next ones that only go on."""
    spans = sentence_spans(text)
    start = max((first for first, _ in spans if first <= span[0]), default=0)
    end = min((last for _, last in spans if last >= span[1]), default=len(text))
    for first, last in spans:
        if first >= end and not text[end:first].count("\n") and _GOES_ON.match(text, first):
            end = last
    return start, end
