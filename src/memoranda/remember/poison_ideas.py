"""Reads what an order to a model is made of: the features of each sentence of a text. Pure.

Features are ideas (`poison_words`), ideas that follow each other closely, words, and pairs of words. What each
weighs was learned from examples; see `training/poison.py`.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import insort
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import Final

from memoranda.remember.poison_words import PARTS, WORDS

_TOKEN: Final = re.compile(r"[^\W_]+(?:['.-][^\W_]+)*|[:>\])}\"“]")
_END: Final = re.compile(r"[.!?](?!\w)|\n")
_CLAUSE: Final = frozenset(':>])}"“')
_ADDRESS: Final = re.compile(
    r"https?://\S+|www\.\S+|[\w.+-]{1,80}@[\w-]{1,80}(?:\.[\w-]{1,80})+|"
    r"\b[\w-]{1,60}\.(?:example|com|net|org|io|ru|cn|xyz|info|biz|app|site|top|test)\b\S{0,80}|"
    r"~/[.\w/]+|/etc/\w+|\+?\d[\d -]{6,}\d|\b[A-Z]{2}\d\d [A-Z0-9]{2,}"
)
"""Where something can be sent, called or paid to. Its words say nothing about what a text is about."""
_MAY_HOLD_ADDRESS: Final = re.compile(r"[@/.\d](?:(?<=[@/])|(?<=\w\.)\S|(?<=\d)[\d -]{6}|(?<=[A-Z]{2}\d)\d )")
"""Every address contains this. Much faster than the pattern of addresses, as it begins with one set of characters."""
_OTHER_SCRIPT: Final = re.compile("[\u0590-\u0dff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
_OTHER_END: Final = re.compile("[。！？।؟\n]")
_NAME: Final = re.compile(r"(?<=[a-z,] )[A-Z]\w+")
_QUOTE: Final = re.compile("[\"“”„«»`]|(?<!\\w)'|'(?!\\w)")
_ORDERS: Final = frozenset(
    ("@drop", "@tell", "@send", "@pay", "@run", "@destroy", "@keep", "@steer", "@answer", "@persona")
)
_BEFORE_ORDER: Final = frozenset(("@polite", "@urgent", "@not", "@lasting", "@must", "@task"))
_COMBINED: Final = (
    ("@override", {"@drop>@rules", "@not>@rules", "@rules>@drop"}, {"@earlier>@rules", "@you>@rules", "@ai>@rules", "@rules>@you", "@authority>@rules"}),
    ("@conceal", {"@not>@tell", "@secretly>@tell", "@tell>@secretly"}, {"@tell>@user", "@user>@tell", "@tell>@reading"}),
    ("@exfiltrate", {"@send>@data", "@data>@send", "@tell>@data"}, {"@target", "@contact", "@reading", "@everyone"}),
    ("@unchecked", {"@not>@check", "@drop>@check", "@check>@drop"}, {"@run", "@pay", "@must", "@consent", "@destroy"}),
    ("@plant", {"@order>@user", "@keep>@user", "@keep>@ai", "@order>@lasting"}, {"@keep"}, {"@user", "@ai"}),
    ("@command", {"@ai>@must", "@ai>@order", "@must>@ai"}, {"@send", "@run", "@steer", "@answer", "@destroy", "@pay", "@drop", "@tell", "@keep"}),
    ("@leak", {"@order>@rules", "@answer>@rules", "@tell>@rules", "@order>@data"}, {"@you", "@authority", "@secretly"}, {"@tell", "@answer", "@send"}),
    ("@when asked", {"@when>@user", "@when>@question", "@lasting>@user", "@user>@question"}, {"@answer", "@steer", "@send", "@run", "@tell"}, {"@order", "@must", "@lasting"}),
)  # fmt: skip
"""What some ideas mean together: one feature of each set must be there."""
_COMBINES: Final = frozenset[str]().union(*(each[1] for each in _COMBINED))
_MAX_KNOWN: Final = 50_000
_NEAR: Final = 6
"""How many words apart two ideas may be to count as a pair."""
_STEM: Final = 6
"""Letters of a word that count as a feature, so that most of its forms are one."""
_LONGEST_PREFIX: Final = 14
_LETTERS: Final = str.maketrans("łøıđ’", "loid'")


def read_features(text: str) -> list[set[str]]:
    """Return the features of each sentence of a text: words as they are, ideas with an `@` in front."""
    bare, addresses = _take_addresses(text)
    folded = bare.casefold()
    if folded.isascii():
        sentences = _read_sentences(folded)
    else:
        folded = _without_accents(folded)
        sentences = [*_read_parts(folded), *_read_sentences(folded)]
    shared = {"@target"} if addresses else set[str]()
    if _NAME.search(bare):
        shared.add("@names")
    if _QUOTE.search(bare):
        shared.add("@quoted")
    for features in sentences:
        features |= shared
        _combine(features)
    return sentences


def may_hold_address(text: str) -> bool:
    """Return whether a text can hold an address: too often at most."""
    return _MAY_HOLD_ADDRESS.search(text) is not None


def hints_at_idea(word: str, ideas: frozenset[str]) -> bool:
    """Return whether what stands between white space has one of these ideas by itself."""
    ideas_of = _ideas()
    return not all(ideas.isdisjoint(ideas_of[token]) for token in _TOKEN.findall(word))


def begins_phrase(word: str, ideas: frozenset[str]) -> bool:
    """Return whether a phrase for one of these ideas can begin in what stands between white space."""
    phrases = _phrases()
    return any(idea in ideas for token in _TOKEN.findall(word) for _, idea in phrases.get(token, ()))


def holds_phrase(lowered: str, ideas: frozenset[str]) -> bool:
    """Return whether a text has words that follow each other and are one of these ideas together."""
    return any(idea in ideas for _, idea in _find_phrases(_TOKEN.findall(lowered)))


def _take_addresses(text: str) -> tuple[str, int]:
    return _ADDRESS.subn(" target ", text) if _MAY_HOLD_ADDRESS.search(text) else (text, 0)


def _read_sentences(folded: str) -> list[set[str]]:
    found: list[set[str]] = []
    for sentence in _END.split(folded):
        if tokens := _TOKEN.findall(sentence):
            found.append(_read_sentence(tokens))
    return found


def _read_sentence(tokens: list[str]) -> set[str]:
    stems = [token[:_STEM] for token in tokens]
    features = {*stems, *map(" ".join, pairwise(stems))}
    ideas_of = _ideas()
    placed = [(position, ideas) for position, token in enumerate(tokens) if (ideas := ideas_of[token])]
    for position, idea in _find_phrases(tokens):
        insort(placed, (position, (idea,)))
    for position in _find_orders(tokens):
        insort(placed, (position, ("@order",)))
    _add_ideas(features, placed)
    return features


def _find_phrases(tokens: list[str]) -> Iterator[tuple[int, str]]:
    phrases = _phrases()
    if phrases.keys().isdisjoint(tokens):
        return
    for position, token in enumerate(tokens):
        for phrase, idea in phrases.get(token, ()):
            if tokens[position + 1 : position + 1 + len(phrase)] == phrase:
                yield position, idea


def _find_orders(tokens: list[str]) -> Iterator[int]:
    """Yield where a clause starts with a verb: "please always send", but not "I send"."""
    ideas_of, starts = _ideas(), True
    for position, token in enumerate(tokens):
        if token in _CLAUSE:
            starts = True
        elif starts:
            ideas = ideas_of[token]
            if not _ORDERS.isdisjoint(ideas):
                yield position
            starts = not _BEFORE_ORDER.isdisjoint(ideas) and _ORDERS.isdisjoint(ideas)


def _add_ideas(features: set[str], placed: list[tuple[int, tuple[str, ...]]]) -> None:
    """Add ideas, and the pairs of those that follow each other closely."""
    for number, (position, ideas) in enumerate(placed):
        features.update(ideas)
        for later, others in placed[number + 1 :]:
            if later > position + _NEAR:
                break
            features.update([f"{one}>{other}" for one in ideas for other in others])


def _combine(features: set[str]) -> None:
    """Add what several pairs together mean."""
    if _COMBINES.isdisjoint(features):
        return
    for name, *needs in _COMBINED:
        if all(not need.isdisjoint(features) for need in needs):
            features.add(name)


class _IdeaTable(dict[str, tuple[str, ...]]):
    """The ideas of words, looked up once for each word."""

    def __missing__(self, token: str) -> tuple[str, ...]:
        exact, prefixes = _words()
        found = set(exact.get(token, ()))
        for end in range(2, min(len(token), _LONGEST_PREFIX) + 1):
            found.update(prefixes.get(token[:end], ()))
        ideas = tuple(sorted(found))
        if len(self) < _MAX_KNOWN:
            self[token] = ideas
        return ideas


@cache
def _ideas() -> _IdeaTable:
    return _IdeaTable()


def _without_accents(text: str) -> str:
    if _OTHER_SCRIPT.search(text):
        return text
    plain = "".join(char for char in unicodedata.normalize("NFD", text) if not unicodedata.combining(char))
    return plain.translate(_LETTERS)


@cache
def _words() -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Return the ideas of whole words and of beginnings of words."""
    exact: dict[str, list[str]] = {}
    prefixes: dict[str, list[str]] = {}
    for idea, words in WORDS.items():
        for word in _spellings(words):
            if "_" not in word:
                table, key = (prefixes, word[:-1]) if word.endswith("*") else (exact, word)
                table.setdefault(key, []).append(f"@{idea}")
    return exact, prefixes


