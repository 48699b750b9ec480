"""The contract of a vector index as a pytest suite: subclass it and define `make_index`."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

from memoranda.errors import InvalidInput
from memoranda.index.base import VectorIndex
from memoranda.types import FloatArray, IntArray

DIMENSION = 16


class ExactIndex:
    """A `VectorIndex` that computes every cosine: the reference that other indexes are compared with."""

    def __init__(self, dimension: int) -> None:
        self._dimension = dimension
        self._vectors: dict[int, FloatArray] = {}

    @property
    def dimension(self) -> int:
        return self._dimension

    def __len__(self) -> int:
        return len(self._vectors)

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        ids, vectors = np.asarray(ids), np.asarray(vectors)
        if vectors.shape != (len(ids), self._dimension):
            raise InvalidInput(f"vectors must have the shape {(len(ids), self._dimension)}, not {vectors.shape}")
        if not np.isfinite(vectors).all():
            raise InvalidInput("vectors must be finite: remove NaN and infinity")
        self._vectors.update(zip(ids.tolist(), np.array(vectors, dtype=np.float32), strict=True))

    def remove(self, ids: IntArray) -> int:
        return sum(self._vectors.pop(number, None) is not None for number in np.asarray(ids).tolist())

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        query = np.asarray(query, dtype=np.float32)
        if query.shape != (self._dimension,):
            raise InvalidInput(f"query must have {self._dimension} dimensions, not {query.shape}")
        allowed = self._vectors.keys() if among is None else set(np.asarray(among).tolist()) & self._vectors.keys()
        best = sorted((-float(self._vectors[number] @ query), number) for number in allowed)[:limit]
        ids = np.array([number for _, number in best], dtype=np.int64)
        return ids, np.array([-score for score, _ in best], dtype=np.float32)


def unit_rows(rng: np.random.Generator, count: int, dimension: int = DIMENSION) -> FloatArray:
    """Return random unit vectors, evenly distributed over all directions."""
    rows = rng.standard_normal((count, dimension)).astype(np.float32)
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), dtype=np.float32)


class IndexContract:
    """The contract of a `VectorIndex`. Name the subclass `Test…`, and define `make_index`.

    `recall` is the share of the exact neighbours that a result must hold: 1.0 unless the index is approximate at
    the sizes used here (a few hundred vectors).
    """

    recall: ClassVar[float] = 1.0

    def make_index(self, dimension: int) -> VectorIndex:
        raise NotImplementedError("define make_index in the subclass: it returns a new, empty index")

    @pytest.fixture
    def index(self) -> VectorIndex:
        return self.make_index(DIMENSION)

    def assert_neighbours(
        self,
        index: VectorIndex,
        reference: ExactIndex,
        query: FloatArray,
        limit: int,
        among: IntArray | None = None,
    ) -> None:
        ids, scores = index.search(query, limit, among=among)
        expected_ids, expected_scores = reference.search(query, limit, among=among)
        assert len(ids) == len(scores) == len(expected_ids)
        assert len(set(ids.tolist())) == len(ids)
        assert (np.diff(scores) <= 1e-6).all(), "best first"
        found = len(set(ids.tolist()) & set(expected_ids.tolist()))
        if self.recall == 1.0:
            assert ids.tolist() == expected_ids.tolist()
            np.testing.assert_allclose(scores, expected_scores, atol=1e-5)
        assert found >= self.recall * len(expected_ids)

    def test_new_index_is_empty(self, index: VectorIndex) -> None:
        assert index.dimension == DIMENSION
        assert len(index) == 0
        ids, scores = index.search(unit_rows(np.random.default_rng(0), 1)[0], 5)
        assert (len(ids), len(scores)) == (0, 0)

    @pytest.mark.parametrize("seed", range(8))
    def test_results_equal_brute_force_through_adds_replacements_and_removals(
        self, index: VectorIndex, seed: int
    ) -> None:
        rng, reference = np.random.default_rng(seed), ExactIndex(DIMENSION)
        for _ in range(12):
            ids = rng.choice(400, size=int(rng.integers(1, 60)), replace=False).astype(np.int64)
            vectors = unit_rows(rng, len(ids))
            index.add(ids, vectors)
            reference.add(ids, vectors)
            removed = rng.choice(400, size=int(rng.integers(0, 30)), replace=False).astype(np.int64)
            assert index.remove(removed) == reference.remove(removed)
            assert len(index) == len(reference)
            query, limit = unit_rows(rng, 1)[0], int(rng.integers(1, 30))
            self.assert_neighbours(index, reference, query, limit)
            among = np.sort(rng.choice(500, size=int(rng.integers(1, 200)), replace=False)).astype(np.int64)
            self.assert_neighbours(index, reference, query, limit, among)

    def test_filter_does_not_reduce_number_of_rows(self, index: VectorIndex) -> None:
        rng = np.random.default_rng(1)
        vectors = unit_rows(rng, 300)
        index.add(np.arange(300, dtype=np.int64), vectors)
        far = np.argsort(vectors @ vectors[0])[:7].astype(np.int64)
        ids, _ = index.search(vectors[0], 5, among=np.sort(far))
        assert len(ids) == 5
        assert set(ids.tolist()) <= set(far.tolist())

    def test_limit_above_size_returns_everything_once(self, index: VectorIndex) -> None:
        index.add(np.arange(5, dtype=np.int64), unit_rows(np.random.default_rng(2), 5))
        ids, _ = index.search(unit_rows(np.random.default_rng(3), 1)[0], 50)
        assert sorted(ids.tolist()) == [0, 1, 2, 3, 4]

    def test_empty_filter_returns_nothing(self, index: VectorIndex) -> None:
        index.add(np.arange(5, dtype=np.int64), unit_rows(np.random.default_rng(2), 5))
        ids, _ = index.search(unit_rows(np.random.default_rng(3), 1)[0], 5, among=np.empty(0, dtype=np.int64))
        assert len(ids) == 0

    def test_equal_vectors_are_sorted_by_id(self, index: VectorIndex) -> None:
        vector = np.zeros((1, DIMENSION), dtype=np.float32)
        vector[0, 3] = 1.0
        order = np.array([9, 2, 7, 40, 1], dtype=np.int64)
        index.add(order, np.repeat(vector, len(order), axis=0))
        ids, scores = index.search(vector[0], 3)
        assert ids.tolist() == [1, 2, 7]
        np.testing.assert_allclose(scores, 1.0, atol=1e-6)

    def test_replaced_vector_is_found_by_its_new_value(self, index: VectorIndex) -> None:
        axes = np.eye(DIMENSION, dtype=np.float32)
        index.add(np.array([1, 2], dtype=np.int64), axes[:2])
        index.add(np.array([1], dtype=np.int64), axes[5:6])
        assert len(index) == 2
        ids, scores = index.search(axes[0], 2)
        assert scores[ids.tolist().index(1)] == pytest.approx(0.0, abs=1e-6)
        assert index.search(axes[5], 1)[0].tolist() == [1]

    def test_large_ids_are_kept_exactly(self, index: VectorIndex) -> None:
        numbers = np.array([2**53 + 1, 2**53, 2**62], dtype=np.int64)
        index.add(numbers, np.eye(DIMENSION, dtype=np.float32)[:3])
        assert index.search(np.eye(DIMENSION, dtype=np.float32)[0], 1)[0].tolist() == [2**53 + 1]
        assert index.remove(numbers[1:]) == 2

    def test_index_copies_added_vectors(self, index: VectorIndex) -> None:
        vectors = np.eye(DIMENSION, dtype=np.float32)[:1].copy()
        index.add(np.array([1], dtype=np.int64), vectors)
        vectors[:] = 0
        assert index.search(np.eye(DIMENSION, dtype=np.float32)[0], 1)[1][0] == pytest.approx(1.0)

    def test_another_dimension_is_refused(self, index: VectorIndex) -> None:
        with pytest.raises(InvalidInput):
            index.add(np.array([1], dtype=np.int64), unit_rows(np.random.default_rng(0), 1, DIMENSION + 1))
        with pytest.raises(InvalidInput):
            index.search(unit_rows(np.random.default_rng(0), 1, DIMENSION + 1)[0], 1)
        assert len(index) == 0

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_vector_that_is_not_finite_is_refused(self, index: VectorIndex, value: float) -> None:
        vectors = unit_rows(np.random.default_rng(0), 2)
        vectors[1, 0] = value
        with pytest.raises(InvalidInput):
            index.add(np.array([1, 2], dtype=np.int64), vectors)
        assert len(index) == 0
