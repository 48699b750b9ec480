from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from memoranda.errors import Incompatible, InvalidInput, NotFound, Unavailable
from memoranda.index.base import VectorIndex
from memoranda.index.faiss import FAISSIndex
from memoranda.testing.contracts import ExactIndex, IndexContract, unit_rows
from memoranda.types import FloatArray, IntArray


class TestExactSearch(IndexContract):
    def make_index(self, dimension: int) -> VectorIndex:
        return FAISSIndex(dimension)


class TestGraphSearch(IndexContract):
    recall = 0.99

    def make_index(self, dimension: int) -> VectorIndex:
        return FAISSIndex(dimension, graph_from=10)


class TestPendingRows(IndexContract):
    def make_index(self, dimension: int) -> VectorIndex:
        return FAISSIndex(dimension, graph_from=10, grow_on_add=False)


def recall(index: FAISSIndex, oracle: ExactIndex, queries: FloatArray, among: IntArray | None = None) -> float:
    shares = []
    for query in queries:
        found, _ = index.search(query, 10, among=among)
        expected, _ = oracle.search(query, 10, among=among)
        assert len(found) == len(expected)
        shares.append(len(np.intersect1d(found, expected)) / len(expected))
    return float(np.mean(shares))


@pytest.fixture
def filled() -> tuple[FAISSIndex, ExactIndex, FloatArray]:
    rng = np.random.default_rng(3)
    index, oracle = FAISSIndex(32, graph_from=1000), ExactIndex(32)
    vectors = unit_rows(rng, 4000, 32)
    for each in (index, oracle):
        each.add(np.arange(4000), vectors)
    assert index.has_graph
    return index, oracle, unit_rows(rng, 25, 32)


def test_graph_finds_what_exact_scan_finds(filled: tuple[FAISSIndex, ExactIndex, FloatArray]) -> None:
    index, oracle, queries = filled
    assert recall(index, oracle, queries) >= 0.99


def test_graph_stays_accurate_after_removals_and_replacements(
    filled: tuple[FAISSIndex, ExactIndex, FloatArray],
) -> None:
    index, oracle, queries = filled
    rng = np.random.default_rng(4)
    for _ in range(3):
        removed = rng.choice(4000, 250, replace=False)
        replaced = rng.choice(4000, 60, replace=False)
        vectors = unit_rows(rng, 60, 32)
        for each in (index, oracle):
            each.remove(removed)
            each.add(replaced, vectors)
        assert len(index) == len(oracle)
        assert recall(index, oracle, queries) >= 0.99
        wide = rng.choice(4000, 3000, replace=False)
        assert recall(index, oracle, queries, np.sort(wide)) >= 0.99


def test_search_returns_limit_after_nearest_are_removed(filled: tuple[FAISSIndex, ExactIndex, FloatArray]) -> None:
    index, oracle, queries = filled
    nearest, _ = oracle.search(queries[0], 700)
    assert index.remove(nearest) == oracle.remove(nearest) == 700
    found, _ = index.search(queries[0], 10)
    expected, _ = oracle.search(queries[0], 10)
    assert found.tolist() == expected.tolist()


def test_graph_grown_in_steps_is_as_accurate_as_built_at_once() -> None:
    rng = np.random.default_rng(5)
    vectors, queries = unit_rows(rng, 3000, 32), unit_rows(rng, 20, 32)
    stepwise, oracle = FAISSIndex(32, graph_from=100, grow_on_add=False), ExactIndex(32)
    oracle.add(np.arange(3000), vectors)
    for start in range(0, 3000, 50):
        stepwise.add(np.arange(start, start + 50), vectors[start : start + 50])
        stepwise.grow(40)
    assert 0 < stepwise.pending < 3000
    assert recall(stepwise, oracle, queries) == 1.0
    assert stepwise.grow() == 0
    assert recall(stepwise, oracle, queries) >= 0.99


def test_graph_is_deterministic() -> None:
    vectors = unit_rows(np.random.default_rng(6), 2000, 16)
    queries = unit_rows(np.random.default_rng(7), 20, 16)
    answers = []
    for _ in range(2):
        index = FAISSIndex(16, graph_from=100)
        index.add(np.arange(2000), vectors)
        answers.append([index.search(query, 50)[0].tolist() for query in queries])
    assert answers[0] == answers[1]


def test_unchanged_vector_stays_in_graph() -> None:
    vectors = unit_rows(np.random.default_rng(8), 500, 16)
    index = FAISSIndex(16, graph_from=100)
    index.add(np.arange(500), vectors)
    before = index.snapshot()
    index.add(np.arange(500), vectors)
    assert index.snapshot().fresh.all()
    assert index.snapshot().graph == before.graph


def test_score_depends_only_on_its_own_vector() -> None:
    rng = np.random.default_rng(9)
    vectors, query = unit_rows(rng, 1003, 24), unit_rows(rng, 1, 24)[0]
    vectors[::7] = vectors[0]
    index = FAISSIndex(24)
    index.add(np.arange(1003), vectors)
    everything = dict(zip(*(each.tolist() for each in index.search(query, 1003)), strict=True))
    assert len({everything[number] for number in range(0, 1003, 7)}) == 1
    for _ in range(20):
        among = rng.choice(1003, 300, replace=False)
        ids, scores = index.search(query, 40, among=among)
        assert scores.tolist() == [everything[number] for number in ids.tolist()]


