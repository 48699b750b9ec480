from __future__ import annotations

from recollect.index.base import VectorIndex
from recollect.index.faiss import FAISSIndex
from recollect.testing.index import ExactIndex, IndexContract


class TestExactIndex(IndexContract):
    def make_index(self, dimension: int) -> VectorIndex:
        return ExactIndex(dimension)


class TestFAISSIndex(IndexContract):
    def make_index(self, dimension: int) -> VectorIndex:
        return FAISSIndex(dimension)
