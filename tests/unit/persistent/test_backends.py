from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from memoranda.embedding.base import Embedder
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Incompatible, InvalidType, Unavailable
from memoranda.persistent.backends import BackendEmbedder, as_embedder
from memoranda.testing.embedder import EmbedderContract
from memoranda.testing.fakes import HashEmbedder

_HASH = HashEmbedder(48)


def vectors(texts: list[str]) -> list[list[float]]:
    # Three times too long: a back end need not give unit vectors.
    return (3 * _HASH.embed(texts, kind="passage")).tolist()  # type: ignore[no-any-return]


class Embeds:
    model = "text-embedding-3-small"

    def embed(self, texts: list[str]) -> list[list[float]]:
        return vectors(texts)


class EmbedsLater:
    async def embed(self, texts: list[str]) -> list[list[float]]:
        await asyncio.sleep(0)
        return vectors(texts)


class Encodes:
    def encode(self, texts: list[str]) -> Any:
        return np.array(vectors(texts))


class DocumentsAndQueries:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return vectors(texts)

    def embed_query(self, text: str) -> list[float]:
        return vectors([text])[0]


class TestEmbeds(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Embedder:
        return BackendEmbedder(Embeds())


@pytest.mark.parametrize("backend", [Embeds(), EmbedsLater(), Encodes(), DocumentsAndQueries()])
def test_each_form_gives_unit_rows(backend: object) -> None:
    embedder = as_embedder(backend)
    assert embedder is not None
    assert embedder.identity.dimension == 48
    for kind in ("query", "passage"):
        rows = embedder.embed(["tea", "milk and honey"], kind=kind)  # type: ignore[arg-type]
        np.testing.assert_allclose(rows, _HASH.embed(["tea", "milk and honey"], kind="query"), atol=1e-6)


async def test_an_awaited_back_end_works_inside_a_running_loop() -> None:
    assert BackendEmbedder(EmbedsLater()).embed(["tea"], kind="query").shape == (1, 48)


def test_two_models_of_one_class_are_two_identities() -> None:
    first, second = Embeds(), Embeds()
    second.model = "text-embedding-3-large"
    assert BackendEmbedder(first).identity != BackendEmbedder(second).identity
    assert BackendEmbedder(first).identity.model == "text-embedding-3-small"


def test_a_size_that_is_known_is_not_asked_for() -> None:
    class Sized:
        dimension = 7

        def embed(self, texts: list[str]) -> list[list[float]]:
            raise AssertionError("not before the first text")

    assert BackendEmbedder(Sized()).identity.dimension == 7


def test_names_and_embedders_pass_through() -> None:
    embedder = HashEmbedder(8)
    assert as_embedder(embedder) is embedder
    assert as_embedder(None) is None
    named = as_embedder("fast")
    assert isinstance(named, EmbeddingModel)


def test_what_cannot_embed_is_refused_with_the_forms_that_can() -> None:
    with pytest.raises(InvalidType, match="embed_documents and embed_query, embed, or encode"):
        as_embedder(object())


class Answers:
    def __init__(self, answer: Any, dimension: int | None = None) -> None:
        self.answer = answer
        self.dimension = dimension

    def embed(self, texts: list[str]) -> Any:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def test_a_back_end_that_raises_is_unavailable() -> None:
    with pytest.raises(Unavailable, match="Answers failed: no route"):
        BackendEmbedder(Answers(OSError("no route"))).embed(["tea"], kind="query")


@pytest.mark.parametrize("answer", [None, [], [[]], "x", [["a"]], [[float("nan")]], [[0.0, 0.0]], [[1.0], [1.0, 2.0]]])
def test_an_answer_that_is_no_list_of_vectors_is_refused(answer: Any) -> None:
    with pytest.raises(Incompatible, match="Answers gave"):
        BackendEmbedder(Answers(answer, dimension=2)).embed(["tea"], kind="query")


def test_too_few_or_too_long_vectors_are_refused() -> None:
    with pytest.raises(Incompatible, match="shape"):
        BackendEmbedder(Answers([[1.0, 0.0]])).embed(["tea", "milk"], kind="query")
    with pytest.raises(Incompatible, match="shape"):
        BackendEmbedder(Answers([[1.0, 0.0]], dimension=3)).embed(["tea"], kind="query")
