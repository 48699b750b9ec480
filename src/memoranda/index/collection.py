"""A vector index over a collection that another engine keeps: what it holds is known here, so only changes travel."""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np

from memoranda.index.vectors import checked_ids, checked_limit, checked_query, latest_vectors
from memoranda.types import FloatArray, IntArray

EXACT_UP_TO = 100_000
"""So many rows of a partition are searched exactly where the engine can; above, through its graph."""
_SAME = 1e-6  # scores this close are a tie: engines add up in their own order
_SPARE = 32  # rows asked for beyond the limit, so that a tie at the end can be put in order


class Collection(Protocol):
    """The vectors of one partition in another engine. Every id and vector given is valid."""

    def marks(self) -> dict[int, int]:
        """What is there: the id of each vector and the mark that it was put with."""
        ...

    def put(self, ids: IntArray, vectors: FloatArray, marks: list[int]) -> None:
        """Adds or replaces."""
        ...

    def delete(self, ids: IntArray) -> None:
        """Removes these ids."""
        ...

    def nearest(
        self, query: FloatArray, limit: int, *, among: IntArray | None, exact: bool
    ) -> tuple[IntArray, FloatArray]:
        """Ids and cosines of the nearest, in any order; `limit` of them when as many are eligible."""
        ...


class CollectionIndex:
    """A `PartitionVectors` over a `Collection`."""

    def __init__(self, collection: Collection, dimension: int) -> None:
        self._collection = collection
        self._dimension = dimension
        self._marks = collection.marks()
        self._ids: IntArray | None = None

    @property
    def dimension(self) -> int:
        return self._dimension

    def __len__(self) -> int:
        return len(self._marks)

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        if self._ids is None:
            self._ids = np.array(sorted(self._marks), dtype=np.int64)
        return self._ids

    @property
    def nbytes(self) -> int:
        """About how much memory of this process it takes."""
        return 160 * len(self._marks)

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        """Adds vectors; an id already there is replaced, and of an id given twice the last counts."""
        numbers, rows = latest_vectors(ids, vectors, self._dimension)
        marks = [_mark(row) for row in rows]
        fresh = [place for place, id in enumerate(numbers.tolist()) if self._marks.get(id) != marks[place]]
        if fresh:
            chosen = [marks[place] for place in fresh]
            self._collection.put(numbers[fresh], rows[fresh], chosen)
            self._marks.update(zip(numbers[fresh].tolist(), chosen, strict=True))
            self._ids = None

    def remove(self, ids: IntArray) -> int:
        """Removes what is there of these ids, and says how many that were."""
        there = self._there(ids)
        if len(there):
            self._collection.delete(there)
            for id in there.tolist():
                del self._marks[id]
            self._ids = None
        return len(there)

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Ids and cosines, best first, ties by id; `limit` rows whenever that many are eligible."""
        wanted, direction = checked_limit(limit), checked_query(query, self._dimension)
        eligible = None if among is None else self._there(among)
        total = len(self) if eligible is None else len(eligible)
        asked = min(total, wanted + _SPARE)
        ids, scores = self._nearest(direction, asked, eligible)
        # A tie may go on beyond what was asked for: the lowest ids of it must be among the answers.
        while asked < total and len(scores) == asked and scores[wanted - 1] - scores[-1] <= _SAME:
            asked = min(total, 4 * asked)
            ids, scores = self._nearest(direction, asked, eligible)
        return ids[:wanted], scores[:wanted]

    def scores(self, query: FloatArray, ids: IntArray | None = None) -> FloatArray:
        """The exact cosine of each id, -1 where it is not there; of all, in the order of `.ids`, when None."""
        direction = checked_query(query, self._dimension)
        wanted = self.ids if ids is None else checked_ids(ids)
        there = self._there(wanted)
        # A filter costs more than it saves when it lets most rows through.
        among = None if 2 * len(there) > len(self) else there
        found, cosines = self._nearest(direction, len(self) if among is None else len(there), among)
        return _aligned(wanted, found, cosines)

    def _nearest(self, direction: FloatArray, limit: int, among: IntArray | None) -> tuple[IntArray, FloatArray]:
        if not limit:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        ids, scores = self._collection.nearest(direction, limit, among=among, exact=len(self) <= EXACT_UP_TO)
        order = np.lexsort((ids, -np.round(scores.astype(np.float64), 6)))
        return ids[order], scores[order]

    def _there(self, ids: IntArray) -> IntArray:
        return np.intersect1d(self.ids, checked_ids(ids))


def _aligned(wanted: IntArray, found: IntArray, cosines: FloatArray) -> FloatArray:
    """The cosine of each id that is wanted, -1 where it was not found."""
    answer = np.full(len(wanted), -1.0, dtype=np.float32)
    if len(found):
        order = np.argsort(found)
        places = order[np.minimum(np.searchsorted(found, wanted, sorter=order), len(found) - 1)]
        known = found[places] == wanted
        answer[known] = cosines[places[known]]
    return answer


def _mark(row: FloatArray) -> int:
    """A number that stands for a vector; it fits into any engine's integers."""
    return int.from_bytes(hashlib.blake2b(row.tobytes(), digest_size=6).digest(), "big")
