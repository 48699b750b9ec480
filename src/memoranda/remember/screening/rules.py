"""Wordings of orders to a model, by rules. Pure.

A text gets the sum of the weights of the signs in it, each class of signs once. A sign weighs more in the words of a
tool, a document or a web page than in a user's own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from memoranda.remember.screening.signs import AI_WORD, LANGUAGES, Sign, find_override, override_needs
from memoranda.remember.screening.wordings import (
    ABOUT_MARKS,
    BOUNDARY,
    CHAT_JSON,
    CHAT_LINES,
    DISCUSSION,
    HEADER,
    LINK_SIGNS,
    SIGNS,
    TOOL_CALL,
    TURN,
)
from memoranda.remember.sources import Channel
from memoranda.security.fence import TEMPLATE_TOKEN
from memoranda.text.word_filter import WordFilter

_WINDOW: Final = 400
"""Characters within which signs count together."""
_OWN_WISH: Final = 0.35
"""The share of its weight that a sign keeps in what the speaker wants for herself."""
_MENTIONED: Final = 0.15
"""The share of its weight that a sign keeps where a text only talks about it."""
_FIRST_PERSON: Final = re.compile(r"\b(?:me|my|mine|myself|i|i'm|i've|i'd|i'll|us|our|ours|we|we're|we've)\b")
_REPORTED: Final = re.compile(
    r"^\W*(?:the )?(?:user|customer|client)(?:'s)? (?:\w+ )?(?:prefers?|wants?|likes?|loves?|hates?|asked|asks|said|says|told|needs?|would|"
    r"is|has|lives|works|wishes|requested|enjoys?|uses|dislikes?|expects?|mentioned|name|favou?rite|always|never|usually|often)\b"
)
_NAMED: Final = re.compile(
    r"(?:https?://|www\.|\S{1,80}@\S{1,80}\.\w|\b[\w-]+\.(?:com|net|org|io|example|xyz|biz|app|shop|store)\b|(?<=[a-z,:'\"“] )['\"“]?[A-Z][\w&.'’-]+|\b[A-Z]{2,}\w*|"
    r"\b(?:0x[0-9a-fA-F]{8,}|bc1\w{10,}|[A-Z]{2}\d{2}[A-Z0-9 ]{10,})|\+?\d[\d -]{7,}\d)"
)
_COMMON_NAMES_WORDS = """
    english french german spanish italian dutch polish japanese chinese russian portuguese korean arabic hindi
    python java javascript typescript rust go monday tuesday wednesday thursday friday saturday sunday january
    february march april may june july august september october november december i i'm i've i'll ok ai usa uk
    eu us pdf html csv json api url sql markdown utc am pm mr mrs ms dr prof ceo hr it tv celsius fahrenheit
