from __future__ import annotations

import pytest

from memoranda.remember.frames import find_framing
from tests.unit.remember.samples import extract_candidate


def standing(text: str) -> list[tuple[bool, bool]]:
    return [(claim.reported, claim.doubted) for claim in extract_candidate(text, name="Ana").claims]


@pytest.mark.parametrize(
    "text",
    [
        "I live in Paris with nine cats. That's the first line of my novel.",
        "Translate into French. I live in Paris.",
        "I live in Paris. Is that sentence correct?",
        "I live in Paris. /s",
        "As Josephine sang, I live in Paris.",
        "I live in Paris… is how my essay begins.",
        "The scam mail goes like this. I live in Paris.",
        "Dear Jo, I live in Paris now. Love, Kim",
    ],
)
def test_line_of_a_text_is_no_fact(text: str) -> None:
    assert standing(text) == [(True, True)]


@pytest.mark.parametrize(
    "text",
    [
        "I live in Rome now and then.",
        "I moved to the Rome office's Slack channel.",
        "I now live in Rome at weekends.",
        "I live in Rome in my head.",
        "I moved to Rome. Well, my stuff did, I'm still here.",
    ],
)
def test_words_that_go_on_otherwise_leave_a_doubt(text: str) -> None:
    assert all(claim == (False, True) for claim in standing(text))


@pytest.mark.parametrize(
    "text",
    [
        "I live in Rome with my wife now.",
        "I moved to Rome last week because my wife got a job there.",
        "I live in Rome, near the river.",
        "Good news! I live in Rome. Can you recommend a book?",
        "I live in Rome and I write novels.",
        "I work at Bosch in Stuttgart as a tester.",
    ],
)
def test_own_report_is_a_fact(text: str) -> None:
    assert (False, False) in standing(text)
    assert not any(reported for reported, _ in standing(text))


@pytest.mark.parametrize(
    "before",
    [
        "My sister is using my account today.",
        "The TV is on.",
        "I play the neighbour.",
        "What is a good excuse?",
        "How would a spy introduce himself?",
        "Can you be my interviewer?",
    ],
)
def test_statement_about_something_else_lets_a_change_hide_nothing(before: str) -> None:
    assert find_framing([(True, before)]) == "unrelated_context"


@pytest.mark.parametrize(
    "before",
    ["I'm 41 now.", "Thanks!", "Good morning!", "I work at Bosch.", "How are you?", "Where is the nearest station?"],
)
def test_own_report_or_small_talk_qualifies_nothing(before: str) -> None:
    assert find_framing([(True, before)]) is None


@pytest.mark.parametrize("before", ["Chapter two is set in 1943.", "My Dutch homework is due tomorrow."])
def test_measure_of_a_text_frames(before: str) -> None:
    assert find_framing([(True, before)]) == "uncertain"


SMALL_TALK = (
    "Thanks!",
    "ok",
    "Perfect",
    "Hi!",
    "Good morning!",
    "lol",
    "Got it",
    "👍",
    "How are you?",
    "We love it here.",
)


@pytest.mark.parametrize("before", ["Typing for my blind neighbour.", "Practising my lines", "Pretend I'm a sailor."])
@pytest.mark.parametrize("between", SMALL_TALK)
def test_small_talk_closes_no_frame(before: str, between: str) -> None:
    talk = [(False, "Great!"), (True, between), (False, "Sure!"), (True, before)]
    assert find_framing(talk) in ("uncertain", "quoted")


@pytest.mark.parametrize(
    "asked",
    [
        "Let's start the role play. You are Inta.",
        "Imagine you are a spy.",
        "Your turn to tell a lie.",
        "What would Inta say?",
        "Dictate your letter.",
    ],
)
@pytest.mark.parametrize("answer", ["Ok!", "Thanks!", "Yes"])
def test_small_talk_answers_no_prompt(asked: str, answer: str) -> None:
    assert find_framing([(True, answer), (False, asked)]) == "uncertain"
    assert find_framing([(False, "Great!"), (True, answer), (False, asked)]) == "uncertain"


def test_play_that_another_began_goes_on() -> None:
    begun = (False, "Let's start the role play. You are Inta.")
    assert find_framing([(False, "Nice!"), (True, "I'm a nurse."), begun]) == "uncertain"
    assert find_framing([(True, "I'm 41 now."), (True, "End of the game."), begun]) is None


@pytest.mark.parametrize("between", ["How's the weather?", "What is the capital of Peru?"])
def test_question_about_something_else_leaves_a_frame_only_half(between: str) -> None:
    talk = [
        (True, "I'm 41 now."),
        (False, "Lima."),
        (True, between),
        (False, "Sure!"),
        (True, "Write a poem about cats."),
    ]
    assert find_framing(talk) == "unrelated_context"


def test_answer_to_a_question_for_a_fact_qualifies_nothing() -> None:
    asked = (True, "Where is the nearest station?")
    assert find_framing([(False, "On Main Street."), asked]) is None
    assert find_framing([(False, "It's on page two of the novel."), asked]) is not None


def test_news_is_asked_for_until_it_is_told() -> None:
    assert find_framing([(True, "Hi!"), (False, "What's new?")]) is None
