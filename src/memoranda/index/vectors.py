"""Vectors by id in one growing matrix, and exact cosines over any part of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memoranda.errors import Incompatible, InvalidInput
from memoranda.files import ChecksummedFile
from memoranda.index.base import load_faiss
from memoranda.types import FloatArray, IntArray

# Two ways to add up one cosine differ by less than this, so a cut this much lower loses no tie.
_ROUNDING = 1e-5
# Gathering rows costs about this many times more than reading them in place.
_GATHER_COST = 3


class VectorTable:
    """Unit vectors by id. Scores are the same whatever else is in the table or the question."""

    def __init__(self, dimension: int) -> None:
        self.table = IdTable()
        self._matrix: FloatArray = np.empty((0, dimension), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def matrix(self) -> FloatArray:
        """One row a position, holes included."""
        return self._matrix[: self.table.size]

    @property
    def nbytes(self) -> int:
        return self._matrix.nbytes + self.table.nbytes

    def put(self, ids: IntArray, vectors: FloatArray) -> IntArray:
        """Writes one vector per id, and gives the positions whose vector is now another."""
        positions = self.table.claim(ids)
        self._matrix = grown(self._matrix, self.table.size)
        differs = np.any(self._matrix[positions] != vectors, axis=1)
        self._matrix[positions[differs]] = vectors[differs]
        return positions[differs]

    def drop(self, ids: IntArray) -> IntArray:
        """Forgets these ids, and gives the positions they had."""
        positions = self.table.release(ids)
        self._matrix[positions] = 0  # so that no file ever holds what was removed
        return positions

    def compact(self) -> None:
        """Closes the holes; positions change."""
        self._matrix = self._matrix[self.table.compact()]

    def scores(self, query: FloatArray, positions: IntArray) -> FloatArray:
        """The cosines at these positions."""
        if len(positions) * _GATHER_COST > self.table.size:
            return _dot(self.matrix, query)[positions]
        return _dot(self._matrix[positions], query)

    def best(self, query: FloatArray, limit: int, positions: IntArray) -> tuple[IntArray, FloatArray]:
        """Ids and cosines of the `limit` nearest of these positions, best first, ties by id."""
        if limit < len(positions):
            scores = self.scores(query, positions)
            cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            positions = positions[scores >= cut - _ROUNDING]
        # Row by row in one order of additions: equal vectors get equal scores wherever they stand.
        cosines = np.einsum("ij,j->i", self._matrix[positions], query)
        ids = self.table.ids[positions]
        order = np.lexsort((ids, -cosines))[:limit]
        return ids[order], cosines[order]


def checked_ids(ids: ArrayLike) -> IntArray:
    """The ids as an array of 64-bit integers, or `InvalidInput`."""
    numbers = np.asarray(ids)
    if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
        raise InvalidInput(f"ids must be a flat list of integers, not {numbers.dtype} of shape {numbers.shape}")
    if numbers.dtype == np.uint64 and (numbers > np.iinfo(np.int64).max).any():
        raise InvalidInput("ids must fit into 64 signed bits")
    return numbers.astype(np.int64)


def checked_vectors(ids: ArrayLike, vectors: ArrayLike, dimension: int) -> tuple[IntArray, FloatArray]:
    """Ids and their vectors, scaled to unit length where they are not, or `InvalidInput`."""
    numbers = checked_ids(ids)
    try:
        with np.errstate(over="ignore"):
            rows = np.array(vectors, dtype=np.float32, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidInput("vectors must be numbers, one row of equal length per id") from error
    if rows.shape != (len(numbers), dimension):
        raise InvalidInput(f"vectors must have the shape {(len(numbers), dimension)}, not {rows.shape}")
    if not np.isfinite(rows).all():
        raise InvalidInput("vectors must be finite: remove NaN and infinity")
    return numbers, _unit(rows)


def latest_vectors(ids: ArrayLike, vectors: ArrayLike, dimension: int) -> tuple[IntArray, FloatArray]:
    """The same with the ids ascending; of an id given twice the last counts."""
    numbers, rows = checked_vectors(ids, vectors, dimension)
    if len(numbers) > 1 and not (np.diff(numbers) > 0).all():
        numbers, last = np.unique(numbers[::-1], return_index=True)
        rows = rows[::-1][last]
    return numbers, rows


def checked_query(query: ArrayLike, dimension: int) -> FloatArray:
    """The direction that is asked for, or `InvalidInput`."""
    row = np.asarray(query)
    if row.shape != (dimension,):
        raise InvalidInput(f"query must be one vector of {dimension} dimensions, not of shape {row.shape}")
    _, rows = checked_vectors(np.zeros(1, dtype=np.int64), row[None], dimension)
    return rows.reshape(dimension)


def checked_limit(limit: object) -> int:
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1:
        raise InvalidInput(f"limit must be a positive integer, not {limit!r}")
    return int(limit)


def _unit(rows: FloatArray) -> FloatArray:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    # A vector of zeros has no direction: it stays, and is no nearer to one thing than to another.
    off = (np.abs(lengths - 1.0) > 1e-3) & (lengths > 0)
    if off.any():
        rows[off] = rows[off] / lengths[off, None]
    return rows


def _dot(matrix: FloatArray, query: FloatArray) -> FloatArray:
    faiss = load_faiss()
    # On one thread, unlike numpy's product, which wakes a pool of threads for a millisecond's work.
    products = np.empty(len(matrix), dtype=np.float32)
    rows = np.ascontiguousarray(matrix)
    faiss.fvec_inner_products_ny(
        faiss.swig_ptr(products), faiss.swig_ptr(query), faiss.swig_ptr(rows), rows.shape[1], len(rows)
    )
    return products


Column = TypeVar("Column", bound=np.generic)


def grown(array: NDArray[Column], size: int) -> NDArray[Column]:
    """The array with room for `size` rows; it grows by halves, so that appending stays cheap."""
    if size <= len(array):
        return array
    larger = np.zeros((max(size, len(array) * 3 // 2, 16), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


class IdTable:
    """Positions of ids. A removed id leaves a hole, and takes it again when it comes back."""

    def __init__(self) -> None:
        self._ids: IntArray = np.empty(0, dtype=np.int64)
        self._live = np.empty(0, dtype=np.bool_)
        self._size = 0
        self._count = 0
        self._ascending = True
        self._order: IntArray | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """How many positions there are, holes included."""
        return self._size

    @property
    def ids(self) -> IntArray:
        """The id of each position."""
        return self._ids[: self._size]

    @property
    def live(self) -> NDArray[np.bool_]:
        """False where a position is a hole."""
        return self._live[: self._size]

    @property
    def nbytes(self) -> int:
        return self._ids.nbytes + self._live.nbytes

    def positions(self) -> IntArray:
        """All positions that are not holes."""
        return np.flatnonzero(self.live)

    def find(self, ids: IntArray) -> IntArray:
        """The position of each id, -1 where it is not there."""
        found = self._locate(ids)
        found[found >= 0] = np.where(self.live[found[found >= 0]], found[found >= 0], -1)
        return found

    def claim(self, ids: IntArray) -> IntArray:
        """The position of each id, new ones at the end; no id may be given twice."""
        positions = self._locate(ids)
        new = positions < 0
        if new.any():
            positions[new] = self._append(ids[new])
        self._count += int(np.count_nonzero(~self.live[positions]))
        self._live[positions] = True
        return positions

    def release(self, ids: IntArray) -> IntArray:
        """Makes holes of these ids, and gives the positions that were in use."""
        positions = np.unique(self.find(ids))
        positions = positions[positions >= 0]
        self._live[positions] = False
        self._count -= len(positions)
        return positions

    def compact(self) -> IntArray:
        """Closes the holes and sorts by id; gives the old position of each new one."""
        kept = self.positions()
        kept = kept[np.argsort(self.ids[kept], kind="stable")]
        self._ids = self._ids[kept]
        self._live = np.ones(len(kept), dtype=np.bool_)
        self._size = self._count = len(kept)
        self._ascending, self._order = True, None
        return kept

    def _append(self, ids: IntArray) -> IntArray:
        start, end = self._size, self._size + len(ids)
        self._ids, self._live = grown(self._ids, end), grown(self._live, end)
        self._ids[start:end] = ids
        self._live[start:end] = False
        self._size, self._order = end, None
        if self._ascending:
            self._ascending = bool((np.diff(self._ids[max(start - 1, 0) : end]) > 0).all())
        return np.arange(start, end, dtype=np.int64)

    def _locate(self, ids: IntArray) -> IntArray:
        if not self._size or not len(ids):
            return np.full(len(ids), -1, dtype=np.int64)
        if not self._ascending and self._order is None:
            self._order = np.argsort(self.ids, kind="stable")
        places = np.searchsorted(self.ids, ids, sorter=self._order)
        places = np.minimum(places, self._size - 1).astype(np.int64, copy=False)
        positions = places if self._order is None else self._order[places]
        positions[self.ids[positions] != ids] = -1
        return positions


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One row a position; `fresh` and `graph` cover the positions that the graph has taken in."""

    ids: IntArray
    live: NDArray[np.bool_]
    vectors: FloatArray
    fresh: NDArray[np.bool_]
    graph: memoryview | None

    def sections(self, prefix: str = "") -> dict[str, memoryview]:
        """What a file must hold to give the snapshot back."""
        arrays = {
            "ids": self.ids.astype("<i8", copy=False),
            "live": self.live.astype(np.uint8),
            "vectors": self.vectors.astype("<f4", copy=False),
            "fresh": self.fresh.astype(np.uint8),
        }
        found = {prefix + name: _flat_bytes(array) for name, array in arrays.items()}
        if self.graph is not None:
            found[prefix + "graph"] = self.graph
        return found

    @classmethod
    def read(cls, file: ChecksummedFile, dimension: int, prefix: str = "") -> Snapshot:
        """The snapshot in these sections; `Incompatible` when its parts do not fit together."""
        ids = np.frombuffer(file.read_section(prefix + "ids"), dtype="<i8").astype(np.int64)
        live = np.frombuffer(file.read_section(prefix + "live"), dtype=np.uint8).astype(np.bool_)
        fresh = np.frombuffer(file.read_section(prefix + "fresh"), dtype=np.uint8).astype(np.bool_)
        numbers = np.frombuffer(file.read_section(prefix + "vectors"), dtype="<f4").astype(np.float32)
        if len(numbers) != len(ids) * dimension or len(live) != len(ids) or len(fresh) > len(ids):
            raise Incompatible("The parts of the index file do not fit together: delete it, and it is rebuilt")
        if len(np.unique(ids)) != len(ids):
            raise Incompatible("The index file names an id twice: delete it, and it is rebuilt")
        graph = file.read_section(prefix + "graph") if prefix + "graph" in file else None
        return cls(ids, live, numbers.reshape(len(ids), dimension), fresh, graph)


def _flat_bytes(array: NDArray[np.generic]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
