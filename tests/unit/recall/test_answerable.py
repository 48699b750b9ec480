"""How likely memory holds an answer, where it holds the value of a slot that the question asks for."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memoranda import MemoryManager, Message


@pytest.fixture(scope="module")
def manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://") as manager:
        for text in ("I moved to Bergen.", "I joined Bosch last year."):
            manager.remember(Message("user", text, name="Ana"), user="ana")
        manager.remember(Message("user", "I sold my bike.", name="Ana"), user="seller")
        yield manager


def test_claim_about_anything_is_no_fact_that_is_asked_for(manager: MemoryManager) -> None:
    found = manager.recall("Which songs does Ana sing?", user="seller", explain=True)
    assert found.explanation is not None
    assert found.explanation.signals["fact"] == 0


@pytest.mark.parametrize("question", ["Where do I live?", "Where is my home?", "Which city does Ana live in?"])
def test_question_about_a_known_slot_is_answerable(manager: MemoryManager, question: str) -> None:
    assert manager.recall(question, user="ana").answerable > 0.45


@pytest.mark.parametrize("question", ["Where does my sister live?", "Where does Ben live?", "How old am I?"])
def test_question_about_another_slot_is_not_answerable(manager: MemoryManager, question: str) -> None:
    assert manager.recall(question, user="ana").answerable < 0.5
