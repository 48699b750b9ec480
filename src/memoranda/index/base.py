"""The protocols of an index: vectors to nearest neighbours, terms to matching texts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from memoranda.types import FloatArray, IntArray


class VectorIndex(Protocol):
    """Nearest neighbours by cosine over unit vectors. Must not be changed from two threads at once."""

    @property
    def dimension(self) -> int: ...

    def __len__(self) -> int: ...

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        """Add vectors, and replace those of known ids."""
        ...

    def remove(self, ids: IntArray) -> int:
        """Remove the known ones of these ids, and return how many they were."""
        ...

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return ids and cosines, best first, ties by id; only ids in `among` when given.

        Returns `limit` rows whenever that many are eligible.
        """
        ...

    def scores(self, query: FloatArray, ids: IntArray | None = None) -> FloatArray:
        """Return the exact cosine of each id, -1 for unknown ids; of all ids, ascending, when None."""
        ...


class PartitionVectors(VectorIndex, Protocol):
    """A vector index as a partition uses it: it lists its ids and reports its size."""

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        ...

    @property
    def nbytes(self) -> int:
        """The approximate memory that it takes in this process."""
        ...


class VectorEngine(Protocol):
    """Stores the vectors of partitions outside the memory of this process.

    Its data is derived: a partition compares it with the store when it loads, and corrects what differs.
    An engine that cannot be reached raises `Unavailable`. Safe to use from several threads.
    """

    def open(self, store_id: str, partition: str, dimension: int) -> PartitionVectors:
        """Return the vectors of one partition, with those of earlier runs."""
        ...

    def clear(self, store_id: str) -> None:
        """Remove all vectors of a store."""
        ...

    def close(self) -> None:
        """Release what it holds."""
        ...


class TextIndex(Protocol):
    """Terms to memories by BM25, with the statistics of the texts that a call may see: all, or those in `among`.

    A term of a query may be several alternatives that count as one word, joined by `memoranda.text.terms.OR`.
    """

    def search(
        self, query_terms: Sequence[str], limit: int, *, among: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Return ids and scores of the best matches, best first, ties by id; only ids in `among` when given."""
        ...

    def scores(self, query_terms: Sequence[str], among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return ids and scores of all texts that hold any of the terms, by ascending id."""
        ...

    def scores_of(self, ids: IntArray, query_terms: Sequence[str], among: IntArray | None = None) -> FloatArray:
        """Return the score of the text of each id, 0 for one that holds no term, is unknown or not in `among`."""
        ...

    def full_match_score(self, query_terms: Sequence[str], among: IntArray | None = None) -> float:
        """Return the score of a text of average length that holds every term once."""
        ...
