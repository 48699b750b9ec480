"""Characters that deceive a reader: invisible ones, and letters that look like others. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final

_ZERO_WIDTH: Final = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u2060-\u2065\u206a-\u206f\u3164\ufeff\uffa0"
)
_DIRECTIONS: Final = "\u202a-\u202e\u2066-\u2069"
_CONTROLS: Final = "\x00-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\ufff0-\ufffb"
_SELECTORS: Final = "\ufe00-\ufe0f\U000e0100-\U000e01ef"
_TAGS: Final = "\U000e0000-\U000e007f"
INVISIBLE: Final = f"{_ZERO_WIDTH}{_DIRECTIONS}{_CONTROLS}{_SELECTORS}{_TAGS}"
"""The inside of a character class: everything that a person does not see, but a model reads."""

_ANY_INVISIBLE: Final = re.compile(f"[{INVISIBLE}]")
_RUN: Final = re.compile(f"[{INVISIBLE}]+")
# The flags of England, Scotland and Wales are a black flag and a few tag characters.
_FLAG: Final = re.compile("\U0001f3f4[\U000e0061-\U000e007a]{2,6}\U000e007f")
_EMOJI: Final = re.compile("[\u00a9\u00ae\u203c-\u3299\U0001f000-\U0001faff]")
_JOINED: Final = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u18af\ufb50-\ufdff\ufe70-\ufefe"
"""Scripts in which a joiner, or a mark of direction, is part of the spelling."""
_SPELLING: Final = re.compile(
    f"(?<=[{_JOINED}\u0590-\u05ff])[\u200c-\u200f\u061c]|[\u200c-\u200f\u061c](?=[{_JOINED}\u0590-\u05ff])"
)
_RIGHT_TO_LEFT: Final = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]")

_LATIN_BY_LOOK: Final = str.maketrans(
    "аеорсухіјѕԁԛԝһӏґпкмтвнгАВЕЅІЈКМНОРСТУХҮԌԚԜαοενρτυχκιΑΒΕΖΗΙΚΜΝΟΡΤΥΧϲϳɑɡıʀʏɴɪᴀᴄᴅᴇᴋᴍᴏᴘᴛᴜᴠᴡᴢᴊʟʙɢʜꜱꜰօսոհցրѵ",
    "aeopcyxijsdqwhlrnkmtbhrABESIJKMHOPCTYXYGQWaoevptuxkiABEZHIKMNOPTYXcjagiryniacdekmoptuvwzjlbghsfounhgpv",
)
_BRACKETS: Final = str.maketrans("‹〈〈⟨﹤＜˂ᐸ❮《«﹛｛［【〔（⟪≪≺", "<" * 20)
_CLOSERS: Final = str.maketrans("›〉〉⟩﹥＞˃ᐳ❯》»", ">" * 11)
_SLASHES: Final = str.maketrans("⁄∕／⧸╱∖＼⟋", "/" * 8)
_DASHES: Final = str.maketrans("‐‑‒–—―−﹣－⁃﹘ー_", "-" * 13)
_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_ASCII_LETTER: Final = re.compile(r"[A-Za-z]")


def fold_character(char: str) -> str:
    """Return the ASCII character that a character looks like, or itself."""
    if char.isascii():
        return char
    plain = unicodedata.normalize("NFKC", char)
    plain = plain if len(plain) == 1 else char
    return (
        plain.translate(_LATIN_BY_LOOK).translate(_BRACKETS).translate(_CLOSERS).translate(_SLASHES).translate(_DASHES)
    )


@lru_cache(maxsize=64)
def fold_lookalikes(text: str) -> tuple[str, int]:
    """Return a text as a person reads it, and how many words had letters of another alphabet among Latin ones.

    Invisible characters are left out, wide and decorated letters are plain ones. A word in another alphabet stays.
    """
    if text.isascii() and not _has_invisible(text):
        return text, 0
    visible = unicodedata.normalize("NFKC", _ANY_INVISIBLE.sub("", text))
    replaced = 0

    def fold_word(match: re.Match[str]) -> str:
        nonlocal replaced
        word = match[0]
        folded = word.translate(_LATIN_BY_LOOK)
        if folded == word or not folded.isascii() or not _ASCII_LETTER.search(word):
            return word
        replaced += 1
        return folded

    return _WORD.sub(fold_word, visible), replaced


def _has_invisible(text: str) -> bool:
    if text.isascii() and text.isprintable():  # nearly all texts, and much faster to see
        return False
    return _ANY_INVISIBLE.search(text) is not None


def find_hidden(text: str) -> dict[str, float]:
    """Return which kinds of hidden characters a text has, and how suspicious each is, 0…1.

    What spelling, emoji and flags need is not counted.
    """
    if not _has_invisible(text):
        return {}
    bare = _SPELLING.sub("", _FLAG.sub("", text))
    overrides = 0.1 if _RIGHT_TO_LEFT.search(bare) else 0.5
    between_letters = len(re.findall("(?<=[A-Za-z])[\u200b-\u200d\u2060-\u2064\ufeff]+(?=[A-Za-z])", bare))
    found = {
        "an invisible alphabet": float(bool(re.search(f"[{_TAGS}]|[{_SELECTORS}]{{4,}}", bare))),
        "a hidden payload": float(bool(re.search("[\u200b-\u200d\u2060-\u2064\ufeff]{8,}", bare))),
        "reversed direction": overrides * bool(re.search("[\u202d\u202e]", bare)),
        "zero width between letters": 0.4 * (between_letters >= 3),
        "control characters": 0.3 * bool(re.search("\x1b|\x08|[\x00-\x06]", bare)),
    }
    return {kind: weight for kind, weight in found.items() if weight}


def show_invisible(text: str) -> str:
    """Return a text in which every invisible character is written out, except where spelling or an emoji needs it."""
    if not _has_invisible(text):
        return text
    kept = {n for match in (*_FLAG.finditer(text), *_SPELLING.finditer(text)) for n in range(*match.span())}

    def show(match: re.Match[str]) -> str:
        start, run = match.start(), match[0]
        if all(n in kept for n in range(*match.span())) or _belongs_to_emoji(text, match):
            return run
        shown = [char for n, char in enumerate(run, start) if n not in kept]
        return f"[U+{ord(shown[0]):04X}]" if len(shown) == 1 else f"[{len(shown)} invisible characters]"

    return _RUN.sub(show, text)


def _belongs_to_emoji(text: str, match: re.Match[str]) -> bool:
    """Return whether a run is what an emoji is joined or coloured with."""
    run, before = match[0], text[match.start() - 1 : match.start()]
    after = text[match.end() : match.end() + 1]
    if not before or not (_EMOJI.match(before) or before in "0123456789#*"):
        return False
    return run in ("\ufe0f", "\ufe0e") or (run in ("\u200d", "\ufe0f\u200d") and _EMOJI.match(after) is not None)
