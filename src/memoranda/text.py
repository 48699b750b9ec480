"""The one policy for text: what may be stored, and which words the lexical index sees."""

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
"""Characters in one text; longer ones belong into several memories."""

_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)?", re.UNICODE)
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")
"""The same in lower case ASCII, which is quicker to look through."""
_ONLY_WORDS = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
_MOST_STEMS = 65_536
# Scripts written without spaces: Han, kana, Thai, Lao, Khmer, Burmese. Pairs of letters stand in for words.
_HAN_SIGNS = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff{_HAN_SIGNS}]+")
_HAN = re.compile(f"[{_HAN_SIGNS}]")
_SYMBOL = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
_MARKS = re.compile("[\u0300-\u036f]+")

ASKING = "?"
"""The lexical key of a text that ends by asking something; no question looks it up as a word."""
_TAIL = 500
_ENDS_ASKING = re.compile(r"""\?["'”’)*]*\s*(?:\[[^\]]*\]\s*)?$""")

A_TIME, A_NUMBER, A_NAME = "@", "#", "^"
"""The lexical keys of a text that names a time, a number, or something by its name: it can answer who asks for one."""
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
_TELLING = _TIMES | _NUMBERS
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_DIGIT = re.compile(r"[0-9]")
_INNER_NAME = re.compile(r" (?<=[a-z,;] )[A-Z][a-z]")
"""A capital inside a sentence. Where nearly every text has one, as in German, recall makes nothing of it."""

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
    """The text as it may be stored, or `InvalidInput` that says what is wrong with it."""
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
    """The text, if it can leave this process at all: a lone surrogate cannot."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise InvalidInput(f"{name} holds a lone surrogate at position {error.start}: not valid Unicode") from error
    return text


def content_hash(text: str) -> bytes:
    """Sixteen bytes that stand for the text: equal texts, equal hashes."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


def lower_case(text: str) -> str:
    """The text in lower case, every letter where it stood."""
    return text.replace("\u0130", "i").lower()  # the one letter whose lower case is two


def terms(text: str) -> list[str]:
    """The words of a text as the lexical index keeps them: folded, stemmed, stop words included."""
    return _terms(text, *_split(text))


def lexical_keys(text: str) -> str:
    """What the lexical index keeps of a text: its words, and which kinds of answer it holds."""
    words, signs = _split(text)
    return " ".join(_terms(text, words, signs) + _kinds(text, words))


def _terms(text: str, words: list[str], signs: list[str]) -> list[str]:
    if not signs:
        return [*map(_stem, words)]
    # A Han sign may be a word by itself: each is kept beside the pairs, for a question that holds only the one.
    pairs = [sign for sign in signs if not _HAN.fullmatch(sign)]
    return [*map(_stem, words), *pairs, *_HAN.findall(_fold(text))]


def _kinds(text: str, words: Sequence[str]) -> list[str]:
    """`A_TIME`, `A_NUMBER`, `A_NAME` where the text has one, and `ASKING` when it ends with a question."""
    kinds = []
    telling = _TELLING.intersection(words)
    digit = _DIGIT.search(text)
    if not _TIMES.isdisjoint(telling) or (digit and _YEAR.search(text, digit.start())):
        kinds.append(A_TIME)
    if digit or not _NUMBERS.isdisjoint(telling):
        kinds.append(A_NUMBER)
    if _INNER_NAME.search(text):
        kinds.append(A_NAME)
    # Only the end is looked at, so that the cost does not grow with the text.
    end = text[-_TAIL:]
    if "?" in end and _ENDS_ASKING.search(end):
        kinds.append(ASKING)
    return kinds


def query_terms(text: str) -> list[str]:
    """The words of a question worth looking up, each once; all of them when all are stop words."""
    return list(_query_terms(text))


@lru_cache(maxsize=64)  # what is about to be written is looked at by several steps, one after the other
def _query_terms(text: str) -> tuple[str, ...]:
    written, signs = _split(text)
    # A word that comes often is stemmed once.
    words = dict.fromkeys([*map(_stem, dict.fromkeys(written)), *signs])
    return tuple(word for word in words if word not in _STOP_STEMS) or tuple(words)


def _split(text: str) -> tuple[list[str], list[str]]:
    """The folded words, and what stands for a word without being stemmed: pairs of letters, symbols."""
    folded = _fold(text)
    if folded.isascii():
        # Most texts: what the expression finds, in a third of its time.
        plain = "'" not in folded
        return folded.encode().translate(_ONLY_WORDS).decode().split() if plain else _ASCII_WORD.findall(folded), []
    signs: list[str] = []
    for run in _UNSPACED.findall(folded):
        signs += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    return _WORD.findall(_UNSPACED.sub(" ", folded)), signs + _SYMBOL.findall(folded)


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    lowered = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    if lowered.isascii():
        return lowered
    return unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", lowered)))


class _Stems(dict[str, str]):
    """Word → stem, made when first asked for; emptied when there are too many."""

    def __missing__(self, word: str) -> str:
        stemmer = getattr(_local, "stemmer", None)
        if stemmer is None:
            stemmer = _local.stemmer = Stemmer.Stemmer("english", 0)
        if len(self) >= _MOST_STEMS:
            self.clear()
        stem = self[word] = str(stemmer.stemWord(word))
        return stem


_stem = _Stems().__getitem__
_STOP_STEMS = frozenset(map(_stem, _STOP_WORDS.split()))
