from __future__ import annotations

import sys

import numpy as np
import pytest

from memoranda.errors import MissingExtra
from memoranda.recall.rerank import CrossEncoder, reranked


@pytest.fixture(scope="module")
def reranker() -> CrossEncoder:
    return CrossEncoder()


def test_a_text_that_answers_beats_one_that_only_shares_words(reranker: CrossEncoder) -> None:
    texts = ["Paris is the capital of France.", "The capital letter is larger than others.", "I like tea."]
    scores = reranker.scores("What is the capital of France?", texts)
    assert scores.argmax() == 0
    assert scores.argmin() == 2


def test_a_pair_scores_the_same_alone_and_beside_others(reranker: CrossEncoder) -> None:
    alone = reranker.scores("Where is the kettle?", ["on the stove"])
    beside = reranker.scores("Where is the kettle?", ["a much longer text about something else", "on the stove"])
    assert alone[0] == beside[1]


def test_long_texts_and_questions_are_read_by_their_beginning(reranker: CrossEncoder) -> None:
    assert np.isfinite(reranker.scores("why " * 10_000, ["because " * 100_000, "🎉", "…"])).all()


def test_nothing_to_read_is_nothing(reranker: CrossEncoder) -> None:
    assert reranker.scores("Where?", []).tolist() == []


def test_without_its_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "memoranda_reranker", None)
    with pytest.raises(MissingExtra, match=r"mode 'best'.*memoranda\[best\]"):
        CrossEncoder()


def test_the_first_sum_still_counts() -> None:
    sums = np.array([6.0, 5.0], dtype=np.float32)
    close = reranked(sums, np.array([1.0, 2.0], np.float32), np.array([1.0, 2.0], np.float32))
    far = reranked(sums, np.array([-5.0, 5.0], np.float32), np.array([-5.0, 5.0], np.float32))
    assert close.argmax() == 0
    assert far.argmax() == 1


def test_what_a_text_says_after_the_turn_before_counts_more_than_what_it_says_alone() -> None:
    sums = np.zeros(2, dtype=np.float32)
    order = reranked(sums, np.array([2.0, 0.0], np.float32), np.array([0.0, 2.0], np.float32))
    assert order[1] > order[0] > 0