"""
_COMMON_NAMES: Final = frozenset(_COMMON_NAMES_WORDS.split())
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{3,400}\"|“[^”\n]{3,400}”|„[^“”\n]{3,400}[“”]|«[^»\n]{3,400}»|‘[^’\n]{3,400}’(?!\w)|(?<!\w)'[^'\n]{3,400}'(?!\w)|`[^`]{3,400}`"
)
_ADDRESS: Final = re.compile(r"https?://\S+|\S{1,80}@\S{1,80}|\b[\w-]+\.[a-z]{2,}\b|\{[^\n]{0,400}\}|<[^>\n]{1,200}>")
"""Addresses, JSON and tags: their words say nothing about what a text is about."""
_TOOL_HINTS: Final = ('"arguments"', '"parameters"', '"args"', '"input"', "input", "tool_", "_tool", "function_call", "to=", "functions.", "send_", "transfer_",
    "delete_", "run_", "execute_", "make_", "http_", "exec_", '"params"')  # fmt: skip
_DISCUSSED: Final = (
    "inject", "jailbreak", "attack", "phish", "malicious", "adversar", "red", "vulnerab", "exploit", "hack", "scam", "spam", "security",
    "article", "paper", "blog", "podcast", "lecture", "workshop", "course", "tutorial", "documentation", "chapter", "essay", "thesis",
    "novel", "story", "token", "chatml", "template", "pars", "regex", "test", "dataset", "benchmark", "classifier", "detector", "phrase",
    "sentence", "wording", "string", "keyword", "example", "instance", "such as", "called", "syntax", "format", "llama", "mistral",
    "fine", "training", "my ", "our ", "schema", "bug",
)  # fmt: skip
_BOUNDARY_WORD: Final = re.compile(r"\b(?:system|developer|admin(?:istrator)?|assistant)[ _-]", re.I)
_HEADER_MARK: Final = re.compile(r"[#:]|---|===")
"""What any `HEADER` has."""
_SPACE: Final = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]+")


@dataclass(frozen=True, slots=True)
class _SignHit:
    """A sign at one position of a text."""

    name: str
    span: tuple[int, int]
    weight: float
    own_wish: bool = False


def weigh_rules(text: str, channel: Channel) -> dict[str, float]:
    """Return the weight of each class of signs in a text."""
    folded = _fold(text)
    possible = _filter().find(folded)
    names_ai = AI_WORD.search(folded) is not None
    hits = [
        _SignHit(sign.name, match.span(), _channel_weight(sign, channel), sign.own_wish)
        for sign in (SIGNS[number] for number in possible if number < len(SIGNS))
        if names_ai or not sign.about_ai
        for match in _first(sign.pattern.finditer(folded))
    ]
    languages = (number - len(SIGNS) for number in possible if number >= len(SIGNS))
    if (other := find_override(folded, languages)) is not None:
        hits.append(_SignHit("override", other.span(), 1.0))
    marks = dict(_weigh_marks(text, channel))
    if not hits and not marks:
        return {}
    discussion = _Discussion(folded)
    explained = discussion.found and (channel != "outside" or ABOUT_MARKS.search(_ADDRESS.sub(" ", folded)) is not None)
    marks = {name: weight * (_MENTIONED if explained else 1.0) for name, weight in marks.items()}
    hits = [replace(hit, weight=hit.weight * _share(hit, folded, discussion, channel)) for hit in hits]
    return _heaviest_window(hits, text, folded, channel) | marks


@cache
def _filter() -> WordFilter:
    """Return the filter for the signs, and after them the languages."""
    return WordFilter([*(sign.needs_words for sign in SIGNS), *map(override_needs, LANGUAGES)])


def _share(hit: _SignHit, folded: str, discussion: _Discussion, channel: Channel) -> float:
    """Return how much of its weight a sign keeps where it stands."""
    if discussion.mentions(hit.span):
        return _MENTIONED
    own = hit.own_wish and channel != "outside" and _is_own_wish(folded, hit.span[0])
    return _OWN_WISH if own else 1.0


def _heaviest_window(hits: list[_SignHit], text: str, folded: str, channel: Channel) -> dict[str, float]:
    """Return the signs of the part of a text that weighs most: signs far apart have nothing to do with each other."""
    hits.sort(key=lambda hit: hit.span)
    heaviest: dict[str, float] = {}
    for first in hits:
        start = first.span[0]
        found: dict[str, float] = {}
        for hit in hits:
            if start <= hit.span[0] < start + _WINDOW:
                found[hit.name] = max(hit.weight, found.get(hit.name, 0.0))
        # Folding may change a text's length a little.
        around = text[max(0, start - 40) : start + _WINDOW + 40] if len(text) > _WINDOW else text
        weighed = _combine(found, around, folded[start : start + _WINDOW], channel)
        heaviest = max(heaviest, weighed, key=lambda each: sum(each.values()))
    return heaviest


def _combine(found: dict[str, float], text: str, folded: str, channel: Channel) -> dict[str, float]:
    """Add what only means something together with other signs, and drop what means nothing alone."""
    orders = found.get("condition", 0) or found.get("lasting order", 0) or found.get("addresses the model", 0)
    orders = orders or found.get("speaks of the user", 0)
    if not orders and found.get("steering", 0) < 0.5:
        found.pop("steering", None)
    # That somebody is named says something only where the model is addressed, or the user is spoken of.
    aimed = found.get("condition", 0) or found.get("addresses the model", 0) or channel == "outside"
    if found.get("steering", 0) and orders and aimed and not _only_own(folded, channel) and _names_somebody(text):
        found["named third party"] = 0.35
    moves = max(found.get(name, 0) for name in ("exfiltration", "payment", "commands", "concealment", "memory order"))
    if not moves:
        found.pop("user's data", None)
    if {name for name, value in found.items() if value} <= {"lasting order", "condition", "user's data"}:
        return {}
    if set(found) == {"authority"}:
        found["authority"] *= 0.5
    return found


def _only_own(folded: str, channel: Channel) -> bool:
    return channel != "outside" and (_FIRST_PERSON.search(folded) is not None or _REPORTED.match(folded) is not None)


def _weigh_marks(text: str, channel: Channel) -> Iterator[tuple[str, float]]:
    """Yield the signs that are marks and not words: tokens of chat templates, headings, tool calls, links with data."""
    if TEMPLATE_TOKEN.search(text):
        yield "chat template", 1.0
    if _HEADER_MARK.search(text) and HEADER.search(text):
        yield "role header", 0.55 if channel == "user" else 0.7
    if _BOUNDARY_WORD.search(text) and BOUNDARY.search(text):
        yield "boundary of a prompt", 1.0
    if text.count(":") >= 2 and len(TURN.findall(text)) >= 2:
        yield "written-out turns", 0.25
    lowered = text.lower()
    # A user may paste such a thing into a question about code; a page or a tool has no reason to.
    if ("role" in lowered and CHAT_JSON.search(text)) or ("human:" in lowered and CHAT_LINES.search(text)):
        yield "written-out chat", 1.0 if channel == "outside" else 0.5
    if any(hint in lowered for hint in _TOOL_HINTS) and TOOL_CALL.search(text):
        yield "tool call", 1.0
    for sign in LINK_SIGNS:
        if any(hint in lowered for hint in sign.hints) and sign.pattern.search(text):
            yield sign.name, _channel_weight(sign, channel)


def _channel_weight(sign: Sign, channel: Channel) -> float:
    if channel == "agent":
        return (sign.user + sign.outside) / 2
    return sign.user if channel == "user" else sign.outside


def _first(matches: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield a few matches: more of them say nothing new."""
    for count, match in enumerate(matches):
        if count == 50:
            return
        yield match


