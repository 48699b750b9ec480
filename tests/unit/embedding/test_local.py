from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest import mock

import memoranda_models
import numpy as np
import pytest

from memoranda.embedding import local
from memoranda.embedding.local import OnnxEmbedder, StaticEmbedder, WordPiece, default_spec
from memoranda.errors import Incompatible, InvalidInput, InvalidType
from memoranda.threads import FairSlots


@pytest.fixture(scope="module")
def tokenizer() -> WordPiece:
    return WordPiece(memoranda_models.path("vocab.txt"))


# The ids come from the reference tokenizer for this vocabulary.
@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("Hello, world!", [7592, 1010, 2088, 999]),
        ("unaffable embeddings", [14477, 20961, 3468, 7861, 8270, 4667, 2015]),
        ("Ångström's CAFÉ", [17076, 15687, 1005, 1055, 7668]),
        ("日本 Tokyo", [1864, 1876, 5522]),
        ("ΟΔΥΣΣΕΥΣ", [1169, 29722, 29735, 29733, 29733, 29723, 29735, 29733]),
        ("a\x0bb\u200bc d\x85e\u2028f", [5925, 2139, 1042]),
        ("\U0001fae8 ok", [100, 7929]),
        ("x" * 101 + " y", [100, 1061]),
        ("\ufffdfine", [2986]),
        ("１２３", [100]),
        ("don't $5.00", [2123, 1005, 1056, 1002, 1019, 1012, 4002]),
        (" \t\n", []),
    ],
)
def test_ids_equal_those_of_the_reference_tokenizer(tokenizer: WordPiece, text: str, ids: list[int]) -> None:
    assert tokenizer.ids(text) == ids


def test_special_tokens_in_a_text_are_plain_text(tokenizer: WordPiece) -> None:
    assert tokenizer.ids("[CLS]") == tokenizer.ids("[") + tokenizer.ids("cls") + tokenizer.ids("]")


def test_encode_adds_start_and_end_tokens(tokenizer: WordPiece) -> None:
    assert tokenizer.encode("Hello, world!", 512) == [101, 7592, 1010, 2088, 999, 102]


@pytest.mark.parametrize("window", [3, 4, 5, 6, 7])
def test_encode_cuts_at_the_window(tokenizer: WordPiece, window: int) -> None:
    ids = [7592, 1010, 2088, 999]
    assert tokenizer.encode("Hello, world!", window) == [101, *ids[: window - 2], 102]


def test_long_chunk_without_white_space_is_cut_at_the_limit(tokenizer: WordPiece) -> None:
    text = "hello,world!" * 50
    assert tokenizer.ids(text, 10) == tokenizer.ids(text)[:10]
    assert len(tokenizer.ids(text)) == 200


@pytest.mark.parametrize("text", ["word " * 200_000, "日" * 1_000_000, "a,b;" * 250_000])
def test_encode_reads_only_as_much_of_a_huge_text_as_needed(tokenizer: WordPiece, text: str) -> None:
    start = time.perf_counter()
    assert len(tokenizer.encode(text, 512)) == 512
    assert time.perf_counter() - start < 1.0


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


def test_sentences_have_vectors_beside_that_of_the_text(embedder: OnnxEmbedder) -> None:
    talk = "The weather was awful. We adopted a greyhound called Pip! See you on Monday?"
    texts = [
        talk,
        "One sentence.",
        "A line\nanother line",
        "犬を飼いました。天気が悪い。",
        "a. " * 9,
        "Far. " + "word " * 600,
    ]
    found = embedder.embed_sentences(texts)
    assert [len(rows) for rows in found] == [4, 1, 3, 3, 1, 4]
    assert np.array_equal(np.stack([rows[0] for rows in found]), embedder.embed(texts, kind="passage"))
    question = embedder.embed(["Which pet do they have?"], kind="query")[0]
    cosines = found[0] @ question
    assert cosines.argmax() == 2
    assert np.allclose(np.linalg.norm(found[0], axis=1), 1.0, atol=1e-5)


def test_empty_input_gives_no_rows(embedder: OnnxEmbedder) -> None:
    assert embedder.embed([], kind="passage").shape == (0, 384)


@pytest.mark.parametrize("bad", ["", "  \n"])
def test_invalid_text_is_refused_and_named(embedder: OnnxEmbedder, bad: str) -> None:
    with pytest.raises(InvalidInput, match=r"texts\[1\]"):
        embedder.embed(["good", bad], kind="passage")


def test_characters_that_no_model_knows_are_replaced(embedder: OnnxEmbedder) -> None:
    odd, replaced = embedder.embed(["a\0b \ud800", "a\ufffdb \ufffd"], kind="passage")
    assert odd.tolist() == replaced.tolist()


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
    assert (embedder.identity.model, embedder.identity.dimension) == ("e5-dialogue", 384)
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


