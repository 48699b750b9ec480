"""The partitions in memory: loaded on demand, updated from the store, dropped when they take too much memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from memoranda.errors import Incompatible, MemorandaError, NotFound, Unavailable
from memoranda.files import ChecksummedFile, open_checksummed_file, write_checksummed_file
from memoranda.index.base import PartitionVectors, VectorEngine
from memoranda.index.faiss import GRAPH_FROM, FAISSIndex, load_torch
from memoranda.index.partition import NEVER_LOADED, Partition
from memoranda.index.stored_partition import StoredPartition
from memoranda.index.vectors import Snapshot, load_faiss
from memoranda.security.encryption import EncryptionKey
from memoranda.storage.base import IndexSource, OwnerSearch, PartitionKey, PartitionState, SearchStore
from memoranda.threads import BackgroundSteps, register_fork_handler
from memoranda.types import ANY, JSON

DEFAULT_CAPACITY = 1 << 30
"""Bytes of partitions in memory."""
LARGE_FROM = 50_000
"""From this many memories on, the store answers while a partition is loaded."""
_ROW_BYTES = 500  # of one memory, besides its vector
_LOAD_BATCH = 4096  # rows read from the store at once
_GROW_BATCH = 32  # rows added to a graph at once: a few milliseconds, the longest that a search waits for the lock
_FILE_KIND = b"RCLGRAPH"
_SECTIONS = ("ids", "live", "vectors", "fresh", "graph")
_Entries: TypeAlias = dict[str, dict[str, JSON]]
_CacheKey: TypeAlias = tuple[PartitionKey, int | None]


class Partitions:
    """The partitions of a store, as of the latest commit. Safe to use from several threads.

    Nothing is read before the first `get`. A file of graphs that cannot be trusted is not used, and is listed in
    `problems`.
    """

    def __init__(
        self,
        source: IndexSource,
        *,
        store_id: str,
        path: str | Path | None = None,
        capacity_bytes: int = DEFAULT_CAPACITY,
        graph_from: int = GRAPH_FROM,
        large_from: int = LARGE_FROM,
        use_gpu: bool = False,
        engine: VectorEngine | None = None,
        last_erasure: Callable[[], int] = lambda: 0,
        save_small: bool = False,
        file_key: EncryptionKey | None = None,
    ) -> None:
        """Create the partitions of one store.

        Args:
            source: Where rows and changes are read from.
            store_id: The id of the store; a file of another store is not used.
            path: The file in which graphs are saved between two runs.
            capacity_bytes: The memory above which the least recently used partitions are dropped.
            graph_from: Above this many vectors a partition builds a graph.
            large_from: From this many memories on, a store that can search by itself answers while they are loaded.
            use_gpu: Whether a CUDA device searches large partitions in place of a graph. Without one, `problems` says
                so and the processor searches.
            engine: Stores the vectors in place of this process; closed with the partitions.
            last_erasure: Returns the number of the newest change that erased data. Partitions loaded before it are
                loaded again, and never saved.
            save_small: Whether partitions without a graph are saved too, in a file that `faiss.read_index` reads. They
                load as fast from the store.
            file_key: Encrypts the file.
        """
        self.problems: list[str] = []
        self._source = source
        self._store_id = store_id
        self._engine = engine
        self.path = None if path is None or engine is not None else Path(path)
        self._graph_file = (
            None
            if self.path is None
            else GraphFile(self.path, store_id, file_key, for_faiss=save_small and file_key is None)
        )
        self._capacity = capacity_bytes
        self._graph_from = graph_from
        self._large_from = large_from
        self._use_gpu = use_gpu and engine is None and self._has_gpu()
        self._last_erasure = last_erasure
        self._save_small = save_small
        self._start()
        register_fork_handler(self)

    def _has_gpu(self) -> bool:
        try:
            load_torch()
        except Unavailable as error:
            self.problems.append(f"Memories are searched on the processor: {error}")
            return False
        return True

    def _start(self) -> None:
        self._grower = BackgroundSteps("memoranda-graph", self._report)
        self._loader = BackgroundSteps("memoranda-load", self._report)
        self._too_large: set[PartitionKey] = set()
        self._store_searches = False
        self._lock = threading.Lock()
        self._partitions: OrderedDict[_CacheKey, Partition] = OrderedDict()
        self._sizes: dict[_CacheKey, int] = {}
        self._total = 0

    def before_fork(self) -> None:
        """Do nothing: partitions can be loaded again."""

    def after_fork(self, *, in_child: bool) -> None:
        """Load everything again in the child: another thread may have held the lock of a partition."""
        if in_child:
            self._start()

    def __len__(self) -> int:
        return len(self._partitions)

    @property
    def nbytes(self) -> int:
        """The approximate memory that the partitions take."""
        return self._total

    def prepared_from(self, dimension: int) -> int:
        """Return from how many memories on an owner with such vectors should be prepared."""
        return min(self._large_from, self._graph_from, self._capacity // _memory_bytes(dimension))

    @property
    def capacity(self) -> int:
        """The memory that they may take."""
        return self._capacity

    def get(self, key: PartitionKey, generation: int | None = None, state: PartitionState | None = None) -> Partition:
        """Return the partition with the vectors of a generation, up to date with every commit before the call.

        With `state`, which the caller has read from the store, with every commit before that.
        """
        partition = self._find_or_create(key, generation)
        with partition.lock:
            was_loaded = partition.seq != NEVER_LOADED
            changed = self._catch_up(partition, state)
            partition.settled = not (changed and was_loaded)
            if changed:
                self._grow(partition)
            self._update_size((key, generation), partition.nbytes)
        if not was_loaded:
            self._start_background(partition)
        return partition

    def get_settled(self, key: PartitionKey, generation: int | None) -> Partition | None:
        """Return a partition in memory that had not changed when it was last asked for; the caller sees if it has now.

        Never one of all users, which may change while its head stays the same.
        """
        if key.user is ANY:
            return None
        with self._lock:
            partition = self._partitions.get((key, generation))
            if partition is None or not partition.settled or isinstance(partition, StoredPartition):
                return None
            self._partitions.move_to_end((key, generation))
        with partition.lock:
            self._update_size((key, generation), partition.nbytes)
        return partition

    def get_for_terms(self, key: PartitionKey, generation: int | None) -> Partition:
        """Return a partition for lexical search: with the vectors of the generation only if it is already loaded."""
        with self._lock:
            loaded = (key, generation) in self._partitions or key in self._too_large
        return self.get(key, generation if loaded else None)

    @contextmanager
    def locked(self, key: PartitionKey, generation: int | None = None) -> Iterator[Partition]:
        """Like `get`, and the partition does not change until the block ends: keep the block short."""
        partition = self.get(key, generation)
        with partition.lock:
            yield partition

    def prepare(self, key: PartitionKey, generation: int) -> str:
        """Build now what the first questions about a large owner would have to wait for; return what was built."""
        search = self._open_search(key, generation)
        if search is not None and isinstance(self._source, SearchStore):
            search.update()
            return f"{search.count():,} memories can be searched in the database; {self._source.build_graph(key)}"
        partition = self.get(key, generation)
        self.wait_for_graphs()
        self.save()
        return f"{len(partition):,} memories indexed"

    def wait_for_graphs(self) -> None:
        """Wait until every large partition has its graph; until then they are searched exactly."""
        self._grower.wait()

    def save(self) -> None:
        """Save the graphs for the next run; a failure is only listed in `problems`, as graphs can be rebuilt."""
        if self._graph_file is None:
            return
        with self._lock:
            partitions = list(self._partitions.values())
        try:
            erased_at = self._last_erasure() if partitions else 0
            clean = [each for each in partitions if each.loaded_at >= erased_at]
            self._graph_file.write([each for each in clean if self._is_saved(each)])
        except MemorandaError as error:
            self._report(str(error))

    def _is_saved(self, partition: Partition) -> bool:
        index = partition.index
        return isinstance(index, FAISSIndex) and (index.has_graph or (self._save_small and len(index) > 0))

    def clear(self) -> None:
        """Drop everything in memory and delete the file, so that no erased data is left."""
        with self._lock:
            self._partitions.clear()
            self._sizes.clear()
            self._total = 0
        if self._graph_file is not None:
            self._graph_file.delete()
        if self._engine is not None:
            self._engine.clear(self._store_id)

    def close(self) -> None:
        """Stop the background threads, then save."""
        self._loader.stop()
        self._grower.stop()
        self.save()
        if self._engine is not None:
            self._engine.close()

    def _find_or_create(self, key: PartitionKey, generation: int | None) -> Partition:
        cache_key = (key, generation)
        with self._lock:
            known = self._partitions.get(cache_key)
        new = self._create(key, generation) if known is None else known  # without the lock: it may ask the store
        with self._lock:
            partition = self._partitions.setdefault(cache_key, new)
            if generation is not None and known is None:  # the new one holds the same terms
                self._drop((key, None))
            self._partitions.move_to_end(cache_key)
        return partition

    def _create(self, key: PartitionKey, generation: int | None) -> Partition:
        search = None if generation is None else self._open_search(key, generation)
        if search is None or generation is None:
            return self._create_in_memory(key, generation)
        rows = search.count()
        if key in self._too_large or rows * _memory_bytes(search.dimension) > self._capacity:
            return StoredPartition(key, generation, search)
        if rows >= self._large_from and search.is_complete():
            return StoredPartition(key, generation, search, until_loaded=True)
        return self._create_in_memory(key, generation)

    def _start_background(self, partition: Partition) -> None:
        """Start what the first answer about a large owner has not waited for: only now, or it would take as long."""
        key, generation = partition.key, partition.generation
        if isinstance(partition, StoredPartition):
            if partition.until_loaded:
                self._loader.add(partition, lambda: self._load_instead(partition))
        elif generation is not None and len(partition) >= self._large_from:
            search = self._open_search(key, generation)
            if search is not None and not search.is_complete():
                self._loader.add(key, search.advance)  # for the next process that has to load them

    def _create_in_memory(self, key: PartitionKey, generation: int | None) -> Partition:
        open_vectors = None if self._engine is None else self._open_in_engine
        return Partition(key, generation, graph_from=self._graph_from, use_gpu=self._use_gpu, open_vectors=open_vectors)

    def _open_search(self, key: PartitionKey, generation: int) -> OwnerSearch | None:
        """Return the store's own search of an owner; None where it has none."""
        if self._engine is not None or key.user is ANY or not isinstance(self._source, SearchStore):
            return None
        search = self._source.open_search(key, generation)
        self._store_searches = search is not None
        return search

    def _load_instead(self, stored: Partition) -> bool:
        """Load a partition that the store has searched so far; return that there is no more to do."""
        cache_key = (stored.key, stored.generation)
        partition = self._create_in_memory(*cache_key)
        with partition.lock:
            self._catch_up(partition)
            with self._lock:
                if self._partitions.get(cache_key) is not stored:  # dropped meanwhile
                    return False
                self._partitions[cache_key] = partition
            self._grow(partition)
            self._update_size(cache_key, partition.nbytes)
        return False

    def _grow(self, partition: Partition) -> None:
        """Grow the graph of a partition in the background, if it has pending rows."""
        if isinstance(partition.index, FAISSIndex) and partition.index.pending:
            self._grower.add(partition, lambda: _grow_batch(partition))

    def _open_in_engine(self, partition: Partition, dimension: int) -> PartitionVectors:
        assert self._engine is not None
        return self._engine.open(self._store_id, partition.name, dimension)

    def _catch_up(self, partition: Partition, state: PartitionState | None = None) -> bool:
        # Read before the rows: a change committed in between is only read once more next time.
        if state is None or state.head < partition.seq:  # another thread may have read a later one meanwhile
            head, last_erasure = self._source.head(partition.key), self._last_erasure
        else:
            head, last_erasure = state.head, lambda: state.erased_at
        if partition.seq == head and partition.key.user is not ANY:
            return False
        if isinstance(partition, StoredPartition):
            partition.search.update()
        if partition.seq == NEVER_LOADED or partition.seq > head or partition.loaded_at < last_erasure():
            self._load(partition, head, last_erasure())
        elif not self._apply_changes(partition) and partition.seq == head:
            return False
        partition.seq = head
        return True

    def _load(self, partition: Partition, head: int, erased_at: int) -> None:
        index = None
        if self._graph_file is not None:
            index = self._graph_file.read(partition, head, self._report)
        partition.reset(index)
        # An erasure has the number of the latest change of all, which may be of another partition.
        partition.loaded_at = max(head, erased_at)
        rows = self._source.rows(partition.key, None, partition.loaded_generation)
        while chunk := list(islice(rows, _LOAD_BATCH)):
            partition.upsert(chunk)
        if index is not None or self._engine is not None:  # what was kept may have vectors of rows that are gone
            partition.remove_orphan_vectors()

    def _apply_changes(self, partition: Partition) -> bool:
        """Bring the partition up to date; return whether anything had changed."""
        changed = self._source.changed(partition.key, partition.seq)
        if not len(changed):
            return False
        rows = list(self._source.rows(partition.key, changed, partition.loaded_generation))
        partition.upsert(rows)
        if len(rows) < len(changed):
            partition.remove(np.setdiff1d(changed, [row.id for row in rows]))
        return True

    def _update_size(self, key: _CacheKey, size: int) -> None:
        with self._lock:
            if key not in self._partitions:  # another thread has dropped it
                return
            self._total += size - self._sizes.get(key, 0)
            self._sizes[key] = size
            while self._total > self._capacity and len(self._partitions) > 1:
                self._drop(next(iter(self._partitions)))
            if self._total > self._capacity and self._store_searches:
                [(last, partition)] = self._partitions.items()
                self._too_large.add(last[0])  # the next search opens it in the store
                if not isinstance(partition, StoredPartition):
                    self._drop(last)

    def _drop(self, key: _CacheKey) -> None:
        self._partitions.pop(key, None)
        self._total -= self._sizes.pop(key, 0)

    def _report(self, problem: str) -> None:
        with self._lock:
            if problem not in self.problems:
                self.problems.append(problem)


class GraphFile:
    """A file with the graphs of one store, each with the change number up to which it is valid."""

    def __init__(self, path: Path, store_id: str, key: EncryptionKey | None = None, *, for_faiss: bool = False) -> None:
        self._path = path
        self._store_id = store_id
        self._key = key
        self._for_faiss = for_faiss

    def read(self, partition: Partition, head: int, report: Callable[[str], None]) -> FAISSIndex | None:
        """Return the vectors and graph of a partition, or None when the file holds none that can be trusted."""
        try:
            with open_checksummed_file(self._path, _FILE_KIND, self._key) as file:
                return self._restore(file, partition, head)
        except NotFound:
            return None
        except (Incompatible, Unavailable) as error:
            report(f"The index file is not used and is rebuilt from the store: {error}")
            return None

    def write(self, partitions: Sequence[Partition]) -> None:
        """Write these partitions, keeping the others that the file holds."""
        if not partitions:
            return
        entries, sections = self._read_others({_section_prefix(each) for each in partitions})
        for partition in partitions:
            with partition.lock:
                if not isinstance(partition.index, FAISSIndex):
                    continue
                name = _section_prefix(partition)
                entries[name] = {"seq": partition.seq, "dimension": partition.index.dimension}
                sections |= partition.index.snapshot().sections(name)
        meta: dict[str, JSON] = {"store_id": self._store_id, "partitions": dict(entries)}
        lead = _to_faiss(entries, sections) if self._for_faiss else b""
        write_checksummed_file(self._path, _FILE_KIND, meta, sections, self._key, lead=lead)

    def delete(self) -> None:
        """Delete the file if it exists."""
        self._path.unlink(missing_ok=True)

    def _restore(self, file: ChecksummedFile, partition: Partition, head: int) -> FAISSIndex | None:
        entry = self._entries(file).get(_section_prefix(partition))
        if entry is None:
            return None
        seq, dimension = int(str(entry["seq"])), int(str(entry["dimension"]))
        if seq > head:
            raise Incompatible(f"{self._path} is at change {seq}, the store only at {head}: the store was replaced")
        index = partition.new_index(dimension)
        index.restore(Snapshot.read(file, dimension, _section_prefix(partition)))
        return index

    def _entries(self, file: ChecksummedFile) -> _Entries:
        if file.meta.get("store_id") != self._store_id:
            raise Incompatible(f"{self._path} belongs to another store")
        entries = file.meta["partitions"]
        if not isinstance(entries, dict):
            raise Incompatible(f"{self._path} has no list of partitions")
        return {name: entry for name, entry in entries.items() if isinstance(entry, dict)}

    def _read_others(self, rewritten: set[str]) -> tuple[_Entries, dict[str, memoryview]]:
        try:
            with open_checksummed_file(self._path, _FILE_KIND, self._key) as file:
                entries = {name: entry for name, entry in self._entries(file).items() if name not in rewritten}
                names = [name + part for name in entries for part in _SECTIONS if name + part in file]
                return entries, {name: file.read_section(name) for name in names}
        except (NotFound, Incompatible, Unavailable):
            return {}, {}  # nothing to keep: the problem was reported when the file was read


