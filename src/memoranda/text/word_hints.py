"""Tells quickly that a text holds none of many words, so that most texts need no closer look. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Final

_MAX_KNOWN: Final = 20_000
_LONGEST_KNOWN: Final = 40


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


class WordFlags:
    """What the words of a text may belong to, as bits of a number: several questions about a text in one step.

    A word is what stands between white space, commas, and the marks at the end of a sentence. `find` returns the bits
    of one; it is asked once for each.
    """

    def __init__(self, find: Callable[[str], int]) -> None:
        self._known = _KnownFlags(find)

    def of(self, lowered: str) -> int:
        """Return the bits that any word of a text has, in lower case."""
        words = lowered.replace(",", " ").replace("?", " ").replace("!", " ").replace(". ", " ").split()
        return reduce(or_, map(self._known.__getitem__, words), 0)


def longest_words(parts: Iterable[str]) -> tuple[str, ...]:
    """Return the longest word of each part of a text, with the spaces around it: it is in " word " of one word."""
    return tuple(_longest_word(part) for part in parts)


def _longest_word(part: str) -> str:
    words = part.split(" ")
    position = max(range(len(words)), key=lambda n: len(words[n]))
    return (" " if position else "") + words[position] + (" " if position < len(words) - 1 else "")


class _KnownFlags(dict[str, int]):
    def __init__(self, find: Callable[[str], int]) -> None:
        super().__init__()
        self._find = find

    def __missing__(self, word: str) -> int:
        found = self._find(word)
        if len(word) <= _LONGEST_KNOWN:
            if len(self) >= _MAX_KNOWN:
                self.clear()
            self[word] = found
        return found


class _KnownWords(dict[str, bool]):
    def __init__(self, parts: tuple[str, ...]) -> None:
        super().__init__()
        self._parts = parts

    def __missing__(self, word: str) -> bool:
        found = any(map(word.__contains__, self._parts))
        if len(self) < _MAX_KNOWN:
            self[word] = found
        return found
