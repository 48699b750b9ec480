from __future__ import annotations

import hashlib
import json
import lzma
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from memoranda.embedding import added_models
from memoranda.embedding.local import WordPiece
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Conflict, Incompatible, InvalidInput, MissingExtra, NotFound, Unavailable
from tests.unit.embedding.tiny_bert import POSITIONS, forward, make_weights, safetensors, write_folder

TEXTS = ["The cat sat on the mat.", "a dog", "Running dogs?", "cat, " * 30]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MEMORANDA_HOME", str(tmp_path / "home"))
    return tmp_path / "home" / "models"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "tiny-bert", make_weights())


def _expected(folder: Path, weights: dict[str, NDArray[np.float32]], pooling: str = "mean") -> NDArray[np.float64]:
    tokens = WordPiece(folder / "vocab.txt")
    states = [forward(weights, tokens.encode(text, POSITIONS)) for text in TEXTS]
    rows = np.stack([state[0] if pooling == "cls" else state.mean(0) for state in states])
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_models_are_in_the_data_folder_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("MEMORANDA_HOME", raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", "relative")
    assert added_models.models_folder() == tmp_path / ".local/share/memoranda/models"
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert added_models.models_folder() == Path("/data/memoranda/models")


def test_added_model_computes_the_same_vectors_as_numpy(folder: Path) -> None:
    steps: list[str] = []
    spec = added_models.add(str(folder), on_step=steps.append)
    assert (spec.name, spec.dimension, spec.window, spec.pooling) == ("tiny-bert", 32, POSITIONS, "mean")
    assert steps == list(added_models.STEPS)
    found = EmbeddingModel("tiny-bert").encode(TEXTS)
    np.testing.assert_allclose(found, _expected(folder, make_weights()), atol=2e-6)


@pytest.mark.parametrize(("dtype", "error"), [("F64", 2e-6), ("F16", 2e-3), ("BF16", 2e-2)])
def test_weights_of_other_precisions_are_supported(tmp_path: Path, dtype: str, error: float) -> None:
    folder = write_folder(tmp_path / "other", make_weights(), prefix="bert.", dtype=dtype)
    added_models.add(str(folder))
    np.testing.assert_allclose(EmbeddingModel("other").encode(TEXTS), _expected(folder, make_weights()), atol=error)


def test_pooling_window_and_prompts_are_read_from_the_folder(folder: Path) -> None:
    (folder / "1_Pooling").mkdir()
    pooling = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False, "word_embedding_dimension": 32}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text('{"max_seq_length": 12}')
    (folder / "config_sentence_transformers.json").write_text('{"prompts": {"query": "a cat ", "document": ""}}')
    spec = added_models.add(str(folder), name="named")
    assert (spec.name, spec.window, spec.pooling) == ("named", 12, "cls")
    model = EmbeddingModel("named")
    asked, stored = model.embed(["sat"], kind="query"), model.embed(["a cat sat"], kind="passage")
    assert asked.tobytes() == stored.tobytes()
    np.testing.assert_allclose(model.encode(TEXTS[:3]), _expected(folder, make_weights(), "cls")[:3], atol=2e-6)


def test_models_can_be_added_listed_and_removed(folder: Path, home: Path) -> None:
    assert added_models.list_all() == []
    spec = added_models.add(str(folder))
    assert added_models.list_all() == [spec]
    assert added_models.find("tiny-bert") == spec
    added_models.remove("tiny-bert")
    assert added_models.list_all() == []
    assert list(home.iterdir()) == []
    with pytest.raises(NotFound, match="tiny-bert"):
        added_models.remove("tiny-bert")


def test_adding_the_same_model_again_is_allowed_and_another_of_its_name_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    assert added_models.add(str(folder)) == added_models.add(str(folder))
    other = write_folder(tmp_path / "elsewhere" / "tiny-bert", make_weights(seed=8))
    with pytest.raises(Conflict, match="another name"):
        added_models.add(str(other))
    assert added_models.add(str(other), name="second").sha256 != added_models.list_all()[1].sha256


def _change_config(folder: Path, name: str, **changes: object) -> None:
    file = folder / name
    content = json.loads(file.read_text()) if file.exists() else {}
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(content | changes))


UNSUPPORTED = {
    "another architecture": lambda f: _change_config(f, "config.json", model_type="t5"),
    "another activation": lambda f: _change_config(f, "config.json", hidden_act="relu"),
    "cased": lambda f: _change_config(f, "tokenizer_config.json", do_lower_case=False),
    "sizes missing": lambda f: (f / "config.json").write_text("{}"),
    "config is no object": lambda f: (f / "config.json").write_text("[]"),
    "config is no JSON": lambda f: (f / "config.json").write_text("{"),
    "unknown pooling": lambda f: _change_config(f, "1_Pooling/config.json", pooling_mode_max_tokens=True),
    "dense layer": lambda f: (f / "modules.json").write_text('[{"type": "sentence_transformers.models.Dense"}]'),
    "weights empty": lambda f: (f / "model.safetensors").write_bytes(b""),
    "weights are no safetensors": lambda f: (f / "model.safetensors").write_bytes(b"x" * 100),
    "weights cut short": lambda f: (f / "model.safetensors").write_bytes((f / "model.safetensors").read_bytes()[:-9]),
    "weights missing": lambda f: (f / "model.safetensors").write_bytes(safetensors({"x": np.zeros(3, np.float32)})),
    "a layer too many": lambda f: _change_config(f, "config.json", num_hidden_layers=9),
}


