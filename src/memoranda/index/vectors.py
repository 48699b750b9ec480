"""Vectors by id in one growing matrix, and exact cosines over any part of it."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from memoranda.errors import InvalidInput
from memoranda.index.engine import load_faiss
from memoranda.index.table import IdTable, grown
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
