"""Poison: text that gives orders to the model that will read it. A detector by rules. Pure.

A text gets a score: the sum of the weights of the signs in it, each class of signs once. A sign weighs more in the
words of a tool, a document or a web page than in a user's own. A score of at least 1 makes the text a suspect. The text is read
as it looks, without invisible characters and with look-alike letters replaced, and also as what is encoded in it.
"""  # noqa: E501

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote

from memoranda.fence import TEMPLATE_TOKEN
from memoranda.lookalikes import find_hidden, fold_lookalikes
from memoranda.remember.poison_languages import LANGUAGES, find_override, override_needs
from memoranda.remember.poison_patterns import (
    ABOUT_MARKS,
    CHAT_JSON,
    CHAT_LINES,
    DISCUSSION,
    HEADER,
    LINK_SIGNS,
    SIGNS,
    TOOL_CALL,
    TURN,
)
from memoranda.remember.poison_signs import AI_WORD, Sign
from memoranda.word_filter import WordFilter

Channel: TypeAlias = Literal["user", "agent", "outside"]
"""Who wrote a text: the user, an agent, or something outside: a tool, a document, a web page."""

SUSPICIOUS: Final = 1.0
_WINDOW: Final = 400
"""Characters within which signs count together."""
_PIECE: Final = 8_000
"""Characters that are read at once."""
_OWN_WISH: Final = 0.35
"""The share of its weight that a sign keeps in what the speaker wants for herself."""
_MENTIONED: Final = 0.15
"""The share of its weight that a sign keeps where a text only talks about it."""
_FIRST_PERSON: Final = re.compile(r"\b(?:me|my|mine|myself|i|i'm|i've|i'd|i'll|us|our|ours|we|we're|we've)\b")
_REPORTED: Final = re.compile(
    r"^\W*(?:the )?(?:user|customer|client)(?:'s)? (?:\w+ )?(?:prefers?|wants?|likes?|loves?|hates?|asked|asks|said|says|told|needs?|would|"  # noqa: E501
    r"is|has|lives|works|wishes|requested|enjoys?|uses|dislikes?|expects?|mentioned|name|favou?rite|always|never|usually|often)\b"
)
_NAMED: Final = re.compile(
    r"(?:https?://|www\.|\S{1,80}@\S{1,80}\.\w|\b[\w-]+\.(?:com|net|org|io|example|xyz|biz|app|shop|store)\b|(?<=[a-z,:'\"“] )['\"“]?[A-Z][\w&.'’-]+|\b[A-Z]{2,}\w*|"  # noqa: E501
    r"\b(?:0x[0-9a-fA-F]{8,}|bc1\w{10,}|[A-Z]{2}\d{2}[A-Z0-9 ]{10,})|\+?\d[\d -]{7,}\d)"
)
_COMMON_NAMES: Final = frozenset(
    [
        "english",
        "french",
        "german",
        "spanish",
        "italian",
        "dutch",
        "polish",
        "japanese",
        "chinese",
        "russian",
        "portuguese",
        "korean",
        "arabic",
        "hindi",
        "python",
        "java",
        "javascript",
        "typescript",
        "rust",
        "go",
        "monday",
        "tuesday",
        "wednesday",
        "thursday",
        "friday",
        "saturday",
        "sunday",
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
        "i",
        "i'm",
        "i've",
        "i'll",
        "ok",
        "ai",
        "usa",
        "uk",
        "eu",
        "us",
        "pdf",
        "html",
        "csv",
        "json",
        "api",
        "url",
        "sql",
        "markdown",
        "utc",
        "am",
        "pm",
        "mr",
        "mrs",
        "ms",
        "dr",
        "prof",
        "ceo",
        "hr",
        "it",
        "tv",
        "celsius",
        "fahrenheit",
    ]
)
_QUOTED: Final = re.compile(
    r"\"[^\"\n]{3,400}\"|“[^”\n]{3,400}”|„[^“”\n]{3,400}[“”]|«[^»\n]{3,400}»|‘[^’\n]{3,400}’(?!\w)|(?<!\w)'[^'\n]{3,400}'(?!\w)|`[^`]{3,400}`"
)
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX: Final = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ ,:]?){16,}")
_SPELLED: Final = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][ ._*-]{1,3}){10,}[A-Za-z](?![A-Za-z])")
_SPELLED_GAP: Final = re.compile(r"(?<![A-Za-z]{2})(?<=[A-Za-z])[ ._*-](?=[A-Za-z](?![A-Za-z]))")
_LEET: Final = str.maketrans("01345$@7!", "oieassati")
_LEET_WORD: Final = re.compile(
    r"(?<![\w$@])(?=[013457$@]{0,8}[A-Za-z])[A-Za-z]{0,20}[013457$@][A-Za-z013457$@]{0,20}(?!\w)"
)
_LEET_L: Final = re.compile(r"11|(?<=[A-Za-z])1\b")
"""A one that stands for an l: doubled, or last in its word. Elsewhere it stands for an i."""
_LEET_MARK: Final = re.compile(r"[013457$@]")
_ADDRESS: Final = re.compile(r"https?://\S+|\S{1,80}@\S{1,80}|\b[\w-]+\.[a-z]{2,}\b|\{[^\n]{0,400}\}|<[^>\n]{1,200}>")
"""Addresses, JSON and tags: their words say nothing about what a text is about."""
_RULE_WORDS: Final = ("instruction", "prompt", "guideline", "directive", "ignore", "disregard")
_REWRITTEN_ORDERS: Final = frozenset(("override", "prompt leak"))
"""What makes a text a suspect that says it only when read another way."""
_ROT13_WORDS: Final = tuple(codecs.encode(word, "rot13") for word in _RULE_WORDS)
_TOOL_HINTS: Final = ('"arguments"', '"parameters"', '"args"', '"input"', "input", "tool_", "_tool", "function_call", "to=", "functions.", "send_", "transfer_",  # noqa: E501
    "delete_", "run_", "execute_", "make_", "http_", "exec_", '"params"')  # fmt: skip
