"""The partitions in memory: loaded on demand, caught up with the store, dropped when there are too many."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from memoranda.errors import Incompatible, MemorandaError, NotFound, Unavailable
from memoranda.files import ChecksummedFile, open_checksummed_file, write_checksummed_file
from memoranda.fork_safety import register_fork_handler
from memoranda.index.base import GRAPH_FROM, PartitionVectors, VectorEngine
from memoranda.index.faiss import FAISSIndex
from memoranda.index.partition import NEVER_LOADED, Partition
from memoranda.index.vectors import Snapshot
from memoranda.storage.base import IndexRow, IndexSource, PartitionKey
from memoranda.types import JSON

DEFAULT_CAPACITY = 1 << 30
"""Bytes of partitions kept in memory."""
_ROWS_AT_ONCE = 4096
_Name: TypeAlias = tuple[PartitionKey, int | None]


class Partitions:
    """Every partition of a store, as of the latest commit. Safe to use from several threads.

    Nothing is read before the first `get`. `path` is where graphs that took work to build are
    kept between two runs; a file that cannot be trusted is named in `problems` and not used. With an
    `engine` the vectors are kept there instead, and it is closed with this. `last_erasure` gives the
    number of the newest change that erased: what was read before it is dropped, and never kept.
    """

    def __init__(
        self,
        source: IndexSource,
        *,
        store_id: str,
        path: str | Path | None = None,
        capacity_bytes: int = DEFAULT_CAPACITY,
        graph_from: int = GRAPH_FROM,
        engine: VectorEngine | None = None,
        last_erasure: Callable[[], int] = lambda: 0,
    ) -> None:
        self.problems: list[str] = []
        self._source = source
        self._store_id = store_id
        self._engine = engine
        self._saved = None if path is None or engine is not None else SavedGraphs(Path(path), store_id)
        self._capacity = capacity_bytes
        self._graph_from = graph_from
        self._last_erasure = last_erasure
        self._start()
        register_fork_handler(self)

    def _start(self) -> None:
        self._growth = GraphGrowth()
        self._lock = threading.Lock()
        self._partitions: OrderedDict[_Name, Partition] = OrderedDict()
        self._sizes: dict[_Name, int] = {}
        self._total = 0

    def before_fork(self) -> None:
        """Nothing: what is in memory can be read again."""

    def after_fork(self, *, in_child: bool) -> None:
        """In the child, all is read again: another thread may have been at work on a partition, and locked it."""
        if in_child:
            self._start()

    def __len__(self) -> int:
        return len(self._partitions)

    @property
    def nbytes(self) -> int:
        """About how much memory the partitions take."""
        return self._total

    def get(self, key: PartitionKey, generation: int | None = None) -> Partition:
        """The partition with this generation's vectors, caught up with every commit before the call."""
        partition = self._known(key, generation)
        with partition.lock:
            if self._catch_up(partition):
                self._growth.offer(partition)
                self._make_room((key, generation), partition.nbytes)
        return partition

    def words(self, key: PartitionKey, generation: int | None) -> Partition:
        """The partition for what needs no vectors: the one with this generation's where it is in memory already."""
        with self._lock:
            loaded = (key, generation) in self._partitions
        return self.get(key, generation if loaded else None)

    @contextmanager
    def reading(self, key: PartitionKey, generation: int | None = None) -> Iterator[Partition]:
        """The same, and it does not change until the block ends: keep the block short."""
        partition = self.get(key, generation)
        with partition.lock:
            yield partition

    def wait_for_graphs(self) -> None:
        """Returns when every large partition has its graph; until then it is searched exactly."""
        self._growth.wait()

    def save(self) -> None:
        """Keeps the graphs for the next run; a failure is named in `problems`, as it loses nothing."""
        if self._saved is None:
            return
        with self._lock:
            partitions = list(self._partitions.values())
        try:
            erased = self._last_erasure() if partitions else 0
            clean = [each for each in partitions if each.loaded_at >= erased]
            self._saved.write([each for each in clean if isinstance(each.index, FAISSIndex) and each.index.has_graph])
        except MemorandaError as error:
            self._report(str(error))

    def clear(self) -> None:
        """Forgets everything in memory and deletes the file: after this, nothing erased is left here."""
        with self._lock:
            self._partitions.clear()
            self._sizes.clear()
            self._total = 0
        if self._saved is not None:
            self._saved.delete()
        if self._engine is not None:
            self._engine.clear(self._store_id)

    def close(self) -> None:
        """Stops the work in the background, then saves."""
        self._growth.stop()
        self.save()
        if self._engine is not None:
            self._engine.close()

    def _known(self, key: PartitionKey, generation: int | None) -> Partition:
        name = (key, generation)
        with self._lock:
            partition = self._partitions.get(name)
            if partition is None:
                partition = self._partitions[name] = self._new(key, generation)
                if generation is not None:  # the same words are in both
                    self._drop((key, None))
            self._partitions.move_to_end(name)
            return partition

    def _new(self, key: PartitionKey, generation: int | None) -> Partition:
        kept = None if self._engine is None else self._open_kept
        return Partition(key, generation, graph_from=self._graph_from, kept=kept)

    def _open_kept(self, partition: Partition, dimension: int) -> PartitionVectors:
        assert self._engine is not None
        return self._engine.open(self._store_id, partition.name, dimension)

    def _catch_up(self, partition: Partition) -> bool:
        # Read before the rows: what is committed in between is only read again next time.
        head = self._source.head()
        if partition.seq == head:
            return False
        if partition.seq == NEVER_LOADED or partition.seq > head or partition.loaded_at < self._last_erasure():
            self._load(partition, head)
        else:
            self._apply_changes(partition)
        partition.seq = head
        return True

    def _load(self, partition: Partition, head: int) -> None:
        index = None
        if self._saved is not None:
            index = self._saved.read(partition, head, self._report)
        partition.reset(index)
        partition.loaded_at = head
        rows = self._source.rows(partition.key, None, partition.generation)
        while chunk := list(islice(rows, _ROWS_AT_ONCE)):
            partition.upsert(chunk)
        partition.remove_strangers()

    def _apply_changes(self, partition: Partition) -> None:
        changed = self._source.changed(partition.key, partition.seq)
        if not len(changed):
            return
        rows = list(self._source.rows(partition.key, changed, partition.generation))
        partition.upsert(rows)
        if len(rows) < len(changed):
            partition.remove(np.setdiff1d(changed, _ids_of(rows)))

    def _make_room(self, name: _Name, size: int) -> None:
        with self._lock:
            if name not in self._partitions:  # dropped by another thread in the meantime
                return
            self._total += size - self._sizes.get(name, 0)
            self._sizes[name] = size
            while self._total > self._capacity and len(self._partitions) > 1:
                self._drop(next(iter(self._partitions)))

    def _drop(self, name: _Name) -> None:
        self._partitions.pop(name, None)
        self._total -= self._sizes.pop(name, 0)

    def _report(self, problem: str) -> None:
        with self._lock:
            if problem not in self.problems:
                self.problems.append(problem)


