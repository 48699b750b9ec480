"""Whether a message is somebody's plain report of a change: only then the change may hide what was said before. Pure.

What stands beside a change can take from it in any number of ways: "but it didn't last", "in the game", "Shorten
this.", "That's what Ben wrote.". So nothing is listed that forbids to hide. What may stand in the same message is
listed instead: other claims, times, with whom, and small talk. A change with anything else beside it is only linked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from memoranda.remember.lexicon import CHILDREN, PARTNERS, RELATIVES
from memoranda.remember.sentence_kinds import REPORT_OPENING, is_small_talk
from memoranda.text.sentences import Span, blank_out, sentence_spans

# The longer ones first: what was matched is not tried again, so that a long text takes no longer than its length.
_BESIDE: Final = re.compile(
    rf"[\s.,!;%-]+|(?:with (?:my|our|his|her|their|the) (?:new )?(?:family|team|{PARTNERS}|{CHILDREN}"
    rf"|{RELATIVES})"
    r"|from (?-i:[A-Z])\w+|(?:instead of|rather than) (?:the |my |our )?[\w-]+"
    r"|for (?:good|work|school|college|real|ever)|after all"
    r"|for (?:an?|my|his|her|the|our) (?:new )?job|full[- ]time"
    r"|now(?! and (?:then|again)\b)|already|officially|finally|again|instead|permanently|recently|just|yet|today"
    r"|yesterday|tonight|any ?more|these days|nowadays|currently|earlier|ago|later|early|late|this|last|next|since"
    r"|as of|from now on|from|on|in|at|by|of|about|around|starting|effective|please|thanks?|and|but|so|then|the|an?"
    r"|few|couple|two|three|\d+|am|pm"
    r"|(?:week|month|year|day|morning|evening|summer|spring|autumn|winter|noon|midnight)s?)\b",
    re.I,
)
# Why something ended takes nothing from its end; a change may last only as long as its reason: "because of the strike".
_REASON: Final = re.compile(r"(?:because of|due to) (?:an?|the|my|our|his|her|their) (?:[\w-]+ )?[\w-]+(?=\W*$)", re.I)
# Beside a denial these say what is denied: "I no longer work at Acme full time", "… with my brother".
_CIRCUMSTANCE: Final = re.compile(r"\b(?:full|part)[- ]time\b|\b(?:with|as|for)\b", re.I)
_DENIAL: Final = re.compile(r"\b(?:no longer|not)\b|n['’]t\b", re.I)
# Of "Sporting in the league" and "VS Code for one file" only the beginning is the value.
_DETAIL: Final = re.compile(
    r" (?:for|in|on|at|with|when|while|during|under|whenever|according|by|as|like|except|per|and|or|but|then|plus)\b"
)
_CONTRAST: Final = re.compile(r"(?<![\s,])[\s,]*(?:and\s+)?not\s+[^.!,;]+", re.I)
_LIST: Final = re.compile(r"^[ \t]*(?:[-*•–—]|\w{1,2}[.)])[ \t]", re.M)
_LONGEST: Final = 2_000
"""Whoever reports a change writes no pages about it."""


def is_plain_report(text: str, span: Span, value: str, others: Iterable[Span], *, contrasts: bool = False) -> bool:
    """Return whether a text tells a change, and nothing that may take from it.

    Args:
        text: The whole text.
        span: Where in it the change is told.
        value: The new value, which the words of the change end with; empty when they name none.
        others: The parts that are read by themselves: other claims and times.
        contrasts: Whether the words after it may say what it is not: "Kate, not Katie".
    """
    if len(text) > _LONGEST or _LIST.search(text):
        return False
    detail = _DETAIL.search(value)
    stop = span[1] - (len(value) - detail.start() if detail and text[: span[1]].endswith(value) else 0)
    read = [(first, last) for first, last in others if not (first <= span[0] and span[1] <= last)]
    left = blank_out(text, [*read, (span[0], stop)])
    for start, end in sentence_spans(text):
        words = left[start:end]
        if start <= span[0] < end:
            after = _CONTRAST.sub(" ", left[span[0] : end], count=1) if contrasts else left[span[0] : end]
            if _DENIAL.search(text, *span):
                after = _REASON.sub(" ", after)
                if _CIRCUMSTANCE.search(after):
                    return False
            words = left[start : span[0]] + after
        if not (_consists_of((REPORT_OPENING, _BESIDE), words) or is_small_talk(text[start:end])):
            return False
    return True


def _consists_of(patterns: Sequence[re.Pattern[str]], text: str) -> bool:
    position = 0
    while position < len(text):
        found = (pattern.match(text, position) for pattern in patterns)
        end = max((match.end() for match in found if match), default=position)
        if end == position:
            return False
        position = end
    return True
