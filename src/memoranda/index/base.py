"""The port of stage 6: vectors → neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any, Protocol

from memoranda.types import FloatArray, IntArray


class VectorIndex(Protocol):
    """Nearest neighbours by cosine over unit vectors. Not safe to change from two threads at once."""

    @property
    def dimension(self) -> int: ...

    def __len__(self) -> int: ...

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        """Adds vectors; an id already there is replaced."""
        ...

    def remove(self, ids: IntArray) -> int:
        """Removes what is there of these ids, and says how many that were."""
        ...

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Ids and cosines, best first, ties by id; only ids in `among` when given.

        Returns `limit` rows whenever that many are eligible.
        """
        ...

    def scores(self, query: FloatArray, ids: IntArray | None = None) -> FloatArray:
        """The exact cosine of each id, -1 where it is not there."""
        ...


class PartitionVectors(VectorIndex, Protocol):
    """A vector index as a partition uses it: it can be compared with the store, and says what memory it takes."""

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        ...

    @property
    def nbytes(self) -> int:
        """About how much memory of this process it takes."""
        ...


class VectorEngine(Protocol):
    """Where the vectors of partitions are kept when that is not this process's own memory.

    What it keeps is derived: a partition compares it with the store when it loads, and puts right what differs.
    An engine that cannot be reached raises `Unavailable`. Safe to use from several threads.
    """

    def open(self, store_id: str, partition: str, dimension: int) -> PartitionVectors:
        """The vectors of one partition; what an earlier run left is still there."""
        ...

    def clear(self, store_id: str) -> None:
        """Removes everything that is kept for a store."""
        ...

    def close(self) -> None: ...


class TextIndex(Protocol):
    """Words → memories, by BM25 with the statistics of the texts in this index alone."""

    @property
    def average_length(self) -> float:
        """Words in a usual text; 0 when there is none."""
        ...

    def search(
        self, query_terms: Sequence[str], limit: int, *, among: IntArray | None = None
    ) -> tuple[IntArray, FloatArray]:
        """Ids and scores of the best matches, best first, ties by id; only ids in `among` when given."""
        ...

    def scores(self, query_terms: Sequence[str]) -> tuple[IntArray, FloatArray]:
        """Ids and scores of all texts that hold any of the words, by id."""
        ...

    def ceiling(self, query_terms: Sequence[str]) -> float:
        """What a text of usual length scores that holds every word once."""
        ...


def load_faiss() -> Any:
    """The FAISS module; its own type hints cover only half of it, hence no type here."""
    return import_module("faiss")


GRAPH_FROM = 100_000
"""Above this many vectors a graph is built."""
