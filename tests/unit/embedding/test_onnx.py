from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import memoranda_models
import numpy as np
import pytest

from memoranda.embedding.onnx import OnnxEmbedder, default_spec
from memoranda.errors import Incompatible, InvalidInput, InvalidType, Unavailable

MIXED = ["cat", "The cat sat on the mat. " * 300, "Zürich, 日本 🙂", "my phone number is 555-0100", "a " * 40, "cat"]


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(default_spec(), threads=2)


def test_embed_returns_a_unit_float32_row_per_text(embedder: OnnxEmbedder) -> None:
    rows = embedder.embed(MIXED, kind="passage")
    assert rows.dtype == np.float32
    assert rows.shape == (len(MIXED), 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1.0, atol=1e-6)


def test_text_gives_the_same_bytes_in_any_batch(embedder: OnnxEmbedder) -> None:
    together = embedder.embed(MIXED, kind="passage")
    alone = [embedder.embed([text], kind="passage")[0] for text in MIXED]
    backwards = embedder.embed(MIXED[::-1], kind="passage")[::-1]
    one_thread = OnnxEmbedder(default_spec(), threads=1).embed(MIXED, kind="passage")
    assert together.tobytes() == np.stack(alone).tobytes() == backwards.tobytes() == one_thread.tobytes()


def test_threads_that_load_the_model_together_agree() -> None:
    fresh = OnnxEmbedder(default_spec(), threads=2)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: fresh.embed(["cat", "dog"], kind="query").tobytes(), range(8)))
    assert len(set(answers)) == 1


def test_right_answer_is_nearest(embedder: OnnxEmbedder) -> None:
    texts = ["Mia adopted a puppy named Rex.", "The train to Bern leaves at nine.", "Interest rates rose again."]
    question = embedder.embed(["Which pet does Mia have?"], kind="query")[0]
    assert int(np.argmax(embedder.embed(texts, kind="passage") @ question)) == 0


def test_unrelated_texts_are_near_the_baseline(embedder: OnnxEmbedder) -> None:
    texts = ["Mia adopted a puppy named Rex.", "The train to Bern leaves at nine.", "Interest rates rose again."]
    cosines = embedder.embed(texts, kind="query") @ embedder.embed(texts, kind="passage").T
    assert cosines[~np.eye(3, dtype=bool)].mean() == pytest.approx(embedder.identity.baseline, abs=0.06)


def test_query_and_passage_have_different_vectors(embedder: OnnxEmbedder) -> None:
    question, stored = (embedder.embed(["cat"], kind=kind)[0] for kind in ("query", "passage"))
    assert 0.5 < float(question @ stored) < 0.999


def test_text_beyond_the_window_is_ignored(embedder: OnnxEmbedder) -> None:
    short, long = "cat " * 600, "cat " * 600 + "the stock market fell"
    assert embedder.embed([short], kind="passage").tobytes() == embedder.embed([long], kind="passage").tobytes()


def test_empty_input_gives_no_rows(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([], kind="passage").shape == (0, 384)


@pytest.mark.parametrize("bad", ["", "  \n", "a\0b", "\ud800"])
def test_invalid_text_is_refused_and_named(embedder: OnnxEmbedder, bad: str) -> None:
    with pytest.raises(InvalidInput, match=r"texts\[1\]"):
        embedder.embed(["good", bad], kind="passage")


@pytest.mark.parametrize("bad", ["one string", [1], [None]])
def test_wrong_types_are_refused(embedder: OnnxEmbedder, bad: list[str]) -> None:
    with pytest.raises(InvalidType):
        embedder.embed(bad, kind="passage")


def test_zero_threads_are_refused() -> None:
    with pytest.raises(InvalidInput, match="threads"):
        OnnxEmbedder(default_spec(), threads=0)


def test_identity_is_known_without_the_model_file(tmp_path: Path) -> None:
    spec = dataclasses.replace(default_spec(), model=tmp_path / "missing.onnx")
    embedder = OnnxEmbedder(spec)
    assert (embedder.identity.model, embedder.identity.dimension) == ("e5-small-v2", 384)
    assert len(embedder.identity.fingerprint) == 64
    with pytest.raises(Incompatible, match="install it again"):
        embedder.embed(["cat"], kind="passage")


@pytest.mark.parametrize("size", [0, 10, 1000, 1_000_000])
@pytest.mark.parametrize("name", ["damaged.onnx", "damaged.onnx.packed"])
def test_damaged_model_file_raises_incompatible(tmp_path: Path, name: str, size: int) -> None:
    original = default_spec().model
    damaged = tmp_path / name
    content = original.read_bytes() if damaged.suffix == original.suffix else memoranda_models.unpacked(original)
    damaged.write_bytes(content[:size])
    embedder = OnnxEmbedder(dataclasses.replace(default_spec(), model=damaged))
    with pytest.raises(Incompatible, match=r"damaged\.onnx.*install it again"):
        embedder.embed(["cat"], kind="passage")


def test_packed_file_with_a_changed_byte_is_refused(tmp_path: Path) -> None:
    damaged = tmp_path / "damaged.onnx.packed"
    content = bytearray(default_spec().model.read_bytes())
    content[len(content) // 2] ^= 0xFF
    damaged.write_bytes(content)
    with pytest.raises(Incompatible, match="install it again"):
        OnnxEmbedder(dataclasses.replace(default_spec(), model=damaged)).embed(["cat"], kind="passage")


def test_missing_gpu_says_what_to_install() -> None:
    import onnxruntime

    if "CUDAExecutionProvider" in onnxruntime.get_available_providers():
        pytest.skip("this onnxruntime can use a GPU")
    with pytest.raises(Unavailable, match="onnxruntime-gpu"):
        OnnxEmbedder(default_spec(), use_gpu=True).embed(["cat"], kind="passage")


def test_naming_a_model_does_not_import_numpy_or_onnxruntime() -> None:
    script = (
        "import sys; from memoranda.embedding.model import EmbeddingModel; assert 'numpy' not in sys.modules; "
        "EmbeddingModel().identity; assert 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_loading_a_model_writes_no_telemetry(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from memoranda.embedding.onnx import open_session
open_session(Path({str(memoranda_models.path("e5-small-v2.onnx"))!r}))
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []
