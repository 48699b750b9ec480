from __future__ import annotations

from pathlib import Path

import memoranda_models
import numpy as np
import pytest

from memoranda.embedding.static import StaticEmbedder
from memoranda.embedding.wordpiece import WordPiece
from memoranda.errors import Incompatible, InvalidInput

TEXTS = ["Mia adopted a puppy named Rex.", "The train to Bern leaves at nine.", "Interest rates rose again."]


@pytest.fixture(scope="module")
def embedder() -> StaticEmbedder:
    return StaticEmbedder()


def test_vector_is_the_mean_of_the_token_vectors(embedder: StaticEmbedder) -> None:
    rows = np.load(memoranda_models.path("potion-base-8M.npy")).astype(np.float64)
    rows *= np.load(memoranda_models.path("potion-base-8M.scale.npy"))[:, None]
    ids = WordPiece(memoranda_models.path("vocab.txt")).ids(TEXTS[0])
    expected = rows[ids].mean(axis=0)
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(embedder.embed([TEXTS[0]], kind="passage")[0], expected, atol=1e-6)


def test_right_answer_is_nearest(embedder: StaticEmbedder) -> None:
    question = embedder.embed(["Which pet does Mia have, a dog?"], kind="query")[0]
    assert int(np.argmax(embedder.embed(TEXTS, kind="passage") @ question)) == 0


def test_text_gives_the_same_bytes_in_any_batch(embedder: StaticEmbedder) -> None:
    alone = [embedder.embed([text], kind="query")[0] for text in TEXTS]
    assert embedder.embed(TEXTS, kind="passage").tobytes() == np.stack(alone).tobytes()


def test_unknown_characters_do_not_change_a_text_and_have_a_vector(embedder: StaticEmbedder) -> None:
    plain, marked, signs = embedder.embed(["a good day", "a good day \U0001fae8", "\U0001fae8"], kind="passage")
    assert plain.tobytes() == marked.tobytes()
    assert np.linalg.norm(signs) == pytest.approx(1.0, abs=1e-6)


def test_huge_text_is_embedded(embedder: StaticEmbedder) -> None:
    assert np.linalg.norm(embedder.embed(["word " * 200_000], kind="passage")[0]) == pytest.approx(1.0, abs=1e-6)


def test_identity_and_empty_and_blank_input(embedder: StaticEmbedder) -> None:
    assert (embedder.identity.provider, embedder.identity.dimension) == ("static", 256)
    assert embedder.embed([], kind="passage").shape == (0, 256)
    with pytest.raises(InvalidInput, match=r"texts\[0\]"):
        embedder.embed([" "], kind="passage")


@pytest.mark.parametrize("name", ["vocab.txt", "potion-base-8M.npy", "potion-base-8M.scale.npy"])
def test_damaged_model_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    whole, packaged = memoranda_models.path(name), memoranda_models.path
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / name).write_bytes(data)
    monkeypatch.setattr(memoranda_models, "path", lambda asked: tmp_path / name if asked == name else packaged(asked))
    with pytest.raises(Incompatible, match="reinstall memoranda-models"):
        StaticEmbedder().embed(["tea"], kind="passage")
