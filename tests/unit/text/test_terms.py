from __future__ import annotations

import random
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder
from memoranda.text import cache
from memoranda.text.terms import ENDS_WITH_QUESTION, HAS_NAME, HAS_NUMBER, HAS_TIME, lexical_keys, query_terms, terms


@pytest.mark.parametrize(
    "text",
    ["Did it arrive?", "Really?!?", 'She said "why?"', "Nice. And you? [a photo of a dog]", "So?  \n", "(ok?)"],
)
def test_lexical_keys_mark_a_text_that_ends_with_a_question(text: str) -> None:
    assert lexical_keys(text).split()[-1] == ENDS_WITH_QUESTION


@pytest.mark.parametrize("text", ["Why? Because.", "a?b", "[why?] no", "It arrived!", "? " + "word " * 200])
def test_lexical_keys_do_not_mark_a_question_inside_a_text(text: str) -> None:
    assert ENDS_WITH_QUESTION not in lexical_keys(text).split()


def test_lexical_keys_of_plain_text_are_its_terms() -> None:
    assert lexical_keys("The cats sat.") == " ".join(terms("The cats sat."))


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("We met last week.", {HAS_TIME}),
        ("It opened in 1998.", {HAS_TIME, HAS_NUMBER}),
        ("She has three cats.", {HAS_NUMBER}),
        ("The room costs 80 euros.", {HAS_NUMBER}),
        ("We flew to Lisbon.", {HAS_NAME}),
        ("I'm glad, I am.", set()),
        ("Nice. Good for you!", set()),
    ],
)
def test_lexical_keys_mark_the_kinds_of_answer_in_a_text(text: str, kinds: set[str]) -> None:
    assert {HAS_TIME, HAS_NUMBER, HAS_NAME} & set(lexical_keys(text).split()) == kinds


def test_query_terms_never_contain_a_mark() -> None:
    assert not {ENDS_WITH_QUESTION, HAS_TIME, HAS_NUMBER, HAS_NAME} & set(
        query_terms("Did it arrive @ # ^ in 1998, Ann?")
    )


def test_ascii_text_is_split_into_the_same_terms_as_unicode_text() -> None:
    rng = random.Random(5)
    for _ in range(2000):
        text = "".join(rng.choices([chr(code) for code in range(1, 128)], k=rng.randint(1, 30)))
        assert [*terms(text), "\u00fe"] == terms(f"{text} \u00fe"), text


def test_single_han_character_is_found_in_a_longer_run() -> None:
    kept = terms("私は猫が好きです")
    assert set(query_terms("猫")) <= set(kept)
    assert set(query_terms("猫が好き")) <= set(kept)
    assert query_terms("好き") == ["好き"]
    assert terms("猫") == ["猫"]
    assert set(query_terms("\U00020bb7野")) <= set(terms("\U00020bb7野家で食べた"))


def test_nothing_about_a_text_is_kept_after_the_write_that_read_it(tmp_path: Path) -> None:
    with MemoryManager(tmp_path / "m.db", embedder=HashEmbedder()) as manager:
        manager.remember([{"role": "user", "content": "I moved to Oslo last week."}], user="ann")
        assert all(cached.cache_info().currsize == 0 for cached in cache._caches)
        manager.add_memory("I moved to Oslo last week.")
        assert all(cached.cache_info().currsize == 0 for cached in cache._caches)
