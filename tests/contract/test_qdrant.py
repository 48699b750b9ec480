from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import QdrantClient

from memoranda.index.base import VectorIndex
from memoranda.index.qdrant_edge import QdrantEdge
from memoranda.index.qdrant_server import QdrantServer
from memoranda.testing.contracts import DIMENSION, IndexContract, unit_rows


class TestQdrantEmbedded(IndexContract):
    @pytest.fixture
    def index(self, tmp_path: Path) -> Iterator[VectorIndex]:
        engine = QdrantEdge(tmp_path)
        yield engine.open("store", "partition", DIMENSION)
        engine.close()


# The client's in-memory mode stands in for a server: the same calls and results without a process to start. It warns
# about features that only a server has.
@pytest.mark.filterwarnings("ignore:Local mode performs exact", "ignore:Payload indexes have no effect")
class TestQdrantServer(IndexContract):
    @pytest.fixture
    def index(self) -> Iterator[VectorIndex]:
        engine = QdrantServer(client=QdrantClient(":memory:"))
        other = engine.open("store", "another partition", DIMENSION)
        other.add(np.arange(50, dtype=np.int64), unit_rows(np.random.default_rng(9), 50))
        yield engine.open("store", "partition", DIMENSION)
        engine.close()
