from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from memoranda.embedding import added_models
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import InvalidInput, MissingExtra, NotFound

MODELS = Path(__file__).parents[2] / "data" / "tiny_models"
EXPECTED = json.loads((MODELS / "expected.json").read_text("utf-8"))
"""Computed by transformers with torch, see make_tiny_models.py."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMORANDA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return Path(shutil.copytree(MODELS / "xlm-roberta", tmp_path / "tiny"))


def _change_config(folder: Path, **changes: object) -> None:
    config = json.loads((folder / "config.json").read_text("utf-8"))
    (folder / "config.json").write_text(json.dumps(config | changes), "utf-8")


@pytest.mark.parametrize("name", EXPECTED["vectors"])
def test_model_of_a_family_computes_the_same_vectors_as_transformers(name: str) -> None:
    pytest.importorskip("tokenizers")
    spec = added_models.add(str(MODELS / name))
    assert (spec.window, spec.vocabulary.name) == (24, "tokenizer.json")
    found = EmbeddingModel(name).encode(EXPECTED["texts"])
    np.testing.assert_allclose(found, np.array(EXPECTED["vectors"][name]), atol=5e-6)


def test_model_of_any_type_runs_from_its_onnx_file(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    built = added_models.add(str(folder), name="built").model
    (folder / "onnx").mkdir()
    shutil.copyfile(built, folder / "onnx" / "model.onnx")
    (folder / "model.safetensors").unlink()
    _change_config(folder, model_type="nomic_bert", max_position_embeddings=24)
    assert added_models.add(str(folder), name="from-onnx").dimension == 16
    found = EmbeddingModel("from-onnx").encode(EXPECTED["texts"])
    np.testing.assert_allclose(found, np.array(EXPECTED["vectors"]["xlm-roberta"]), atol=5e-6)


def test_prefixes_of_known_models_are_used_when_the_folder_names_none(folder: Path) -> None:
    pytest.importorskip("tokenizers")
    _change_config(folder, _name_or_path="intfloat/multilingual-e5-small")
    assert added_models.add(str(folder)).prefixes == {"query": "query: ", "passage": "passage: "}


def test_type_that_cannot_be_built_names_the_types_that_can(folder: Path, home: Path) -> None:
    _change_config(folder, model_type="nomic_bert")
    with pytest.raises(InvalidInput, match=r"nomic_bert.*xlm-roberta.*onnx/model\.onnx"):
        added_models.add(str(folder))
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "message"),
    [("pytorch_model.bin", "pickle"), ("model.safetensors.index.json", "several files"), ("readme.md", "has no model")],
)
def test_weights_that_cannot_be_read_are_named(folder: Path, file: str, message: str) -> None:
    (folder / "model.safetensors").rename(folder / file)
    with pytest.raises((InvalidInput, NotFound), match=message):
        added_models.add(str(folder))


def test_sentencepiece_file_without_tokenizer_json_is_refused(folder: Path) -> None:
    (folder / "tokenizer.json").rename(folder / "sentencepiece.bpe.model")
    with pytest.raises(InvalidInput, match=r"tokenizer\.json"):
        added_models.add(str(folder))


def test_tokenizer_without_its_library_names_the_extra(folder: Path, home: Path) -> None:
    try:
        import tokenizers  # noqa: F401
    except ImportError:
        with pytest.raises(MissingExtra, match=r"memoranda\[tokenizers\]"):
            added_models.add(str(folder))
        assert list(home.iterdir()) == []
    else:
        assert added_models.add(str(folder)).name == "tiny"
