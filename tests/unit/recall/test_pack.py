from __future__ import annotations

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memoranda.errors import InvalidInput
from memoranda.recall.render import distinct, packed, rendered
from memoranda.types import Hit
from tests.unit.recall.samples import MARKER, NOW, hit, words


def taken(hits: list[Hit], budget: int) -> list[Hit]:
    return packed(hits, MARKER, NOW, budget, words)


def test_the_same_words_of_one_speaker_count_once_and_the_best_stays() -> None:
    best, again = hit(1, "I like tea.", 0.9, speaker="Ann"), hit(2, "i like TEA!", 0.8, speaker="Ann")
    other = hit(3, "I like tea", 0.7, speaker="Bob")
    assert distinct([best, again, other]) == [best, other]


def test_a_number_or_a_not_makes_another_memory() -> None:
    hits = [
        hit(1, "I have 2 cats"),
        hit(2, "I have 3 cats"),
        hit(3, "I do not have 2 cats"),
        hit(4, "!!!"),
        hit(5, "?"),
    ]
    assert distinct(hits) == hits


def test_everything_is_taken_while_it_fits() -> None:
    hits = [hit(n, f"fact {n}") for n in range(5)]
    assert taken(hits, 1_000) == hits


def test_one_that_is_too_long_makes_room_for_the_next() -> None:
    first, long, short = hit(1, "first", 0.9), hit(2, "long " * 100, 0.8), hit(3, "short", 0.7)
    assert taken([first, long, short], 60) == [first, short]


def test_the_best_alone_is_cut_to_fit() -> None:
    (only,) = taken([hit(1, "word " * 500)], 60)
    assert only.content.endswith("word […]")
    assert words(rendered([only], MARKER, NOW)) == 60


def test_a_budget_without_room_is_an_error_not_nothing() -> None:
    with pytest.raises(InvalidInput, match="budget of 10 tokens"):
        taken([hit(1, "tea")], 10)


def test_a_text_far_beyond_the_budget_costs_no_counting() -> None:
    started = time.perf_counter()
    taken([hit(1, "word " * 200_000), hit(2, "word " * 200_000)], 60)
    assert time.perf_counter() - started < 1


@settings(max_examples=200, deadline=None)
@given(
    texts=st.lists(st.text("ab \n", min_size=1, max_size=80), min_size=1, max_size=12),
    budget=st.integers(min_value=50, max_value=120),
)
def test_the_budget_always_holds(texts: list[str], budget: int) -> None:
    hits = [hit(n, f"x{text}", days_ago=n % 3) for n, text in enumerate(texts)]
    chosen = taken(hits, budget)
    assert chosen
    assert words(rendered(chosen, MARKER, NOW)) <= budget
