"""Vectors by id in one growing matrix, exact cosines over any part of it, and checks of what callers pass in."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import import_module
from math import isfinite, sqrt
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memoranda.display import shown
from memoranda.errors import Incompatible, InvalidInput
from memoranda.files import ChecksummedFile
from memoranda.types import FloatArray, IntArray

# Two orders of additions give cosines that differ by less than this, so a cut this much lower loses no tie.
_ROUNDING_ERROR = 1e-5
# Copying single rows costs about this many times more than reading all of them in place.
_GATHER_COST = 3
_ONE_ID = np.zeros(1, dtype=np.int64)
# A vector whose length differs from 1 by more than this is scaled.
_UNIT_ERROR = 1e-3


@cache
def load_faiss() -> Any:
    """Import FAISS on first use; its type hints cover only half of it, hence `Any`."""
    return import_module("faiss")


class VectorTable:
    """Unit vectors by id. The score of a vector does not depend on the other vectors in the table."""

    def __init__(self, dimension: int) -> None:
        self.table = IdTable()
        self._matrix: FloatArray = np.empty((0, dimension), dtype=np.float32)

    def __len__(self) -> int:
        return len(self.table)

    @property
    def matrix(self) -> FloatArray:
        """One row per position, including free positions."""
        return self._matrix[: self.table.size]

    @property
    def nbytes(self) -> int:
        return self._matrix.nbytes + self.table.nbytes

    def put(self, ids: IntArray, vectors: FloatArray) -> IntArray:
        """Write one vector per id, and return the positions whose vector has changed."""
        known = self.table.size
        positions = self.table.claim(ids)
        self._matrix = grow_array(self._matrix, self.table.size)
        if known == 0:  # there is nothing to compare with, as when a partition is loaded
            self._matrix[positions] = vectors
            return positions
        differs = np.any(self._matrix[positions] != vectors, axis=1)
        self._matrix[positions[differs]] = vectors[differs]
        return positions[differs]

    def remove(self, ids: IntArray) -> IntArray:
        """Remove these ids, and return the positions they had."""
        positions = self.table.release(ids)
        self._matrix[positions] = 0  # so that no file holds a removed vector
        return positions

    def compact(self) -> None:
        """Drop the free positions; the other positions change."""
        self._matrix = self._matrix[self.table.compact()]

    def scores(self, query: FloatArray, positions: IntArray) -> FloatArray:
        """Return the cosines at these positions."""
        if len(positions) * _GATHER_COST > self.table.size:
            return _dot(self.matrix, query)[positions]
        return _dot(self._matrix[positions], query)

    def best(self, query: FloatArray, limit: int, positions: IntArray) -> tuple[IntArray, FloatArray]:
        """Return ids and cosines of the `limit` nearest of these positions, best first, ties by id."""
        if limit < len(positions):
            scores = self.scores(query, positions)
            cut = np.partition(scores, len(scores) - limit)[len(scores) - limit]
            positions = positions[scores >= cut - _ROUNDING_ERROR]
        # Row by row in one order of additions: equal vectors get equal scores at any position.
        cosines = np.einsum("ij,j->i", self._matrix[positions], query)
        ids = self.table.ids[positions]
        order = np.lexsort((ids, -cosines))[:limit]
        return ids[order], cosines[order]


def validate_ids(ids: ArrayLike) -> IntArray:
    """Return the ids as 64-bit integers; raise `InvalidInput` when they are none."""
    numbers = np.asarray(ids)
    if numbers.ndim != 1 or (len(numbers) and numbers.dtype.kind not in "iu"):
        raise InvalidInput(f"ids must be a flat list of integers, not {numbers.dtype} of shape {numbers.shape}")
    if numbers.dtype == np.uint64 and (numbers > np.iinfo(np.int64).max).any():
        raise InvalidInput("ids must fit into 64 signed bits")
    return numbers.astype(np.int64, copy=numbers.flags.writeable)


def validate_vectors(ids: ArrayLike, vectors: ArrayLike, dimension: int) -> tuple[IntArray, FloatArray]:
    """Return ids and vectors, scaled to unit length; raise `InvalidInput` when they do not fit."""
    numbers = validate_ids(ids)
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


def deduplicate_vectors(ids: ArrayLike, vectors: ArrayLike, dimension: int) -> tuple[IntArray, FloatArray]:
    """Validate ids and vectors, and return them by ascending id; of a repeated id the last vector counts."""
    numbers, rows = validate_vectors(ids, vectors, dimension)
    if len(numbers) > 1 and not (np.diff(numbers) > 0).all():
        numbers, last = np.unique(numbers[::-1], return_index=True)
        rows = rows[::-1][last]
    return numbers, rows


def validate_query(query: ArrayLike, dimension: int) -> FloatArray:
    """Return the query as a unit vector; raise `InvalidInput` when it does not fit."""
    row = np.asarray(query)
    if row.shape != (dimension,):
        raise InvalidInput(f"query must be one vector of {dimension} dimensions, not of shape {row.shape}")
    if row.dtype != np.float32:
        _, rows = validate_vectors(_ONE_ID, row[None], dimension)
        return rows.reshape(dimension)
    # The same for what every embedder gives, with fewer steps.
    length = sqrt(np.einsum("ij,ij->i", row[None], row[None], dtype=np.float64)[0])
    if not isfinite(length):
        raise InvalidInput("vectors must be finite: remove NaN and infinity")
    unit = row / np.float64(length) if length > 0 and abs(length - 1.0) > _UNIT_ERROR else row
    return np.ascontiguousarray(unit, np.float32)


def validate_limit(limit: object) -> int:
    """Return the limit as an int; raise `InvalidInput` when it is not positive."""
    if isinstance(limit, bool) or not isinstance(limit, int | np.integer) or limit < 1:
        raise InvalidInput(f"limit must be a positive integer, not {shown(limit)}")
    return int(limit)


def _unit(rows: FloatArray) -> FloatArray:
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    # A vector of zeros has no direction: it is kept as it is, equally far from every query.
    scale = (np.abs(lengths - 1.0) > _UNIT_ERROR) & (lengths > 0)
    if np.count_nonzero(scale):
        rows[scale] = rows[scale] / lengths[scale, None]
    return rows


def _dot(matrix: FloatArray, query: FloatArray) -> FloatArray:
    faiss = load_faiss()
    # FAISS uses one thread here; numpy's product would wake a pool of threads for a millisecond of work.
    products = np.empty(len(matrix), dtype=np.float32)
    rows = np.ascontiguousarray(matrix)
    faiss.fvec_inner_products_ny(
        faiss.swig_ptr(products), faiss.swig_ptr(query), faiss.swig_ptr(rows), rows.shape[1], len(rows)
    )
    return products


Column = TypeVar("Column", bound=np.generic)


def grow_array(array: NDArray[Column], size: int) -> NDArray[Column]:
    """Return the array with space for `size` rows; it grows by half, so that appending stays cheap."""
    if size <= len(array):
        return array
    larger = np.zeros((max(size, len(array) * 3 // 2, 16), *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


class IdTable:
    """Maps ids to positions. A removed id leaves its position free, and gets it again when it is added again."""

    def __init__(self) -> None:
        self._ids: IntArray = np.empty(0, dtype=np.int64)
        self._live = np.empty(0, dtype=np.bool_)
        self._size = 0
        self._count = 0
        self._ascending = True
        self._order: IntArray | None = None
        # The last ids that were looked up and cannot change, with their positions; cleared when a position changes.
        self._last_found: tuple[IntArray, IntArray] | None = None

    def __len__(self) -> int:
        return self._count

    @property
    def size(self) -> int:
        """The number of positions, including free ones."""
        return self._size

    @property
    def ids(self) -> IntArray:
        """The id of each position."""
        return self._ids[: self._size]

    @property
    def live(self) -> NDArray[np.bool_]:
        """False for free positions."""
        return self._live[: self._size]

    @property
    def nbytes(self) -> int:
        return self._ids.nbytes + self._live.nbytes

    def positions(self) -> IntArray:
        """Return all positions that are not free."""
        return np.flatnonzero(self.live)

    def find(self, ids: IntArray) -> IntArray:
        """Return the position of each id, -1 for unknown ids."""
        if self._last_found is not None and self._last_found[0] is ids:
            return self._last_found[1]
        found = self._locate(ids)
        if self._count < self._size:
            found[found >= 0] = np.where(self.live[found[found >= 0]], found[found >= 0], -1)
        if not ids.flags.writeable:
            self._last_found = ids, found
        return found

    def claim(self, ids: IntArray) -> IntArray:
        """Return the position of each id, adding new ids at the end; ids must be unique."""
        self._last_found = None
        positions = self._locate(ids)
        new = positions < 0
        if new.any():
            positions[new] = self._append(ids[new])
        self._count += int(np.count_nonzero(~self.live[positions]))
        self._live[positions] = True
        return positions

    def release(self, ids: IntArray) -> IntArray:
        """Free the positions of these ids, and return those that were in use."""
        positions = np.unique(self.find(ids))
        self._last_found = None
        positions = positions[positions >= 0]
        self._live[positions] = False
        self._count -= len(positions)
        return positions

    def compact(self) -> IntArray:
        """Drop the free positions and sort by id; return the old position of each new one."""
        self._last_found = None
        kept = self.positions()
        kept = kept[np.argsort(self.ids[kept], kind="stable")]
        self._ids = self._ids[kept]
        self._live = np.ones(len(kept), dtype=np.bool_)
        self._size = self._count = len(kept)
        self._ascending, self._order = True, None
        return kept

    def _append(self, ids: IntArray) -> IntArray:
        start, end = self._size, self._size + len(ids)
        self._ids, self._live = grow_array(self._ids, end), grow_array(self._live, end)
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
        found = np.searchsorted(self.ids, ids, sorter=self._order)
        found = np.minimum(found, self._size - 1).astype(np.int64, copy=False)
        positions = found if self._order is None else self._order[found]
        positions[self.ids[positions] != ids] = -1
        return positions


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of an index, one row per position; `fresh` and `graph` cover the positions inside the graph."""

    ids: IntArray
    live: NDArray[np.bool_]
    vectors: FloatArray
    fresh: NDArray[np.bool_]
    graph: memoryview | None

    def sections(self, prefix: str = "") -> dict[str, memoryview]:
        """Return the sections of a file from which `read` restores the snapshot."""
        arrays = {
            "ids": self.ids.astype("<i8", copy=False),
            "live": self.live.astype(np.uint8),
            "vectors": self.vectors.astype("<f4", copy=False),
            "fresh": self.fresh.astype(np.uint8),
        }
        sections = {prefix + name: _to_bytes(array) for name, array in arrays.items()}
        if self.graph is not None:
            sections[prefix + "graph"] = self.graph
        return sections

    @classmethod
    def read(cls, file: ChecksummedFile, dimension: int, prefix: str = "") -> Snapshot:
        """Read a snapshot from its sections; raise `Incompatible` when they do not fit together."""
        ids = np.frombuffer(file.read_section(prefix + "ids"), dtype="<i8").astype(np.int64)
        live = np.frombuffer(file.read_section(prefix + "live"), dtype=np.uint8).astype(np.bool_)
        fresh = np.frombuffer(file.read_section(prefix + "fresh"), dtype=np.uint8).astype(np.bool_)
        numbers = np.frombuffer(file.read_section(prefix + "vectors"), dtype="<f4").astype(np.float32)
        if len(numbers) != len(ids) * dimension or len(live) != len(ids) or len(fresh) > len(ids):
            raise Incompatible("The parts of the index file do not fit together: delete the file to rebuild it")
        if len(np.unique(ids)) != len(ids):
            raise Incompatible("The index file holds an id twice: delete the file to rebuild it")
        graph = file.read_section(prefix + "graph") if prefix + "graph" in file else None
        return cls(ids, live, numbers.reshape(len(ids), dimension), fresh, graph)


def _to_bytes(array: NDArray[np.generic]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
