"""The nearest vectors by cosine: an exact scan over few vectors, an HNSW graph or a graphics card over many.

Above 100,000 rows a graph (32 links, built 200 wide) picks 768 candidates, which are then scored exactly. There
`python benchmarks/hnsw.py` finds it more than twice as fast as the scan, with a recall at 10 of 0.995.

A CUDA device, through PyTorch, holds the vectors in half precision and returns every position whose cosine could be
among the nearest, given the largest error that half precision makes. Those are scored exactly, so the answer is that of
a full scan.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, Protocol

import numpy as np
from numpy.typing import NDArray

from memoranda.display import shown
from memoranda.errors import Incompatible, InvalidInput, Unavailable
from memoranda.files import open_checksummed_file, write_checksummed_file
from memoranda.index.vectors import (
    Snapshot,
    VectorTable,
    deduplicate_vectors,
    grow_array,
    load_faiss,
    validate_ids,
    validate_limit,
    validate_query,
)
from memoranda.types import JSON, FloatArray, IntArray

_ERROR: Final = 2e-3
"""More than the cosine of two unit vectors can change by rounding both vectors and the result to half precision."""
_ROWS_AT_ONCE: Final = 1 << 20
"""How many rows are copied to the card in one step, so that their copy in half precision stays small."""


def load_torch() -> Any:
    """Import PyTorch; raise `Unavailable` when it is not installed or sees no card."""
    advice = "install PyTorch for CUDA (pip install torch), or leave USE_GPU off"
    try:
        torch = import_module("torch")
    except ImportError as error:
        raise Unavailable(f"searching on a CUDA device needs PyTorch, which is not installed: {advice}") from error
    if not torch.cuda.is_available():
        raise Unavailable(f"this PyTorch ({torch.__version__}) sees no CUDA device: {advice}")
    return torch


class GpuScan:
    """A `CandidateSearch` that scans every vector on a CUDA device."""

    def __init__(self, dimension: int) -> None:
        self._torch = load_torch()
        self._dimension = dimension
        self._matrix = self._empty(0)
        self._count = 0

    def __len__(self) -> int:
        return self._count

    @property
    def nbytes(self) -> int:
        """The memory that this takes outside the card."""
        return 0

    def add(self, vectors: FloatArray) -> None:
        end = self._count + len(vectors)
        if end > len(self._matrix):
            larger = self._empty(max(end, len(self._matrix) * 3 // 2))
            larger[: self._count] = self._matrix[: self._count]
            self._matrix = larger
        for start in range(0, len(vectors), _ROWS_AT_ONCE):
            rows = self._torch.from_numpy(np.ascontiguousarray(vectors[start : start + _ROWS_AT_ONCE]))
            self._matrix[self._count : self._count + len(rows)] = rows.to("cuda").half()
            self._count += len(rows)

    def nearest(self, query: FloatArray, limit: int, allowed: NDArray[np.bool_] | None = None) -> IntArray:
        """Return the positions, among the allowed ones, that hold the `limit` nearest."""
        return self.nearest_each(query[None], limit, allowed)[0]

    def nearest_each(
        self, queries: FloatArray, limit: int, allowed: NDArray[np.bool_] | None = None
    ) -> Sequence[IntArray]:
        """Return for each query what `nearest` returns; several queries read the vectors once."""
        torch = self._torch
        asked = torch.from_numpy(np.ascontiguousarray(queries)).to("cuda").half()
        scores = asked @ self._matrix[: self._count].T
        if allowed is not None:
            scores.masked_fill_(~torch.from_numpy(allowed[: self._count]).to("cuda"), -torch.inf)
        count = min(limit, self._count)
        least = torch.topk(scores, count, dim=1).values[:, -1:] - 2 * _ERROR
        found = torch.nonzero((scores >= least) & (scores > -torch.inf)).cpu().numpy()
        bounds = np.searchsorted(found[:, 0], np.arange(len(queries) + 1))
        return [found[start:end, 1].astype(np.int64) for start, end in pairwise(bounds)]

    def _empty(self, rows: int) -> Any:
        try:
            return self._torch.empty((rows, self._dimension), dtype=self._torch.float16, device="cuda")
        except self._torch.cuda.OutOfMemoryError as error:
            size = rows * self._dimension * 2 / 1e9
            raise Unavailable(f"the CUDA device has no room for {size:.1f} GB of vectors: leave USE_GPU off") from error


GRAPH_FROM = 100_000
"""Above this many vectors a graph is built."""
_LINKS = 32
_BUILD_WIDTH = 200
_SEARCH_WIDTH = 768
"""The smallest number of candidates that one search takes from the graph."""
_MAX_GRAPH_LIMIT = _SEARCH_WIDTH // 4  # a longer answer comes from the exact scan
_MAX_WASTE = 0.25  # share of free positions and outdated graph entries above which the index is compacted
_SMALL = 256  # positions; fewer are never compacted, and never wait for the graph
_FILE_KIND = b"RCLVECTS"


class FAISSIndex:
    """A `VectorIndex` that can be saved. Vectors are scaled to unit length.

    With `grow_on_add=False` the graph only grows when `grow` is called. Rows that are not yet in the graph are
    searched exactly, so that no search waits for the graph or misses a row.
    """

    def __init__(
        self,
        dimension: int,
        path: str | Path | None = None,
        use_gpu: bool = False,
        *,
        graph_from: int = GRAPH_FROM,
        grow_on_add: bool = True,
    ) -> None:
        """Create an empty index.

        Args:
            dimension: The length of the vectors.
            path: The file that `save` and `load` use by default.
            use_gpu: Whether to scan on a CUDA device in place of a graph; `Unavailable` without one.
            graph_from: Above this many vectors a graph is built, or the device is used.
            grow_on_add: Whether `add` also grows the graph.
        """
        if isinstance(dimension, bool) or not isinstance(dimension, int) or dimension < 1:
            raise InvalidInput(f"dimension must be a positive integer, not {shown(dimension)}")
        self.path = None if path is None else Path(path)
        self._dimension = dimension
        self._use_gpu = use_gpu
        self._graph_from = graph_from
        self._grow_on_add = grow_on_add or use_gpu
        self._rows = VectorTable(dimension)
        if use_gpu:
            load_torch()  # fail now, not when the index has become large
        self._candidates: CandidateSearch | None = None
        self._fresh = np.empty(0, dtype=np.bool_)  # whether the graph holds the current vector of a position

    @property
    def dimension(self) -> int:
        return self._dimension

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def ids(self) -> IntArray:
        """All ids, ascending."""
        return np.sort(self._rows.table.ids[self._rows.table.live])

    @property
    def pending(self) -> int:
        """The number of rows not yet in the graph; 0 when there are too few to need one."""
        needed = self._candidates is not None or len(self) > self._graph_from
        return self._rows.table.size - self._covered if needed else 0

    @property
    def has_graph(self) -> bool:
        """Whether there is a graph worth saving."""
        return self._covered > 0 and not self._use_gpu

    @property
    def nbytes(self) -> int:
        """The approximate memory that this takes."""
        return self._rows.nbytes + (0 if self._candidates is None else self._candidates.nbytes)

    def add(self, ids: IntArray, vectors: FloatArray) -> None:
        """Add vectors, and replace those of known ids; of a repeated id the last vector counts."""
        self._mark_outdated(self._rows.put(*deduplicate_vectors(ids, vectors, self._dimension)))
        self._maintain()

    def remove(self, ids: IntArray) -> int:
        """Remove the known ones of these ids, and return how many they were."""
        positions = self._rows.remove(validate_ids(ids))
        self._mark_outdated(positions)
        self._maintain()
        return len(positions)

    def search(self, query: FloatArray, limit: int, *, among: IntArray | None = None) -> tuple[IntArray, FloatArray]:
        """Return ids and cosines, best first, ties by id; `limit` rows whenever that many are eligible."""
        count, unit_query = validate_limit(limit), validate_query(query, self._dimension)
        eligible = None if among is None else self._find_positions(among)
        positions = self._shortlist(unit_query, count, eligible)
        if positions is None:
            positions = self._rows.table.positions() if eligible is None else eligible
        return self._rows.best(unit_query, count, positions)

    def scores(self, query: FloatArray, ids: IntArray | None = None) -> FloatArray:
        """Return the exact cosine of each id, -1 for unknown ids; of all, in the order of `.ids`, when None."""
        unit_query = validate_query(query, self._dimension)
        positions = self._rows.table.find(self.ids if ids is None else validate_ids(ids))
        known = positions >= 0
        if known.all():
            return self._rows.scores(unit_query, positions)
        cosines = np.full(len(positions), -1.0, dtype=np.float32)
        cosines[known] = self._rows.scores(unit_query, positions[known])
        return cosines

    def grow(self, rows: int | None = None) -> int:
        """Add up to `rows` pending rows to the graph (all when None), and return how many are still pending."""
        if not self.pending:
            return 0
        if self._candidates is None:
            self._candidates = GpuScan(self._dimension) if self._use_gpu else HnswGraph(self._dimension)
        start, size = self._covered, self._rows.table.size
        end = size if rows is None else min(start + rows, size)
        self._candidates.add(self._rows.matrix[start:end])
        self._fresh = grow_array(self._fresh, end)
        self._fresh[start:end] = self._rows.table.live[start:end]
        return self.pending

    def save(self, path: str | Path | None = None, *, stamp: JSON = None) -> None:
        """Write the index as one file, completely or not at all; `load` returns the stamp."""
        meta: dict[str, JSON] = {"dimension": self._dimension, "count": len(self), "stamp": stamp}
        write_checksummed_file(self._file_path(path), _FILE_KIND, meta, self.snapshot().sections())

    def load(self, path: str | Path | None = None) -> JSON:
        """Replace the content by a saved index, and return its stamp.

        Raises `Incompatible`, and changes nothing, when the file is truncated, damaged, of another kind or of
        another dimension.
        """
        file_path = self._file_path(path)
        with open_checksummed_file(file_path, _FILE_KIND) as file:
            found = file.meta.get("dimension")
            if found != self._dimension:
                raise Incompatible(
                    f"{file_path} has {found} dimensions, not {self._dimension}: delete it to rebuild it"
                )
            self.restore(Snapshot.read(file, self._dimension))
            return file.meta.get("stamp")

    def snapshot(self) -> Snapshot:
        """Return everything needed to `restore` this index."""
        if not self._covered:
            self._compact()
        table = self._rows.table
        graph = memoryview(self._candidates.to_bytes()) if isinstance(self._candidates, HnswGraph) else None
        fresh = self._fresh[: self._covered if graph is not None else 0]
        return Snapshot(table.ids, table.live, self._rows.matrix, fresh, graph)

    def restore(self, snapshot: Snapshot) -> None:
        """Replace the content by a snapshot; raise `Incompatible` when its graph does not fit."""
        graph = None
        if snapshot.graph is not None and not self._use_gpu:
            graph = HnswGraph.from_bytes(snapshot.graph, self._dimension)
        if len(snapshot.fresh) != (0 if graph is None else len(graph)) and not self._use_gpu:
            raise Incompatible("The graph in the index file covers other rows: delete the file to rebuild it")
        self._rows = VectorTable(self._dimension)
        self._rows.put(snapshot.ids, snapshot.vectors)
        self._rows.remove(snapshot.ids[~snapshot.live])
        self._candidates = graph
        self._fresh = snapshot.fresh.copy() if graph is not None else np.empty(0, dtype=np.bool_)
        self._maintain()

    @property
    def _covered(self) -> int:
        """The number of positions inside the graph."""
        return 0 if self._candidates is None else len(self._candidates)

    def _find_positions(self, ids: IntArray) -> IntArray:
        positions = self._rows.table.find(validate_ids(ids))
        return np.unique(positions[positions >= 0])

    def _shortlist(self, query: FloatArray, limit: int, eligible: IntArray | None) -> IntArray | None:
        """Return positions that include the answer, or None when only the exact scan is sure to find it."""
        size, covered = self._rows.table.size, self._covered
        narrow = eligible is not None and 2 * len(eligible) < size
        if self._candidates is None or limit > _MAX_GRAPH_LIMIT or narrow or size - covered > max(_SMALL, size // 10):
            return None
        allowed = self._mask(eligible)
        if isinstance(self._candidates, GpuScan):
            near = self._candidates.nearest(query, limit, allowed[:covered] & self._fresh[:covered])
        else:
            near = self._candidates.nearest(query, _SEARCH_WIDTH)
            near = near[allowed[near] & self._fresh[near]]
        if len(near) < limit:
            return None
        allowed[:covered] &= ~self._fresh[:covered]
        return np.concatenate([near, np.flatnonzero(allowed)])

    def _mask(self, eligible: IntArray | None) -> NDArray[np.bool_]:
        if eligible is None:
            return self._rows.table.live.copy()
        mask = np.zeros(self._rows.table.size, dtype=np.bool_)
        mask[eligible] = True
        return mask

    def _mark_outdated(self, positions: IntArray) -> None:
        self._fresh[positions[positions < self._covered]] = False

    def _maintain(self) -> None:
        """Compact the index when too much of it is waste, and grow the graph when `add` shall do so."""
        size, covered = self._rows.table.size, self._covered
        useful = np.count_nonzero(self._fresh[:covered]) + np.count_nonzero(self._rows.table.live[covered:])
        if size > _SMALL and size - useful > _MAX_WASTE * size:
            self._compact()
        if self._grow_on_add:
            self.grow()

    def _compact(self) -> None:
        self._rows.compact()
        self._candidates = None
        self._fresh = np.empty(0, dtype=np.bool_)

    def _file_path(self, path: str | Path | None) -> Path:
        chosen = path if path is not None else self.path
        if chosen is None:
            raise InvalidInput("No path: give one to this call or to FAISSIndex(path=...)")
        return Path(chosen)


class CandidateSearch(Protocol):
    """Finds positions near a query among the rows added so far; the caller scores them exactly."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...

    def add(self, vectors: FloatArray) -> None:
        """Add the next rows."""
        ...

    def nearest(self, query: FloatArray, limit: int) -> IntArray:
        """Return about `limit` positions, with the nearest among them."""
        ...


