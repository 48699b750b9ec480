"""A question that was asked before: it answers nothing, and changes nothing else."""

from __future__ import annotations

import pytest

from memoranda import MemoryManager, Message
from memoranda.recall.arms import repeats_question
from memoranda.testing.fakes import HashEmbedder

QUESTION = "Where can I park the van on Sunday?"
SAID = ("The van is in the yard.", "I sing in a choir.", "My aunt is a judge.", "I'm allergic to bees.")


@pytest.mark.parametrize(
    "before",
    [
        "Where can I park the van on Sunday?",
        "where can I park the van on sunday ?",
        "Hey, so where can I park the van on Sunday?",
        "Where could I park a van on Sunday?",
        "Where can I park the vans on Sunday again?",
        "Do you know where I can park the van on Sunday?",
        "Hey, can you tell me where I could park the van on Sunday?",
    ],
)
def test_question_in_slightly_other_words_repeats(before: str) -> None:
    assert repeats_question(before, QUESTION)


@pytest.mark.parametrize(
    "other",
    [
        "I can park the van on Sunday.",
        "Did you know I can park the van on Sunday?",
        "I can park the van on Sunday, right?",
        "Do you know that I can park the van on Sunday?",
        "Where can the van park I on Sunday?",
        "When can I park the van on Sunday?",
        "I sold the car. Where can I park the van on Sunday?",
        "Where can I park the van on Monday?",
        "Where can't I park the van on Sunday?",
        "Where can you park the van on Sunday?",
        "Where can I park the van after Sunday?",
    ],
)
def test_statement_or_other_question_does_not_repeat(other: str) -> None:
    assert not repeats_question(other, QUESTION)


@pytest.mark.parametrize(
    "request_", ["Write a haiku about the moon.", "Remind me where I live.", "Please tell me a joke"]
)
def test_request_made_before_is_no_answer_to_itself(request_: str) -> None:
    assert repeats_question(request_, request_)
    assert not repeats_question(request_, "Write a haiku about the sea.")
    with MemoryManager("sqlite://", embedder=HashEmbedder(64)) as manager:
        manager.remember([Message("user", text) for text in (*SAID, request_)], user="ann")
        assert request_ not in [hit.content for hit in manager.recall(request_, user="ann")]


def test_statement_that_is_searched_for_is_found() -> None:
    assert not repeats_question(SAID[0], SAID[0])


def test_question_asked_before_changes_nothing_that_is_found() -> None:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64)) as manager:
        for user, texts in (("ana", SAID), ("ben", (*SAID, QUESTION))):
            manager.remember([Message("user", text) for text in texts], user=user)
        for question in (QUESTION, f"Again, {QUESTION.lower()}"):
            one, other = (manager.recall(question, user=user) for user in ("ana", "ben"))
            assert [(hit.content, hit.score) for hit in one] == [(hit.content, hit.score) for hit in other]
            assert one.answerable == other.answerable
        asked = manager.list_memories(user="ben")[-1]
        assert asked.content == QUESTION
        assert manager.why_not(QUESTION, asked.id, user="ben").step == "repeats"
