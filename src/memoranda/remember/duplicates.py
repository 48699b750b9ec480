"""Do two texts say the same? By their words, and by their vectors where there are any. Pure.

A number, a name, a "not" or a date that only one of them has makes them two different things, however alike they look.
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
"""The share of common words, of all words of both, from which two texts say the same."""
RELATED: Final = 0.5
"""The share of common words that close vectors still need."""
CLOSE: Final = 0.96
"""The cosine from which e5 vectors of two texts say the same; unrelated ones lie at about 0.72."""
ECHOED: Final = 0.9
"""The share of an answer's words that one known text holds when the answer only repeats it."""
_ECHO_WORDS: Final = 4
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
# The capital comes first and what must stand before it after that: so the search can skip to the capitals.
_NAME: Final = re.compile(r"[A-Z](?<=[^.!?\"'“(] [A-Z])[\w'’-]+")
_WORD: Final = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """What two texts are compared by."""

    plain: str
    """The text without case, signs and blanks."""
    terms: frozenset[str]
    numbers: tuple[str, ...]
    names: frozenset[str]
    negations: int
    times: tuple[tuple[datetime, datetime], ...]
    """The times it names; "yesterday" said on two days is two things."""


def fingerprint(text: str, said_at: datetime) -> Fingerprint:
    """What a text is compared by."""
    plain = " ".join(_WORD.findall(text)).casefold()
    counted = [word for word in plain.split() if word in _COUNTED]
    return Fingerprint(
        plain=plain,
        terms=frozenset(query_terms(text)) - _FILLERS,
        numbers=tuple(sorted([*_DIGITS.findall(text), *(word for word in counted if word in _NUMBERS)])),
        names=frozenset(_NAME.findall(" ".join(text.split()))),
        negations=sum(word in _NEGATIONS for word in counted) + len(_NOT.findall(text.lower())),
        times=tuple((mention.start, mention.end) for mention in find_mentions(text, said_at) if mention.kind == "at"),
    )


def fingerprint_of(utterance: Utterance) -> Fingerprint:
    return fingerprint(utterance.text, utterance.said_at)


def likeness(one: Fingerprint, other: Fingerprint) -> float:
    """The share of common words, 0…1; 1 is the same text but for case and signs."""
    if one.plain == other.plain:
        return 1.0
    both = len(one.terms | other.terms)
    return len(one.terms & other.terms) / both if both else 0.0


def says_the_same(known: Fingerprint, new: Fingerprint, cosine: float | None = None) -> bool:
    """Whether a new text adds nothing to a known one. `cosine` is that of their vectors, where there are any.

    By words alone, every telling word of the new text must be known; close vectors forgive other words for the same.
    """
    if not _compatible(known, new):
        return False
    alike = likeness(known, new)
    if cosine is not None and cosine >= CLOSE and alike >= RELATED:
        return True
    return alike >= SAME and new.terms <= known.terms


def echoes(answer: Fingerprint, known: Fingerprint) -> bool:
    """Whether an answer only repeats what is known: nearly all its words are there, and it adds no number or name."""
    if len(answer.terms) < _ECHO_WORDS or answer.negations != known.negations:
        return False
    if set(answer.numbers) - set(known.numbers) or answer.names - known.names:
        return False
    return len(answer.terms & known.terms) >= ECHOED * len(answer.terms)


def _compatible(one: Fingerprint, other: Fingerprint) -> bool:
    return (
        one.numbers == other.numbers
        and one.names == other.names
        and one.negations == other.negations
        and one.times == other.times
    )


MAX_SHARED = 200
"""How many of the texts that share words are compared; those that share most come first."""


@dataclass(frozen=True, slots=True)
class _Entry:
    id: int | str
    speaker: str
    role: str
    print: Fingerprint


class TextIndex:
    """What a store holds, as far as the caller gives it, and what this call has learned.

    Give the memories that could be twins: all of a small scope, or the best lexical hits for each text of the call,
    and then also which of the call's `words` the scope holds at all. For one thread.
    """

    def __init__(self, known: Iterable[tuple[int | str, Utterance]] = (), words: Iterable[str] = ()) -> None:
        self._words = set(words)
        self._entries: list[_Entry] = []
        self._by_term: dict[str, list[int]] = defaultdict(list)
        self._by_plain: dict[str, list[int]] = defaultdict(list)
        self._last: tuple[Utterance, Fingerprint] | None = None
        for key, utterance in known:
            self._insert(key, utterance)

    def find_match(self, utterance: Utterance) -> KnownMatch | None:
        """What says the same already; None for news."""
        mine = self._print(utterance)
        best: KnownMatch | None = None
        for entry in self._like(mine):
            found = _match(utterance, mine, entry)
            if found is not None and (best is None or found.likeness > best.likeness):
                best = found
        return best

    def novelty(self, text: str) -> float:
        """The share of its telling words that nothing known holds, 0…1."""
        words = query_terms(text)
        new = sum(word not in self._by_term and word not in self._words for word in words)
        return new / len(words) if words else 0.0

    def add(self, utterance: Utterance) -> None:
        """From now on this is known as well, under the message's id."""
        self._insert(utterance.message_id, utterance)

    def _insert(self, key: int | str, utterance: Utterance) -> None:
        place, mine = len(self._entries), self._print(utterance)
        self._entries.append(_Entry(key, utterance.speaker, utterance.role, mine))
        self._by_plain[mine.plain].append(place)
        for term in mine.terms:
            self._by_term[term].append(place)

    def _print(self, utterance: Utterance) -> Fingerprint:
        """Asked for twin and then learned: the same text is read once."""
        if self._last is None or self._last[0] is not utterance:
            self._last = (utterance, fingerprint_of(utterance))
        return self._last[1]

    def _like(self, mine: Fingerprint) -> list[_Entry]:
        same = self._by_plain.get(mine.plain, [])
        # What adds nothing has at most 15 % other words, so one of its rarest 16 % is known: the cheapest to look up.
        rarest = sorted(mine.terms, key=lambda term: len(self._by_term.get(term, ())))
        probes = rarest[: max(1, int(len(rarest) * (1 - SAME)) + 1)]
        found = [place for term in probes for place in self._by_term.get(term, ())]
        if found:
            same = [*same, *(place for place, _ in Counter(found).most_common(MAX_SHARED))]
        return [self._entries[place] for place in same]


def _match(utterance: Utterance, mine: Fingerprint, entry: _Entry) -> KnownMatch | None:
    if entry.speaker == utterance.speaker and says_the_same(entry.print, mine):
        alike = likeness(entry.print, mine)
        return KnownMatch("duplicate" if alike == 1.0 else "near_duplicate", entry.id, alike)
    if utterance.role in ("assistant", "tool") and entry.role != utterance.role and echoes(mine, entry.print):
        return KnownMatch("echo", entry.id, likeness(entry.print, mine))
    return None
