"""The WordPiece tokenizer: text → token ids of BERT's uncased vocabulary."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Final

from memoranda.embedding.model_files import read_model_file

# White space as BERT defines it: Python's \s also splits at control characters, which BERT drops.
_CHUNK: Final = re.compile("[^ \t\n\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+")
_ASCII_WORD: Final = re.compile(r"[0-9a-z]+|[!-/:-@\[-`{-~]")
_ASCII_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]+")
_IDEOGRAPHS: Final = re.compile(
    "[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f]"
)
# Unassigned code points are kept, so that a newer Python gives the same tokens.
_DROPPED_CATEGORIES: Final = frozenset({"Cc", "Cf", "Co", "Cs", "Mn"})
_MAX_WORD: Final = 100
_MAX_CACHED_CHUNK: Final = 32
_CACHED_CHUNKS: Final = 32_768


class WordPiece:
    """A tokenizer for one vocabulary file. Safe to share between threads."""

    def __init__(self, vocabulary: Path) -> None:
        pieces = read_model_file(vocabulary).decode("utf-8").replace("\r\n", "\n").split("\n")
        self._ids = {piece: number for number, piece in enumerate(pieces) if piece}
        self._start, self._end, self.unknown = (self._ids[name] for name in ("[CLS]", "[SEP]", "[UNK]"))
        self._cached_ids = lru_cache(_CACHED_CHUNKS)(lambda chunk: tuple(self._ids_of(chunk)))

    def encode(self, text: str, window: int) -> list[int]:
        """Return the ids of a text between the start and end tokens, at most `window` in all."""
        return [self._start, *self.ids(text, window - 2), self._end]

    def ids(self, text: str, limit: int | None = None) -> list[int]:
        """Return the first `limit` ids of a text, without start and end tokens; the rest of the text is not read."""
        found: list[int] = []
        for match in _CHUNK.finditer(text):
            chunk = match.group()
            if len(chunk) <= _MAX_CACHED_CHUNK:
                found += self._cached_ids(chunk)
            else:
                found += islice(self._ids_of(chunk), limit)
            if limit is not None and len(found) >= limit:
                break
        return found[:limit]

    def _ids_of(self, chunk: str) -> Iterator[int]:
        for word in _words(chunk):
            yield from self._pieces(word)

    def _pieces(self, word: str) -> list[int]:
        if len(word) > _MAX_WORD:
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
        """Return the id of the longest known piece that begins at `start`, and where it ends."""
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            number = self._ids.get(prefix + word[start:end])
            if number is not None:
                return number, end
        return None


def _words(chunk: str) -> Iterator[str]:
    """Return the words of a chunk without white space: in lower case, without accents, split at punctuation."""
    if chunk.isascii():
        lowered = _ASCII_CONTROL.sub("", chunk).lower()
        return (match.group() for match in _ASCII_WORD.finditer(lowered))
    return _unicode_words(chunk)


def _unicode_words(chunk: str) -> Iterator[str]:
    word: list[str] = []
    for character in unicodedata.normalize("NFD", chunk):
        category = unicodedata.category(character)
        if category in _DROPPED_CATEGORIES or character == "\ufffd":
            continue
        if not _is_separate_token(character, category):
            # One at a time: lower() of a whole word gives a Greek final sigma, which the vocabulary does not use.
            word.append(character.lower())
            continue
        if word:
            yield "".join(word)
            word.clear()
        yield character
    if word:
        yield "".join(word)


def _is_separate_token(character: str, category: str) -> bool:
    if character.isascii():
        return not character.isalnum()
    return category.startswith("P") or _IDEOGRAPHS.match(character) is not None