class _Discussion:
    """Whether a text talks about such texts, and where it only mentions their words."""

    def __init__(self, folded: str) -> None:
        self._folded = folded
        self.found = _discusses(folded)
        self._quotes = [match.span() for match in _QUOTED.finditer(folded)] if self.found else []

    def mentions(self, span: tuple[int, int]) -> bool:
        """Return whether these words stand in quotes, or in a sentence about such texts."""
        if not self.found:
            return False
        if any(start <= span[0] and span[1] <= end + 1 for start, end in self._quotes):
            return True
        before = re.split(r"[.!?\n:;]", self._folded[max(0, span[0] - 160) : span[0]])[-1]
        return len(before.split()) >= 2 and _discusses(before)


def _discusses(folded: str) -> bool:
    return any(hint in folded for hint in _DISCUSSED) and DISCUSSION.search(_ADDRESS.sub(" ", folded)) is not None


def _is_own_wish(folded: str, position: int) -> bool:
    start = max(folded.rfind(mark, 0, position) for mark in ".!?\n") + 1
    end = min((at for mark in ".!?\n" if (at := folded.find(mark, position)) >= 0), default=len(folded))
    sentence = folded[start:end]
    return _FIRST_PERSON.search(sentence) is not None or _REPORTED.match(sentence) is not None


def _names_somebody(text: str) -> bool:
    return any(match[0].strip("'\"“ ").lower() not in _COMMON_NAMES for match in _NAMED.finditer(text))


def _fold(text: str) -> str:
    folded = text.casefold()
    if folded.isascii() and "  " not in folded and "\t" not in folded:
        return folded
    return _SPACE.sub(" ", folded).translate(_PUNCTUATION)


_PUNCTUATION: Final = str.maketrans("’‘ʼ´–‐‑−", "''''----")
