"""Vectors in another engine: derived from the store, and corrected when they differ."""

from __future__ import annotations

import gc
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge as edge
from qdrant_client import QdrantClient

from memoranda import Closed, InvalidInput, MemoryManager, Unavailable
from memoranda.index.base import VectorEngine
from memoranda.index.collection import CollectionIndex
from memoranda.index.partitions import Partitions
from memoranda.index.qdrant_edge import QdrantEdge
from memoranda.index.qdrant_server import QdrantServer, open_qdrant
from memoranda.testing.contracts import unit_rows
from memoranda.testing.fakes import HashEmbedder, MemoryIndexSource
from memoranda.types import FloatArray, IntArray
from tests.unit.index.samples import ANNA, DIMENSION, row

ignore_local_mode_warnings = pytest.mark.filterwarnings(
    "ignore:Local mode performs exact", "ignore:Payload indexes have no effect"
)
FACTS = ["Ann likes green tea", "Bob drives a red car", "Ann lives in Berlin"]


def open_manager(tmp_path: Path) -> MemoryManager:
    engine = QdrantEdge(tmp_path / "qdrant")
    return MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), index=engine)


def best_content(manager: MemoryManager, query: str) -> str:
    return manager.recall(query, limit=1)[0].content


def count_vectors(tmp_path: Path) -> int:
    """Return how many vectors the folder of the engine holds."""
    shards = [edge.EdgeShard.load(str(path.parent)) for path in (tmp_path / "qdrant").rglob("edge_config.json")]
    total = sum(shard.count(edge.CountRequest()) for shard in shards)
    for shard in shards:
        shard.close()
    return int(total)