def test_missing_gpu_says_what_to_install_and_uses_the_processor(caplog: pytest.LogCaptureFixture) -> None:
    vectors = [OnnxEmbedder(default_spec(), use_gpu=gpu).embed(["cat"], kind="passage") for gpu in (True, False)]
    assert (vectors[0] == vectors[1]).all()
    assert "pip install onnxruntime-gpu" in caplog.text


def test_naming_a_model_does_not_import_numpy_or_onnxruntime() -> None:
    script = (
        "import sys; from memoranda.embedding.model import EmbeddingModel; assert 'numpy' not in sys.modules; "
        "EmbeddingModel().identity; assert 'onnxruntime' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_loading_a_model_writes_no_telemetry(tmp_path: Path) -> None:
    program = f"""
from pathlib import Path
from memoranda.embedding.local import open_session
open_session(Path({str(memoranda_models.path("e5-dialogue.onnx"))!r}))
"""
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
    assert list(tmp_path.iterdir()) == []


TEXTS = ["Mia adopted a puppy named Rex.", "The train to Bern leaves at nine.", "Interest rates rose again."]


@pytest.fixture(scope="module")
def static() -> StaticEmbedder:
    return StaticEmbedder()


def test_vector_is_the_mean_of_the_token_vectors(static: StaticEmbedder) -> None:
    rows = np.load(memoranda_models.path("potion-base-8M.npy")).astype(np.float64)
    rows *= np.load(memoranda_models.path("potion-base-8M.scale.npy"))[:, None]
    ids = WordPiece(memoranda_models.path("vocab.txt")).ids(TEXTS[0])
    expected = rows[ids].mean(axis=0)
    expected /= np.linalg.norm(expected)
    np.testing.assert_allclose(static.embed([TEXTS[0]], kind="passage")[0], expected, atol=1e-6)


def test_static_right_answer_is_nearest(static: StaticEmbedder) -> None:
    question = static.embed(["Which pet does Mia have, a dog?"], kind="query")[0]
    assert int(np.argmax(static.embed(TEXTS, kind="passage") @ question)) == 0


def test_static_text_gives_the_same_bytes_in_any_batch(static: StaticEmbedder) -> None:
    alone = [static.embed([text], kind="query")[0] for text in TEXTS]
    assert static.embed(TEXTS, kind="passage").tobytes() == np.stack(alone).tobytes()


def test_unknown_characters_do_not_change_a_text_and_have_a_vector(static: StaticEmbedder) -> None:
    plain, marked, signs = static.embed(["a good day", "a good day \U0001fae8", "\U0001fae8"], kind="passage")
    assert plain.tobytes() == marked.tobytes()
    assert np.linalg.norm(signs) == pytest.approx(1.0, abs=1e-6)


def test_static_huge_text_is_embedded(static: StaticEmbedder) -> None:
    assert np.linalg.norm(static.embed(["word " * 200_000], kind="passage")[0]) == pytest.approx(1.0, abs=1e-6)


def test_static_identity_and_empty_and_blank_input(static: StaticEmbedder) -> None:
    assert (static.identity.provider, static.identity.dimension) == ("static", 256)
    assert static.embed([], kind="passage").shape == (0, 256)
    with pytest.raises(InvalidInput, match=r"texts\[0\]"):
        static.embed([" "], kind="passage")


@pytest.mark.parametrize("name", ["vocab.txt", "potion-base-8M.npy", "potion-base-8M.scale.npy"])
def test_damaged_model_file_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    whole, packaged = memoranda_models.path(name), memoranda_models.path
    data = bytearray(whole.read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / name).write_bytes(data)
    monkeypatch.setattr(memoranda_models, "path", lambda asked: tmp_path / name if asked == name else packaged(asked))
    with pytest.raises(Incompatible, match="reinstall memoranda-models"):
        StaticEmbedder().embed(["tea"], kind="passage")


def test_slots_are_given_in_the_order_of_arrival() -> None:
    slots, order = FairSlots(1), list[int]()

    def work_twice(number: int) -> None:
        for _ in range(2):
            with slots:
                order.append(number)

    threads = [threading.Thread(target=work_twice, args=(number,)) for number in range(5)]
    with slots:
        for number, thread in enumerate(threads, start=1):
            thread.start()
            _wait_for(lambda number=number: len(slots._waiting) == number)
    for thread in threads:
        thread.join(10)
        assert not thread.is_alive()
    # Who comes a second time waits behind those who came before.
    assert order[:5] == [0, 1, 2, 3, 4]
    assert sorted(order[5:]) == [0, 1, 2, 3, 4]


def _wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_slot_of_an_interrupted_thread_is_given_on() -> None:
    slots = FairSlots(1)

    class InterruptedLock:
        calls = 0

        def acquire(self) -> bool:
            self.calls += 1
            if self.calls == 2:  # while it waits for its turn
                raise KeyboardInterrupt
            return True

    with slots:
        with pytest.raises(KeyboardInterrupt), mock.patch.object(local.threading, "Lock", InterruptedLock):
            slots.__enter__()
        assert not slots._waiting
    with slots:
        pass
    assert slots._free == 1