class HnswGraph:
    """HNSW by inner product. It holds vectors in half precision, as it only picks candidates."""

    def __init__(self, dimension: int) -> None:
        faiss = load_faiss()
        half = faiss.ScalarQuantizer.QT_fp16
        self._index = faiss.IndexHNSWSQ(dimension, half, _LINKS, faiss.METRIC_INNER_PRODUCT)
        self._index.hnsw.efConstruction = _BUILD_WIDTH

    def __len__(self) -> int:
        return int(self._index.ntotal)

    @property
    def nbytes(self) -> int:
        return int(self._index.ntotal) * (int(self._index.d) * 2 + _LINKS * 9)

    def add(self, vectors: FloatArray) -> None:
        with _one_thread():
            self._index.add(np.ascontiguousarray(vectors))

    def nearest(self, query: FloatArray, limit: int) -> IntArray:
        width = max(_SEARCH_WIDTH, limit)
        parameters = load_faiss().SearchParametersHNSW(efSearch=width)
        _, found = self._index.search(query[None], width, params=parameters)
        return np.asarray(found[0][found[0] >= 0], dtype=np.int64)

    def to_bytes(self) -> bytes:
        return bytes(load_faiss().serialize_index(self._index))

    @classmethod
    def from_bytes(cls, data: memoryview, dimension: int) -> HnswGraph:
        """Read a graph; raise `Incompatible` when the bytes are not a graph of this class."""
        faiss = load_faiss()
        try:
            index = faiss.deserialize_index(np.frombuffer(data, dtype=np.uint8))
        except RuntimeError as error:
            raise Incompatible("The graph in the index file cannot be read: delete the file to rebuild it") from error
        if not isinstance(index, faiss.IndexHNSWSQ) or index.d != dimension or not _has_valid_links(index):
            raise Incompatible("The graph in the index file is not one of ours: delete the file to rebuild it")
        graph = cls.__new__(cls)
        graph._index = index
        return graph


def _has_valid_links(index: Any) -> bool:
    """Return whether every link leads to a vector: FAISS follows links without checking them."""
    links = load_faiss().vector_to_array(index.hnsw.neighbors)
    entry = index.hnsw.entry_point
    inside = not len(links) or (int(links.min()) >= -1 and int(links.max()) < index.ntotal)
    return inside and -1 <= entry < index.ntotal and index.hnsw.levels.size() == index.ntotal


@contextmanager
def _one_thread() -> Iterator[None]:
    """Make FAISS use one thread, so that it builds the same graph every time; affects the calling thread only."""
    faiss = load_faiss()
    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
