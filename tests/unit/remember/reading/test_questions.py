from __future__ import annotations

import pytest

from memoranda.remember.frames import find_framing
from memoranda.remember.reading.questions import NOT_NAMED, asks_about_somebody


@pytest.mark.parametrize(
    "asked",
    [
        "Where do you live now?",
        "What's new?",
        "How can I help?",
        "You live in Leeds, right?",
        "Who's your boss now?",
        "Is your address still right?",
        "What have you been up to?",
        "Hi Sam! What's going on?",
        "Noted. Anything else?",
        "Great, I updated your address.",
        "Did anything change since last week?",
    ],
)
def test_question_about_how_things_are_qualifies_nothing(asked: str) -> None:
    assert find_framing((), asked) is None


@pytest.mark.parametrize(
    "asked",
    [
        "What did she say?",
        "And then?",
        "How does it end?",
        "What would you say?",
        "What will you tell them?",
        "Go ahead.",
        "Say something in English.",
        "Who are you today?",
        "Your turn!",
        "What happens next?",
        "I'm ready, start!",
        "Which line is yours?",
        "What if it were you?",
        "Try again.",
        "What do you reply?",
        "Okay, go!",
    ],
)
def test_what_asks_for_anything_else_may_qualify_the_answer(asked: str) -> None:
    assert find_framing((), asked) in ("uncertain", "quoted")


@pytest.mark.parametrize(
    ("asked", "person"),
    [
        ("What is your brother up to?", "my brother"),
        ("What's new with Lena?", "Lena"),
        ("And your husband?", "my husband"),
        ("Does she still work there?", NOT_NAMED),
        ("Who's your boss now?", ""),
        ("What's new with you?", ""),
        ("Do you like Leeds?", ""),
    ],
)
def test_person_whom_a_question_is_about(asked: str, person: str) -> None:
    assert asks_about_somebody(asked) == person


def test_question_about_somebody_else_lets_a_change_hide_nothing() -> None:
    assert find_framing((), "How is your mum?") == "unrelated_context"
