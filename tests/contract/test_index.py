from __future__ import annotations

from memoranda.index.base import VectorIndex
from memoranda.index.faiss import FAISSIndex
from memoranda.testing.contracts import ExactIndex, IndexContract


class TestExactIndex(IndexContract):
    def make_index(self, dimension: int) -> VectorIndex:
        return ExactIndex(dimension)


class TestFAISSIndex(IndexContract):
    def make_index(self, dimension: int) -> VectorIndex:
        return FAISSIndex(dimension)
