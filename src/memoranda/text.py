"""The rules for text: what may be stored, and which terms the lexical index contains."""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

import Stemmer

from memoranda.errors import InvalidInput, InvalidType

MAX_TEXT = 1_000_000
"""The largest number of characters in one text."""

HAS_TIME, HAS_NUMBER, HAS_NAME = "@", "#", "^"
"""Lexical keys of a text that mentions a time, a number or a proper name, and so can answer a question for one."""
ENDS_WITH_QUESTION = "?"
"""Lexical key of a text that ends with a question. No query contains it as a term."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?", re.UNICODE)
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")
"""The same for lower-case ASCII, where it is faster."""
_BLANK_PUNCTUATION = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
"""A translation table that replaces everything except ASCII letters and digits by spaces."""
_MAX_CACHED_STEMS = 65_536
# Scripts written without spaces: Han, kana, Thai, Lao, Khmer, Burmese. Pairs of characters are indexed as words.
_HAN_RANGES = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff{_HAN_RANGES}]+")
_HAN = re.compile(f"[{_HAN_RANGES}]")
_SYMBOL = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_TAIL = 500
_FINAL_QUESTION = re.compile(r"""\?["'”’)*]*\s*(?:\[[^\]]*\]\s*)?$""")

_TIME_WORDS = """
    yesterday today tonight tomorrow ago since recently lately hour hours minutes days week weeks weekend weekends month
    months year years decade decades monday tuesday wednesday thursday friday saturday sunday january february march
    april june july august september october november december
"""
_NUMBER_WORDS = """
    two three four five six seven eight nine ten eleven twelve twenty thirty forty fifty hundred thousand million dozen
    couple several half once twice
"""
_TIMES, _NUMBERS = frozenset(_TIME_WORDS.split()), frozenset(_NUMBER_WORDS.split())
_TIMES_AND_NUMBERS = _TIMES | _NUMBERS
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_DIGIT = re.compile(r"[0-9]")
_INNER_CAPITAL = re.compile(r" (?<=[a-z,;] )[A-Z][a-z]")
"""A capital letter inside a sentence. Where nearly every text has one, as in German, recall ignores `HAS_NAME`."""

_STOP_WORDS = """
    a about after again all also am an and any are as at be because been before being but by can could did do does
    doing don down during each few for from further had has have having he her here hers him his how i if in into is it
    its just me more most my no nor not now of off on once only or other our ours out over own s same she should so some
    such t than that the their theirs them then there these they this those through to too under until up very was we
    were what when where which while who whom why will with would you your yours
"""

# A stemmer object is not safe to share between threads.
_local = threading.local()


def clean_text(text: object, name: str = "content") -> str:
    """Return the text if it can be stored; otherwise raise `InvalidInput` with the reason."""
    if not isinstance(text, str):
        raise InvalidType(f"{name} must be a string, not {type(text).__name__}")
    if not text.strip():
        raise InvalidInput(f"{name} is empty: give some text")
    if len(text) > MAX_TEXT:
        raise InvalidInput(f"{name} has {len(text):,} characters; at most {MAX_TEXT:,} fit: split it into several")
    if "\0" in text:
        raise InvalidInput(f"{name} holds a NUL byte at position {text.index(chr(0))}: remove it")
    return check_unicode(text, name)


def check_unicode(text: str, name: str) -> str:
    """Return the text if it can be encoded as UTF-8; a lone surrogate cannot."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} holds a lone surrogate at position {error.start}: not valid Unicode") from error
    return text


def content_hash(text: str) -> bytes:
    """Return a 16-byte hash of the text."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


def lower_case(text: str) -> str:
    """Return the text in lower case, with every character at the same offset."""
    return text.replace("\u0130", "i").lower()  # the only character whose lower case has two characters


def terms(text: str) -> list[str]:
    """Return the terms of a text as the lexical index stores them: folded, stemmed, stop words included."""
    return _terms(text, *_split(text))


def lexical_keys(text: str) -> str:
    """Return what the lexical index stores for a text: its terms, and which kinds of answer it contains."""
    words, unstemmed = _split(text)
    return " ".join(_terms(text, words, unstemmed) + _answer_kinds(text, words))


def query_terms(text: str) -> list[str]:
    """Return the terms of a query to look up, each once, without stop words unless there are only stop words."""
    return list(_query_terms(text))


@lru_cache(maxsize=64)  # several steps of one write use the same text one after the other
def _query_terms(text: str) -> tuple[str, ...]:
    words, unstemmed = _split(text)
    # A word that occurs often is stemmed once.
    found = dict.fromkeys([*map(_stem, dict.fromkeys(words)), *unstemmed])
    return tuple(term for term in found if term not in _STOP_STEMS) or tuple(found)


def _terms(text: str, words: list[str], unstemmed: list[str]) -> list[str]:
    if not unstemmed:
        return [*map(_stem, words)]
    # A Han character can be a word: each is indexed besides the pairs, for a query of that character alone.
    pairs = [term for term in unstemmed if not _HAN.fullmatch(term)]
    return [*map(_stem, words), *pairs, *_HAN.findall(_fold(text))]


def _answer_kinds(text: str, words: Sequence[str]) -> list[str]:
    kinds = []
    found = _TIMES_AND_NUMBERS.intersection(words)
    digit = _DIGIT.search(text)
    if not _TIMES.isdisjoint(found) or (digit and _YEAR.search(text, digit.start())):
        kinds.append(HAS_TIME)
    if digit or not _NUMBERS.isdisjoint(found):
        kinds.append(HAS_NUMBER)
    if _INNER_CAPITAL.search(text):
        kinds.append(HAS_NAME)
    # Only the end is searched, so that the cost does not grow with the text.
    end = text[-_TAIL:]
    if "?" in end and _FINAL_QUESTION.search(end):
        kinds.append(ENDS_WITH_QUESTION)
    return kinds


def _split(text: str) -> tuple[list[str], list[str]]:
    """Return the folded words, and the terms that are not stemmed: pairs of characters, and symbols."""
    folded = _fold(text)
    if folded.isascii():
        # Most texts. Without an apostrophe, translating finds the same words as the pattern in a third of the time.
        if "'" in folded:
            return _ASCII_WORD.findall(folded), []
        return folded.encode().translate(_BLANK_PUNCTUATION).decode().split(), []
    unstemmed: list[str] = []
    for run in _UNSPACED.findall(folded):
        unstemmed += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    return _WORD.findall(_UNSPACED.sub(" ", folded)), unstemmed + _SYMBOL.findall(folded)


def _fold(text: str) -> str:
    """Return the text in lower case, without accents, in compatible Unicode forms."""
    if text.isascii():
        return text.lower()
    lowered = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    if lowered.isascii():
        return lowered
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", lowered)))


class _StemCache(dict[str, str]):
    """Word → stem, computed on first use. Emptied when it is full."""

    def __missing__(self, word: str) -> str:
        stemmer = getattr(_local, "stemmer", None)
        if stemmer is None:
            stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
        if len(self) >= _MAX_CACHED_STEMS:
            self.clear()
        stem = self[word] = str(stemmer.stemWord(word))
        return stem


_stem = _StemCache().__getitem__
_STOP_STEMS = frozenset(map(_stem, _STOP_WORDS.split()))
