"""Decides whether two texts say the same, by their words. Pure.

A number, a name, a "not" or a date that only one of two texts has makes them different, however similar they look.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from memoranda.dates.find import find_mentions
from memoranda.remember.base import KnownMatch, Utterance
from memoranda.text import query_terms

SAME: Final = 0.85
"""The share of common terms, of all terms of both, from which two texts say the same."""
_ECHO: Final = 0.9
"""The share of an answer's terms in one known text from which the answer only repeats that text."""
_ECHO_TERMS: Final = 4
"""A shorter answer is no echo."""
_MAX_COMPARED: Final = 200
"""How many of the known texts that share terms are compared; those that share most come first."""
_NEGATIONS: Final = frozenset(
    ("not", "no", "never", "nobody", "none", "nothing", "without", "hardly", "stopped", "quit", "former")
)
_NOT: Final = re.compile(r"n['’]t\b")
_DIGITS: Final = re.compile(r"\d+(?:[.,]\d+)*")
_NUMBERS: Final = frozenset((
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty",
    "hundred", "thousand",
))  # fmt: skip
_COUNTED: Final = _NEGATIONS | _NUMBERS
_FILLERS: Final = frozenset(
    query_terms("really just also very quite actually totally definitely still already much honestly")
)
# The capital comes first and the condition on what precedes it follows, so that the search can skip to the capitals.
_NAME: Final = re.compile(r"[A-Z](?<=[^.!?\"'“(] [A-Z])[\w'’-]+")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """The features by which two texts are compared."""

    plain: str
    """The text without case, punctuation and extra white space."""
    all_terms: tuple[str, ...]
    terms: frozenset[str]
    """The terms without fillers such as "really"."""
    numbers: tuple[str, ...]
    names: frozenset[str]
    negations: int
    times: tuple[tuple[datetime, datetime], ...]
    """The times it mentions; "yesterday" said on two days is two times."""


def fingerprint(text: str, said_at: datetime) -> Fingerprint:
    """Return the features of a text."""
    plain = " ".join(_WORD.findall(text)).casefold()
    counted = [word for word in plain.split() if word in _COUNTED]
    all_terms = tuple(query_terms(text))
    mentions = find_mentions(text, said_at)
    return Fingerprint(
        plain=plain,
        all_terms=all_terms,
        terms=frozenset(all_terms) - _FILLERS,
        numbers=tuple(sorted([*_DIGITS.findall(text), *(word for word in counted if word in _NUMBERS)])),
        names=frozenset(_NAME.findall(" ".join(text.split()))),
        negations=sum(word in _NEGATIONS for word in counted) + len(_NOT.findall(text.lower())),
        times=tuple((mention.start, mention.end) for mention in mentions if mention.kind == "at"),
    )


def similarity(one: Fingerprint, other: Fingerprint) -> float:
    """Return the share of common terms, 0…1; 1 for texts that differ only in case and punctuation."""
    if one.plain == other.plain:
        return 1.0
    both = len(one.terms | other.terms)
    return len(one.terms & other.terms) / both if both else 0.0


def says_the_same(known: Fingerprint, new: Fingerprint) -> bool:
    """Return whether a new text adds nothing to a known one: no term, number, name, negation or time."""
    return (
        known.numbers == new.numbers
        and known.names == new.names
        and known.negations == new.negations
        and known.times == new.times
        and new.terms <= known.terms
        and similarity(known, new) >= SAME
    )


def is_echo(answer: Fingerprint, known: Fingerprint) -> bool:
    """Return whether an answer only repeats a known text: it has nearly all its terms, and no new number or name."""
    if len(answer.terms) < _ECHO_TERMS or answer.negations != known.negations:
        return False
    if set(answer.numbers) - set(known.numbers) or answer.names - known.names:
        return False
    return len(answer.terms & known.terms) >= _ECHO * len(answer.terms)


@dataclass(frozen=True, slots=True)
class _KnownText:
    id: int | str
    speaker: str
    role: str
    fingerprint: Fingerprint

    def match(self, utterance: Utterance, fingerprint: Fingerprint) -> KnownMatch | None:
        if self.speaker == utterance.speaker and says_the_same(self.fingerprint, fingerprint):
            similar = similarity(self.fingerprint, fingerprint)
            return KnownMatch("duplicate" if similar == 1.0 else "near_duplicate", self.id, similar)
        answers = utterance.role in ("assistant", "tool") and self.role != utterance.role
        if answers and is_echo(fingerprint, self.fingerprint):
            return KnownMatch("echo", self.id, similarity(self.fingerprint, fingerprint))
        return None


class KnownTextIndex:
    """The `KnownTexts` of the memories that a caller passes, and of what is added later. For one thread.

    Pass the memories that could say the same: all of a small scope, or the best lexical hits for each text of the
    call. In the second case, also pass which `terms` of the call occur in the scope.
    """

    def __init__(self, known: Iterable[tuple[int | str, Utterance]] = (), terms: Iterable[str] = ()) -> None:
        self._terms = set(terms)
        self._texts: list[_KnownText] = []
        self._by_term: dict[str, list[int]] = defaultdict(list)
        self._by_plain: dict[str, list[int]] = defaultdict(list)
        self._last: tuple[Utterance, Fingerprint] | None = None
        for known_id, utterance in known:
            self._insert(known_id, utterance)

    def find_match(self, utterance: Utterance) -> KnownMatch | None:
        """Return the most similar known text that says the same; None when there is none."""
        fingerprint = self._fingerprint(utterance)
        best: KnownMatch | None = None
        for text in self._find_similar(fingerprint):
            match = text.match(utterance, fingerprint)
            if match is not None and (best is None or match.similarity > best.similarity):
                best = match
        return best

    def novelty(self, utterance: Utterance) -> float:
        """Return the share of its terms that no known text contains, 0…1."""
        terms = self._fingerprint(utterance).all_terms
        new = sum(term not in self._by_term and term not in self._terms for term in terms)
        return new / len(terms) if terms else 0.0

    def add(self, utterance: Utterance) -> None:
        """Add an utterance to the known texts, under the id of its message."""
        self._insert(utterance.message_id, utterance)

    def _insert(self, known_id: int | str, utterance: Utterance) -> None:
        position, fingerprint = len(self._texts), self._fingerprint(utterance)
        self._texts.append(_KnownText(known_id, utterance.speaker, utterance.role, fingerprint))
        self._by_plain[fingerprint.plain].append(position)
        for term in fingerprint.terms:
            self._by_term[term].append(position)

    def _fingerprint(self, utterance: Utterance) -> Fingerprint:
        # An utterance is looked up and then added, so the last fingerprint is kept.
        if self._last is None or self._last[0] is not utterance:
            self._last = (utterance, fingerprint(utterance.text, utterance.said_at))
        return self._last[1]

    def _find_similar(self, fingerprint: Fingerprint) -> list[_KnownText]:
        # A text that adds nothing has at most 15 % other terms, so one of its rarest 16 % is known: the fastest lookup.
        rarest = sorted(fingerprint.terms, key=lambda term: len(self._by_term.get(term, ())))
        probes = rarest[: max(1, int(len(rarest) * (1 - SAME)) + 1)]
        shared = Counter([position for term in probes for position in self._by_term.get(term, ())])
        positions = [position for position, _ in shared.most_common(_MAX_COMPARED)]
        return [self._texts[n] for n in [*self._by_plain.get(fingerprint.plain, []), *positions]]
