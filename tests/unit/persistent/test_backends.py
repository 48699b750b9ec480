from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from memoranda.embedding.base import Embedder
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Incompatible, InvalidType, Unavailable
from memoranda.persistent.backends import BackendEmbedder, to_embedder
from memoranda.testing.embedder import EmbedderContract
from memoranda.testing.fakes import HashEmbedder

_REFERENCE = HashEmbedder(48)


def embed_texts(texts: list[str]) -> list[list[float]]:
    # Not unit vectors: a back end does not have to return those.
    return (3 * _REFERENCE.embed(texts, kind="passage")).tolist()  # type: ignore[no-any-return]


class EmbedBackend:
    model = "text-embedding-3-small"

    def embed(self, texts: list[str]) -> list[list[float]]:
        return embed_texts(texts)


class AsyncEmbedBackend:
    async def embed(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return embed_texts(texts)


class EncodeBackend:
    def encode(self, texts: list[str]) -> Any:
        return np.array(embed_texts(texts))


class DocumentQueryBackend:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return embed_texts(texts)

    def embed_query(self, text: str) -> list[float]:
        return embed_texts([text])[0]


class TestBackendEmbedder(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return BackendEmbedder(EmbedBackend())


@pytest.mark.parametrize("backend", [EmbedBackend(), AsyncEmbedBackend(), EncodeBackend(), DocumentQueryBackend()])
def test_every_backend_form_returns_unit_vectors(backend: object) -> None:
    embedder = to_embedder(backend)
    assert embedder is not None
    assert embedder.identity.dimension == 48
    for kind in ("query", "passage"):
        rows = embedder.embed(["tea", "milk and honey"], kind=kind)  # type: ignore[arg-type]
        np.testing.assert_allclose(rows, _REFERENCE.embed(["tea", "milk and honey"], kind="query"), atol=1e-6)


async def test_async_backend_works_inside_running_loop() -> None:
    assert BackendEmbedder(AsyncEmbedBackend()).embed(["tea"], kind="query").shape == (1, 48)


def test_models_of_one_class_have_different_identities() -> None:
    first, second = EmbedBackend(), EmbedBackend()
    second.model = "text-embedding-3-large"
    assert BackendEmbedder(first).identity != BackendEmbedder(second).identity
    assert BackendEmbedder(first).identity.model == "text-embedding-3-small"


def test_known_dimension_is_not_measured() -> None:
    class Sized:
        dimension = 7

        def embed(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError("not before the first text")

    assert BackendEmbedder(Sized()).identity.dimension == 7


def test_names_embedders_and_none_are_accepted() -> None:
    embedder = HashEmbedder(8)
    assert to_embedder(embedder) is embedder
    assert to_embedder(None) is None
    named = to_embedder("fast")
    assert isinstance(named, EmbeddingModel)


def test_object_that_cannot_embed_is_rejected() -> None:
    with pytest.raises(InvalidType, match="embed_documents and embed_query, embed, or encode"):
        to_embedder(object())


class FixedBackend:
    def __init__(self, answer: Any, dimension: int | None = None) -> None:
        self.answer = answer
        self.dimension = dimension

    def embed(self, texts: list[str]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_backend_error_raises_unavailable() -> None:
    with pytest.raises(Unavailable, match="FixedBackend failed: no route"):
        BackendEmbedder(FixedBackend(OSError("no route"))).embed(["tea"], kind="query")


@pytest.mark.parametrize("answer", [None, [], [[]], "x", [["a"]], [[float("nan")]], [[0.0, 0.0]], [[1.0], [1.0, 2.0]]])
def test_answer_that_is_not_vectors_is_rejected(answer: Any) -> None:
    with pytest.raises(Incompatible, match="FixedBackend returned"):
        BackendEmbedder(FixedBackend(answer, dimension=2)).embed(["tea"], kind="query")


def test_wrong_number_or_size_of_vectors_is_rejected() -> None:
    with pytest.raises(Incompatible, match="shape"):
        BackendEmbedder(FixedBackend([[1.0, 0.0]])).embed(["tea", "milk"], kind="query")
    with pytest.raises(Incompatible, match="shape"):
        BackendEmbedder(FixedBackend([[1.0, 0.0]], dimension=3)).embed(["tea"], kind="query")
