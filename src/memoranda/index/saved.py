"""Graphs kept in a file between two runs. The file is only a head start: the store decides what is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from memoranda.errors import Incompatible, NotFound, Unavailable
from memoranda.index.faiss import FAISSIndex
from memoranda.index.partition import Partition
from memoranda.index.sealed import SealedFile, open_sealed, write_sealed
from memoranda.index.snapshot import Snapshot
from memoranda.types import JSON

_KIND = b"RCLGRAPH"
_PARTS = ("ids", "live", "vectors", "fresh", "graph")
_Listed: TypeAlias = dict[str, dict[str, JSON]]


class SavedGraphs:
    """One file of graphs, of one store, each with the change number that it is valid up to."""

    def __init__(self, path: Path, store_id: str) -> None:
        self._path = path
        self._store_id = store_id

    def read(self, partition: Partition, head: int, report: Callable[[str], None]) -> FAISSIndex | None:
        """The vectors and graph of this partition, or None where the file has none that can be trusted."""
        try:
            with open_sealed(self._path, _KIND) as file:
                return self._restored(file, partition, head)
        except NotFound:
            return None
        except (Incompatible, Unavailable) as error:
            report(f"The index file is not used, and rebuilt from the store: {error}")
            return None

    def write(self, partitions: Sequence[Partition]) -> None:
        """Writes these partitions; others that the file holds stay in it."""
        if not partitions:
            return
        listed, sections = self._others({_name(each) for each in partitions})
        for partition in partitions:
            with partition.lock:
                if not isinstance(partition.index, FAISSIndex):
                    continue
                name = _name(partition)
                listed[name] = {"seq": partition.seq, "dimension": partition.index.dimension}
                sections |= partition.index.snapshot().sections(name)
        meta: dict[str, JSON] = {"store_id": self._store_id, "partitions": dict(listed)}
        write_sealed(self._path, _KIND, meta, sections)

    def delete(self) -> None:
        """Removes the file, where there is one."""
        self._path.unlink(missing_ok=True)

    def _restored(self, file: SealedFile, partition: Partition, head: int) -> FAISSIndex | None:
        entry = self._listed(file).get(_name(partition))
        if entry is None:
            return None
        seq, dimension = int(str(entry["seq"])), int(str(entry["dimension"]))
        if seq > head:
            raise Incompatible(f"{self._path} knows change {seq}, the store only {head}: the store was replaced")
        index = partition.new_index(dimension)
        index.restore(Snapshot.read(file, dimension, _name(partition)))
        return index

    def _listed(self, file: SealedFile) -> _Listed:
        if file.meta.get("store_id") != self._store_id:
            raise Incompatible(f"{self._path} belongs to another store")
        listed = file.meta["partitions"]
        if not isinstance(listed, dict):
            raise Incompatible(f"{self._path} has no list of partitions")
        return {name: entry for name, entry in listed.items() if isinstance(entry, dict)}

    def _others(self, rewritten: set[str]) -> tuple[_Listed, dict[str, memoryview]]:
        try:
            with open_sealed(self._path, _KIND) as file:
                kept = {name: entry for name, entry in self._listed(file).items() if name not in rewritten}
                names = [name + part for name in kept for part in _PARTS if name + part in file]
                return kept, {name: file.section(name) for name in names}
        except (NotFound, Incompatible, Unavailable):
            return {}, {}  # nothing to keep: what is there was reported when it was read


def _name(partition: Partition) -> str:
    """A partition's name in the file; no two partitions share one."""
    return f"{partition.name}/"
