from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import memoranda_models
import memoranda_reranker
import numpy as np
import pytest

from memoranda import MemoryManager
from memoranda.embedding.cross_encoder import LARGE, SMALL, CrossEncoder, find_small_problem, open_cross_encoder
from memoranda.embedding.local import default_spec
from memoranda.errors import Incompatible, MissingExtra, Unavailable


@pytest.fixture(params=[SMALL, LARGE])
def reranker(request: pytest.FixtureRequest) -> CrossEncoder:
    return open_cross_encoder(request.param)


def test_text_that_answers_beats_text_that_shares_words(reranker: CrossEncoder) -> None:
    texts = ["Paris is the capital of France.", "The capital letter is larger than others.", "I like tea."]
    scores = reranker.scores("What is the capital of France?", texts)
    assert scores.argmax() == 0
    assert scores.argmin() == 2


def test_pair_scores_the_same_alone_and_in_a_batch(reranker: CrossEncoder) -> None:
    alone = reranker.scores("Where is the kettle?", ["on the stove"])
    batched = reranker.scores("Where is the kettle?", ["a much longer text about something else", "on the stove"])
    assert alone[0] == batched[1]


def test_long_texts_and_questions_are_cut(reranker: CrossEncoder) -> None:
    assert np.isfinite(reranker.scores("why " * 10_000, ["because " * 100_000, "🎉", "…"])).all()


def test_no_texts_give_no_scores(reranker: CrossEncoder) -> None:
    assert reranker.scores("Where?", []).tolist() == []


def test_missing_package_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "memoranda_reranker", None)
    open_cross_encoder.cache_clear()
    with pytest.raises(MissingExtra, match=r"mode 'best'.*memoranda\[best\]"):
        open_cross_encoder(LARGE)


@pytest.mark.parametrize(("package", "name"), [(memoranda_models, SMALL), (memoranda_reranker, LARGE)])
def test_altered_file_in_place_of_the_packed_one_is_refused(package: Any, name: str, tmp_path: Path) -> None:
    content = bytearray(memoranda_models.unpacked(package.path(name)))
    content[len(content) // 2] ^= 1
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Incompatible, match="checksum is wrong"):
        CrossEncoder(tmp_path / name, package.SHA256[name]).scores("Where?", ["Here."])


@pytest.mark.parametrize("name", ["e5-dialogue.onnx", "vocab.txt"])
def test_missing_file_of_the_models_is_a_typed_error(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    find = memoranda_models.path

    def find_others(wanted: str) -> Path:
        if wanted == name:
            raise FileNotFoundError(wanted)
        return find(wanted)

    monkeypatch.setattr(memoranda_models, "path", find_others)
    with pytest.raises(Unavailable, match=f"{name} is missing: reinstall"):
        default_spec()


def test_file_with_another_checksum_is_refused() -> None:
    replaced = CrossEncoder(memoranda_models.path("e5-dialogue.onnx"), memoranda_models.SHA256[SMALL])
    with pytest.raises(Incompatible, match="checksum is wrong"):
        replaced.scores("Where?", ["here"])


def _without_small(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {name: checksum for name, checksum in memoranda_models.SHA256.items() if name != SMALL}
    monkeypatch.setattr(memoranda_models, "SHA256", known)
    open_cross_encoder.cache_clear()


def test_older_models_without_the_small_model_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_small_problem() is None
    _without_small(monkeypatch)
    with pytest.raises(Unavailable, match="pip install --upgrade memoranda-models"):
        open_cross_encoder(SMALL)


def test_recall_and_health_tell_that_the_small_model_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _without_small(monkeypatch)
    with MemoryManager(f"sqlite:///{tmp_path}/a.db") as manager:
        lines = ("Ann: Where did you park?", "Ben: Behind the old mill.", "Ann: Fine.", "Ben: It rains, though.")
        messages = [dict(zip(("role", "name", "content"), ("user", *line.split(": ")), strict=True)) for line in lines]
        manager.remember(messages, session="one", keep_all=True)
        found = manager.recall("Where did Ben park?")
        assert found[0].content == "Behind the old mill."
        assert [text.split(":")[0] for text in found.degraded] == ["reranker"]
        assert any(SMALL in problem for problem in manager.health().problems)
