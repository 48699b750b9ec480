"""A vector index over a collection in another engine. Checksums tell what it holds, so that only changes are sent."""

from __future__ import annotations

import hashlib
from typing import Protocol

import numpy as np

from memoranda.index.vectors import deduplicate_vectors, validate_ids, validate_limit, validate_query
from memoranda.types import FloatArray, IntArray

EXACT_UP_TO = 100_000
"""Up to this many rows the engine searches exactly if it can; above, through its graph."""
_TIE = 1e-6  # scores this close are a tie: engines round differently
_EXTRA_ROWS = 32  # requested beyond the limit, so that a tie at the end can be sorted


class Collection(Protocol):
    """The vectors of one partition in another engine. Ids and vectors passed in are valid."""

    def checksums(self) -> dict[int, int]:
        """Return the stored checksum of each vector by id."""
        ...

    def put(self, ids: IntArray, vectors: FloatArray, checksums: list[int]) -> None:
        """Add or replace vectors."""
        ...

    def delete(self, ids: IntArray) -> None:
        """Remove these ids."""
        ...

    def nearest(
        self, query: FloatArray, limit: int, *, among: IntArray | None, exact: bool
    ) -> tuple[IntArray, FloatArray]:
        """Return ids and cosines of the nearest in any order; `limit` of them when that many are eligible."""
        ...


class CollectionIndex:
    """A `PartitionVectors` over a `Collection`."""

    def __init__(self, collection: Collection, dimension: int) -> None:
        self._collection = collection
        self._dimension = dimension
        self._checksums = collection.checksums()
        self._ids: IntArray | None = None

    @property
    def dimension(self) -> int:
        return self._dimension

    def __len__(self) -> int:
        return len(self._checksums)

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        if self._ids is None:
            self._ids = np.array(sorted(self._checksums), dtype=np.int64)
        return self._ids

    @property
    def nbytes(self) -> int:
        """The approximate memory that it takes in this process."""
        return 160 * len(self._checksums)

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        """Add vectors, and replace those of known ids; of a repeated id the last vector counts."""
        numbers, rows = deduplicate_vectors(ids, vectors, self._dimension)
        checksums = [_checksum(row) for row in rows]
        changed = [n for n, id in enumerate(numbers.tolist()) if self._checksums.get(id) != checksums[n]]
        if changed:
            new_checksums = [checksums[n] for n in changed]
            self._collection.put(numbers[changed], rows[changed], new_checksums)
            self._checksums.update(zip(numbers[changed].tolist(), new_checksums, strict=True))
            self._ids = None

    def remove(self, ids: IntArray) -> int:
        """Remove the known ones of these ids, and return how many they were."""
        known = self._known(ids)
        if len(known):
            self._collection.delete(known)
            for id in known.tolist():
                del self._checksums[id]
            self._ids = None
        return len(known)

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return ids and cosines, best first, ties by id; `limit` rows whenever that many are eligible."""
        count, unit_query = validate_limit(limit), validate_query(query, self._dimension)
        eligible = None if among is None else self._known(among)
        total = len(self) if eligible is None else len(eligible)
        requested = min(total, count + _EXTRA_ROWS)
        ids, scores = self._nearest(unit_query, requested, eligible)
        # A tie may continue beyond the requested rows: its lowest ids must be in the result.
        while requested < total and len(scores) == requested and scores[count - 1] - scores[-1] <= _TIE:
            requested = min(total, 4 * requested)
            ids, scores = self._nearest(unit_query, requested, eligible)
        return ids[:count], scores[:count]

    def scores(self, query: FloatArray, ids: IntArray | None = None) -> FloatArray:
        """Return the exact cosine of each id, -1 for unknown ids; of all, in the order of `.ids`, when None."""
        unit_query = validate_query(query, self._dimension)
        numbers = self.ids if ids is None else validate_ids(ids)
        known = self._known(numbers)
        # A filter that most rows pass costs more than it saves.
        among = None if 2 * len(known) > len(self) else known
        found, cosines = self._nearest(unit_query, len(self) if among is None else len(known), among)
        return _align(numbers, found, cosines)

    def _nearest(self, query: FloatArray, limit: int, among: IntArray | None) -> tuple[IntArray, FloatArray]:
        if not limit:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        ids, scores = self._collection.nearest(query, limit, among=among, exact=len(self) <= EXACT_UP_TO)
        order = np.lexsort((ids, -np.round(scores.astype(np.float64), 6)))
        return ids[order], scores[order]

    def _known(self, ids: IntArray) -> IntArray:
        return np.intersect1d(self.ids, validate_ids(ids))


def _align(ids: IntArray, found: IntArray, cosines: FloatArray) -> FloatArray:
    """Return the cosine of each id, -1 for ids that were not found."""
    aligned = np.full(len(ids), -1.0, dtype=np.float32)
    if len(found):
        order = np.argsort(found)
        positions = order[np.minimum(np.searchsorted(found, ids, sorter=order), len(found) - 1)]
        known = found[positions] == ids
        aligned[known] = cosines[positions[known]]
    return aligned


def _checksum(row: FloatArray) -> int:
    """Return a checksum of a vector, small enough for the integers of any engine."""
    return int.from_bytes(hashlib.blake2b(row.tobytes(), digest_size=6).digest(), "big")


def digest(*parts: str, size: int = 10) -> str:
    """Return a short name for an id of any length, safe in file and collection names."""
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=size).hexdigest()
