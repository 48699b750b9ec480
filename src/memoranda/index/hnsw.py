"""Candidates without reading every vector: an HNSW graph, or a scan on a graphics card."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

import numpy as np

from memoranda.errors import Incompatible, Unavailable
from memoranda.index.base import load_faiss
from memoranda.types import FloatArray, IntArray

LINKS = 32
BUILD_WIDTH = 200
SEARCH_WIDTH = 768
"""How many candidates one search looks at, at least."""


class Candidates(Protocol):
    """Positions near a query, over the rows given so far; the caller scores them exactly."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def grow(self, vectors: FloatArray) -> None:
        """Takes in the next rows."""
        ...

    def near(self, query: FloatArray, limit: int) -> IntArray:
        """About `limit` positions, the nearest among them."""
        ...


class Graph:
    """HNSW by inner product. Vectors are kept in half precision: they pick candidates only."""

    def __init__(self, dimension: int) -> None:
        faiss = load_faiss()
        half = faiss.ScalarQuantizer.QT_fp16
        self._index = faiss.IndexHNSWSQ(dimension, half, LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = BUILD_WIDTH

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def nbytes(self) -> int:
        return int(self._index.ntotal) * (int(self._index.d) * 2 + LINKS * 9)

    def grow(self, vectors: FloatArray) -> None:
        with _one_thread():
            self._index.add(np.ascontiguousarray(vectors))

    def near(self, query: FloatArray, limit: int) -> IntArray:
        faiss = load_faiss()
        width = max(SEARCH_WIDTH, limit)
        _, found = self._index.search(query[None], width, params=faiss.SearchParametersHNSW(efSearch=width))
        return np.asarray(found[0][found[0] >= 0], dtype=np.int64)

    def to_bytes(self) -> bytes:
        faiss = load_faiss()
        return bytes(faiss.serialize_index(self._index))

    @classmethod
    def from_bytes(cls, data: memoryview, dimension: int) -> Graph:
        """The graph again; `Incompatible` when these bytes are not one of ours."""
        faiss = load_faiss()
        try:
            index = faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8))
        except RuntimeError as error:
            raise Incompatible("The graph in the index file cannot be read: delete the file to rebuild it") from error
        if not isinstance(index, faiss.IndexHNSWSQ) or index.d != dimension or not _links_hold(index):
            raise Incompatible("The graph in the index file is not one of ours: delete the file to rebuild it")
        graph = cls.__new__(cls)
        graph._index = index
        return graph


class CardScan:
    """Every vector, scanned on a graphics card."""

    def __init__(self, dimension: int) -> None:
        faiss = load_faiss()
        if not hasattr(faiss, "StandardGpuResources") or not faiss.get_num_gpus():
            raise Unavailable(
                "use_gpu=True needs a graphics card and a FAISS built for it: pip install faiss-gpu-cu12 "
                "in place of faiss-cpu, or leave use_gpu off"
            )
        self._resources = faiss.StandardGpuResources()
        self._index = faiss.GpuIndexFlatIP(self._resources, dimension)

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def nbytes(self) -> int:
        return 0

    def grow(self, vectors: FloatArray) -> None:
        self._index.add(np.ascontiguousarray(vectors))

    def near(self, query: FloatArray, limit: int) -> IntArray:
        # The card answers with at most 2,048 rows; a longer list falls back to the exact scan.
        _, found = self._index.search(query[None], min(limit, 2048))
        return np.asarray(found[0][found[0] >= 0], dtype=np.int64)


def _links_hold(index: Any) -> bool:
    """Whether every link leads to a vector: FAISS follows them without looking."""
    faiss = load_faiss()
    links = faiss.vector_to_array(index.hnsw.neighbors)
    entry = index.hnsw.entry_point
    inside = not len(links) or (int(links.min()) >= -1 and int(links.max()) < index.ntotal)
    return inside and -1 <= entry < index.ntotal and index.hnsw.levels.size() == index.ntotal


@contextmanager
def _one_thread() -> Iterator[None]:
    """Builds the same graph every time; the setting belongs to the calling thread."""
    faiss = load_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
