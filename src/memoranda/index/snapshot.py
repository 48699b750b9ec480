"""An index as plain arrays, between the object in memory and the sections of a file."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memoranda.errors import Incompatible
from memoranda.index.sealed import SealedFile
from memoranda.types import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One row a position; `fresh` and `graph` cover the positions that the graph has taken in."""

    ids: IntArray
    live: NDArray[np.bool_]
    vectors: FloatArray
    fresh: NDArray[np.bool_]
    graph: memoryview | None

    def sections(self, prefix: str = "") -> dict[str, memoryview]:
        """What a file must hold to give the snapshot back."""
        arrays = {
            "ids": self.ids.astype("<i8", copy=False),
            "live": self.live.astype(np.uint8),
            "vectors": self.vectors.astype("<f4", copy=False),
            "fresh": self.fresh.astype(np.uint8),
        }
        found = {prefix + name: _flat_bytes(array) for name, array in arrays.items()}
        if self.graph is not None:
            found[prefix + "graph"] = self.graph
        return found

    @classmethod
    def read(cls, file: SealedFile, dimension: int, prefix: str = "") -> Snapshot:
        """The snapshot in these sections; `Incompatible` when its parts do not fit together."""
        ids = np.frombuffer(file.section(prefix + "ids"), dtype="<i8").astype(np.int64)
        live = np.frombuffer(file.section(prefix + "live"), dtype=np.uint8).astype(np.bool_)
        fresh = np.frombuffer(file.section(prefix + "fresh"), dtype=np.uint8).astype(np.bool_)
        numbers = np.frombuffer(file.section(prefix + "vectors"), dtype="<f4").astype(np.float32)
        if len(numbers) != len(ids) * dimension or len(live) != len(ids) or len(fresh) > len(ids):
            raise Incompatible("The parts of the index file do not fit together: delete it, and it is rebuilt")
        if len(np.unique(ids)) != len(ids):
            raise Incompatible("The index file names an id twice: delete it, and it is rebuilt")
        graph = file.section(prefix + "graph") if prefix + "graph" in file else None
        return cls(ids, live, numbers.reshape(len(ids), dimension), fresh, graph)


def _flat_bytes(array: NDArray[np.generic]) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
