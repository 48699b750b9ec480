"""The rules for text: its lexical terms, its sentences, and the words that carry content."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, TypeAlias

from memoranda.caches import text_cache
from memoranda.languages import (
    COMPOUNDING,
    ENGLISH,
    NUMBER_WORDS,
    STOP_WORDS,
    UNSPACED,
    is_small_talk,
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
Span: TypeAlias = tuple[int, int]
"""A part of a text: the offset of its first character, and the offset after its last one."""
_END: Final = re.compile(
    # The punctuation comes first and the conditions on what precedes it follow, so that the search can skip ahead. An
    # end begins at the first of several marks: to try each of a thousand marks in a row would take seconds.
    r"[.!?…。！？\n](?:(?<=[。！？])|(?<=\n)\n*|(?<=[.!?…])(?<![.!?…][.!?…])"
    r"(?<!\bDr.)(?<!\bMr.)(?<!\bMs.)(?<!\bMrs.)(?<!\bSt.)(?<!\bvs.)(?<!\be\.g.)(?<!\bi\.e.)[.!?…]*+[\"'”’)\]]*+(?=\s|$))"
)


_NOT_BLANK: Final = re.compile(r"\S")


@text_cache(16)  # entities and claims are extracted from the same text one after the other
def sentence_spans(text: str) -> tuple[Span, ...]:
    """Return where each sentence or line is, without the white space around it."""
    return tuple(_find_spans(text))


def split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text, without the white space around them."""
    return [text[start:end] for start, end in sentence_spans(text)]


def _find_spans(text: str) -> Iterator[Span]:
    start = 0
    for end in (*(match.end() for match in _END.finditer(text)), len(text)):
        first = _NOT_BLANK.search(text, start, end)
        if first is not None:
            yield first.start(), first.start() + len(text[first.start() : end].rstrip())
        start = end


_WRITTEN_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_FUNCTION_WORDS = """
    a about above after all am an and any are as at be because been before being below between both but by can could
    down during each few for from further had has have having he her here hers herself him himself his how if in into
    is it its itself me might most must my myself nor not now of off on once only or other our ours ourselves out over
    own same shall she should some such than that the their theirs them themselves then there these they this those
    through to under until us was we were what when where which while who whom whose why will with would you your
    yours yourself yourselves been being he's she's they're we've they've that'll who's
"""


_SOCIAL_WORDS = """
    hi hello hey heya hiya yo howdy greetings morning afternoon evening bye goodbye cya farewell later laters cheers
    thanks thank thx ty welcome please sorry pardon congrats congratulations kudos bravo yay woohoo hooray wow whoa ooh
    oh ah aww aw hmm hm mm mmm mhm uh um er haha hahaha lol lmao rofl omg ok okay okey k kk yes yeah yep yup yea yah
    sure no nope nah alright right exactly indeed absolutely definitely totally certainly course agreed true correct
    acknowledged understood noted roger got gotcha get see saw seen ya know think guess hope hear heard look looks
    looking sound sounds feel feels seems seem tell talk talking chat chatting catch catching speak soon take care
    stay safe keep going go come coming let lets let's well fine good great awesome amazing cool nice lovely fantastic
    wonderful excellent perfect brilliant terrific super neat sweet beautiful gorgeous adorable cute incredible
    impressive inspiring interesting exciting fun funny glad happy excited thrilled proud lucky grateful thankful
    appreciate appreciated mean means lot much really so very truly always ever never again still also too maybe
    thing things stuff something anything everything nothing one ones way time long day night luck enjoy love loved
    like wish best worries problem worry anytime pleasure rock awesome idea point hear up what's whats how's hows
    it's that's thats there's here's i'm i'll i'd i've you're you'll you've we're we'll can't cannot don't doesn't
    didn't won't wouldn't isn't aren't wasn't i u r ur im ill ive dont cant gonna wanna gotta want need make makes made
    making even though although friend friends buddy dude bro man girl guys everyone continue proceed next more
    done ready go ahead do did does doing say said says try new bit kind sort pretty quite actually just already
    support supporting supportive help helps helped helping helpful wait waiting spirit believe believing rooting
    word words compliment tip tips curious happen happened happening goes give gave given inspired inspire inspires
    encouragement encouraging motivation motivating motivated kindness update updated updates posted touch chance
    awww ahh ahhh yesss woah yess greatly especially probably honestly literally anyway anyways around back away
    together part hard better worth special yourself yourselves matter matters stop give giving gives use used using
    reminder remind reminds deal job guess able question questions answer answers information info advice
"""


EMPTY_WORDS: Final = frozenset(_SOCIAL_WORDS.split()) | frozenset(_FUNCTION_WORDS.split())
"""Words of greeting, thanks, praise and agreement, and function words."""
_MAX_WORDS: Final = 6
"""How many content words are searched for. More would change nothing, and a long text takes no longer."""
_FIRST_CHARS: Final = 300
"""A text with content nearly always has that many content words in its first characters."""


def words_of(text: str) -> list[str]:
    """Return the words of a text as they are written."""
    return _WRITTEN_WORD.findall(text)


def first_words(text: str, limit: int) -> list[str]:
    """Return the first words of a text as they are written."""
    return [word.group() for word in islice(_WRITTEN_WORD.finditer(text), limit)]


def has_content(text: str, names: Collection[str]) -> bool:
    """Return whether a text has a content word that is not one of the `names`, which are in lower case."""
    first = first_content_words(text)
    if first and len(text) <= _FIRST_CHARS and _is_small_talk(text, names):
        return False
    if any(not is_name_of(word, names) for word in first):
        return True
    return len(first) == _MAX_WORDS and any(not is_name_of(word, names) for word in _content_words(_lower(text)))


def _is_small_talk(text: str, names: Collection[str]) -> bool:
    words = [word for word in _WORD.findall(fold(text)) if word not in names]
    return is_small_talk(words)


@text_cache(64)  # the gate and the importance use the same text one after the other
def first_content_words(text: str) -> tuple[str, ...]:
    """Return the first six content words of a text, in lower case."""
    folded = _lower(text)
    start = folded[: folded.find(" ", _FIRST_CHARS)]  # no word contains a space
    found = _content_words(start) if len(folded) > _FIRST_CHARS else []
    return tuple((found if len(found) >= _MAX_WORDS else _content_words(folded))[:_MAX_WORDS])


def _lower(text: str) -> str:
    # The lower case of \u0130 has two characters, one of which is not a letter.
    return text.replace("\u0130", "\u0131").lower().replace("’", "'")


def _content_words(folded: str) -> list[str]:
    return [
        w for w in _WRITTEN_WORD.findall(folded) if w not in EMPTY_WORDS and w.removesuffix("'s") not in EMPTY_WORDS
    ]


def is_name_of(word: str, names: Collection[str]) -> bool:
    """Return whether a word is the name of one of these people, or short for it: Mel for Melanie."""
    bare = word.removesuffix("'s")
    return bare in names or (len(bare) >= 2 and any(name.startswith(bare) for name in names))
