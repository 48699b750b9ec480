from __future__ import annotations

from collections.abc import Sequence
from math import log

import numpy as np
import pytest

from memoranda.errors import InvalidInput
from memoranda.index.lexical import K1, B, Postings
from memoranda.text.terms import OR

VOCABULARY = [f"w{number}" for number in range(60)]


def plain_bm25(texts: dict[int, list[str]], question: Sequence[str]) -> dict[int, float]:
    average = sum(map(len, texts.values())) / max(len(texts), 1)
    scores: dict[int, float] = {}
    for term in question:
        holders = [number for number, words in texts.items() if term in words]
        idf = log(1 + (len(texts) - len(holders) + 0.5) / (len(holders) + 0.5))
        for number in holders:
            count, length = texts[number].count(term), len(texts[number])
            gain = idf * count / (count + K1 * (1 - B + B * length / average))
            scores[number] = scores.get(number, 0.0) + gain
    return scores


def random_terms(rng: np.random.Generator) -> list[str]:
    return [VOCABULARY[min(int(word), 59)] for word in rng.geometric(0.08, size=int(rng.integers(0, 25)))]


def test_ids_with_term_are_unique_and_leave_out_removed_texts() -> None:
    postings = Postings()
    for number, words in ((3, "tea tea"), (1, "tea sun"), (2, "sun")):
        postings.add(number, words.split())
    assert sorted(postings.ids_with("tea").tolist()) == [1, 3]
    postings.remove([3])
    assert postings.ids_with("tea").tolist() == [1]
    assert postings.ids_with("sea").tolist() == []


@pytest.mark.parametrize("seed", range(6))
def test_scores_equal_bm25_formula_through_adds_replacements_and_removals(seed: int) -> None:
    rng, postings, texts = np.random.default_rng(seed), Postings(), dict[int, list[str]]()
    for _ in range(25):
        for number in rng.choice(300, size=20, replace=False).tolist():
            texts[number] = random_terms(rng)
            postings.add(number, texts[number])
        removed = rng.choice(300, size=int(rng.integers(0, 30)), replace=False).tolist()
        assert postings.remove(removed) == sum(texts.pop(number, None) is not None for number in removed)
        assert len(postings) == len(texts)
        question = rng.choice([*VOCABULARY, "never"], size=6, replace=False).tolist()
        expected = plain_bm25(texts, question)
        ids, scores = postings.scores(question)
        assert ids.tolist() == sorted(expected)
        np.testing.assert_allclose(scores, [expected[number] for number in ids.tolist()], rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_scores_among_some_texts_are_those_of_an_index_with_only_these(seed: int) -> None:
    rng, postings, texts = np.random.default_rng(seed), Postings(), dict[int, list[str]]()
    for number in [*range(200), *range(50)]:  # some are replaced
        texts[number] = random_terms(rng)
        postings.add(number, texts[number])
    postings.remove(range(190, 200))
    among = np.sort(rng.choice(190, size=60, replace=False))
    question = rng.choice([*VOCABULARY, "never"], size=6, replace=False).tolist()
    alone = Postings()
    for number in among.tolist():
        alone.add(number, texts[number])
    np.testing.assert_array_equal(postings.scores(question, among)[0], alone.scores(question)[0])
    np.testing.assert_allclose(postings.scores(question, among)[1], alone.scores(question)[1], rtol=1e-6)
    assert postings.full_match_score(question, among) == pytest.approx(alone.full_match_score(question))
    found, expected = postings.search(question, 10, among=among), alone.search(question, 10)
    assert found[0].tolist() == expected[0].tolist()
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-6)


@pytest.mark.parametrize("seed", range(8))
def test_scores_of_ids_are_those_of_all_scores_whether_asked_before_or_not(seed: int) -> None:
    rng = np.random.default_rng(seed)
    postings = Postings()
    for step in range(60):
        postings.add(int(rng.integers(0, 40)), random_terms(rng))
        if step % 7 == 6:
            postings.remove([int(rng.integers(0, 40))])
        asked = [*random_terms(rng)[:4], "w1", "unknown"]
        ids = rng.permutation(45).astype(np.int64)
        among = None if step % 3 else np.sort(rng.choice(45, 20, replace=False)).astype(np.int64)
        found = dict(zip(*(each.tolist() for each in postings.scores(asked, among)), strict=True))
        for _ in range(2):
            scores = postings.scores_of(ids, asked, among).tolist()
            assert scores == [found.get(each, 0.0) for each in ids.tolist()]
            assert postings.scores_of(ids, ["unknown"], among).tolist() == [0.0] * 45


