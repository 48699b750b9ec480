"""Text → token ids, as BERT's uncased vocabulary wants them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

# What BERT calls white space: not Python's \s, which also splits at control characters that BERT drops.
_CHUNK: Final = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_WORD: Final = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_IDEOGRAPHS: Final = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
# Unassigned code points stay, so that a newer Python does not read a text differently.
_DROPPED: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Mn"})
_LONGEST_WORD: Final = 100
_LONGEST_CACHED: Final = 32
_CACHED_CHUNKS: Final = 32_768


class WordPiece:
    """A tokeniser over one vocabulary file. Safe to share between threads."""

    def __init__(self, vocabulary: Path) -> None:
        pieces = vocabulary.read_text("utf-8").split("\n")
        self._ids = {piece: number for number, piece in enumerate(pieces) if piece}
        self._first, self._last, self.unknown = (self._ids[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._cached_ids = lru_cache(_CACHED_CHUNKS)(self._all_ids)

    def encode(self, text: str, window: int) -> list[int]:
        """The ids of a text between the model's start and end marks, at most `window` of them."""
        return [self._first, *self.ids(text, window - 2), self._last]

    def ids(self, text: str, limit: int | None = None) -> list[int]:
        """The ids of a text alone, the first `limit` of them; no more of the text is read than that takes."""
        found: list[int] = []
        for match in _CHUNK.finditer(text):
            chunk = match.group()
            if len(chunk) <= _LONGEST_CACHED:
                found += self._cached_ids(chunk)
            else:
                found += islice(self._ids_of(chunk), limit)
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def _all_ids(self, chunk: str) -> tuple[int, ...]:
        return tuple(self._ids_of(chunk))

    def _ids_of(self, chunk: str) -> Iterator[int]:
        for word in _words(chunk):
            yield from self._pieces(word)

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _LONGEST_WORD:
            return [self.unknown]
        found: list[int] = []
        start = 0
        while start < len(word):
            piece = self._longest_piece(word, start)
            if piece is None:
                return [self.unknown]
            number, start = piece
            found.append(number)
        return found

    def _longest_piece(self, word: str, start: int) -> tuple[int, int] | None:
        """The id of the longest known piece of the word from `start`, and where it ends."""
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self._ids.get(mark + word[start:end])
            if number is not None:
                return number, end
        return None


def _words(chunk: str) -> Iterator[str]:
    """The words of a text without white space: lower case, no accents, punctuation apart."""
    if chunk.isascii():
        lowered = _ASCII_CONTROL.sub("", chunk).lower()
        return (match.group() for match in _ASCII_WORD.finditer(lowered))
    return _unicode_words(chunk)


def _unicode_words(chunk: str) -> Iterator[str]:
    word: list[str] = []
    for character in unicodedata.normalize("NFD", chunk):
        category = unicodedata.category(character)
        if category in _DROPPED or character == "\ufffd":
            continue
        if not _stands_alone(character, category):
            # One by one: lower() of a whole word gives a Greek final sigma, which the vocabulary's maker never saw.
            word.append(character.lower())
            continue
        if word:
            yield "".join(word)
            word.clear()
        yield character
    if word:
        yield "".join(word)


def _stands_alone(character: str, category: str) -> bool:
    if character.isascii():
        return not character.isalnum()
    return category.startswith("P") or _IDEOGRAPHS.match(character) is not None
