"""A question about the past also finds what has ended, marked as what was; one about the present never does."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.recall.query import parse_windows
from memoranda.recall.questions import find_time_asked_about
from memoranda.testing.fakes import HashEmbedder

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
OLD, NEW = "I live in Leeds.", "I moved to Cardiff."
_PAST = """
    Where did I live before Cardiff?
    Have I ever lived in Leeds?
    What was my previous city?
    Where did I use to live?
    Where else have I lived?
    Do you remember where I lived before?
    Who used to be my dentist?
    My old address?
    What is my former employer?
    Did I once live in Leeds?
"""
_DATED = """
    Where did I live on 6 January 2026?
    Where did I live two months ago?
    Which city was I in in January?
"""
_PRESENT = """
    Where do I live?
    Where do I live now?
    What should I do before I fly to Leeds?
    What was my rent again?
    Where did I say I live?
    Do you know where I live?
    What is my first name?
    How old am I?
    Am I used to Leeds?
    What do I owe since January?
    Leeds
    Which visa do I need in May?
"""


def lines(text: str) -> list[str]:
    return [line.strip() for line in text.strip().splitlines()]


@pytest.fixture
def manager(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=lambda: NOW) as manager:
        for text, day in ((OLD, 5), (NEW, 14)):
            manager.remember(Message("user", text, timestamp=datetime(2026, 1, day, 12, tzinfo=UTC)), user="ana")
        yield manager


def found(manager: MemoryManager, question: str, user: str = "ana", **options: str) -> list[str]:
    return [hit.content for hit in manager.recall(question, user=user, **options)]


@pytest.mark.parametrize("question", [*lines(_PAST), *lines(_DATED)])
def test_question_asks_about_the_past(question: str) -> None:
    asked = find_time_asked_about(question, parse_windows(question, NOW), NOW)
    assert asked is not None
    assert (asked.start.year > 1) == (question in _DATED)


@pytest.mark.parametrize("question", lines(_PRESENT))
def test_question_asks_about_the_present(manager: MemoryManager, question: str) -> None:
    assert find_time_asked_about(question, parse_windows(question, NOW), NOW) is None
    assert OLD not in found(manager, question)
    assert "Leeds" not in manager.context(question, user="ana", min_score=0)


@pytest.mark.parametrize("question", [*lines(_PAST)[:4], *lines(_DATED)])
def test_what_has_ended_is_found_above_what_replaced_it_and_marked(manager: MemoryManager, question: str) -> None:
    before, after = manager.recall(question, user="ana")
    assert (before.content, before.superseded_by, after.content) == (OLD, after.id, NEW)
    assert f"- user: {OLD} (until 2026-01-14, no longer true)" in manager.context(question, user="ana", min_score=0)


def test_day_after_the_change_finds_only_what_was_true_then(manager: MemoryManager) -> None:
    assert found(manager, "Where did I live on 6 February 2026?") == [NEW]
    assert found(manager, "Where did I live on 6 January 2026?", as_of="2026-02-01T00:00Z") == [NEW]


def test_what_was_retracted_was_never_so(manager: MemoryManager) -> None:
    said = ("I was born in 1986.", "Correction: 1985.")
    for minute, text in enumerate(said):
        at = datetime(2026, 2, 1, 12, minute, tzinfo=UTC)
        manager.remember(Message("user", text, timestamp=at), user="bo")
    assert said[0] not in found(manager, "When was I born?", "bo")


def test_scope_replay_and_why_not_are_those_of_the_answer(manager: MemoryManager) -> None:
    question = "Where did I live before Cardiff?"
    assert found(manager, question, "bo") == []
    answer = manager.recall(question, user="ana")
    assert manager.replay(answer.id, user="ana").recall.hits == answer.hits
    assert manager.why_not(question, 1, user="ana").rank == 1
    assert manager.why_not("Where do I live?", 1, user="ana").step == "superseded"
