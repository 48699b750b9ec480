"""Which changes stand alone in their sentence, so that they may hide what was said before."""

from __future__ import annotations

import time

import pytest

from memoranda.remember.explicit import stands_alone
from memoranda.remember.likeness import likeness

CHANGE = "I moved to Ghent"


def alone(text: str) -> bool:
    start = text.index(CHANGE)
    return stands_alone(text, (start, start + len(CHANGE)), "Ghent", ())


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Ghent.",
        "I moved to Ghent last week!",
        "Update: I moved to Ghent from Hamburg with my wife.",
        "Last month I moved to Ghent for good",
        "I moved to Ghent because of the rent.",
        "It rained all day. I moved to Ghent. We love it.",
    ],
)
def test_change_with_only_its_time_reason_or_company_stands_alone(text: str) -> None:
    assert alone(text)


@pytest.mark.parametrize(
    "text",
    [
        "I moved to Ghent but it didn't last.",
        "I moved to Ghent, if the rumours are to be believed.",
        "I moved to Ghent with my first husband.",
        "I moved to Ghent! ...is what I'd love to write one day.",
        "On paper I moved to Ghent.",
        "I moved to Ghent now and then.",
        "I moved to Ghent's old town.",
    ],
)
def test_change_with_other_words_beside_it_does_not_stand_alone(text: str) -> None:
    assert not alone(text)


def test_detail_of_a_value_does_not_belong_to_it() -> None:
    text = "I switched from Vim to VS Code for one file"
    assert not stands_alone(text, (0, len(text)), "VS Code for one file", ())


def test_what_is_read_by_itself_may_stand_beside_a_change() -> None:
    text = "I left Siemens and joined Bosch."
    assert stands_alone(text, (0, 14), "Siemens", [(19, 31)])
    assert not stands_alone(text, (0, 14), "Siemens", [])


def test_long_text_beside_a_change_is_read_in_a_moment() -> None:
    began = time.perf_counter()
    assert not alone("and, so, well, " * 5_000 + "in a dream " + CHANGE)
    assert time.perf_counter() - began < 5


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Ben works at Acme.", "Ben's car got stolen."),
        ("User lives in Trondheim.", "User bought an electric guitar."),
        ("My sister speaks Basque.", "My sister's horse died."),
        ("My friend Ann Lee is a surgeon.", "Ann Lee lost her umbrella."),
        ("I live in Malmo.", "I just adopted a dog named Malmo."),
        ("I've got two brothers.", "I've lost my keys."),
    ],
)
def test_texts_that_share_only_a_person_or_a_name_share_nothing(older: str, newer: str) -> None:
    assert likeness(older, newer, 0.5) < 0.38


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Tom drives a Golf.", "Tom's Golf got stolen."),
        ("My boyfriend Luca is a chef.", "Luca and I split up."),
        ("Ben works at Acme.", "Ben handed in his notice."),
    ],
)
def test_texts_that_share_a_topic_or_a_thing_beside_the_person_are_alike(older: str, newer: str) -> None:
    assert likeness(older, newer, 0.3) >= 0.38


@pytest.mark.parametrize("words", ["this is ", "I'll send ", "that's ", "((((,,,,", "here is a ", "please, "])
def test_long_sentence_beside_a_change_is_read_in_a_moment(words: str) -> None:
    began = time.perf_counter()
    alone(words * 400 + "\n" + CHANGE)
    assert time.perf_counter() - began < 0.5