@cache
def _phrases() -> dict[str, list[tuple[list[str], str]]]:
    """Return the ideas of words that follow each other, by the first of them."""
    found: dict[str, list[tuple[list[str], str]]] = {}
    for idea, words in WORDS.items():
        for phrase in _spellings(words):
            first, *rest = phrase.rstrip("*").split("_")
            if rest:
                found.setdefault(first, []).append((rest, f"@{idea}"))
    return found


def _spellings(words: str) -> Iterator[str]:
    for raw in words.split():
        word = _without_accents(raw)
        yield from {word.replace("?", "s"), word.replace("?", "z")}


def _read_parts(folded: str) -> Iterator[set[str]]:
    """Yield the features of each sentence in a script whose words cannot be told apart."""
    if not _OTHER_SCRIPT.search(folded):
        return
    for sentence in _OTHER_END.split(folded):
        features: set[str] = set()
        placed: list[tuple[int, tuple[str, ...]]] = []
        for match in _parts().finditer(sentence):
            placed.append((match.start() // 3, _ideas_of_part(match[0])))
        _add_ideas(features, placed)
        if features:
            yield features


@lru_cache(maxsize=2_000)
def _ideas_of_part(part: str) -> tuple[str, ...]:
    return tuple(f"@{idea}" for idea, parts in PARTS.items() if part.replace(" ", "_") in parts.split())


@cache
def _parts() -> re.Pattern[str]:
    parts = sorted({part for each in PARTS.values() for part in each.split()}, key=lambda part: (-len(part), part))
    return re.compile("|".join(re.escape(part.replace("_", " ")) for part in parts))