def test_manager_searches_engine_also_after_restart(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        manager.add_memories(FACTS)
        assert best_content(manager, "red car") == "Bob drives a red car"
    assert count_vectors(tmp_path) == 3
    with open_manager(tmp_path) as manager:
        assert best_content(manager, "green tea") == "Ann likes green tea"


def test_memory_deleted_without_engine_is_removed_when_it_opens(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        memories = manager.add_memories(FACTS)
        best_content(manager, "tea")
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as other:
        other.delete(memories[0].id)
        other.update(memories[1].id, "Bob drives a yellow bus")
    with open_manager(tmp_path) as manager:
        assert best_content(manager, "yellow bus") == "Bob drives a yellow bus"
    assert count_vectors(tmp_path) == 2


@pytest.mark.parametrize("damage", ["gone", "cut", "empty"])
def test_lost_or_damaged_engine_data_is_rebuilt(tmp_path: Path, damage: str) -> None:
    with open_manager(tmp_path) as manager:
        manager.add_memories(FACTS)
        best_content(manager, "tea")
    if damage == "gone":
        shutil.rmtree(tmp_path / "qdrant")
    for file in [path for path in (tmp_path / "qdrant").rglob("*") if path.is_file()]:
        file.write_bytes(b"" if damage == "empty" else file.read_bytes()[: file.stat().st_size // 2])
    with open_manager(tmp_path) as manager:
        assert best_content(manager, "red car") == "Bob drives a red car"
    assert count_vectors(tmp_path) == 3


def test_only_changed_vectors_are_sent_to_engine() -> None:
    class RecordingCollection:
        def __init__(self) -> None:
            self.sent: list[int] = []

        def checksums(self) -> dict[int, int]:
            return {}

        def put(self, ids: IntArray, vectors: FloatArray, checksums: list[int]) -> None:
            self.sent += ids.tolist()

        def delete(self, ids: IntArray) -> None:
            self.sent += (-ids).tolist()

        def nearest(
            self, query: FloatArray, limit: int, *, among: IntArray | None, exact: bool
        ) -> tuple[IntArray, FloatArray]:
            raise AssertionError("this test does not search")

    collection = RecordingCollection()
    index = CollectionIndex(collection, 16)
    vectors = unit_rows(np.random.default_rng(0), 3)
    index.add(np.array([1, 2, 3]), vectors)
    index.add(np.array([1, 2, 3]), vectors)
    index.add(np.array([1, 2, 3]), np.vstack([vectors[:2], vectors[:1]]))
    index.remove(np.array([2, 99]))
    assert collection.sent == [1, 2, 3, 3, -2]


@pytest.fixture(params=["embedded", "server"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[VectorEngine]:
    embedded = request.param == "embedded"
    engine = QdrantEdge(tmp_path) if embedded else QdrantServer(client=QdrantClient(":memory:"))
    yield engine
    engine.close()


@ignore_local_mode_warnings
def test_scores_are_exact_for_all_some_and_no_ids(engine: VectorEngine) -> None:
    index = engine.open("s", "p", 16)
    vectors = unit_rows(np.random.default_rng(1), 50)
    index.add(np.arange(50), vectors)
    query = vectors[7]
    np.testing.assert_allclose(index.scores(query, index.ids), vectors @ query, atol=1e-5)
    some = np.array([3, 49, 1000, 7])
    np.testing.assert_allclose(index.scores(query, some), [*(vectors[[3, 49]] @ query), -1.0, 1.0], atol=1e-5)
    assert len(index.scores(query, np.empty(0, dtype=np.int64))) == 0


@ignore_local_mode_warnings
def test_partitions_and_stores_are_separate(engine: VectorEngine) -> None:
    vectors = unit_rows(np.random.default_rng(2), 2)
    partitions = [("s", "p"), ("s", "q"), ("t", "p")]
    for store, partition in partitions:
        engine.open(store, partition, 16).add(np.array([1, 2]), vectors)
    engine.open("s", "p", 16).remove(np.array([1]))
    assert [len(engine.open(*names, 16)) for names in partitions] == [1, 2, 2]
    engine.clear("s")
    assert [len(engine.open(*names, 16)) for names in partitions] == [0, 0, 2]


@ignore_local_mode_warnings
def test_clearing_partitions_empties_engine(engine: VectorEngine) -> None:
    source = MemoryIndexSource()
    partitions = Partitions(source, store_id="s", engine=engine)
    rng = np.random.default_rng(4)
    source.put(ANNA, [row(n, vector=unit_rows(rng, 1, DIMENSION).tobytes()) for n in range(1, 6)])
    partition = partitions.get(ANNA, 1)
    assert isinstance(partition.index, CollectionIndex)
    assert (len(partition.index), partition.index.dimension) == (5, DIMENSION)
    partitions.clear()
    assert len(engine.open("s", partition.name, DIMENSION)) == 0


def test_more_partitions_than_open_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("memoranda.index.qdrant_edge._MAX_OPEN_SHARDS", 2)
    engine = QdrantEdge(tmp_path)
    vectors = unit_rows(np.random.default_rng(3), 4)
    indexes = [engine.open("s", f"user {n}", 16) for n in range(4)]
    for n, index in enumerate(indexes):
        index.add(np.array([n]), vectors[n : n + 1])
    assert [index.search(vectors[n], 1)[0].tolist() for n, index in enumerate(indexes)] == [[n] for n in range(4)]
    engine.close()


def test_temporary_folder_is_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for close in (True, False):
        engine = QdrantEdge()
        engine.open("s", "p", 4).add(np.array([1]), np.ones((1, 4), dtype=np.float32))
        assert list(tmp_path.iterdir())
        if close:
            engine.close()
            engine.close()
        del engine
        gc.collect()
        assert list(tmp_path.iterdir()) == []


def test_recall_from_several_threads(tmp_path: Path) -> None:
    with open_manager(tmp_path) as manager:
        for user in ("ann", "bob"):
            manager.add_memories([f"{user} fact {n}" for n in range(20)], user=user)
        wrong: list[str] = []

        def ask(user: str) -> None:
            for n in range(15):
                (hit,) = manager.recall(f"{user} fact {n}", user=user, limit=1)
                wrong.extend([hit.content] if hit.content != f"{user} fact {n}" else [])

        threads = [threading.Thread(target=ask, args=(user,)) for user in ("ann", "bob") * 3]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []


def test_folder_in_use_is_unavailable(tmp_path: Path) -> None:
    holder = open_qdrant(path=str(tmp_path))
    with pytest.raises(Unavailable, match="is in use: give each program its own path"):
        open_qdrant(path=str(tmp_path))
    holder.close()
    open_qdrant(path=str(tmp_path)).close()


def test_folder_that_cannot_be_created_is_named_in_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(Unavailable, match="file"):
        open_qdrant(path=str(tmp_path / "file"))


def test_unreachable_server_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="Qdrant cannot be used now"):
        open_qdrant(url="http://127.0.0.1:9").open("s", "p", 4)
    with pytest.raises(InvalidInput, match="not both"):
        open_qdrant(url="http://127.0.0.1:9", path="x")


def test_use_after_close_raises_closed(tmp_path: Path) -> None:
    engine = QdrantEdge(tmp_path)
    index = engine.open("s", "p", 4)
    engine.close()
    with pytest.raises(Closed):
        index.add(np.array([1]), np.ones((1, 4), dtype=np.float32))


def test_memories_can_be_added_while_engine_is_unreachable(tmp_path: Path) -> None:
    engine = open_qdrant(url="http://127.0.0.1:9")
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), index=engine) as manager:
        manager.add_memories(FACTS)
        with pytest.raises(Unavailable, match="Qdrant"):
            manager.recall("tea")
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        assert best_content(manager, "red car") == "Bob drives a red car"
