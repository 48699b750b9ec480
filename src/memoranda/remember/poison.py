"""Poison: text that gives orders to the model that will read it. A detector by rules. Pure.

A text gets a score: the sum of the weights of the signs in it, each class of signs once. A sign weighs more in the words of
a tool, a document or a web page than in a user's own. A score of at least 1 makes the text a suspect. The text is read
as it looks, without invisible characters and with look-alike letters replaced, and also as what is encoded in it.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias
from urllib.parse import unquote

from memoranda.fence import TEMPLATE_TOKEN
from memoranda.lookalikes import find_hidden, fold_lookalikes
from memoranda.remember.poison_languages import find_override
from memoranda.remember.poison_patterns import DISCUSSION, HEADER, LINK_SIGNS, SIGNS, TOOL_CALL, TURN, Sign

Channel: TypeAlias = Literal["user", "agent", "outside"]
"""Who wrote a text: the user, an agent, or something outside: a tool, a document, a web page."""

SUSPICIOUS: Final = 1.0
_WHOLE: Final = ("rot13", "reversed")
_MAX_READ: Final = 20_000
"""Characters at each end of a long text that are read."""
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
    r"(?:https?://|www\.|\S+@\S+\.\w|\b[\w-]+\.(?:com|net|org|io|example|xyz|biz|app|shop|store)\b|(?<=[a-z,:'\"“] )['\"“]?[A-Z][\w&.'’-]+|\b[A-Z]{2,}\w*|"
    r"\b(?:0x[0-9a-fA-F]{8,}|bc1\w{10,}|[A-Z]{2}\d{2}[A-Z0-9 ]{10,})|\+?\d[\d -]{7,}\d)"
)
_COMMON_NAMES: Final = frozenset(
    "english french german spanish italian dutch polish japanese chinese russian portuguese korean arabic hindi python java "
    "javascript typescript rust go monday tuesday wednesday thursday friday saturday sunday january february march april may june "
    "july august september october november december i i'm i've i'll ok ai usa uk eu us pdf html csv json api url sql markdown "
    "utc am pm mr mrs ms dr prof ceo hr it tv celsius fahrenheit".split()
)
_QUOTED: Final = re.compile(r"\"[^\"\n]{3,400}\"|“[^”\n]{3,400}”|„[^“”\n]{3,400}[“”]|«[^»\n]{3,400}»|‘[^’\n]{3,400}’(?!\w)|(?<!\w)'[^'\n]{3,400}'(?!\w)|`[^`]{3,400}`")
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_HEX: Final = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ ,:]?){16,}")
_SPELLED: Final = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][ ._*-]{1,3}){10,}[A-Za-z](?![A-Za-z])")
_SPELLED_GAP: Final = re.compile(r"(?<![A-Za-z]{2})(?<=[A-Za-z])[ ._*-](?=[A-Za-z](?![A-Za-z]))")
_LEET: Final = str.maketrans("01345$@7!", "oieassati")
_LEET_WORD: Final = re.compile(r"\b(?=\w*[A-Za-z])(?=\w*[013457$@])[\w$@!]{4,}")
_ADDRESS: Final = re.compile(r"https?://\S+|\S+@\S+|\b[\w-]+\.[a-z]{2,}\b|\{[^\n]*\}|<[^>\n]{1,200}>")
"""Addresses, JSON and tags: their words say nothing about what a text is about."""
_SPACE: Final = re.compile(r"[ \t\u00a0\u2000-\u200a\u202f\u205f\u3000]+")


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why a text is kept out of recall: the signs that were found in it, the heaviest first, and their score."""

    signs: tuple[str, ...]
    score: float

    @property
    def reason(self) -> str:
        return f"looks like orders to a model: {', '.join(self.signs)}"


