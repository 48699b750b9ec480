from __future__ import annotations

import time

import pytest

from memoranda.remember.reading.foreign_text import blank_foreign


@pytest.mark.parametrize(
    "text",
    [
        "Flashcards:\n- My name is Tom\n- I live in Rome",
        "Flashcards\n* My name is Tom\n* I live in Rome",
        "Sample answers:\n1. I live in Rome\n2. I work at Bosch",
        "Cover letter:\n\nI live in Rome.",
        "Chapter 3\n\nI live in Rome. My name is Ada.",
        "T-shirt print: I live in Rome",
        "Q: Where do you live?\nA: I live in Rome",
        "Tom: I live in Rome. My wife is Eva.",
        "bio: I live in Rome\nname: Tom",
        "name: My name is Tom\ncity: I live in Rome",
        "name,city\nI live in Rome,Tom\nTom,Bonn",
        "# I live in Rome\nx = 1",
        "x = 1  # I live in Rome",
        "/* I live in Rome\nmy name is Tom */",
        "1\n00:00:01,000 --> 00:00:03,000\nI live in Rome",
        "I live in a dream\nI work at night\nI moved to Rome\nmy love is gone",
        "Fwd: news\nI live in Rome.",
        "My sister wrote me the following.\n\nI live in Rome now!",
        "Can you answer this for me?\n\nHi Olga,\nI live in Rome.",
        "Hi all,\n\nI live in Rome now.\n\nBest,\nAnna",
    ],
)
def test_words_of_a_text_are_not_the_writers_own(text: str) -> None:
    own = blank_foreign(text)
    assert len(own) == len(text)
    assert "Rome" not in own


@pytest.mark.parametrize(
    "text",
    [
        "I live in Rome.",
        "Update: I live in Rome.",
        "Quick update on the flat: I live in Rome now.",
        "I have two updates: I live in Rome and I work at Bosch.",
        "To answer your question: I live in Rome.",
        "About me:\n- I live in Rome",
        "Some facts about me:\n- I live in Rome",
        "Please remember:\n- I live in Rome",
        "Hi!\nI live in Rome.\nCan you update my address?",
        "hey\nI live in Rome now\nmoved last week",
        "Groceries: milk and eggs. I live in Rome.",
        "Groceries:\n- milk\n- eggs\n\nI live in Rome.",
        "User profile:\n- User lives in Rome",
        "It's 10:30 here, I live in Rome.",
    ],
)
def test_words_that_the_writer_announces_are_own(text: str) -> None:
    assert "Rome" in blank_foreign(text)


def test_event_before_a_colon_may_be_said_by_the_writer() -> None:
    text = "HR just announced it: we work in Rome."
    assert "Rome" not in blank_foreign(text)
    assert blank_foreign(text, keep_reported=True) == text


@pytest.mark.parametrize(
    "text", ["a: " * 7_000, "\n" * 20_000, "- I x\n" * 4_000, "I:\n" * 7_000, "a,b\n" * 5_000, "(# " * 7_000]
)
def test_long_text_is_read_in_bounded_time(text: str) -> None:
    started = time.process_time()
    blank_foreign(text)
    assert time.process_time() - started < 2
