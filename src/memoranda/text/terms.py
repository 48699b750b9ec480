"""The lexical terms of a text: the stems of its words, and keys for the names, numbers and times in it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from memoranda.text.cache import text_cache
from memoranda.text.languages import (
    COMPOUNDING,
    ENGLISH,
    NUMBER_WORDS,
    STOP_WORDS,
    UNSPACED,
    is_stop_word,
    recognize,
    stems_in,
)

HAS_TIME, HAS_NUMBER, HAS_NAME = "@", "#", "^"
"""Lexical keys of a text that mentions a time, a number or a proper name, and so can answer a question for one."""
ENDS_WITH_QUESTION = "?"
"""Lexical key of a text that ends with a question. No query contains it as a term."""
NAME_KEY = "&"
"""Before a name: the lexical key of a text in which its speaker says that this is a name of theirs."""
LANGUAGE_KEY = "="
"""Before the code of a language: the lexical key of a text that is not in English."""
OR = "|"
"""Between terms of a query that mean the same: the stems of one word in several languages."""
TERMS_VERSION = "3"
"""Which rules made the terms of a store; those of an older version are made again when it is opened."""

# The vowel signs of Indian scripts are no letters in Unicode, but inside words.
_WORD = re.compile(r"(?:[^\W_]|[\u0900-\u0963\u0966-\u0dff])+(?:'[^\W_]+)?")
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)?")
"""The same for lower-case ASCII, where it is faster."""
_BLANK_PUNCTUATION = bytes(code if chr(code).isalnum() and code < 128 else 32 for code in range(256))
"""A translation table that replaces everything except ASCII letters and digits by spaces."""
# Scripts without spaces (Han, kana, Thai, Lao, Khmer, Burmese), and Korean, whose words carry particles: pairs of
# characters are indexed as words.
_HAN_RANGES = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_UNSPACED = re.compile(f"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\uac00-\ud7a3{_HAN_RANGES}]+")
_HAN = re.compile(f"[{_HAN_RANGES}]")
_SYMBOL = re.compile("[\u2190-\u2bff\U0001f000-\U0001faff]")
_ACCENTS = re.compile("[\u0300-\u036f]+")
_ARABIC = re.compile("[\u0600-\u06ff]")
# Vowel signs and the stretching of letters are optional; alef, yeh and kaf are typed in several forms.
_ARABIC_MARKS = re.compile("[\u0640\u064b-\u065f\u0670]+")
_ARABIC_LETTERS = str.maketrans({"أ": "ا", "إ": "ا", "آ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك"})
_TAIL = 500
_FINAL_QUESTION = re.compile(r"""\?["'”’)*]*\s*(?:\[[^\[\]]{0,200}\]\s*)?$""")

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


def content_hash(text: str) -> bytes:
    """Return a 16-byte hash of the text."""
    return hashlib.blake2b(text.encode("utf-8"), digest_size=16).digest()


