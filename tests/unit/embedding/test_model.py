from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from memoranda.embedding.base import Embedder
from memoranda.embedding.local import StaticEmbedder
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import InvalidInput, InvalidType


@pytest.fixture(autouse=True)
def _empty_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORANDA_HOME", str(tmp_path))


@pytest.fixture(scope="module")
def fast() -> EmbeddingModel:
    return EmbeddingModel("fast")


def test_default_model_is_the_packaged_one() -> None:
    model = EmbeddingModel()
    assert (model.model_name, model.dimension) == ("e5-dialogue", 384)
    assert model.encode("hello").shape == (384,)


@pytest.mark.parametrize("name", ["fast", "static"])
def test_fast_model_has_two_names(name: str) -> None:
    assert EmbeddingModel(name).identity == StaticEmbedder().identity


def test_one_text_gives_a_vector_and_several_a_matrix(fast: EmbeddingModel) -> None:
    one = fast.encode("hello")
    two = fast.encode(["hello", "world"])
    assert (one.shape, two.shape, fast.encode([]).shape) == ((256,), (2, 256), (0, 256))
    assert one.tobytes() == two[0].tobytes()


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_batch_size_does_not_change_vectors(fast: EmbeddingModel, batch_size: int) -> None:
    texts = [f"text {number}" for number in range(10)]
    assert fast.encode(texts, batch_size=batch_size).tobytes() == fast.embed(texts, kind="passage").tobytes()


def test_similarity_accepts_texts_and_vectors(fast: EmbeddingModel) -> None:
    cat, kitten = fast.encode("a cat", kind="query"), fast.encode("a kitten", kind="query")
    expected = float(np.dot(cat.astype(float), kitten.astype(float)))
    assert fast.similarity("a cat", "a kitten") == pytest.approx(expected, abs=1e-6)
    assert fast.similarity("a cat", kitten) == pytest.approx(expected, abs=1e-6)
    assert fast.similarity(cat, [float(number) * 7 for number in kitten]) == pytest.approx(expected, abs=1e-6)
    assert fast.similarity("a cat", "a cat") == pytest.approx(1.0)
    assert fast.similarity("a cat", "a kitten") > fast.similarity("a cat", "interest rates")


def test_similarity_refuses_incomparable_vectors(fast: EmbeddingModel) -> None:
    with pytest.raises(InvalidInput, match="one size"):
        fast.similarity("a cat", [1.0, 2.0])
    with pytest.raises(InvalidInput, match="zeros"):
        fast.similarity([0.0, 0.0], [1.0, 2.0])
    with pytest.raises(InvalidType, match="shape"):
        fast.similarity("a cat", fast.encode(["one", "two"]))


def test_model_can_be_an_embedder() -> None:
    model: Embedder = EmbeddingModel(StaticEmbedder(), cache_size=0)
    assert model.identity == StaticEmbedder().identity


def test_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match=r"'nope'.*e5-dialogue, fast, openai, sentence-transformers, static"):
        EmbeddingModel("nope")


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
def test_missing_minilm_names_the_command_to_add_it(name: str) -> None:
    with pytest.raises(InvalidInput, match="memoranda models add all-MiniLM-L6-v2"):
        EmbeddingModel(name)


@pytest.mark.parametrize("name", ["", "../../etc", "/", "a\0b", "openai:"])
def test_invalid_names_are_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with pytest.raises(InvalidInput):
        EmbeddingModel(name)


@pytest.mark.parametrize("text", ["", "   ", ["good", ""]])
def test_blank_text_is_refused(fast: EmbeddingModel, text: str | list[str]) -> None:
    with pytest.raises(InvalidInput, match="empty"):
        fast.encode(text)


def test_invalid_sizes_are_refused(fast: EmbeddingModel) -> None:
    with pytest.raises(InvalidInput, match="batch_size"):
        fast.encode(["one"], batch_size=0)
    with pytest.raises(InvalidInput, match="cache_size"):
        EmbeddingModel("fast", cache_size=-1)