def test_scores_are_cosines_in_order_of_ids() -> None:
    rng = np.random.default_rng(10)
    vectors, query = unit_rows(rng, 50, 16), unit_rows(rng, 1, 16)[0]
    index = FAISSIndex(16)
    index.add(np.arange(50)[::-1], vectors[::-1])
    np.testing.assert_allclose(index.scores(query), vectors @ query, atol=1e-6)
    np.testing.assert_allclose(
        index.scores(query, np.array([7, 999, 3])), [vectors[7] @ query, -1, vectors[3] @ query], atol=1e-6
    )


def test_vectors_are_scaled_to_unit_length() -> None:
    index = FAISSIndex(2)
    index.add(np.array([1, 2]), np.array([[30.0, 0.0], [0.0, 0.001]], dtype=np.float32))
    ids, cosines = index.search(np.array([5.0, 0.0], dtype=np.float32), 2)
    assert (ids.tolist(), cosines.tolist()) == ([1, 2], [1.0, 0.0])


def test_last_vector_of_repeated_id_counts() -> None:
    index = FAISSIndex(2)
    index.add(np.array([5, 5]), np.eye(2, dtype=np.float32))
    assert len(index) == 1
    assert index.search(np.array([0.0, 1.0], dtype=np.float32), 1)[1].tolist() == [1.0]


@pytest.mark.parametrize("ids", [[1.5], ["1"], [True], [[1]], [2**63]])
def test_ids_that_are_not_integers_are_refused(ids: list[object]) -> None:
    index = FAISSIndex(2)
    with pytest.raises(InvalidInput, match="ids"):
        index.add(np.array(ids), np.eye(2, dtype=np.float32)[:1])
    assert len(index) == 0


@pytest.mark.parametrize("limit", [0, -1, True, 1.5])
def test_invalid_limit_is_refused(limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        FAISSIndex(2).search(np.ones(2, dtype=np.float32), limit)


@pytest.mark.parametrize("dimension", [0, -3, True, 2.5])
def test_invalid_dimension_is_refused(dimension: int) -> None:
    with pytest.raises(InvalidInput, match="dimension"):
        FAISSIndex(dimension)


def test_vectors_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="numbers"):
        FAISSIndex(2).add(np.array([1]), [["a", "b"]])  # type: ignore[arg-type]


def test_missing_cuda_device_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="leave USE_GPU off"):
        FAISSIndex(2, use_gpu=True)


def test_save_without_path_is_refused() -> None:
    with pytest.raises(InvalidInput, match="path"):
        FAISSIndex(2).save()


def test_missing_file_error_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match=r"none\.faiss"):
        FAISSIndex(2, tmp_path / "none.faiss").load()


@pytest.mark.parametrize("graph_from", [100, 10_000])
def test_loaded_index_returns_same_results(tmp_path: Path, graph_from: int) -> None:
    rng = np.random.default_rng(11)
    index = FAISSIndex(16, tmp_path / "index.faiss", graph_from=graph_from)
    index.add(np.arange(600) * 3, unit_rows(rng, 600, 16))
    index.remove(np.arange(40) * 3)
    index.add(np.arange(40, 60) * 3, unit_rows(rng, 20, 16))
    index.save(stamp={"change": 12, "generation": 2})
    again = FAISSIndex(16, graph_from=graph_from)
    assert again.load(tmp_path / "index.faiss") == {"change": 12, "generation": 2}
    assert (len(again), again.has_graph) == (560, index.has_graph)
    for query in unit_rows(rng, 20, 16):
        assert [each.tolist() for each in again.search(query, 15)] == [
            each.tolist() for each in index.search(query, 15)
        ]
    assert [path.name for path in tmp_path.iterdir()] == ["index.faiss"]


def test_file_of_another_dimension_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    FAISSIndex(3).save(tmp_path / "three.faiss")
    index = FAISSIndex(2)
    index.add(np.array([1]), np.eye(2, dtype=np.float32)[:1])
    with pytest.raises(Incompatible, match="3 dimensions"):
        index.load(tmp_path / "three.faiss")
    assert len(index) == 1


def test_removed_vector_is_not_saved(tmp_path: Path) -> None:
    vectors = unit_rows(np.random.default_rng(12), 300, 16)
    index = FAISSIndex(16, tmp_path / "index.faiss")
    index.add(np.arange(300), vectors)
    index.remove(np.array([17]))
    index.save()
    saved = (tmp_path / "index.faiss").read_bytes()
    assert vectors[18].tobytes() in saved
    assert vectors[17].tobytes() not in saved


def test_importing_and_constructing_do_not_import_faiss() -> None:
    code = "import sys, memoranda.index.faiss as f; f.FAISSIndex(3); print('faiss' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