def fold_phrase(text: str) -> str:
    """Return a text as phrases are searched in it: without case, in one Unicode form, with single spaces."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text.casefold()))


def lower_case(text: str) -> str:
    """Return the text in lower case, with every character at the same offset."""
    return text.replace("\u0130", "i").lower()  # the only character whose lower case has two characters


def terms(text: str) -> list[str]:
    """Return the terms of a text as the lexical index stores them: folded, stemmed, stop words included."""
    words, unstemmed = _split(text)
    return _terms(text, words, unstemmed, _languages(text, words))


def lexical_keys(text: str) -> str:
    """Return what the lexical index stores for a text: its terms, its language, and which kinds of answer it holds."""
    words, unstemmed = _split(text)
    languages = _languages(text, words)
    found = _terms(text, words, unstemmed, languages) + _answer_kinds(text, words, languages)
    if languages:
        found += _parts(words, languages)
        found += [LANGUAGE_KEY + language for language in languages]
    return " ".join(found)


_NAME_PART = re.compile(r"[^\W\d_]{2,}")
_PARTICLES = frozenset(("de", "da", "di", "du", "la", "le", "van", "von", "der", "den", "el", "al", "the", "of", "and"))
_TITLES = frozenset(("dr", "mr", "mrs", "ms", "prof"))


def name_parts(name: str) -> list[str]:
    """Return the parts of a name, an e-mail address or a handle that can stand for a person, in lower case."""
    local = name.strip().removeprefix("@").partition("@")[0]
    return [part for part in _NAME_PART.findall(fold(local)) if part not in _PARTICLES and part not in _TITLES]


def query_terms(text: str) -> list[str]:
    """Return the terms of a query to look up, each once, without stop words unless there are only stop words."""
    return list(_query_terms(text))


@text_cache(64)  # several steps of one write use the same text one after the other
def _query_terms(text: str) -> tuple[str, ...]:
    words, unstemmed = _split(text)
    languages = _languages(text, words)
    stem = stems_in(languages[0]).__getitem__ if languages else _stem
    kept = _without_stop_words(words, unstemmed, languages)
    return tuple(kept) or tuple(dict.fromkeys([*map(stem, words), *unstemmed]))


def has_content_terms(text: str) -> bool:
    """Return whether a query holds a word that is not a stop word."""
    words, unstemmed = _split(text)
    return bool(_without_stop_words(words, unstemmed, _languages(text, words)))


def _without_stop_words(words: Sequence[str], unstemmed: Sequence[str], languages: Sequence[str]) -> dict[str, None]:
    if not languages:
        # A word that occurs often is stemmed once.
        found = dict.fromkeys([*map(_stem, dict.fromkeys(words)), *unstemmed])
        return {term: None for term in found if term not in _STOP_STEMS}
    stems = stems_in(languages[0])
    kept = [stems[word] for word in words if not is_stop_word(word, tuple(languages))]
    return dict.fromkeys([*kept, *(pair for pair in unstemmed if not _is_grammar(pair))])


def widen_terms(text: str, found: Sequence[str], stored: Collection[str]) -> list[str]:
    """Return what to look up for those terms of a query that are in `found`, in a store with texts in other languages.

    A word is looked up by its stems in every language of the store, so that a text is found whatever language it was
    taken for. Besides, long words are looked up by their beginning, and Han characters alone.

    Args:
        text: The query.
        found: Some of its `query_terms`.
        stored: The languages of the texts that are searched, except English.
    """
    words, unstemmed = _split(text)
    own = _languages(text, words)
    if not own and not stored:
        return list(found)
    wanted, spaced = set(found), [language for language in stored if language not in UNSPACED]
    languages = tuple(dict.fromkeys([*(own or (ENGLISH,)), *spaced, ENGLISH]))
    widened: dict[str, None] = {}
    for word in dict.fromkeys(words):
        if stems_in(languages[0])[word] in wanted:
            widened[_alternatives(word, languages)] = None
            if own and spaced and len(word) > _BEGINNING:
                widened[_beginning(word)] = None
    widened |= dict.fromkeys(pair for pair in unstemmed if pair in wanted)
    if any(language in ("zh", "ja") for language in own):
        widened |= dict.fromkeys(sign for sign in _HAN.findall(fold(text)) if sign not in _GRAMMAR_SIGNS)
    return list(widened) or list(found)


@text_cache(64)
def languages_of(text: str) -> tuple[str, ...]:
    """Return the languages that a text may be in; none for English, and where nothing shows the language."""
    return _languages(text, _split(text)[0])


def _languages(text: str, words: Sequence[str]) -> tuple[str, ...]:
    """Return the languages that a text may be in; none for English, and where nothing shows the language."""
    found = recognize(text, words)
    return () if len(found) > _MAX_LANGUAGES or ENGLISH in found else found


def _terms(text: str, words: list[str], unstemmed: list[str], languages: Sequence[str]) -> list[str]:
    if not languages:
        stemmed = [*map(_stem, words)]
    elif len(languages) == 1:
        stemmed = [*map(stems_in(languages[0]).__getitem__, words)]
    else:
        stemmed = [stem for word in words for stem in _stems(word, languages)]
    if not unstemmed:
        return stemmed
    # A Han character can be a word: each is indexed besides the pairs, for a query of that character alone.
    pairs = [term for term in unstemmed if not _HAN.fullmatch(term)]
    return [*stemmed, *pairs, *_HAN.findall(fold(text))]


def _stems(word: str, languages: Iterable[str]) -> dict[str, None]:
    return dict.fromkeys(stems_in(language)[word] for language in languages)


_MAX_LANGUAGES = 3
"""With more languages that fit alike, a text says nothing about its language."""
_BEGINNING = 4
"""Letters of a word that two words of one family share: allergisch, Allergien."""
_SHORTEST_PART = 4
"""Letters of the shortest part of a compound."""
_LONGEST_COMPOUND = 60
"""A longer run of letters is no word but encoded data, whose parts would take the square of its length."""


def _parts(words: Sequence[str], languages: Sequence[str]) -> Iterator[str]:
    """Yield the beginnings of long words, and in languages with compounds what can be their last part."""
    compounding = next((language for language in languages if language in COMPOUNDING), None)
    for word in words:
        if len(word) <= _BEGINNING or is_stop_word(word, tuple(languages)):
            continue
        yield _beginning(word)
        if compounding is not None and len(word) <= _LONGEST_COMPOUND:
            stems = stems_in(compounding)
            yield from (f"~{stems[word[start:]]}" for start in range(3, len(word) - _SHORTEST_PART + 1))


def _beginning(word: str) -> str:
    return f"{word[:_BEGINNING]}~"


def _alternatives(word: str, languages: Sequence[str]) -> str:
    """Return the stems of a word, and the same as the last part of a compound."""
    found = list(_stems(word, languages))
    compounding = [language for language in languages if language in COMPOUNDING]
    found += [f"~{stem}" for stem in _stems(word, compounding) if len(stem) >= _SHORTEST_PART]
    return OR.join(found)


_GRAMMAR_SIGNS: Final = frozenset(
    "我你您他她它们的了是在有和与不没这那哪什么谁吗呢吧啊怎样几个一就也都会要到说去来很上下里多少把被让给对从跟为"
    "以及而或但如果因此可能能将已经着过再还只又最更每何時時间时候現在现今"
    "私僕俺彼女君方事物誰者達"
)
"""Chinese and Japanese characters of grammar and questions."""
_HIRAGANA: Final = re.compile("[\u3041-\u309f\u30fc]+")


def _is_grammar(pair: str) -> bool:
    """Return whether a pair of characters is only grammar: pronouns and question words, the endings of Japanese."""
    return _HIRAGANA.fullmatch(pair) is not None or _GRAMMAR_SIGNS.issuperset(pair)


_HAN_NUMBER = re.compile("[二三四五六七八九十百千万两兩]")


def _has_number(text: str, words: Sequence[str]) -> bool:
    """Return whether a text in another language than English has a number in words."""
    return not NUMBER_WORDS.isdisjoint(words) or _HAN_NUMBER.search(text) is not None


def _answer_kinds(text: str, words: Sequence[str], languages: Sequence[str]) -> list[str]:
    kinds = []
    found = _TIMES_AND_NUMBERS.intersection(words)
    digit = _DIGIT.search(text)
    if not _TIMES.isdisjoint(found) or (digit and _YEAR.search(text, digit.start())):
        kinds.append(HAS_TIME)
    if digit or not _NUMBERS.isdisjoint(found) or (languages and _has_number(text, words)):
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
    folded = fold(text)
    if folded.isascii():
        # Most texts. Without an apostrophe, translating finds the same words as the pattern in a third of the time.
        if "'" in folded:
            return _ASCII_WORD.findall(folded), []
        return folded.encode().translate(_BLANK_PUNCTUATION).decode().split(), []
    unstemmed: list[str] = []
    for run in _UNSPACED.findall(folded):
        unstemmed += [run[i : i + 2] for i in range(max(1, len(run) - 1))]
    return _WORD.findall(_UNSPACED.sub(" ", folded)), unstemmed + _SYMBOL.findall(folded)


def fold(text: str) -> str:
    """Return the text in lower case, without accents, in compatible Unicode forms."""
    if text.isascii():
        return text.lower()
    lowered = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    if lowered.isascii():
        return lowered
    if _ARABIC.search(lowered):
        lowered = _ARABIC_MARKS.sub("", lowered).translate(_ARABIC_LETTERS)
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", lowered)))


_stem = stems_in(ENGLISH).__getitem__
_STOP_STEMS = frozenset(map(_stem, STOP_WORDS[ENGLISH]))


def folded_words(text: str) -> list[str]:
    """Return the words of a text, folded."""
    return _WORD.findall(fold(text))


_WEEK, _MAX_MONTHS, _MAX_MENTIONED = 7, 100, 366
"""Days of a period up to which its days, its months, or only its year are keys."""
_MAX_KEYS = 200


def time_keys(start: datetime, end: datetime) -> list[str]:
    """Return the lexical keys of a text that mentions this period: its days, months and years, if they are few."""
    length = (end - start).days
    if length > _MAX_MENTIONED:
        return []
    days = [start + timedelta(days=n) for n in range(max(1, length))] if length <= _WEEK else []
    months = days or [start + timedelta(days=n) for n in range(0, length, 28)] + [end - timedelta(days=1)]
    is_year = length > _MAX_MONTHS
    keys = [f"{HAS_TIME}{day:%Y-%m-%d}" for day in days] + [f"{HAS_TIME}{day:%Y-%m}" for day in months if not is_year]
    return list(dict.fromkeys([*keys, *(f"{HAS_TIME}{day:%Y}" for day in months)]))


def keys_in_window(start: datetime, end: datetime) -> list[str]:
    """Return the lexical keys of texts that mention a time inside a window: whole years and months, and single days."""
    keys: list[str] = []
    day = start
    while day < end and len(keys) < _MAX_KEYS:
        for pattern, after in (
            ("%Y", _year_after(day)),
            ("%Y-%m", _month_after(day)),
            ("%Y-%m-%d", day + timedelta(1)),
        ):
            is_first = day.day == 1 and (pattern != "%Y" or day.month == 1)
            if pattern == "%Y-%m-%d" or (is_first and after <= end):
                keys.append(HAS_TIME + day.strftime(pattern))
                day = after
                break
    return keys


def _month_after(day: datetime) -> datetime:
    return day.replace(year=day.year + day.month // 12, month=day.month % 12 + 1, day=1)


def _year_after(day: datetime) -> datetime:
    return day.replace(year=day.year + 1, month=1, day=1)