@pytest.mark.parametrize("problem", UNSUPPORTED)
def test_unsupported_model_is_refused_and_leaves_no_files(folder: Path, home: Path, problem: str) -> None:
    UNSUPPORTED[problem](folder)
    with pytest.raises(InvalidInput):
        added_models.add(str(folder))
    assert added_models.list_all() == []
    assert list(home.iterdir()) == []


def test_weights_of_wrong_sizes_leave_no_files(folder: Path, home: Path) -> None:
    _change_config(folder, "config.json", num_attention_heads=5)
    with pytest.raises(Incompatible):
        added_models.add(str(folder))
    assert list(home.iterdir()) == []


def test_missing_files_and_folders_are_named(folder: Path) -> None:
    (folder / "vocab.txt").unlink()
    with pytest.raises(NotFound, match=r"vocab\.txt"):
        added_models.add(str(folder))
    with pytest.raises(NotFound, match="nowhere"):
        added_models.add("/nowhere/at-all")


@pytest.mark.parametrize("name", ["../up", ".hidden", "a b", "fast", "e5-dialogue", "all-MiniLM-L6-v2"])
def test_invalid_and_used_names_are_refused(folder: Path, name: str) -> None:
    with pytest.raises(InvalidInput):
        added_models.add(str(folder), name=name)


def test_damaged_spec_says_what_to_do(folder: Path, home: Path) -> None:
    added_models.add(str(folder))
    (home / "tiny-bert" / "model.json").write_text("{")
    with pytest.raises(Incompatible, match="delete"):
        added_models.find("tiny-bert")


@pytest.fixture
def packaged_model(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package that contains the model, in the only place where pip looks for packages."""
    wheel = tmp_path / "wheels" / "tiny_model-1.0-py3-none-any.whl"
    wheel.parent.mkdir()
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in folder.iterdir():
            archive.write(file, f"tiny_model/{file.name}")
        archive.writestr("tiny_model-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny-model\nVersion: 1.0\n")
        archive.writestr(
            "tiny_model-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr("tiny_model-1.0.dist-info/RECORD", "")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(wheel.parent))
    sha256 = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    model = added_models.PackagedModel("tiny-model==1.0", "tiny_model/", sha256)
    monkeypatch.setitem(added_models.PACKAGED, "all-MiniLM-L6-v2", model)
    return folder


def test_packaged_model_is_extracted_from_its_package(packaged_model: Path) -> None:
    added_models.add("all-MiniLM-L6-v2")
    found = EmbeddingModel("sentence-transformers/all-MiniLM-L6-v2").encode(TEXTS)
    np.testing.assert_allclose(found, _expected(packaged_model, make_weights()), atol=2e-6)


def test_packaged_model_with_other_weights_is_refused(
    packaged_model: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = added_models.PackagedModel("tiny-model==1.0", "tiny_model/", "0" * 64)
    monkeypatch.setitem(added_models.PACKAGED, "all-MiniLM-L6-v2", other)
    with pytest.raises(Incompatible, match="sha256"):
        added_models.add("all-MiniLM-L6-v2")
    assert list(home.iterdir()) == []


def test_package_that_pip_cannot_download_is_unavailable(packaged_model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = added_models.PackagedModel("tiny-model==2.0", "tiny_model/", "0" * 64)
    monkeypatch.setitem(added_models.PACKAGED, "all-MiniLM-L6-v2", other)
    with pytest.raises(Unavailable, match=r"tiny-model==2\.0"):
        added_models.add("all-MiniLM-L6-v2")


def test_hub_without_its_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    with pytest.raises(MissingExtra, match=r"memoranda\[hub\]"):
        added_models.add("hub:someone/some-model")


def test_weights_in_the_repository_are_the_pinned_files() -> None:
    import memoranda_models
    import memoranda_reranker

    packages = Path(__file__).parents[3] / "packages"
    pinned = {**memoranda_models.SHA256, **memoranda_reranker.SHA256}
    files = sorted(packages.glob("*/weights/*.xz"))
    assert [file.stem for file in files] == [
        "e5-dialogue.onnx",
        "reranker-small.onnx",
        "vocab.txt",
        "reranker-dialogue.onnx",
    ]
    for file in files:
        assert hashlib.sha256(lzma.decompress(file.read_bytes())).hexdigest() == pinned[file.stem]


def test_bundled_model_files_have_the_pinned_checksums() -> None:
    import memoranda_models
    import memoranda_reranker

    for package in (memoranda_models, memoranda_reranker):
        for name, sha256 in package.SHA256.items():
            file = package.path(name)
            content = memoranda_models.unpacked(file) if file.suffix == ".packed" else file.read_bytes()
            assert hashlib.sha256(content).hexdigest() == sha256
    with pytest.raises(KeyError, match=r"vocab\.txt"):
        memoranda_models.path("nope")
