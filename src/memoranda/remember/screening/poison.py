"""Other ways to read a text: what is encoded in it, spelled out, or written backwards. Pure."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import islice
from math import fsum
from typing import Any, Final
from urllib.parse import unquote

from memoranda.remember.screening.features import (
    begins_phrase,
    hints_at_idea,
    holds_phrase,
    may_hold_address,
    read_features,
)
from memoranda.remember.screening.rules import weigh_rules
from memoranda.remember.sources import Channel
from memoranda.security.fence import find_hidden, fold_lookalikes
from memoranda.text.cache import text_cache
from memoranda.text.word_filter import WordFlags

_MANY: Final = 50
"""How many encoded parts of a text are read."""
_ENCODED: Final = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
_MAY_BE_HEX: Final = re.compile(r"[0-9a-fA-F]{2}(?:[ ,:]?(?:0x|\\x)?[0-9a-fA-F]{2}){8}")
"""A part of every such text. Much faster to look for, as it begins with one set of characters; so are those below."""
_HEX: Final = re.compile(r"(?:(?:0x|\\x)?[0-9a-fA-F]{2}[ ,:]?){16,}")
_SINGLE_LETTER: Final = re.compile(r"(?<![A-Za-z])[A-Za-z](?![A-Za-z])")
_SPELLED: Final = re.compile(r"(?<![A-Za-z])(?:[A-Za-z][ ._*-]{1,3}){10,}[A-Za-z](?![A-Za-z])")
_SPELLED_GAP: Final = re.compile(r"(?<![A-Za-z]{2})(?<=[A-Za-z])[ ._*-](?=[A-Za-z](?![A-Za-z]))")
_LEET: Final = str.maketrans("01345$@7!", "oieassati")
_LEET_WORD: Final = re.compile(
    r"(?<![\w$@])(?=[013457$@]{0,8}[A-Za-z])[A-Za-z]{0,20}[013457$@][A-Za-z013457$@]{0,20}(?!\w)"
)
_LEET_L: Final = re.compile(r"11|(?<=[A-Za-z])1\b")
"""A one that stands for an l: doubled, or last in its word. Elsewhere it stands for an i."""
_LEET_MARK: Final = re.compile(r"[013457$@](?:[A-Za-z]|(?<=[A-Za-z].))")
"""A digit or sign next to a letter."""
_TURNED_WORDS: Final = ("instruction", "prompt", "guideline", "directive", "ignore", "disregard")
_ROT13_WORDS: Final = tuple(codecs.encode(word, "rot13") for word in _TURNED_WORDS)
_REVERSED_WORDS: Final = tuple(word[::-1] for word in _TURNED_WORDS)


def _may_be_encoded(word: str) -> bool:
    """Return whether what stands between white space can be encoded."""
    return _ENCODED.search(word) is not None


def _may_be_spelled(word: str) -> bool:
    """Return whether what stands between white space can be a part of a word that is spelled out."""
    return _SINGLE_LETTER.search(word) is not None


def _may_be_turned(lowered: str) -> bool:
    """Return whether a text, or a word of one, has a word of rules with other letters or backwards."""
    return any(map(lowered.__contains__, _ROT13_WORDS)) or any(map(lowered.__contains__, _REVERSED_WORDS))


def decode(text: str, visible: str, *, encoded: bool) -> Iterator[tuple[str, str]]:
    """Yield what is encoded in a text, and how.

    Args:
        text: The text as it is written.
        visible: The text as it looks.
        encoded: Whether a word of it may be encoded; see `_may_be_encoded`.
    """
    for match in islice(_ENCODED.finditer(visible), _MANY) if encoded else ():
        if (decoded := _decode_base64(match[0])) is not None:
            yield "base64", decoded
    # The letters of a text are written with the digits 6 and 7.
    may_be_hex = ("6" in visible or "7" in visible) and _MAY_BE_HEX.search(visible)
    for match in islice(_HEX.finditer(visible), _MANY) if may_be_hex else ():
        if (decoded := _decode_hex(match[0])) is not None:
            yield "hexadecimal", decoded
    if text.isascii():
        return
    tags = "".join(chr(ord(char) - 0xE0000) for char in text if 0xE0020 <= ord(char) <= 0xE007E)
    if tags:
        yield "invisible", tags


def rewrite(visible: str, *, spelled: bool, turned: bool) -> Iterator[tuple[str, str]]:
    """Yield other ways to read a text, and what each is called.

    Args:
        visible: The text as it looks.
        spelled: Whether a word of it may be a part of one that is spelled out; see `_may_be_spelled`.
        turned: Whether a word of it is one of rules, turned; see `_may_be_turned`.
    """
    if "%" in visible and (decoded := unquote(visible)) != visible:
        yield "percent-encoded", decoded
    if "&" in visible and (decoded := html.unescape(visible)) != visible:
        yield "entity-encoded", decoded
    if "\\u" in visible:
        yield "escaped", re.sub(r"\\u([0-9a-fA-F]{4})", lambda match: chr(int(match[1], 16)), visible)
    if spelled and _SPELLED.search(visible):
        yield "spelled-out", re.sub(" +", " ", _SPELLED_GAP.sub("", visible))
    if _LEET_MARK.search(visible) and _LEET_WORD.search(visible):
        for reading in dict.fromkeys(_LEET_WORD.sub(read, visible) for read in (_read_digits, _read_ones_as_l)):
            if any(word in reading.lower() for word in _TURNED_WORDS):
                yield "digit-for-letter", reading
    if not turned:
        return
    lowered = visible.lower()
    if any(word in lowered for word in _ROT13_WORDS):
        yield "rot13", codecs.encode(visible, "rot13")
    if any(word in lowered for word in _REVERSED_WORDS):
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


SUSPICIOUS: Final = 1.0
WINDOW: Final = 3
"""How many sentences in a row are judged together."""
_PIECE: Final = 8_000
"""Characters that are read at once."""
_OVERLAP: Final = 400
_NO_EVIDENCE: Final = -9.0
_HOPELESS: Final = -3.0
"""Evidence below this says that no rule needs to be tried."""
_MARK: Final = re.compile(r"[<>{}\[\]#|=:/_](?:(?<![:/_])|(?<=:)(?=[^\n]{0,300}\n|//)|(?<=/)(?=\w)|(?<=\w_)(?=\w))")
"""What marks of prompts and calls are written with. It begins with one set of characters, which is found fast."""
_RULE_WORDS: Final = re.compile(
    r"\b(?:begin|start|end) (?:of )?(?:the )?(?:system|developer|admin|assistant)\b"
    r"|\b(?:obey|override|confirmations?|approvals?|passwords?|(?:some|any)(?:one|body) asks)\b"
    r"|\b(?:ignore|disregard|forget|erase|discard) (?:all|everything|anything|whatever|what)\b",
    re.I,
)
"""Words of rules that are seldom in a model's features."""
_RULE_PARTS: Final = (
    *("obey", "override", "confirm", "approval", "password", " asks"),
    *("system", "developer", "admin", "assistant", "ignore", "disregard", "forget", "erase", "discard"),
)
_NOT_OWN_PARTS: Final = ("this ", "you", "ai ", "llm ", "user", "developer", "system", "operator", "tool", "function")
"""Parts of `_NOT_OWN` and `_NOT_SPOKEN`: a text without any of them needs no search."""
_HAS_IDEA: Final = 1
_BEGINS_PHRASE: Final = 2
_HAS_RULE_PART: Final = 4
_HAS_NOT_OWN_PART: Final = 8
_MAY_BE_ENCODED: Final = 16
_MAY_BE_SPELLED: Final = 32
_MAY_BE_TURNED: Final = 64
_MOST: Final = 2.0
_ANCHORS_WORDS = """
    @ai @rules @user @authority @code @secretly @persona @free @check @data @pay @destroy @steer @target
    @reading @everyone @consent @trust
"""
_ANCHORS: Final = frozenset(_ANCHORS_WORDS.split())
"""An order to a model speaks of one of these at least."""
_OWN_RIGHT: Final = 1.0
"""How much more evidence it takes against what the users themselves say: they may give orders to their assistant."""
_NOT_OWN: Final = re.compile(
    r"\b(?:in|on|from|to|reading|summari[sz]ing) this "
    r"(?:page|file|document|e-?mail|web ?page|website|article)\b"
    r"|\b(?:if|when) you(?:'re| are) an? (?:ai|llm|(?:ai |language )?(?:agent|assistant|model|bot))\b"
    r"|^\W*(?:ai|llm) (?:agents?|assistants?|models?)\b"
    r"|\b(?:the|your|any|all) (?:previous |prior |earlier )?(?:developer|system|operator)(?:'s)? (?:messages?|prompts?|instructions?)\b"
    r"|\b(?:the|this) (?:tool|function) \w{0,30}_\w{1,30}\b",
    re.I,
)
"""Nobody speaks so of what they type, or to their own assistant: these are words from elsewhere."""
_NOT_SPOKEN: Final = re.compile(rf"\b(?:the|other) users?\b|{_NOT_OWN.pattern}", re.I)
"""A user does not call herself so either; a note of an agent does."""
_NEAR: Final = 200
"""Characters around such words that come from elsewhere too."""
_MAX_NOT_OWN: Final = 8
_SCALE: Final = 3.0
"""How much more evidence than needed doubles the weight."""


