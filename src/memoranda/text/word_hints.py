"""Tells quickly that a text holds none of many words, so that most texts need no closer look. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

_MAX_KNOWN: Final = 20_000


class WordHints:
    """Parts of words, one of which every text of some kind contains.

    The words of a language come again and again, so each is compared with the parts only once. Of a part with a space
    in it, the longest word counts.
    """

    def __init__(self, parts: Iterable[str]) -> None:
        self._known = _KnownWords(tuple(max(part.split(), key=len) for part in parts))

    def may_be_in(self, lowered: str) -> bool:
        """Return whether one of the parts may be in a text in lower case; True too often at most."""
        return any(map(self._known.__getitem__, lowered.split()))


class _KnownWords(dict[str, bool]):
    def __init__(self, parts: tuple[str, ...]) -> None:
        super().__init__()
        self._parts = parts

    def __missing__(self, word: str) -> bool:
        found = any(map(word.__contains__, self._parts))
        if len(self) < _MAX_KNOWN:
            self[word] = found
        return found
