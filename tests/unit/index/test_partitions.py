from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memoranda.errors import Unavailable
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.testing.contracts import unit_rows
from memoranda.testing.fakes import MemoryIndexSource
from memoranda.types import ANY, IntArray
from tests.unit.index.samples import ANNA, BEN, DIMENSION, random_row, row

ALL_USERS = PartitionKey("default", ANY)


def assert_same(one: Partition, other: Partition) -> None:
    rng = np.random.default_rng(0)
    assert one.ids.tolist() == other.ids.tolist()
    assert one.timeline().ids.tolist() == other.timeline().ids.tolist()
    for query in unit_rows(rng, 5, DIMENSION):
        answers = [[] if each.index is None else each.index.search(query, 8)[0].tolist() for each in (one, other)]
        assert answers[0] == answers[1]
    question = ["w1", "w2", "w3"]
    assert one.postings.search(question, 9)[0].tolist() == other.postings.search(question, 9)[0].tolist()


def fill(source: MemoryIndexSource, count: int, seed: int = 0, key: PartitionKey = ANNA) -> None:
    rng = np.random.default_rng(seed)
    vectors = unit_rows(rng, count, DIMENSION)
    source.put(key, [row(number, terms="w1", vector=vectors[number].tobytes()) for number in range(count)])


@pytest.mark.parametrize("key", [ANNA, ALL_USERS])
def test_updated_partition_equals_newly_loaded_one(key: PartitionKey) -> None:
    rng, source = np.random.default_rng(1), MemoryIndexSource()
    partitions = Partitions(source, store_id="one")
    known: set[int] = set()
    for _ in range(12):
        numbers = [int(number) for number in rng.choice(200, 20, replace=False)]
        source.put([ANNA, BEN][rng.integers(2)], [random_row(rng, number) for number in numbers])
        known |= set(numbers)
        removed = [number for number in sorted(known) if rng.random() < 0.1]
        source.delete(removed)
        known -= set(removed)
        partition = partitions.get(key, 1)
        assert partition.seq == source.head()
        assert_same(partition, Partitions(source, store_id="one").get(key, 1))


def test_partition_holds_only_memories_of_its_user() -> None:
    source = MemoryIndexSource()
    source.put(ANNA, [row(1)])
    source.put(BEN, [row(2)])
    source.put(PartitionKey("default", None), [row(3)])
    source.put(PartitionKey("other", "anna"), [row(4)])
    partitions = Partitions(source, store_id="one")
    assert partitions.get(ANNA).ids.tolist() == [1]
    assert partitions.get(PartitionKey("default", None)).ids.tolist() == [3]
    assert partitions.get(ALL_USERS).ids.tolist() == [1, 2, 3]


def test_memory_moved_to_another_user_leaves_first_partition() -> None:
    source = MemoryIndexSource()
    source.put(ANNA, [row(1)])
    partitions = Partitions(source, store_id="one")
    assert partitions.get(ANNA).ids.tolist() == [1]
    source.put(BEN, [row(1)])
    assert partitions.get(ANNA).ids.tolist() == []
    assert partitions.get(BEN).ids.tolist() == [1]


def test_partition_without_generation_has_no_vectors() -> None:
    source = MemoryIndexSource()
    fill(source, 3)
    partitions = Partitions(source, store_id="one")
    assert partitions.get(ANNA, None).index is None
    assert partitions.get(ANNA, 1).index is not None


