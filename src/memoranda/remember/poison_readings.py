"""Other ways to read a text: what is encoded in it, spelled out, or written backwards. Pure."""

from __future__ import annotations

import base64
import binascii
import codecs
import html
import re
from collections.abc import Iterator
from itertools import islice
from typing import Final
from urllib.parse import unquote

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
_RULE_WORDS: Final = ("instruction", "prompt", "guideline", "directive", "ignore", "disregard")
_ROT13_WORDS: Final = tuple(codecs.encode(word, "rot13") for word in _RULE_WORDS)
_REVERSED_WORDS: Final = tuple(word[::-1] for word in _RULE_WORDS)


def may_be_encoded(word: str) -> bool:
    """Return whether what stands between white space can be encoded."""
    return _ENCODED.search(word) is not None


def may_be_spelled(word: str) -> bool:
    """Return whether what stands between white space can be a part of a word that is spelled out."""
    return _SINGLE_LETTER.search(word) is not None


def may_be_turned(lowered: str) -> bool:
    """Return whether a text, or a word of one, has a word of rules with other letters or backwards."""
    return any(map(lowered.__contains__, _ROT13_WORDS)) or any(map(lowered.__contains__, _REVERSED_WORDS))


def decode(text: str, visible: str, *, encoded: bool) -> Iterator[tuple[str, str]]:
    """Yield what is encoded in a text, and how.

    Args:
        text: The text as it is written.
        visible: The text as it looks.
        encoded: Whether a word of it may be encoded; see `may_be_encoded`.
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
        spelled: Whether a word of it may be a part of one that is spelled out; see `may_be_spelled`.
        turned: Whether a word of it is one of rules, turned; see `may_be_turned`.
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
            if any(word in reading.lower() for word in _RULE_WORDS):
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
