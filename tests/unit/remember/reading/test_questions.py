from __future__ import annotations

import pytest

from memoranda.remember.frames import find_framing
from memoranda.remember.reading.questions import NOT_NAMED, asks_about_somebody


@pytest.mark.parametrize(
    "asked",
    [
        "What's new?",
        "How can I help?",
        "Is your address still right?",
        "What have you been up to?",
        "Hi! What's going on?",
        "Noted. Anything else?",
        "Is there anything else I can help with?",
        "Great, I updated your address.",
        "Did anything change since last week?",
    ],
)
def test_question_about_how_things_are_qualifies_nothing(asked: str) -> None:
    assert find_framing([(False, asked)]) is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Where do you live now?", "I moved to Ghent last week."),
        ("So where do you live?", "Ghent"),
        ("You live in Leeds, right?", "I moved to Ghent."),
        ("Do you still work at Fiat?", "I no longer work at Fiat."),
        ("Who's your boss now?", "My boss is now Karin."),
        ("How old are you?", "35"),
        ("Are you still smoking?", "I quit smoking."),
        ("Do you still live in Leeds?", "I moved to Ghent."),
    ],
)
def test_question_that_asks_for_what_is_told_qualifies_nothing(asked: str, said: str) -> None:
    assert find_framing([(False, asked)], said) is None


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Where do you live now in the game?", "I moved to Ghent last week."),
        ("Where do you live now, as Inta?", "I moved to Ghent last week."),
        ("Inta, where do you live now?", "I moved to Ghent last week."),
        ("Where do you live in act two?", "Ghent"),
        ("Do you still work at Fiat in the play?", "I no longer work at Fiat."),
        ("What's your nightmare?", "I no longer work at Fiat."),
        ("Who's your boss now?", "I no longer work at Fiat."),
        ("What do you do?", "I moved to Ghent last week."),
        ("Do you like jazz?", "I moved to Ghent last week."),
    ],
)
def test_question_that_asks_for_anything_else_frames(asked: str, said: str) -> None:
    assert find_framing([(False, asked)], said) in ("uncertain", "quoted")


@pytest.mark.parametrize(
    "asked",
    [
        "What's new in chapter two?",
        "How are you in the story?",
        "How are you, Romeo?",
        "What's up, Captain?",
        "How can I help you with the scene?",
        "Anything else in the letter?",
        "Has anything changed in the script?",
        "What's new with Inta?",
        "What's your headline?",
        "What are you typing?",
        "What do you have for question 4?",
        "Where do you see yourself in five years?",
        "How do you open the letter?",
        "What would make you happy?",
        "Do you have an example?",
    ],
)
def test_one_further_word_makes_a_question_another_one(asked: str) -> None:
    assert find_framing([(False, asked)]) is not None


@pytest.mark.parametrize(
    "told",
    [
        "I'm ready to transcribe.",
        "I'm recording.",
        "I'm your audience.",
        "The scene begins.",
        "The microphone is yours.",
    ],
)
def test_statement_of_another_that_is_no_small_talk_lets_a_change_hide_nothing(told: str) -> None:
    assert find_framing([(False, told)]) is not None


@pytest.mark.parametrize(
    "told", ["My sister is a nurse.", "Noted!", "Welcome back!", "I'm your virtual assistant.", "I'll remember that."]
)
def test_report_or_small_talk_of_another_qualifies_nothing(told: str) -> None:
    assert find_framing([(False, told)]) is None


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
def test_what_asks_for_anything_else_may_frame_the_answer(asked: str) -> None:
    assert find_framing([(False, asked)]) in ("uncertain", "quoted")


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
    assert find_framing([(False, "How is your mum?")]) == "unrelated_context"