_DISCUSSED: Final = (
    "inject", "jailbreak", "attack", "phish", "malicious", "adversar", "red", "vulnerab", "exploit", "hack", "scam", "spam", "security",  # noqa: E501
    "article", "paper", "blog", "podcast", "lecture", "workshop", "course", "tutorial", "documentation", "chapter", "essay", "thesis",  # noqa: E501
    "novel", "story", "token", "chatml", "template", "pars", "regex", "test", "dataset", "benchmark", "classifier", "detector", "phrase",  # noqa: E501
    "sentence", "wording", "string", "keyword", "example", "instance", "such as", "called", "syntax", "format", "llama", "mistral",  # noqa: E501
    "fine", "training", "my ", "our ", "schema", "bug",
)  # fmt: skip
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


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why a text is kept out of recall: the signs that were found in it, the heaviest first, and their score."""

    signs: tuple[str, ...]
    score: float

    @property
    def reason(self) -> str:
        return f"looks like orders to a model: {', '.join(self.signs)}"


@lru_cache(maxsize=256)  # the names of speakers and sources come again and again
def find_poison(text: str, channel: Channel = "user") -> Suspicion | None:
    """Return why a text is a suspect; None when it is not."""
    pieces = [text[start : start + _PIECE + _WINDOW] for start in range(0, len(text), _PIECE)] or [""]
    weights = max((_weigh(piece, channel) for piece in pieces), key=lambda found: sum(found.values()))
    score = round(sum(weights.values()), 3)
    if score < SUSPICIOUS:
        return None
    return Suspicion(tuple(sorted(weights, key=lambda name: -weights[name])), score)


def _weigh(text: str, channel: Channel) -> dict[str, float]:
    """Return the weight of each class of signs in a text."""
    visible, replaced = fold_lookalikes(text)
    weights = {f"hidden characters: {kind}": weight for kind, weight in find_hidden(text).items()}
    if replaced:
        weights["look-alike letters"] = min(0.9, 0.3 * replaced)
    weights |= _weigh_plain(visible, channel)
    # Whoever wrote it, a text that cannot be read as it stands has no business to hold an order.
    for encoding, decoded in _decode(text, visible):
        found = _weigh_plain(decoded, "outside")
        if sum(found.values()) >= SUSPICIOUS:
            weights |= {f"{encoding} text": 1.0} | found
    for writing, rewritten in _rewrite(visible):
        if not _REWRITTEN_ORDERS.isdisjoint(found := _weigh_plain(rewritten, channel)):
            weights |= {f"{writing} text": 1.0} | found
    return weights


def _weigh_plain(text: str, channel: Channel) -> dict[str, float]:
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


def _decode(text: str, visible: str) -> Iterator[tuple[str, str]]:
    """Yield what is encoded in a text, and how."""
    for match in _first(_ENCODED.finditer(visible)):
        if (decoded := _decode_base64(match[0])) is not None:
            yield "base64", decoded
    for match in _first(_HEX.finditer(visible)):
        if (decoded := _decode_hex(match[0])) is not None:
            yield "hexadecimal", decoded
    if text.isascii():
        return
    tags = "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) <= 0xE007E)
    if tags:
        yield "invisible", tags


def _rewrite(visible: str) -> Iterator[tuple[str, str]]:
    """Yield other ways to read a text, and what each is called."""
    if "%" in visible and (decoded := unquote(visible)) != visible:
        yield "percent-encoded", decoded
    if "&" in visible and (decoded := html.unescape(visible)) != visible:
        yield "entity-encoded", decoded
    if "\\u" in visible:
        yield "escaped", re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), visible)
    if _SPELLED.search(visible):
        yield "spelled-out", re.sub(" +", " ", _SPELLED_GAP.sub("", visible))
    if _LEET_MARK.search(visible) and _LEET_WORD.search(visible):
        for reading in {_LEET_WORD.sub(_read_digits, visible), _LEET_WORD.sub(_read_ones_as_l, visible)}:
            if any(word in reading.lower() for word in _RULE_WORDS):
                yield "digit-for-letter", reading
    lowered = visible.lower()
    if any(word in lowered for word in _ROT13_WORDS):
        yield "rot13", codecs.encode(visible, "rot13")
    if any(word[::-1] in lowered for word in _RULE_WORDS):
        yield "reversed", visible[::-1]


def _read_digits(word: re.Match[str]) -> str:
    return _LEET_L.sub(lambda ones: "l" * len(ones[0]), word[0]).translate(_LEET)


def _read_ones_as_l(word: re.Match[str]) -> str:
    inner = word[0][:1] + word[0][1:].replace("1", "l")
    return inner.translate(_LEET)


def _decode_base64(text: str) -> str | None:
    body = text.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4), validate=True)
    except (binascii.Error, ValueError):
        return None
    return _as_text(raw)


def _decode_hex(text: str) -> str | None:
    digits = re.sub(r"0x|\\x|[ ,:]", "", text)
    return _as_text(bytes.fromhex(digits[: len(digits) // 2 * 2]))


def _as_text(raw: bytes) -> str | None:
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if sum(char.isprintable() or char.isspace() for char in text) == len(text) else None
