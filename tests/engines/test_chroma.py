from __future__ import annotations

import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from memoranda import MemoryManager, PersistentMemory, Unavailable
from memoranda.index.base import VectorIndex
from memoranda.index.chroma import ChromaEngine
from memoranda.testing.contracts import DIMENSION, IndexContract, unit_rows
from memoranda.testing.fakes import HashEmbedder
from tests.ports import free_port

FACTS = ["Ann likes green tea", "Bob drives a red car", "Ann lives in Berlin"]


# Chroma builds its graph at random, so that it sometimes misses a neighbour.
_RECALL = 0.9


class TestChroma(IndexContract):
    recall = _RECALL

    def make_index(self, dimension: int) -> VectorIndex:
        # All in-memory clients of a process share one store.
        return ChromaEngine().open(uuid.uuid4().hex, "partition", dimension)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """A real Chroma server on a free local port."""
    port = free_port()
    program = str(Path(sys.executable).with_name("chroma"))
    folder = str(tmp_path_factory.mktemp("server"))
    process = subprocess.Popen(
        [program, "run", "--host", "127.0.0.1", "--port", str(port), "--path", folder],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for_port(port)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait_for_port(port: int) -> None:
    for _ in range(200):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError("the Chroma server did not start")


class TestChromaServer(IndexContract):
    recall = _RECALL

    @pytest.fixture
    def index(self, server: int) -> VectorIndex:
        return ChromaEngine(host="127.0.0.1", port=server).open(uuid.uuid4().hex, "partition", DIMENSION)


def test_a_thousand_scores_are_all_exact() -> None:
    index = ChromaEngine().open(uuid.uuid4().hex, "partition", 16)
    vectors = unit_rows(np.random.default_rng(1), 1_000)
    index.add(np.arange(1_000), vectors)
    np.testing.assert_allclose(index.scores(vectors[7], np.arange(1_000)), vectors @ vectors[7], atol=1e-5)


def test_persistent_memory_uses_chroma_also_after_restart(tmp_path: Path) -> None:
    config = {"provider": "chroma", "config": {"path": str(tmp_path / "chroma")}}
    for _ in range(2):
        with PersistentMemory(
            "a", embedding_backend=HashEmbedder(64), vector_store_config=config, db_url=f"sqlite:///{tmp_path}/a.db"
        ) as memory:
            memory.save_to_memory("", FACTS)
            assert "red car" in memory.retrieve("Who drives a car?", limit=1)


def test_memory_deleted_without_engine_is_removed_when_it_opens(tmp_path: Path) -> None:
    engine, url = ChromaEngine(path=str(tmp_path / "chroma")), f"sqlite:///{tmp_path}/a.db"
    with MemoryManager(url, embedder=HashEmbedder(64), index=engine) as manager:
        memories = manager.add_memories(FACTS)
        manager.recall("tea")
    with MemoryManager(url, embedder=HashEmbedder(64)) as other:
        other.delete(memories[0].id)
    with MemoryManager(url, embedder=HashEmbedder(64), index=engine) as manager:
        assert manager.recall("red car", limit=1)[0].content == "Bob drives a red car"
        assert sum(found.count() for found in engine._client.list_collections()) == 2


def test_clear_removes_only_one_store() -> None:
    engine, one, two = ChromaEngine(), uuid.uuid4().hex, uuid.uuid4().hex
    for store in (one, two):
        engine.open(store, "p", 16).add(np.array([1]), unit_rows(np.random.default_rng(0), 1))
    engine.clear(one)
    assert [len(engine.open(store, "p", 16)) for store in (one, two)] == [0, 1]


def test_unreachable_server_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="Chroma cannot be used now"):
        ChromaEngine(host="127.0.0.1", port=9)
