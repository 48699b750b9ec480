from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from memoranda.embedding.base import Embedder
from memoranda.embedding.local import StaticEmbedder
from memoranda.embedding.model import CachedEmbedder, EmbeddingModel
from memoranda.testing.contracts import EmbedderContract
from memoranda.testing.fakes import HashEmbedder


@cache
def loaded_once(make: Callable[[], Embedder]) -> Embedder:
    return make()


def uncached_default() -> Embedder:
    return EmbeddingModel(cache_size=0)


class TestHashEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return HashEmbedder()


class TestCachedEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return CachedEmbedder(HashEmbedder(), max_entries=4)


class TestStaticEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return loaded_once(StaticEmbedder)


class TestDefaultModel(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return loaded_once(uncached_default)