def _ids_of(rows: Iterable[IndexRow]) -> list[int]:
    return [row.id for row in rows]


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
            with open_checksummed_file(self._path, _KIND) as file:
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
        write_checksummed_file(self._path, _KIND, meta, sections)

    def delete(self) -> None:
        """Removes the file, where there is one."""
        self._path.unlink(missing_ok=True)

    def _restored(self, file: ChecksummedFile, partition: Partition, head: int) -> FAISSIndex | None:
        entry = self._listed(file).get(_name(partition))
        if entry is None:
            return None
        seq, dimension = int(str(entry["seq"])), int(str(entry["dimension"]))
        if seq > head:
            raise Incompatible(f"{self._path} knows change {seq}, the store only {head}: the store was replaced")
        index = partition.new_index(dimension)
        index.restore(Snapshot.read(file, dimension, _name(partition)))
        return index

    def _listed(self, file: ChecksummedFile) -> _Listed:
        if file.meta.get("store_id") != self._store_id:
            raise Incompatible(f"{self._path} belongs to another store")
        listed = file.meta["partitions"]
        if not isinstance(listed, dict):
            raise Incompatible(f"{self._path} has no list of partitions")
        return {name: entry for name, entry in listed.items() if isinstance(entry, dict)}

    def _others(self, rewritten: set[str]) -> tuple[_Listed, dict[str, memoryview]]:
        try:
            with open_checksummed_file(self._path, _KIND) as file:
                kept = {name: entry for name, entry in self._listed(file).items() if name not in rewritten}
                names = [name + part for name in kept for part in _PARTS if name + part in file]
                return kept, {name: file.read_section(name) for name in names}
        except (NotFound, Incompatible, Unavailable):
            return {}, {}  # nothing to keep: what is there was reported when it was read


def _name(partition: Partition) -> str:
    """A partition's name in the file; no two partitions share one."""
    return f"{partition.name}/"


_ROWS_AT_ONCE = 32  # a few milliseconds, the longest that a question waits for the lock


_BREATH = 0.001  # seconds between two turns, so that waiting questions get the lock


class GraphGrowth:
    """One background thread, alive only while there is something to grow."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: deque[Partition] = deque()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()

    def offer(self, partition: Partition) -> None:
        """Grows this partition's graph in the background, if it wants one."""
        index = partition.index
        if not isinstance(index, FAISSIndex) or not index.pending or self._stopped.is_set():
            return
        with self._lock:
            if partition not in self._waiting:
                self._waiting.append(partition)
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="memoranda-graph", daemon=True)
                self._thread.start()

    def wait(self) -> None:
        """Returns when every graph is grown."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def stop(self) -> None:
        """Ends the thread after the rows in hand; nothing is grown any more."""
        self._stopped.set()
        self.wait()

    def _work(self) -> None:
        while (partition := self._next()) is not None:
            while not self._stopped.wait(_BREATH) and _grown_further(partition):
                pass

    def _next(self) -> Partition | None:
        with self._lock:
            if self._waiting and not self._stopped.is_set():
                return self._waiting.popleft()
            self._thread = None
            return None


def _grown_further(partition: Partition) -> bool:
    with partition.lock:
        return isinstance(partition.index, FAISSIndex) and partition.index.grow(_ROWS_AT_ONCE) > 0
