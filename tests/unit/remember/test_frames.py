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


@pytest.mark.parametrize("before", ["My sister is using my account today.", "The TV is on.", "I play the neighbour."])
def test_statement_about_something_else_lets_a_change_hide_nothing(before: str) -> None:
    assert find_framing([before], "") == "unrelated_context"


@pytest.mark.parametrize(
    "before", ["I'm 41 now.", "Thanks!", "Good morning!", "I work at Bosch.", "Where is the station?"]
)
def test_own_report_or_small_talk_qualifies_nothing(before: str) -> None:
    assert find_framing([before], "") is None


@pytest.mark.parametrize("before", ["Chapter two is set in 1943.", "My Dutch homework is due tomorrow."])
def test_measure_of_a_text_qualifies(before: str) -> None:
    assert find_framing([before], "") == "uncertain"