@dataclass(frozen=True, slots=True)
class Suspicion:
    """Why a text is kept out of recall: the signs that were found in it, the heaviest first, and their score."""

    signs: tuple[str, ...]
    score: float

    @property
    def reason(self) -> str:
        return f"looks like orders to a model: {', '.join(self.signs)}"


@dataclass(frozen=True, slots=True)
class _PoisonModel:
    """What each feature weighs in one channel. The sum with the bias is positive for a suspect."""

    bias: float
    weights: dict[str, float]


@text_cache(256)  # the names of speakers and sources come again and again
def find_poison(text: str, channel: Channel = "user", spoken: bool = False) -> Suspicion | None:
    """Return why a text is a suspect; None when it is not. A `spoken` one is a message of the user, and no note."""
    pieces = [text[start : start + _PIECE + _OVERLAP] for start in range(0, len(text), _PIECE)] or [""]
    weights = max((_weigh(piece, channel, spoken) for piece in pieces), key=lambda found: sum(found.values()))
    score = round(sum(weights.values()), 3)
    if score < SUSPICIOUS:
        return None
    return Suspicion(tuple(sorted(weights, key=lambda name: -weights[name])), score)


def _weigh(text: str, channel: Channel, spoken: bool) -> dict[str, float]:
    """Return the weight of each sign in a text."""
    visible, replaced = fold_lookalikes(text)
    flags = _flags_of(visible)
    weights = {f"hidden characters: {kind}": weight for kind, weight in find_hidden(text).items()}
    if replaced:
        weights["look-alike letters"] = min(0.9, 0.3 * replaced)
    weights |= _weigh_visible(visible, channel, flags)
    # Whoever wrote it, a text that cannot be read as it stands has no business to hold an order.
    decoded = decode(text, visible, encoded=bool(flags & _MAY_BE_ENCODED))
    spelled, turned = bool(flags & _MAY_BE_SPELLED), bool(flags & _MAY_BE_TURNED)
    for writing, reading in (*decoded, *rewrite(visible, spelled=spelled, turned=turned)):
        found = _weigh_visible(reading, "outside", _flags_of(reading))
        if sum(found.values()) >= SUSPICIOUS:
            weights |= {f"{writing} text": 1.0} | found
    if channel != "outside" and flags & _HAS_NOT_OWN_PART and sum(weights.values()) < SUSPICIOUS:
        is_message = spoken and channel == "user"
        weights |= _weigh_not_own(visible, _NOT_SPOKEN if is_message else _NOT_OWN)
    return weights