def _to_faiss(entries: _Entries, sections: Mapping[str, memoryview]) -> bytes:
    """Return all vectors by the ids of their memories as an index of FAISS, those of the latest model only."""
    faiss = load_faiss()
    dimension = int(str(list(entries.values())[-1]["dimension"]))
    ids, vectors = [], []
    for name in reversed([name for name, entry in entries.items() if entry["dimension"] == dimension]):
        live = np.frombuffer(sections[name + "live"], dtype=np.bool_)
        ids.append(np.frombuffer(sections[name + "ids"], dtype="<i8")[live])
        vectors.append(np.frombuffer(sections[name + "vectors"], dtype="<f4").reshape(-1, dimension)[live])
    # The memories of a user are also in the partition of all users, if that was searched.
    unique, first = np.unique(np.concatenate(ids), return_index=True)
    index = faiss.IndexIDMap2(faiss.IndexFlatIP(dimension))
    index.add_with_ids(np.ascontiguousarray(np.concatenate(vectors)[first]), unique)
    return bytes(faiss.serialize_index(index))


def _memory_bytes(dimension: int) -> int:
    """Return about how much one memory takes."""
    return 4 * dimension + _ROW_BYTES


def _section_prefix(partition: Partition) -> str:
    """Return the unique prefix of a partition's sections in the file."""
    return f"{partition.name}/"


def _grow_batch(partition: Partition) -> bool:
    """Add one batch to the graph, and return whether rows are still pending."""
    with partition.lock:
        return isinstance(partition.index, FAISSIndex) and partition.index.grow(_GROW_BATCH) > 0
