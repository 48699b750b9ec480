from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from memoranda.embedding.local import WordPiece
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import InvalidInput, MissingExtra, Unavailable
from tests.unit.embedding.tiny_bert import HIDDEN, forward, make_weights, write_folder

INSTALLED = find_spec("sentence_transformers") is not None
PROMPTS = {"query": "the cat ? ", "document": "a dog . "}
needs_library = pytest.mark.skipif(not INSTALLED, reason="sentence-transformers is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small model in the library's format: an encoder, mean pooling, and prompts."""
    folder = write_folder(tmp_path / "model", make_weights())
    (folder / "1_Pooling").mkdir()
    files = {
        "tokenizer_config.json": {"tokenizer_class": "BertTokenizer", "do_lower_case": True},
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        ],
        "1_Pooling/config.json": {"word_embedding_dimension": HIDDEN, "pooling_mode_mean_tokens": True},
        "config_sentence_transformers.json": {"prompts": PROMPTS},
    }
    for name, content in files.items():
        (folder / name).write_text(json.dumps(content))
    return folder


@pytest.mark.skipif(INSTALLED, reason="sentence-transformers is installed")
def test_missing_library_names_the_extra() -> None:
    with pytest.raises(MissingExtra, match=r"memoranda\[sentence-transformers\]"):
        EmbeddingModel("sentence-transformers:all-mpnet-base-v2")


@needs_library
def test_missing_model_name_is_refused() -> None:
    with pytest.raises(InvalidInput, match="which model"):
        EmbeddingModel("sentence-transformers")


@needs_library
@pytest.mark.parametrize(("kind", "prompt"), [("query", PROMPTS["query"]), ("passage", PROMPTS["document"])])
def test_vectors_use_the_prompts_of_the_model(folder: Path, kind: str, prompt: str) -> None:
    model = EmbeddingModel(f"sentence-transformers:{folder}")
    texts = ["the cat sat on the mat", "dogs ran"]
    for text, row in zip(texts, model.embed(texts, kind=kind), strict=True):  # type: ignore[arg-type]
        ids = WordPiece(folder / "vocab.txt").encode(prompt + text, 24)
        expected = forward(make_weights(), ids).mean(axis=0)
        np.testing.assert_allclose(row, expected / np.linalg.norm(expected), atol=1e-5)


@needs_library
def test_text_gives_the_same_bytes_in_any_batch(folder: Path) -> None:
    model = EmbeddingModel(f"sentence-transformers:{folder}", cache_size=0)
    texts = ["the cat sat", "a dog ran on the mat , the cat sat on the dog", "mat"]
    together = model.embed(texts, kind="passage")
    assert together.shape == (3, model.dimension) == (3, HIDDEN)
    for text, row in zip(texts, together, strict=True):
        assert model.embed([text], kind="passage")[0].tobytes() == row.tobytes()


@needs_library
def test_missing_model_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(Unavailable, match="could not load"):
        EmbeddingModel(f"sentence-transformers:{tmp_path / 'nothing'}").encode("text")
