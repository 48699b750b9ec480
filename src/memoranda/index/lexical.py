"""Terms to memories: BM25 over one partition, with the statistics of the texts that a search may see."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import log
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memoranda.display import shown
from memoranda.errors import InvalidInput
from memoranda.index.vectors import grow_array
from memoranda.text.terms import OR
from memoranda.types import FloatArray, IntArray

K1 = 0.9
"""How soon repetitions of a term stop counting."""
B = 0.4
"""How much the score of a long text is reduced."""
_MAX_REMOVED = 0.25  # share of removed texts above which the lists are compacted
_MIN_COMPACTED = 64  # texts; fewer are never compacted
_TERM_BYTES = 200  # a term, its dict slot and its array
_FEW = 12  # occurrences of a word that are counted one by one
_NONE = np.empty(0, dtype=np.int64)


class _TermShares(NamedTuple):
    """The texts that hold a term, its weight, and what it adds to the score of each."""

    numbers: IntArray | list[int]
    weight: float
    shares: NDArray[np.float64] | list[float]


class Postings:
    """A `TextIndex` in memory.

    A text scores Σ idf · tf / (tf + K1 · (1 - B + B · length / average)), where idf is
    ln(1 + (N - df + ½) / (df + ½)): never negative. A term of a query may be several alternatives, joined by `OR`:
    they count as one word.
    """

    def __init__(self) -> None:
        # The list of a term holds the number of a text once per occurrence, in ascending order.
        self._occurrences: dict[str, array[int]] = {}
        # The counts made from these lists for queries; cleared when a text is added.
        self._counts_cache: dict[str, tuple[IntArray, IntArray]] = {}
        # What each of these terms adds to scores where every text counts; cleared when a text is added.
        self._shares_cache: dict[str, _TermShares] = {}
        self._share_bytes = 0
        self._length_penalty: NDArray[np.float64] | None = None
        self._cached_bytes = 0
        # The ids that the last search was among, and which texts that are; cleared when one is added or removed.
        self._last_visible: tuple[IntArray, NDArray[np.bool_]] | None = None
        # The ids whose scores were last asked for, and their numbers; and all numbers by id. Both cleared likewise.
        self._last_numbers: tuple[IntArray, IntArray] | None = None
        self._order: IntArray | None = None
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
        """The approximate memory that this takes."""
        return self._text_bytes + self._cached_bytes + self._share_bytes

    @property
    def _text_bytes(self) -> int:
        return self._row_bytes + _TERM_BYTES * len(self._occurrences) + 5 * self._total

    @property
    def _row_bytes(self) -> int:
        return self._ids.nbytes + self._lengths.nbytes + self._live.nbytes + 100 * len(self._numbers)

    def contains(self, term: str) -> bool:
        """Return whether any text holds this term."""
        if term not in self._occurrences:
            return False
        return len(self) == self._size or len(self._counts(term)[0]) > 0

    def held(self, terms: Sequence[str]) -> list[str]:
        """Return those of these terms that any text holds."""
        return list(filter(self.contains, terms))

    def ids_with(self, term: str) -> IntArray:
        """Return the ids of the texts that hold this term, in no order."""
        return self._ids[self._counts(term)[0]]

    def add(self, id: int, terms: Sequence[str]) -> None:
        """Add a text by its terms, replace the text of a known id."""
        self.add_all([id], [terms])

    def add_all(self, ids: Sequence[int], texts: Sequence[Sequence[str]]) -> None:
        """Add texts by their terms, replace the texts of known ids; ids must be unique."""
        self.remove(ids)
        self._clear_cache()
        occurrences = self._occurrences
        for number, terms in enumerate(texts, start=self._append(ids, [len(terms) for terms in texts])):
            for term in terms:
                found = occurrences.get(term)
                if found is None:
                    found = occurrences[term] = array("i")
                found.append(number)

    def remove(self, ids: Iterable[int]) -> int:
        """Remove the known ones of these ids, and return how many they were."""
        removed = [number for id in ids if (number := self._numbers.pop(int(id), None)) is not None]
        self._last_visible = self._last_numbers = self._order = None
        for number in removed:
            self._live[number] = False
            self._total -= int(self._lengths[number])
        if self._size > _MIN_COMPACTED and self._size - len(self) > _MAX_REMOVED * self._size:
            self._compact()
        return len(removed)

    def search(
        self, query_terms: Sequence[str], limit: int, *, among: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return ids and scores of the best matches, best first, ties by id; only ids in `among` when given."""
        if limit < 1:
            raise InvalidInput(f"limit must be a positive integer, not {shown(limit)}")
        numbers, scores = self._match(query_terms, self._visible(among))
        ids = self._ids[numbers]
        if limit < len(ids):
            best = scores >= np.partition(scores, len(scores) - limit)[len(scores) - limit]
            ids, scores = ids[best], scores[best]
        order = np.lexsort((ids, -scores))[:limit]
        return ids[order], scores[order].astype(np.float32)

    def scores(self, query_terms: Sequence[str], among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return ids and scores of all texts that hold any of the terms, by ascending id; only ids in `among`."""
        numbers, scores = self._match(query_terms, self._visible(among))
        order = np.argsort(self._ids[numbers], kind="stable")
        return self._ids[numbers][order], scores[order].astype(np.float32)

    def scores_of(self, ids: IntArray, query_terms: Sequence[str], among: IntArray | None = None) -> FloatArray:
        """Return the score of the text of each id, 0 for one that holds no term, is unknown or not in `among`."""
        scores = self._add_scores(query_terms, self._visible(among))
        if scores is None:
            return np.zeros(len(ids), dtype=np.float32)
        if self._last_numbers is None or self._last_numbers[0] is not ids:
            self._last_numbers = ids, self._numbers_of(ids)
        return np.append(scores, 0.0)[self._last_numbers[1]].astype(np.float32)  # the last one for unknown ids

    def coverage(self, query_terms: Sequence[str], ids: IntArray) -> FloatArray:
        """Return for each id which share of the weight of the terms its text holds, 0…1; rare terms weigh more."""
        found, total, visible = np.zeros(len(ids)), 0.0, self._visible(ids)
        for term in sorted(set(query_terms)):
            numbers, _ = self._counts(term, visible)
            weight = _idf(len(numbers), self._count(visible))
            total += weight
            found[np.isin(ids, self._ids[numbers])] += weight
        return (found / total if total else found).astype(np.float32)

    def full_match_score(self, query_terms: Sequence[str], among: IntArray | None = None) -> float:
        """Return the score of a text of average length that holds every term once; counted over ids in `among`."""
        visible = self._visible(among)
        count, terms = self._count(visible), sorted(set(query_terms))
        if self._is_whole(visible):
            return sum(self._term_shares(term).weight for term in terms) / (1 + K1)
        return sum(_idf(len(self._counts(term, visible)[0]), count) for term in terms) / (1 + K1)

    def _visible(self, among: IntArray | None) -> NDArray[np.bool_] | None:
        """Return by number whether a text counts; None when all do. What others wrote must not move these scores."""
        if among is None:
            return None
        if self._last_visible is None or self._last_visible[0] is not among:
            visible = self._live[: self._size] & np.isin(self._ids[: self._size], among)
            self._last_visible = among, visible
        return self._last_visible[1]

    def _numbers_of(self, ids: IntArray) -> IntArray:
        """Return the number of each id, -1 for those that this index does not have."""
        live = np.flatnonzero(self._live[: self._size])
        if not len(live):
            return np.full(len(ids), -1, dtype=np.int64)
        if self._order is None:
            self._order = live[np.argsort(self._ids[live], kind="stable")]
        known = self._ids[self._order]
        found = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        return np.where(known[found] == ids, self._order[found], -1)

    def _count(self, visible: NDArray[np.bool_] | None) -> int:
        return len(self) if visible is None else int(np.count_nonzero(visible))

    def _match(
        self, query_terms: Sequence[str], visible: NDArray[np.bool_] | None
    ) -> tuple[IntArray, NDArray[np.float64]]:
        scores = self._add_scores(query_terms, visible)
        found = _NONE if scores is None else np.flatnonzero(scores)
        return found, np.zeros(0) if scores is None else scores[found]

    def _add_scores(self, query_terms: Sequence[str], visible: NDArray[np.bool_] | None) -> NDArray[np.float64] | None:
        """Return the score of each text by its number; None when no text holds a term."""
        count = self._count(visible)
        if not count:
            return None
        # Sorted, so that the order of the terms in a question does not change the rounding.
        terms = sorted(query_terms)
        if self._is_whole(visible) and len(set(terms)) == len(terms):
            shares = [self._term_shares(term) for term in terms]
        else:
            penalty = self._penalize_lengths(visible)
            shares = [
                self._share_out(*self._counts(term, visible), times, penalty, count)
                for term, times in sorted(Counter(terms).items())
            ]
        held = [each for each in shares if len(each.numbers)]
        if not held:
            return None
        numbers = np.concatenate([each.numbers for each in held])
        shares_added = np.concatenate([each.shares for each in held])
        return np.bincount(numbers, shares_added, self._size).astype(np.float64, copy=False)

    def _is_whole(self, visible: NDArray[np.bool_] | None) -> bool:
        """Return whether every text counts that the lists hold."""
        return visible is None and len(self._numbers) == self._size

    def _term_shares(self, term: str) -> _TermShares:
        """Return what a term that occurs once in a question adds to the scores, where every text counts."""
        known = self._shares_cache.get(term)
        if known is None:
            if self._share_bytes > self._text_bytes:  # as with the counts
                self._clear_shares()
            few = self._count_few(term)
            if few is not None:
                known = _share_out_few(few, self._whole_penalty(), len(self))
            else:
                numbers, counts = self._counts(term)  # first: it may clear what is kept
                known = self._share_out(numbers, counts, 1, self._whole_penalty(), len(self))
            self._shares_cache[term] = known
            self._share_bytes += _TERM_BYTES + 8 * len(known.shares)
        return known

    def _count_few(self, term: str) -> dict[int, int] | None:
        """Return how often each text holds a term that is rare; None for other terms, which arrays count faster."""
        counts: dict[int, int] = {}
        for each in term.split(OR):
            occurrences = self._occurrences.get(each, ())
            if len(occurrences) > _FEW:
                return None
            for number in occurrences:
                counts[number] = counts.get(number, 0) + 1
        return counts

    def _whole_penalty(self) -> NDArray[np.float64]:
        if self._length_penalty is None:
            self._length_penalty = self._penalize_lengths(None)
        return self._length_penalty

    def _penalize_lengths(self, visible: NDArray[np.bool_] | None) -> NDArray[np.float64]:
        """Return what long texts are divided by, by number, for the average length of those that count."""
        lengths = self._lengths[: self._size]
        total = self._total if visible is None else int(lengths[visible].sum())
        return np.asarray(K1 * (1 - B + B * lengths / max(total / max(self._count(visible), 1), 1e-9)), np.float64)

    @staticmethod
    def _share_out(
        numbers: IntArray, counts: IntArray, times: int, penalty: NDArray[np.float64], count: int
    ) -> _TermShares:
        idf = _idf(len(numbers), count)
        return _TermShares(numbers, idf, times * idf * counts / (counts + penalty[numbers]))

    def _counts(self, term: str, visible: NDArray[np.bool_] | None = None) -> tuple[IntArray, IntArray]:
        """Return the numbers of the texts that hold the term, or one of its alternatives, and how often each does."""
        cached = self._counts_cache.get(term)
        if cached is None:
            cached = self._cache(term, self._count_texts(term))
        if visible is None and len(self._numbers) == self._size:
            return cached
        numbers, counts = cached
        kept = (self._live if visible is None else visible)[numbers]
        return numbers[kept], counts[kept]

    def _count_texts(self, term: str) -> tuple[IntArray, IntArray]:
        found = [list for each in term.split(OR) if (list := self._occurrences.get(each)) is not None]
        if not found:
            return _NONE, _NONE
        # Copies: an array cannot grow while a view of it exists.
        lists = [np.frombuffer(each, dtype=np.intc).astype(np.int64) for each in found]
        return _count_runs(lists[0] if len(lists) == 1 else np.sort(np.concatenate(lists)))

    def _cache(self, term: str, counts: tuple[IntArray, IntArray]) -> tuple[IntArray, IntArray]:
        if self._cached_bytes > self._text_bytes:  # so that many questions do not take more memory than the texts
            self._clear_cache()
        self._counts_cache[term] = counts
        self._cached_bytes += _cache_bytes(counts)
        return counts

    def _uncache(self, term: str) -> None:
        self._cached_bytes -= _cache_bytes(self._counts_cache.pop(term))

    def _clear_cache(self) -> None:
        self._counts_cache.clear()
        self._cached_bytes = 0
        self._clear_shares()

    def _clear_shares(self) -> None:
        self._shares_cache.clear()
        self._share_bytes = 0
        self._length_penalty = None

    def _append(self, ids: Sequence[int], lengths: Sequence[int]) -> int:
        """Append texts, and return the number of the first."""
        self._last_visible = self._last_numbers = self._order = None
        self._clear_shares()
        start, end = self._size, self._size + len(ids)
        self._ids, self._lengths = grow_array(self._ids, end), grow_array(self._lengths, end)
        self._live = grow_array(self._live, end)
        self._ids[start:end], self._lengths[start:end], self._live[start:end] = ids, lengths, True
        self._numbers.update(zip(ids, range(start, end), strict=True))
        self._size = end
        self._total += sum(lengths)
        return start

    def _compact(self) -> None:
        live = self._live[: self._size]
        renumbered = np.cumsum(live, dtype=np.intc) - 1
        compacted = {}
        for term, occurrences in self._occurrences.items():
            numbers = np.frombuffer(occurrences, dtype=np.intc)
            numbers = renumbered[numbers[live[numbers]]]
            if len(numbers):
                compacted[term] = array("i", numbers.tobytes())
        self._occurrences = compacted
        self._clear_cache()
        self._ids, self._lengths = self._ids[: self._size][live], self._lengths[: self._size][live]
        self._size = len(self._ids)
        self._live = np.ones(self._size, dtype=np.bool_)
        self._numbers = {id: number for number, id in enumerate(self._ids.tolist())}


def _cache_bytes(counts: tuple[IntArray, IntArray]) -> int:
    return _TERM_BYTES + counts[0].nbytes + counts[1].nbytes


def _share_out_few(counts: Mapping[int, int], penalty: NDArray[np.float64], count: int) -> _TermShares:
    """Return the same as `_share_out`, to the last bit."""
    idf = _idf(len(counts), count)
    return _TermShares(
        list(counts), idf, [idf * each / (each + penalty.item(number)) for number, each in counts.items()]
    )


def _idf(frequency: int, count: int) -> float:
    return log(1 + (count - frequency + 0.5) / (frequency + 0.5))


def _count_runs(numbers: IntArray) -> tuple[IntArray, IntArray]:
    """Return each number of an ascending list once, and how often it occurs."""
    new = numbers[1:] != numbers[:-1]
    if new.all():
        return numbers, np.ones(len(numbers), dtype=np.int64)
    ends = np.append(np.flatnonzero(new) + 1, len(numbers))
    return numbers[ends - 1], np.diff(ends, prepend=0)