def find_poison(text: str, channel: Channel = "user") -> Suspicion | None:
    """Return why a text is a suspect; None when it is not."""
    weights = _weigh(text, channel)
    score = round(sum(weights.values()), 3)
    if score < SUSPICIOUS:
        return None
    return Suspicion(tuple(sorted(weights, key=lambda name: -weights[name])), score)


def _weigh(text: str, channel: Channel) -> dict[str, float]:
    """Return the weight of each class of signs in a text."""
    if len(text) > 2 * _MAX_READ:
        text = f"{text[:_MAX_READ]}\n{text[-_MAX_READ:]}"
    hidden = find_hidden(text)
    visible, replaced = fold_lookalikes(text)
    weights = {f"hidden characters: {kind}": weight for kind, weight in hidden.items()}
    if replaced:
        weights["look-alike letters"] = min(0.9, 0.3 * replaced)
    for name, weight in _weigh_plain(visible, channel):
        weights[name] = max(weight, weights.get(name, 0.0))
    # A hidden text has no business to hold an order, whoever wrote it.
    for encoding, decoded in _decode(text, visible):
        found = dict(_weigh_plain(decoded, "outside"))
        if encoding in _WHOLE:  # such a text has the same marks and links as before: only its words are new
            found = {name: weight for name, weight in found.items() if name == "override"}
        if sum(found.values()) >= SUSPICIOUS:
            weights |= {f"{encoding} text": 1.0} | found
    return weights


def _weigh_plain(text: str, channel: Channel) -> Iterator[tuple[str, float]]:
    folded = _fold(text)
    quotes = [match.span() for match in _QUOTED.finditer(folded)]
    discussed = DISCUSSION.search(_ADDRESS.sub(" ", folded)) is not None
    sentences = _sentences(folded)

    def weight(sign: Sign, match: re.Match[str]) -> float:
        full = _channel_weight(sign, channel)
        if _is_mentioned(match.span(), quotes, discussed, folded):
            return full * _MENTIONED
        own = sign.own_wish and channel != "outside" and _is_own_wish(folded, match.start(), sentences)
        return full * _OWN_WISH if own else full

    found: dict[str, float] = {}
    for sign in SIGNS:
        if not sign.hints or any(hint in folded for hint in sign.hints):
            heaviest = max((weight(sign, match) for match in _first(sign.pattern.finditer(folded))), default=0.0)
            found[sign.name] = max(heaviest, found.get(sign.name, 0.0))
    if (other := find_override(folded)) is not None:
        mentioned = _is_mentioned(other.span(), quotes, discussed, folded)
        found["override"] = max(found.get("override", 0.0), _MENTIONED if mentioned else 1.0)
    yield from ((name, value) for name, value in _combine(found, text, folded, channel).items() if value > 0)
    yield from _weigh_marks(text, channel, discussed)


def _combine(found: dict[str, float], text: str, folded: str, channel: Channel) -> dict[str, float]:
    """Add what only means something together with other signs, and drop what means nothing alone."""
    orders = found.get("condition", 0) or found.get("lasting order", 0) or found.get("addresses the model", 0)
    if not orders and found.get("steering", 0) < 0.5:
        found.pop("steering", None)
    if found.get("steering", 0) and orders and _names_somebody(text) and not _only_own(folded, channel):
        found["named third party"] = 0.35
    moves = found.get("exfiltration", 0) or found.get("payment", 0) or found.get("commands", 0) or found.get("concealment", 0)
    moves = moves or found.get("memory order", 0)
    if not moves:
        found.pop("user's data", None)
    if set(name for name, value in found.items() if value) <= {"lasting order", "condition", "user's data"}:
        return {}
    if found.get("authority", 0) and len([name for name, value in found.items() if value]) == 1:
        found["authority"] *= 0.5
    return found


def _only_own(folded: str, channel: Channel) -> bool:
    return channel != "outside" and (_FIRST_PERSON.search(folded) is not None or _REPORTED.match(folded) is not None)


