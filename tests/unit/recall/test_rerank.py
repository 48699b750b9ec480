from __future__ import annotations

import sys

import numpy as np
import pytest

from memoranda.errors import MissingExtra
from memoranda.recall.rerank import CrossEncoder, combine_scores


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
