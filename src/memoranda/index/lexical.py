"""Words → memories: BM25 over one partition, with that partition's own statistics."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from math import log

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import InvalidInput
from memoranda.index.vectors import grown
from memoranda.types import FloatArray, IntArray

K1 = 0.9
"""How fast repeating a word stops to matter."""
B = 0.4
"""How much a long text is held back."""
_WASTE = 0.25  # share of removed texts at which their words are cleared away
_SMALL = 64
_TERM_BYTES = 200  # a word, its dict slot and its array


class Postings:
    """A text index in memory. A text scores Σ idf · tf / (tf + K1 · (1 - B + B · length / average)),
    idf being ln(1 + (N - df + ½) / (df + ½)): never negative.
    """

    def __init__(self) -> None:
        # The number of a text stands in a word's list once per occurrence, so lists are ascending runs.
        self._occurrences: dict[str, array[int]] = {}
        # What was made of them for questions, until the next text.
        self._runs_seen: dict[str, tuple[IntArray, IntArray]] = {}
        self._numbers: dict[int, int] = {}
        self._ids: IntArray = np.empty(0, dtype=np.int64)
        self._lengths = np.empty(0, dtype=np.int32)
        self._live = np.empty(0, dtype=np.bool_)
        self._size = 0
        self._total = 0

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def nbytes(self) -> int:
        """About how much memory this takes."""
        arrays = self._ids.nbytes + self._lengths.nbytes + self._live.nbytes
        return arrays + 100 * len(self._numbers) + _TERM_BYTES * len(self._occurrences) + 5 * self._total

    @property
    def average_length(self) -> float:
        """Words in a usual text; 0 when there is none."""
        return self._total / len(self) if len(self) else 0.0

    def holds(self, term: str) -> bool:
        """Whether any text has this word."""
        if term not in self._occurrences:
            return False
        return len(self) == self._size or len(self._runs(term)[0]) > 0

    def having(self, term: str) -> IntArray:
        """The ids of the texts that have this word, in no order."""
        return self._ids[self._runs(term)[0]]

    def add(self, id: int, terms: Sequence[str]) -> None:
        """Adds a text by its words; an id already there is replaced."""
        self.remove([id])
        number = self._append(id, len(terms))
        occurrences = self._occurrences
        for term in terms:
            found = occurrences.get(term)
            if found is None:
                found = occurrences[term] = array("i")
            found.append(number)

    def remove(self, ids: Iterable[int]) -> int:
        """Removes what is there of these ids, and says how many that were."""
        gone = [number for id in ids if (number := self._numbers.pop(int(id), None)) is not None]
        for number in gone:
            self._live[number] = False
            self._total -= int(self._lengths[number])
        if self._size > _SMALL and self._size - len(self) > _WASTE * self._size:
            self._compact()
        return len(gone)

    def search(
        self, query_terms: Sequence[str], limit: int, *, among: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Ids and scores of the best matches, best first, ties by id; only ids in `among` when given."""
        if limit < 1:
            raise InvalidInput(f"limit must be a positive integer, not {limit!r}")
        numbers, scores = self._match(query_terms)
        ids = self._ids[numbers]
        if among is not None:
            allowed = np.isin(ids, among)
            ids, scores = ids[allowed], scores[allowed]
        if limit < len(ids):
            best = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
            ids, scores = ids[best], scores[best]
        order = np.lexsort((ids, -scores))[:limit]
        return ids[order], scores[order].astype(np.float32)

    def scores(self, query_terms: Sequence[str]) -> tuple[IntArray, FloatArray]:
        """Ids and scores of all texts that hold any of the words, by id."""
        numbers, scores = self._match(query_terms)
        order = np.argsort(self._ids[numbers], kind="stable")
        return self._ids[numbers][order], scores[order].astype(np.float32)

    def ceiling(self, query_terms: Sequence[str]) -> float:
        """What a text of usual length scores that holds every word once."""
        return sum(self._idf(len(self._runs(term)[0])) for term in sorted(set(query_terms))) / (1 + K1)

    def _match(self, query_terms: Sequence[str]) -> tuple[IntArray, NDArray[np.float64]]:
        scores = np.zeros(self._size)
        if not len(self):
            return np.empty(0, dtype=np.int64), scores[:0]
        held_back = K1 * (1 - B + B * self._lengths[: self._size] / max(self._total / len(self), 1e-9))
        # In the order of the words, so that the order of the question changes no last digit.
        for term, times in sorted(Counter(query_terms).items()):
            numbers, counts = self._runs(term)
            weight = times * self._idf(len(numbers))
            scores[numbers] += weight * counts / (counts + held_back[numbers])
        found = np.flatnonzero(scores)
        return found, scores[found]

    def _idf(self, frequency: int) -> float:
        return log(1 + (len(self) - frequency + 0.5) / (frequency + 0.5))

    def _runs(self, term: str) -> tuple[IntArray, IntArray]:
        """Which texts hold the word, and how often."""
        occurrences = self._occurrences.get(term)
        if occurrences is None:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        known = self._runs_seen.get(term)
        if known is None:
            # A copy, because an array that something looks into cannot grow.
            known = self._runs_seen[term] = _counted(np.frombuffer(occurrences, dtype=np.intc).astype(np.int64))
        numbers, counts = known
        if len(self) == self._size:
            return numbers, counts
        live = self._live[numbers]
        return numbers[live], counts[live]

    def _append(self, id: int, length: int) -> int:
        self._runs_seen.clear()
        number = self._size
        self._ids, self._lengths = grown(self._ids, number + 1), grown(self._lengths, number + 1)
        self._live = grown(self._live, number + 1)
        self._ids[number], self._lengths[number], self._live[number] = id, length, True
        self._numbers[id] = number
        self._size += 1
        self._total += length
        return number

    def _compact(self) -> None:
        live = self._live[: self._size]
        renumbered = np.cumsum(live, dtype=np.intc) - 1
        kept = {}
        for term, occurrences in self._occurrences.items():
            numbers = np.frombuffer(occurrences, dtype=np.intc)
            numbers = renumbered[numbers[live[numbers]]]
            if len(numbers):
                kept[term] = array("i", numbers.tobytes())
        self._occurrences = kept
        self._runs_seen.clear()
        self._ids, self._lengths = self._ids[: self._size][live], self._lengths[: self._size][live]
        self._size = len(self._ids)
        self._live = np.ones(self._size, dtype=np.bool_)
        self._numbers = {id: number for number, id in enumerate(self._ids.tolist())}


def _counted(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Each number of an ascending list once, and how often it stands there."""
    new = numbers[1:] != numbers[:-1]
    if new.all():
        return numbers, np.ones(len(numbers), dtype=np.int64)
    starts = np.concatenate(([0], np.flatnonzero(new) + 1))
    return numbers[starts], np.diff(starts, append=len(numbers))
