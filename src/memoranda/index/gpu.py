"""Exact search on a CUDA device, through PyTorch.

The card holds the vectors in half precision and returns every position whose cosine could be among the nearest, given
the largest error that half precision makes. The caller scores those exactly, so the answer is that of a full scan.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import Unavailable
from memoranda.types import FloatArray, IntArray

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
