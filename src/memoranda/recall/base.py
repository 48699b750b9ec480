"""The candidates of a question: the memories in scope, by session, in the order they were said."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoranda.types import FloatArray, IntArray

NO_SESSION = -1


@dataclass(frozen=True, slots=True)
class Field:
    """One row a memory. Rows whose places differ by one, in one session, were said one after the other."""

    ids: IntArray
    places: IntArray
    """Ascending; where in the whole timeline a row stands."""
    sessions: IntArray
    """A number per session, equal numbers together; `NO_SESSION` for none."""
    times: NDArray[np.float64]
    by_id: IntArray
    """The rows in the order of their ids."""
    total: int
    """How many memories are in scope; more than rows when only candidates are looked at."""

    def __len__(self) -> int:
        return len(self.ids)

    def rows_of(self, ids: IntArray) -> IntArray:
        """The row of each id that is here; the others are left out."""
        if not len(self.ids):
            return np.empty(0, dtype=np.int64)
        found = np.searchsorted(self.ids, ids, sorter=self.by_id)
        rows = self.by_id[np.minimum(found, len(self.ids) - 1)]
        here: IntArray = rows[self.ids[rows] == ids]
        return here

    def beside(self, distance: int) -> NDArray[np.bool_]:
        """For each row but the last `distance`: whether the row that many further on belongs to the same talk."""
        here, there = slice(None, -distance), slice(distance, None)
        same = (self.sessions[here] == self.sessions[there]) & (self.sessions[here] != NO_SESSION)
        beside: NDArray[np.bool_] = same & (self.places[there] - self.places[here] == distance)
        return beside

    def before(self, row: int) -> int | None:
        """The row said right before this one in the same talk."""
        if not row or self.sessions[row] == NO_SESSION or self.sessions[row - 1] != self.sessions[row]:
            return None
        return row - 1 if self.places[row] - self.places[row - 1] == 1 else None


def align(field: Field, ids: IntArray, scores: FloatArray) -> FloatArray:
    """Scores given by ascending id as one number a row, 0 where there is none."""
    aligned = np.zeros(len(field), dtype=np.float32)
    if not len(ids) or not len(field):
        return aligned
    found = np.minimum(np.searchsorted(ids, field.ids), len(ids) - 1)
    there = ids[found] == field.ids
    aligned[there] = scores[found[there]]
    return aligned