def _weigh_not_own(text: str, words: re.Pattern[str]) -> dict[str, float]:
    """Return the weight of the signs around words that are hardly the user's own, if they make it a suspect."""
    for match in islice(words.finditer(text), _MAX_NOT_OWN):
        start, end = max(0, match.start() - _NEAR), match.end() + _NEAR
        near = text[start:end]
        found = _weigh_visible(near, "outside", _flags_of(near))
        if sum(found.values()) >= SUSPICIOUS:
            return found
    return {}


def _weigh_visible(text: str, channel: Channel, flags: int) -> dict[str, float]:
    """Return what the model says of a text, else what the rules say: they are slower, and most texts need none."""
    sentences = read_features(text) if _may_hold_anchor(text, flags) else []
    evidence, features = _judge(sentences, channel) if sentences else (_NO_EVIDENCE, {})
    learned = _share_out(min(_MOST, 1 + evidence / _SCALE), features) if evidence >= 0 else {}
    if learned or (evidence < _HOPELESS and not _has_mark(text, flags)):
        return learned
    return weigh_rules(text, channel)


def _may_hold_anchor(text: str, flags: int) -> bool:
    """Return whether a text can have an idea of an order. Much faster than reading it, and true too often at most."""
    if flags & _HAS_IDEA or not text.isascii() or may_hold_address(text):
        return True
    return bool(flags & _BEGINS_PHRASE) and holds_phrase(text.lower(), _ANCHORS)


def _has_mark(text: str, flags: int) -> bool:
    """Return whether a text has a mark or a word for which the rules are worth trying."""
    if _MARK.search(text):
        return True
    return bool(flags & _HAS_RULE_PART) and _RULE_WORDS.search(text) is not None


