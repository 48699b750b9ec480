from __future__ import annotations

import pytest

from memoranda.recall.query import wanted_kind
from memoranda.text import HAS_NAME, HAS_NUMBER, HAS_TIME


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("When did Ann move?", HAS_TIME),
        ("How long has she been there?", HAS_TIME),
        ("In which year was that?", HAS_TIME),
        ("How many cats does Ben have?", HAS_NUMBER),
        ("how  old is the boat", HAS_NUMBER),
        ("What number is on the door?", HAS_NUMBER),
        ("Who saw the heron?", HAS_NAME),
        ("Where did they go?", HAS_NAME),
        ("What's my hamster called?", HAS_NAME),
    ],
)
def test_the_question_word_says_what_is_asked_for(question: str, kind: str) -> None:
    assert wanted_kind(question) == kind


def test_the_first_question_word_decides() -> None:
    assert wanted_kind("Who helped Ann when she was ill?") == HAS_NAME


@pytest.mark.parametrize("question", ["Did it arrive?", "the boat", "Why is that?", "whenever and whatever"])
def test_other_questions_ask_for_no_such_kind(question: str) -> None:
    assert wanted_kind(question) is None
