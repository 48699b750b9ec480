from __future__ import annotations

import time

import pytest

from memoranda.text.own_names import own_names


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("Please call me Kate.", "Kate"),
        ("Just call me Kate, everyone does.", "Kate"),
        ("Call me by my middle name, Anne.", "Anne"),
        ("Stop calling me Katherine, it's Kate.", "Kate"),
        ("I usually go by Kate these days", "Kate"),
        ("I'd rather be called Kate", "Kate"),
        ("My friends know me as Kate", "Kate"),
        ("I'm also known as Kate", "Kate"),
        ("Kate is what my friends call me", "Kate"),
        ("It's Katherine, Kate for short.", "Kate"),
        ("I'm Katherine (Kate to my friends).", "Kate"),
        ("Hi, I'm Kate!", "Kate"),
        ("Hello there, this is Kate from the office", "Kate"),
        ("Kate here!", "Kate"),
        ("my maiden name is Miller", "Miller"),
        ("My gamertag is ShadowFox", "ShadowFox"),
        ("My Slack handle is kmiller", "kmiller"),
        ("My GitHub username is kate-miller", "kate-miller"),
        ("My Twitter is @katem", "@katem"),
        ("Find me on Instagram as @kate.m", "@kate.m"),
        ("My work email is kate.miller@example.com", "kate.miller@example.com"),
        ("Ich heiße Käthe.", "Käthe"),
        ("Appelez-moi Kate", "Kate"),
        ("Llámame Kate", "Kate"),
        ("Mi chiamo Caterina", "Caterina"),
    ],
)
def test_name_that_the_speaker_gives_is_found(said: str, name: str) -> None:
    assert own_names(said) == [name]


@pytest.mark.parametrize(
    "said",
    [
        "Call me tomorrow.",
        "Call me Friday morning.",
        "Call me crazy, but I like it.",
        "Don't call me Kitty.",
        "Nobody calls me Katherine.",
        'He said "call me Kate" to her.',
        "If you call me Karen again, I will leave.",
        "My sister goes by Kit.",
        "My dog is called Rex.",
        "My boss's email is bob@example.com",
        "My email is down.",
        "My username is the same as before.",
        "I'm German and I live here.",
        "Here it is.",
        "My name is on the list.",
    ],
)
def test_words_that_give_no_name_of_the_speaker_are_ignored(said: str) -> None:
    assert own_names(said) == []


@pytest.mark.parametrize("part", ["my ", "I am ", "call me ", "@a", "A", "name is "])
def test_long_repetitive_text_is_read_in_bounded_time(part: str) -> None:
    started = time.process_time()
    own_names(part * 20_000)
    assert time.process_time() - started < 0.5
