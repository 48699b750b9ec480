from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from memoranda import MemoryManager
from memoranda.errors import MissingExtra
from memoranda.recall.rerank import CrossEncoder, combine_scores
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import FloatArray


@pytest.fixture(scope="module")
def reranker() -> CrossEncoder:
    return CrossEncoder()


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
    with pytest.raises(MissingExtra, match=r"mode 'best'.*memoranda\[best\]"):
        CrossEncoder()


def test_ranking_sum_still_counts_after_reranking() -> None:
    sums = np.array([6.0, 5.0], dtype=np.float32)
    close = combine_scores(sums, np.array([1.0, 2.0], np.float32), np.array([1.0, 2.0], np.float32))
    far = combine_scores(sums, np.array([-5.0, 5.0], np.float32), np.array([-5.0, 5.0], np.float32))
    assert close.argmax() == 0
    assert far.argmax() == 1


def test_score_after_previous_turn_counts_more_than_score_alone() -> None:
    sums = np.zeros(2, dtype=np.float32)
    order = combine_scores(sums, np.array([2.0, 0.0], np.float32), np.array([0.0, 2.0], np.float32))
    assert order[1] > order[0] > 0


def test_pair_is_scored_once_per_tenant(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scored: list[str] = []

    def count(_: CrossEncoder, question: str, texts: Sequence[str]) -> FloatArray:
        del question
        scored.extend(texts)
        return np.zeros(len(texts), dtype=np.float32)

    monkeypatch.setattr(CrossEncoder, "scores", count)
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        other = manager.for_tenant("other")
        for each in (manager, other):
            each.add_memories(["I have a cat.", "My cat is old."])
        for _ in range(2):
            manager.recall("Whose cat is old?", mode="best")
        assert sorted(scored) == ["I have a cat.", "My cat is old."]
        other.recall("Whose cat is old?", mode="best")
        assert len(scored) == 4