def test_least_recently_used_partitions_are_dropped() -> None:
    source = MemoryIndexSource()
    keys = [PartitionKey("default", f"user{number}") for number in range(6)]
    vectors = unit_rows(np.random.default_rng(0), 120, DIMENSION)
    for index, key in enumerate(keys):
        rows = [row(20 * index + n, terms="w1", vector=vectors[20 * index + n].tobytes()) for n in range(20)]
        source.put(key, rows)
    size = Partitions(source, store_id="one").get(keys[0], 1).nbytes
    partitions = Partitions(source, store_id="one", capacity_bytes=3 * size + size // 2)
    loaded = [partitions.get(key, 1) for key in keys[:3]]
    assert partitions.get(keys[0], 1) is loaded[0]
    partitions.get(keys[3], 1)
    assert len(partitions) == 3
    assert partitions.nbytes <= 3 * size + size // 2
    assert partitions.get(keys[0], 1) is loaded[0]
    assert partitions.get(keys[1], 1) is not loaded[1]
    assert partitions.get(keys[1], 1).ids.tolist() == loaded[1].ids.tolist()


def test_partition_larger_than_capacity_is_still_loaded() -> None:
    source = MemoryIndexSource()
    fill(source, 10)
    partitions = Partitions(source, store_id="one", capacity_bytes=1)
    assert len(partitions.get(ANNA, 1)) == 10
    assert len(partitions.get(BEN, 1)) == 0


def open_with_graph(source: MemoryIndexSource, path: Path, store_id: str = "one") -> Partitions:
    partitions = Partitions(source, store_id=store_id, path=path, graph_from=100)
    partitions.get(ANNA, 1)
    partitions.wait_for_graphs()
    return partitions


def has_graph(partition: Partition) -> bool:
    return partition.index is not None and partition.index.has_graph


def test_saved_graph_is_loaded_in_next_run(tmp_path: Path) -> None:
    source = MemoryIndexSource()
    fill(source, 400)
    first = open_with_graph(source, tmp_path / "index.faiss")
    assert has_graph(first.get(ANNA, 1))
    first.close()
    again = Partitions(source, store_id="one", path=tmp_path / "index.faiss", graph_from=100)
    partition = again.get(ANNA, 1)
    assert partition.index is not None
    assert (partition.index.has_graph, partition.index.pending) == (True, 0)
    assert_same(partition, first.get(ANNA, 1))
    assert again.problems == []
    again.close()


def test_outdated_file_is_updated_from_store(tmp_path: Path) -> None:
    source = MemoryIndexSource()
    fill(source, 400)
    open_with_graph(source, tmp_path / "index.faiss").close()
    rng = np.random.default_rng(5)
    source.delete(range(30))
    source.put(ANNA, [random_row(rng, number) for number in range(380, 420)])
    again = open_with_graph(source, tmp_path / "index.faiss")
    assert_same(again.get(ANNA, 1), Partitions(source, store_id="one").get(ANNA, 1))
    again.close()


def test_store_wins_over_vectors_in_file(tmp_path: Path) -> None:
    source, other = MemoryIndexSource(), MemoryIndexSource()
    fill(source, 300, seed=1)
    fill(other, 300, seed=2)
    open_with_graph(other, tmp_path / "index.faiss").close()
    again = open_with_graph(source, tmp_path / "index.faiss")
    assert_same(again.get(ANNA, 1), Partitions(source, store_id="one").get(ANNA, 1))
    again.close()


def test_saving_keeps_partitions_that_were_not_opened(tmp_path: Path) -> None:
    source = MemoryIndexSource()
    fill(source, 200)
    source.put(
        BEN,
        [row(1000 + n, vector=v.tobytes()) for n, v in enumerate(unit_rows(np.random.default_rng(9), 200, DIMENSION))],
    )
    for key in (ANNA, BEN):
        partitions = Partitions(source, store_id="one", path=tmp_path / "index.faiss", graph_from=100)
        partitions.get(key, 1)
        partitions.wait_for_graphs()
        partitions.close()
    again = Partitions(source, store_id="one", path=tmp_path / "index.faiss", graph_from=100)
    assert has_graph(again.get(ANNA, 1))
    assert has_graph(again.get(BEN, 1))
    again.close()


@pytest.mark.parametrize("damage", ["truncated", "flipped", "foreign", "empty", "other store", "store replaced"])
def test_untrusted_file_is_reported_and_rebuilt(tmp_path: Path, damage: str) -> None:
    path, source = tmp_path / "index.faiss", MemoryIndexSource()
    fill(source, 300)
    open_with_graph(source, path, "another" if damage == "other store" else "one").close()
    content = path.read_bytes()
    if damage == "store replaced":
        source = MemoryIndexSource()
        fill(source, 200)
    flipped = bytearray(content)
    flipped[len(content) // 2] ^= 4
    changed = {"truncated": content[:-9], "flipped": bytes(flipped), "foreign": b"x" * 999, "empty": b""}
    path.write_bytes(changed.get(damage, content))
    again = open_with_graph(source, path)
    assert_same(again.get(ANNA, 1), Partitions(source, store_id="one").get(ANNA, 1))
    assert len(again.problems) == 1
    assert "index file" in again.problems[0]
    again.close()
    rebuilt = Partitions(source, store_id="one", path=path, graph_from=100)
    assert has_graph(rebuilt.get(ANNA, 1))
    assert rebuilt.problems == []
    rebuilt.close()


def test_restored_older_store_is_loaded_again() -> None:
    source = MemoryIndexSource()
    fill(source, 20)
    partitions = Partitions(source, store_id="one")
    partitions.get(ANNA, 1)
    restored = MemoryIndexSource()
    fill(restored, 5, seed=3)
    partitions._source = restored
    assert partitions.get(ANNA, 1).ids.tolist() == [0, 1, 2, 3, 4]


def test_failed_save_is_listed_as_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    source = MemoryIndexSource()
    fill(source, 200)
    partitions = open_with_graph(source, tmp_path / "file" / "index.faiss")
    partitions.close()
    assert any("Cannot" in problem for problem in partitions.problems)


def test_clear_deletes_file_and_memory(tmp_path: Path) -> None:
    source = MemoryIndexSource()
    fill(source, 200)
    partitions = open_with_graph(source, tmp_path / "index.faiss")
    partitions.save()
    partitions.clear()
    assert list(tmp_path.iterdir()) == []
    assert (len(partitions), partitions.nbytes) == (0, 0)
    assert len(partitions.get(ANNA, 1)) == 200
    partitions.close()
    assert "memoranda-graph" not in {thread.name for thread in threading.enumerate()}


class FailingOnceSource(MemoryIndexSource):
    """Fails in the middle of the first load."""

    failed = False

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        for number, each in enumerate(super().rows(key, ids, generation)):
            if number == 5 and not self.failed:
                self.failed = True
                raise Unavailable("the disk is unavailable")
            yield each


def test_interrupted_load_is_repeated_completely() -> None:
    source = FailingOnceSource()
    fill(source, 20)
    partitions = Partitions(source, store_id="one")
    with pytest.raises(Unavailable):
        partitions.get(ANNA, 1)
    source.delete([0, 1])
    assert_same(partitions.get(ANNA, 1), Partitions(source, store_id="one").get(ANNA, 1))


def test_locked_partition_never_shows_partial_change() -> None:
    source = MemoryIndexSource()
    partitions = Partitions(source, store_id="one", graph_from=50)
    vectors = unit_rows(np.random.default_rng(0), 40, DIMENSION)
    failures: list[str] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            with partitions.locked(ANNA, 1) as partition:
                words = partition.postings.search(["w1"], 10_000)[0].tolist() if len(partition) else []
                found = [] if partition.index is None else partition.index.ids.tolist()
                if not sorted(words) == found == partition.ids.tolist():
                    failures.append(f"{len(words)} words, {len(found)} vectors, {len(partition)} rows")

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for step in range(60):
        numbers = range(step * 5, step * 5 + 5)
        source.put(ANNA, [row(number, terms="w1", vector=vectors[number % 40].tobytes()) for number in numbers])
        if step % 3 == 2:
            source.delete([step * 5])
    done.set()
    for reader in readers:
        reader.join()
    partitions.close()
    assert failures == []
    assert_same(partitions.get(ANNA, 1), Partitions(source, store_id="one").get(ANNA, 1))


def test_faiss_is_not_imported_before_first_get() -> None:
    code = (
        "import sys; from memoranda.index.partitions import Partitions; "
        "from memoranda.testing.fakes import MemoryIndexSource; "
        "Partitions(MemoryIndexSource(), store_id='one', path='nowhere'); print('faiss' in sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
