"""The index on a CUDA device answers like the full scan on the processor."""

from __future__ import annotations

import numpy as np
import pytest

from memoranda.index.faiss import FAISSIndex, GpuScan
from memoranda.types import FloatArray

DIMENSION = 96


def unit_rows(random: np.random.Generator, count: int) -> FloatArray:
    rows = random.standard_normal((count, DIMENSION)).astype(np.float32)
    rows[: count // 2] += 3 * rows[0]  # half of them close together, as memories of one topic are
    scaled: FloatArray = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled


@pytest.mark.parametrize("limit", [1, 10, 100])
def test_search_equals_the_exact_scan(limit: int) -> None:
    random = np.random.default_rng(limit)
    rows, ids = unit_rows(random, 20_000), np.arange(20_000, dtype=np.int64)
    exact, on_card = FAISSIndex(DIMENSION), FAISSIndex(DIMENSION, use_gpu=True, graph_from=1_000)
    for index in (exact, on_card):
        index.add(ids, rows)
        index.remove(ids[::7])
        index.add(ids[:500], rows[500:1_000])  # changed after the card has them
    for query in unit_rows(random, 50):
        among = None if query[0] > 0 else random.permutation(20_000)[:15_000]
        expected, found = (index.search(query, limit, among=among) for index in (exact, on_card))
        assert expected[0].tolist() == found[0].tolist()
        assert expected[1].tolist() == found[1].tolist()


def test_several_queries_find_what_each_finds() -> None:
    random = np.random.default_rng(1)
    scan = GpuScan(DIMENSION)
    for _ in range(3):
        scan.add(unit_rows(random, 1_000))
    queries = unit_rows(random, 8)
    for query, found in zip(queries, scan.nearest_each(queries, 10), strict=True):
        assert set(scan.nearest(query, 10).tolist()) == set(found.tolist())