def _weigh_marks(text: str, channel: Channel, discussed: bool) -> Iterator[tuple[str, float]]:
    """Yield the signs that are marks and not words: tokens of chat templates, headings, tool calls, links with data."""
    kept = _MENTIONED if discussed else 1.0
    bare = _QUOTED.sub(" ", text) if discussed else text
    if TEMPLATE_TOKEN.search(text):
        yield "chat template", 1.0 if TEMPLATE_TOKEN.search(bare) and not discussed else kept
    if HEADER.search(text):
        yield "role header", kept * (0.55 if channel == "user" else 0.7)
    if len(TURN.findall(text)) >= 2:
        yield "written-out turns", 0.25
    if TOOL_CALL.search(text):
        yield "tool call", kept
    for sign in LINK_SIGNS:
        lowered = text.lower()
        if any(hint in lowered for hint in sign.hints) and sign.pattern.search(text):
            yield sign.name, kept if discussed and channel != "outside" else _channel_weight(sign, channel)


def _channel_weight(sign: Sign, channel: Channel) -> float:
    if channel == "agent":
        return (sign.user + sign.outside) / 2
    return sign.user if channel == "user" else sign.outside


def _first(matches: Iterable[re.Match[str]]) -> Iterator[re.Match[str]]:
    """Yield a few matches: more of them say nothing new."""
    for count, match in enumerate(matches):
        if count == 8:
            return
        yield match


def _is_mentioned(span: tuple[int, int], quotes: list[tuple[int, int]], discussed: bool, folded: str) -> bool:
    """Return whether a text only talks about such words: they stand in quotes, or in a sentence about such texts."""
    if not discussed:
        return False
    if any(start <= span[0] and span[1] <= end + 1 for start, end in quotes):
        return True
    before = re.split(r"[.!?\n:;]", folded[max(0, span[0] - 160) : span[0]])[-1]
    return len(before.split()) >= 2 and DISCUSSION.search(_ADDRESS.sub(" ", before)) is not None


def _is_own_wish(folded: str, position: int, sentences: list[tuple[int, int]]) -> bool:
    sentence = next((folded[start:end] for start, end in sentences if start <= position < end), folded)
    return _FIRST_PERSON.search(sentence) is not None or _REPORTED.match(sentence) is not None


def _sentences(folded: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"[^.!?\n]+[.!?\n]?", folded)]


def _names_somebody(text: str) -> bool:
    return any(match[0].strip("'\"“ ").lower() not in _COMMON_NAMES for match in _NAMED.finditer(text))


def _fold(text: str) -> str:
    folded = _SPACE.sub(" ", text.casefold())
    return folded.translate(_PUNCTUATION)


_PUNCTUATION: Final = str.maketrans("’‘ʼ´–‐‑−", "''''----")


def _decode(text: str, visible: str) -> Iterator[tuple[str, str]]:
    """Yield what is encoded in a text, and how."""
    for match in _first(_ENCODED.finditer(visible)):
        if (decoded := _decode_base64(match[0])) is not None:
            yield "base64", decoded
    for match in _first(_HEX.finditer(visible)):
        if (decoded := _decode_hex(match[0])) is not None:
            yield "hexadecimal", decoded
    if "%" in visible and (decoded := unquote(visible)) != visible:
        yield "percent-encoded", decoded
    if "&" in visible and (decoded := html.unescape(visible)) != visible:
        yield "entity-encoded", decoded
    if "\\u" in visible:
        yield "escaped", re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), visible)
    if _SPELLED.search(visible):
        yield "spelled-out", _SPELLED_GAP.sub("", visible)
    if _LEET_WORD.search(visible):
        yield "digit-for-letter", _LEET_WORD.sub(lambda match: match[0].translate(_LEET), visible)
    tags = "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) <= 0xE007E)
    if tags:
        yield "invisible", tags
    if len(visible) < 2_000 and visible.isascii():
        yield "rot13", codecs.encode(visible, "rot13")
        yield "reversed", visible[::-1]


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
