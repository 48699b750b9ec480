from __future__ import annotations

import pytest

from memoranda.recall.query import wanted_kind
from memoranda.text import A_NAME, A_NUMBER, A_TIME


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did Ann move?", A_TIME),
        ("How long has she been there?", A_TIME),
        ("In which year was that?", A_TIME),
        ("How many cats does Ben have?", A_NUMBER),
        ("how  old is the boat", A_NUMBER),
        ("What number is on the door?", A_NUMBER),
        ("Who saw the heron?", A_NAME),
        ("Where did they go?", A_NAME),
        ("What's my hamster called?", A_NAME),
    ],
)
def test_the_question_word_says_what_is_asked_for(question: str, kind: str) -> None:
    assert wanted_kind(question) == kind


def test_the_first_question_word_decides() -> None:
    assert wanted_kind("Who helped Ann when she was ill?") == A_NAME


@pytest.mark.parametrize("question", ["Did it arrive?", "the boat", "Why is that?", "whenever and whatever"])
def test_other_questions_ask_for_no_such_kind(question: str) -> None:
    assert wanted_kind(question) is None
