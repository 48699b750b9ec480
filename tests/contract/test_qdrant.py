from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from memoranda.index.base import VectorIndex
from memoranda.index.qdrant_edge import QdrantEdge
from memoranda.index.qdrant_server import QdrantServer
from memoranda.testing.index import DIMENSION, IndexContract, unit_rows


class TestQdrantEmbedded(IndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[VectorIndex]:
        engine = QdrantEdge(tmp_path)
        yield engine.open("store", "partition", DIMENSION)
        engine.close()


# The client's own engine in memory takes a server's place: the same calls and answers, without a process to start. It
# warns of what only a server can do.
@pytest.mark.filterwarnings("ignore:Local mode performs exact", "ignore:Payload indexes have no effect")
class TestQdrantServer(IndexContract):
    @pytest.fixture
    def index(self) -> Iterator[VectorIndex]:
        engine = QdrantServer(client=QdrantClient(":memory:"))
        neighbour = engine.open("store", "another partition", DIMENSION)
        neighbour.add(np.arange(50, dtype=np.int64), unit_rows(np.random.default_rng(9), 50))
        yield engine.open("store", "partition", DIMENSION)
        engine.close()
