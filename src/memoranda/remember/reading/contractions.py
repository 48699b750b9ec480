"""Write contracted words in full, so that every rule reads "isn't" and "is not" as the same words. Pure.

What "'s" and "'d" stand for depends on the words after them: those stay, and the rules read both.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from memoranda.text.cache import text_cache

_CONTRACTED: Final = re.compile(
    r"\b(?P<irregular>ca|wo|sha)n['’]t\b"
    r"|(?<=\b(?:is|do))n['’]t\b|(?<=\b(?:are|was|has|had|did))n['’]t\b|(?<=\b(?:were|have|does|must|need))n['’]t\b"
    r"|(?<=\b(?:would|could|might))n['’]t\b|(?<=\bshould)n['’]t\b|(?<=\bi)['’](?P<am>m)\b"
    r"|(?<=\b(?:we))['’](?:re|ve|ll)\b|(?<=\b(?:you))['’](?:re|ve|ll)\b|(?<=\b(?:they))['’](?:re|ve|ll)\b"
    r"|(?<=\bi)['’](?:ve|ll)\b|(?<=\b(?:it|he))['’]ll\b|(?<=\bshe)['’]ll\b",
    re.I,
)
_IRREGULAR: Final = {"ca": "cannot", "wo": "will not", "sha": "shall not"}
_ENDINGS: Final = {"t": " not", "m": " am", "re": " are", "ve": " have", "ll": " will"}


@dataclass(frozen=True, slots=True)
class Expanded:
    """A text in full words, and where its parts were in the text as it was written."""

    text: str
    starts: tuple[int, ...] = ()
    """Where in the full text each part begins that was contracted, and where the words after it begin."""
    written: tuple[int, ...] = ()
    """The same places in the text as it was written."""

    def to_written(self, position: int) -> int:
        """Return a position in the full text as one in the text as it was written."""
        return _shift(self.starts, self.written, position)

    def from_written(self, position: int) -> int:
        """Return a position in the text as it was written as one in the full text."""
        return _shift(self.written, self.starts, position)


def _shift(known: tuple[int, ...], other: tuple[int, ...], position: int) -> int:
    n = bisect_right(known, position) - 1
    if n < 0:
        return position
    moved = other[n] + position - known[n]
    return min(moved, other[n + 1]) if n + 1 < len(other) else moved


@text_cache(256)
def expand(text: str) -> Expanded:
    """Return a text with its contractions in full."""
    if "'" not in text and "’" not in text:
        return Expanded(text)
    starts, written, parts, last, length = list[int](), list[int](), list[str](), 0, 0
    for found in _CONTRACTED.finditer(text):
        before, full = text[last : found.start()], _in_full(found)
        length += len(before)
        starts += (length, length + len(full))
        written += found.span()
        parts += (before, full)
        length, last = length + len(full), found.end()
    return Expanded("".join((*parts, text[last:])), tuple(starts), tuple(written)) if parts else Expanded(text)


def _in_full(found: re.Match[str]) -> str:
    if found["irregular"]:
        full = _IRREGULAR[found["irregular"].lower()]
        return full.capitalize() if found["irregular"][0].isupper() else full
    return _ENDINGS[re.split("['’]", found[0])[1].lower()]
