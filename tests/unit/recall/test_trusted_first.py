"""What holds by the user's word stands above notes and pages that dispute it, however the question is worded."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

PAGE = "https://example.org"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 10, 12, tzinfo=UTC))


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def say(manager: MemoryManager, text: str) -> None:
    manager.remember(Message("user", text, name="Ana"), user="ana")


def found(manager: MemoryManager, question: str, limit: int = 10) -> list[str]:
    return [hit.content for hit in manager.recall(question, user="ana", limit=limit)]


_PAIRS = [
    ("I live in Leeds.", "User lives in Paris.", "Where does the user live?"),
    ("I live in Leeds.", "Ana lives in Paris.", "Does Ana live in Paris?"),
    ("My boss is Petra.", "The user's manager is Omar.", "Omar, the user's manager"),
    ("My rent is 900 euros.", "User's rent is 1100 euros.", "What does the user pay for rent?"),
    ("I'm 34 years old.", "User is 43 years old.", "user's age"),
    ("I no longer smoke.", "User smokes.", "Does the user smoke?"),
]


@pytest.mark.parametrize("note_first", [False, True])
@pytest.mark.parametrize("source", [PAGE, "agent"])
@pytest.mark.parametrize(("said", "note", "question"), _PAIRS)
def test_what_holds_is_above_the_note_that_disputes_it(
    manager: MemoryManager, said: str, note: str, question: str, source: str, note_first: bool
) -> None:
    if note_first:
        manager.remember(note, user="ana", source=source)
    say(manager, said)
    if not note_first:
        manager.remember(note, user="ana", source=source)
    assert found(manager, question)[0] == said
    assert found(manager, question, limit=1) == [said]
    assert f"- Ana: {said}" in manager.context(question, user="ana", min_score=0)


def test_latest_of_what_the_user_said_is_above_the_note(manager: MemoryManager, clock: FakeClock) -> None:
    for text in ("My favourite colour is blue.", "My favourite colour is green."):
        say(manager, text)
        clock.advance(days=1)
    manager.remember("Ana's favourite colour is red.", user="ana", source=PAGE)
    green, *_ = found(manager, "Ana's favourite colour is red")
    assert green == "My favourite colour is green."


def test_hit_that_was_put_above_says_what_disputes_it(manager: MemoryManager) -> None:
    say(manager, "I live in Leeds.")
    manager.remember("User lives in Paris.", user="ana", source=PAGE)
    (hit,) = manager.recall("User lives in Paris.", user="ana", limit=1)
    assert (hit.content, [other.content for other in hit.disputed]) == ("I live in Leeds.", ["User lives in Paris."])


def test_filter_that_leaves_out_the_users_word_leaves_the_note(manager: MemoryManager) -> None:
    say(manager, "I live in Leeds.")
    manager.remember("User lives in Paris.", user="ana", source=PAGE)
    hits = manager.recall("Where does the user live?", user="ana", where={"source": PAGE})
    assert [hit.content for hit in hits] == ["User lives in Paris."]


def test_note_about_something_else_keeps_its_place(manager: MemoryManager) -> None:
    say(manager, "I live in Leeds.")
    manager.remember("User works at Ocado.", user="ana", source=PAGE)
    assert found(manager, "User works at Ocado.")[0] == "User works at Ocado."


def test_note_is_in_no_context_without_what_it_disputes(manager: MemoryManager) -> None:
    for text in ("I live in Leeds.", "I moved to Cardiff.", "I have a dog called Rex."):
        say(manager, text)
    manager.remember("User lives in Oslo.", user="ana", source=PAGE)
    for budget in range(1, 301, 4):
        shown = manager.context("Where does the user live, in Oslo?", user="ana", budget=budget)
        assert shown.tokens <= budget
        assert ("Oslo" not in shown) or "- Ana: I moved to Cardiff." in shown
        assert bool(shown) == (budget > 80) or 60 < budget <= 100