def test_scores_stay_the_same_when_many_questions_fill_the_caches() -> None:
    rng = np.random.default_rng(1)
    texts = {number: [VOCABULARY[int(word)] for word in rng.integers(0, 60, size=40)] for number in range(1, 31)}
    postings = Postings()
    for number, words in texts.items():
        postings.add(number, words)
    ids = np.arange(1, 31, dtype=np.int64)
    for _ in range(3):
        for first in VOCABULARY:
            asked = [f"{first}{OR}{other}" for other in VOCABULARY[:8]]
            fresh = Postings()
            fresh.add_all(list(texts), list(texts.values()))
            assert postings.scores_of(ids, asked).tolist() == fresh.scores_of(ids, asked).tolist()
            assert postings.full_match_score(asked) == fresh.full_match_score(asked)
            assert postings.nbytes < 4 * fresh._text_bytes


@pytest.mark.parametrize("limit", [1, 7, 1000])
def test_search_returns_best_eligible_texts_up_to_limit(limit: int) -> None:
    rng, postings = np.random.default_rng(3), Postings()
    texts = {number: random_terms(rng) for number in range(400)}
    for number, words in texts.items():
        postings.add(number, words)
    question = ["w3", "w9", "w20"]
    among = np.sort(rng.choice(500, 120, replace=False))
    allowed = set(among.tolist())
    for chosen in (None, among):
        ids, scores = postings.search(question, limit, among=chosen)
        seen = {number: words for number, words in texts.items() if chosen is None or number in allowed}
        expected = plain_bm25(seen, question)
        best = sorted(expected, key=lambda number: (-round(expected[number], 9), number))[:limit]
        assert ids.tolist() == best
        assert (np.diff(scores) <= 0).all()
        assert (scores > 0).all()


def test_equal_texts_are_sorted_by_id() -> None:
    postings = Postings()
    for number in (9, 2, 7, 40, 1):
        postings.add(number, ["red", "house"])
    assert postings.search(["house", "red"], 3)[0].tolist() == [1, 2, 7]


def test_order_of_query_terms_does_not_change_result() -> None:
    rng, postings = np.random.default_rng(5), Postings()
    for number in range(200):
        postings.add(number, random_terms(rng))
    question = VOCABULARY[:12]
    forwards, backwards = postings.search(question, 50), postings.search(question[::-1], 50)
    assert [each.tolist() for each in forwards] == [each.tolist() for each in backwards]


def test_term_in_every_text_scores_above_zero() -> None:
    postings = Postings()
    for number in range(10):
        postings.add(number, ["the"])
    assert (postings.scores(["the"])[1] > 0).all()


def test_removed_texts_free_their_memory() -> None:
    postings = Postings()
    for number in range(1000):
        postings.add(number, [f"only{number}", "shared"])
    full = postings.nbytes
    postings.remove(range(990))
    assert postings.nbytes < full / 20
    assert postings.search(["only995"], 5)[0].tolist() == [995]


def test_full_match_score_equals_score_of_average_text_with_every_term() -> None:
    postings = Postings()
    for number, words in enumerate([["red", "house"], ["blue", "car"], ["green", "tree"]]):
        postings.add(number, words)
    assert postings.full_match_score(["red", "house"]) == pytest.approx(postings.search(["red", "house"], 1)[1][0])
    assert postings.full_match_score([]) == 0


def test_search_without_matches_is_empty() -> None:
    postings = Postings()
    assert postings.search(["word"], 5)[0].tolist() == []
    postings.add(1, [])
    assert postings.search(["word"], 5)[0].tolist() == []
    assert postings.search([], 5)[0].tolist() == []


def test_limit_of_zero_is_refused() -> None:
    with pytest.raises(InvalidInput, match="limit"):
        Postings().search(["word"], 0)