def _flags_of(text: str) -> int:
    """Return what the words of a text may belong to."""
    return _WORD_FLAGS.of(text.casefold())


def _find_flags(word: str) -> int:
    """Return what a word may belong to; for a part that ends or begins with a space, where the word does."""
    spaced = f" {word} "
    return (
        _HAS_IDEA * hints_at_idea(word, _ANCHORS)
        | _BEGINS_PHRASE * begins_phrase(word, _ANCHORS)
        | _HAS_RULE_PART * any(map(spaced.__contains__, _RULE_PARTS))
        | _HAS_NOT_OWN_PART * any(map(spaced.__contains__, _NOT_OWN_PARTS))
        | _MAY_BE_ENCODED * _may_be_encoded(word)
        | _MAY_BE_SPELLED * _may_be_spelled(word)
        | _MAY_BE_TURNED * _may_be_turned(word)
    )


_WORD_FLAGS: Final = WordFlags(_find_flags)


def _judge(sentences: list[set[str]], channel: Channel) -> tuple[float, dict[str, float]]:
    """Return the evidence of the sentences in a row that look most like an order, positive for a suspect."""
    model = _model(channel)
    weights = model.weights
    known = [weights.keys() & features for features in sentences]
    best, chosen = _NO_EVIDENCE, set[str]()
    for start in range(len(known)):
        window: set[str] = set()
        for features in known[start : start + WINDOW]:
            window = window | features
            total = fsum(map(weights.__getitem__, window)) + model.bias  # exact: sets have no order
            if total > best and not _ANCHORS.isdisjoint(window):
                best, chosen = total, window
    return best, {name: weights[name] for name in sorted(chosen)}


def _share_out(weight: float, features: dict[str, float]) -> dict[str, float]:
    """Return the three ideas that speak most for an order; together they have the whole weight."""
    shares: dict[str, float] = {}
    for feature, value in features.items():
        names = [name for part in feature.split(">") if part[:1] == "@" and (name := part[1:]) in _LABELS]
        for name in names:
            shares[name] = shares.get(name, 0.0) + value / len(names)
    strongest = sorted((name for name in shares if shares[name] > 0), key=lambda name: (-shares[name], name))[:3]
    if not strongest:
        return {"wording of an order": weight}
    total = sum(shares[name] for name in strongest)
    return {_LABELS[name]: weight * shares[name] / total for name in strongest}


_LABELS: Final = {
    "ai": "addresses a model",
    "rules": "its rules",
    "drop": "sets something aside",
    "earlier": "what it was told before",
    "tell": "what it may say",
    "secretly": "secrecy",
    "user": "speaks of the user",
    "send": "sends something away",
    "data": "private data",
    "pay": "payment",
    "run": "runs something",
    "destroy": "deletes something",
    "keep": "writes to memory",
    "lasting": "a lasting order",
    "when": "a trigger",
    "must": "an obligation",
    "authority": "claims authority",
    "urgent": "urgency",
    "steer": "steers an answer",
    "answer": "dictates an answer",
    "question": "a trigger in a question",
    "persona": "another persona",
    "free": "no limits",
    "consent": "claims a permission",
    "check": "skips a check",
    "you": "speaks to the reader",
    "reading": "speaks to whoever reads it",
    "task": "replaces the task",
    "trust": "claims trust",
    "code": "commands",
    "contact": "replaces a contact",
    "everyone": "opens it to everybody",
    "order": "an order",
    "target": "an address",
    "override": "override",
    "conceal": "concealment",
    "exfiltrate": "exfiltration",
    "unchecked": "skips a check",
    "plant": "memory order",
    "command": "commands a model",
    "leak": "asks for hidden text",
    "when asked": "a trigger in a question",
}
"""What an idea is called in a reason."""


@cache
def _model(channel: Channel) -> _PoisonModel:
    raw = json.loads(files("memoranda.remember.screening").joinpath("poison_model.json").read_text("utf-8"))
    return make_model(raw, channel)


def make_model(raw: dict[str, Any], channel: Channel) -> _PoisonModel:
    """Return the model of a channel: what a feature weighs anywhere, and what it weighs there besides."""
    weights: dict[str, float] = {name: weight for name, weight in raw["weights"].items() if "&" not in name}
    bias = raw["bias"] - raw["threshold"] - (_OWN_RIGHT if channel == "user" else 0.0)
    for name, weight in raw["weights"].items():
        where, _, feature = name.partition("&")
        if where == channel and feature:
            weights[feature] = weights.get(feature, 0.0) + weight
        elif not where and feature == channel:
            bias += weight
    return _PoisonModel(bias, weights)
