"""Which id stands at which position of the arrays that this stage keeps."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from memoranda.types import IntArray

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
