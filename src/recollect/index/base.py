"""The port of stage 6: vectors → neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from recollect.types import FloatArray, IntArray


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


class TextIndex(Protocol):
    """Words → memories, by BM25 with the statistics of the texts in this index alone."""

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
