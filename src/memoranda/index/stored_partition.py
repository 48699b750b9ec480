"""A partition whose words and vectors stay in the store: in memory are only its ids, lengths, names and times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memoranda.index.base import PartitionVectors
from memoranda.index.lexical import Postings
from memoranda.index.partition import Partition
from memoranda.storage.base import OwnerSearch, PartitionKey, TermCounts
from memoranda.text.terms import OR
from memoranda.types import FloatArray, IntArray


class StoredPartition(Partition):
    """The memories of one owner, searched by the store."""

    def __init__(self, key: PartitionKey, generation: int, search: OwnerSearch, *, until_loaded: bool = False) -> None:
        """Create an empty partition.

        Args:
            key: Whose memories it holds.
            generation: The generation of the vectors.
            search: The search of the store.
            until_loaded: Whether it answers only until the memories are loaded.
        """
        self.search = search
        self.until_loaded = until_loaded
        super().__init__(key, generation)

    @property
    def loaded_generation(self) -> int | None:
        """None: the rows are read without their vectors."""
        return None

    def reset(self, index: PartitionVectors | None = None) -> None:
        super().reset(StoredVectors(self) if index is None else index)
        self.postings = StoredPostings(self.search)


class StoredPostings(Postings):
    """Words to memories, as `Postings`, with the lists of words read from the store when they are asked for."""

    def __init__(self, search: OwnerSearch) -> None:
        super().__init__()
        self._search = search

    @property
    def _text_bytes(self) -> int:
        return self._row_bytes

    def contains(self, term: str) -> bool:
        return len(self._counts(term)[0]) > 0

    def held(self, terms: Sequence[str]) -> list[str]:
        self._read_counts(terms)
        return super().held(terms)

    def add_all(self, ids: Sequence[int], texts: Sequence[Sequence[str]]) -> None:
        self.remove(ids)
        self._append(ids, [len(terms) for terms in texts])
        new = {term for terms in texts for term in terms}
        for term in [term for term in self._counts_cache if not new.isdisjoint(term.split(OR))]:
            self._uncache(term)

    def _add_scores(self, query_terms: Sequence[str], visible: NDArray[np.bool_] | None) -> NDArray[np.float64] | None:
        self._read_counts(query_terms)
        return super()._add_scores(query_terms, visible)

    def _count_few(self, term: str) -> dict[int, int] | None:  # noqa: ARG002
        return None

    def _counts(self, term: str, visible: NDArray[np.bool_] | None = None) -> tuple[IntArray, IntArray]:
        if term not in self._counts_cache:
            self._read_counts([term])
        numbers, counts = self._counts_cache[term]
        kept = (self._live if visible is None else visible)[numbers]
        return numbers[kept], counts[kept]

    def _read_counts(self, terms: Sequence[str]) -> None:
        """Read which texts hold each of these terms, or one of its alternatives, and how often each does."""
        missing = [term for term in dict.fromkeys(terms) if term not in self._counts_cache]
        if not missing:
            return
        found = self._search.terms([word for term in missing for word in term.split(OR)])
        for term in missing:
            self._cache(term, self._add_up([found[word] for word in term.split(OR) if word in found]))

    def _add_up(self, found: Sequence[TermCounts]) -> tuple[IntArray, IntArray]:
        """Return the numbers of the texts in these lists, and the sums of their counts."""
        if not found:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64)
        numbers = self._numbers_of(np.concatenate([ids for ids, _ in found]))
        counts = np.concatenate([counts for _, counts in found])[numbers >= 0]
        unique, positions = np.unique(numbers[numbers >= 0], return_inverse=True)
        return unique, np.bincount(positions, weights=counts, minlength=len(unique)).astype(np.int64)


class StoredVectors:
    """The vectors of one owner, compared exactly by the store."""

    def __init__(self, partition: StoredPartition) -> None:
        self._partition = partition
        self.dimension = partition.search.dimension

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        zeros = np.zeros(self.dimension, dtype=np.float32)
        found, _ = self._partition.search.cosines(zeros, None)
        return np.intersect1d(found, self._partition.ids, assume_unique=True)

    @property
    def nbytes(self) -> int:
        return 0

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        """Do nothing: the store has them."""

    def remove(self, ids: IntArray) -> int:  # noqa: ARG002 - the store removes them
        return 0

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return ids and cosines of the nearest memories of the partition, best first, ties by id."""
        search = self._partition.search
        if among is not None:
            return search.nearest(query, limit, among)
        # The store may also find memories that the partition leaves out, such as archived ones: most often a few.
        ids, cosines = search.nearest(query, 2 * limit, None)
        kept = np.isin(ids, self._partition.ids)
        if np.count_nonzero(kept) < min(limit, len(ids)) and len(ids) == 2 * limit:
            return search.nearest(query, limit, self._partition.ids)
        return ids[kept][:limit], cosines[kept][:limit]

    def scores(self, query: FloatArray, ids: IntArray | None = None) -> FloatArray:
        """Return the exact cosine of each id, -1 for unknown ids; of all ids, ascending, when None."""
        wanted = self.ids if ids is None else ids
        found, cosines = self._partition.search.cosines(query, ids)
        scores = np.full(len(wanted), -1.0, dtype=np.float32)
        if len(found):
            positions = np.minimum(np.searchsorted(found, wanted), len(found) - 1)
            known = found[positions] == wanted
            scores[known] = cosines[positions[known]]
        return scores
