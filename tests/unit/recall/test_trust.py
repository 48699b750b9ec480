"""The user's word against notes of agents and documents: the higher trust holds, the lower is shown as a conflict."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message, PersistentMemory
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

NOTES = [
    "User moved to Paris.",
    "The user moved to Paris.",
    "- The user's city is now Paris. The user moved to Paris.",
    "Note: the user moved to Paris.",
    "Customer moved to Paris.",
    "The client moved to Paris.",
]


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 10, 12, tzinfo=UTC))


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        _say(manager, clock, "I live in Oslo.")
        yield manager


def _say(manager: MemoryManager, clock: FakeClock, text: str, agent: str | None = None) -> None:
    manager.remember(Message("user", text, timestamp=clock.now), user="ana", agent=agent)
    clock.advance(days=1)


def _cities(manager: MemoryManager) -> list[tuple[str, str]]:
    return [(fact.value, fact.trust) for fact in manager.facts(user="ana") if fact.attribute == "city"]


def _assert_disputed(manager: MemoryManager, note: str, trust: str) -> None:
    assert _cities(manager) == [("Oslo", "user")]
    (conflict,) = [each for each in manager.conflicts(user="ana") if each.attribute == "city"]
    assert [(value.value, value.trust) for value in conflict.values] == [("Oslo", "user"), ("Paris", trust)]
    hits = {hit.content: hit for hit in manager.recall("Where does the user live, in Oslo or Paris?", user="ana")}
    assert [other.content for other in hits["I live in Oslo."].disputed] == [note]


@pytest.mark.parametrize("agent", [None, "bot"])
@pytest.mark.parametrize("note", NOTES)
def test_note_about_the_user_disputes_what_the_user_said(manager: MemoryManager, note: str, agent: str | None) -> None:
    [outcome] = manager.remember(note, user="ana", agent=agent)
    assert (outcome.status, outcome.memory and outcome.memory.trust) == ("stored", "assistant")
    _assert_disputed(manager, note, "assistant")


def test_note_that_an_agent_saves_disputes_what_the_user_said(manager: MemoryManager) -> None:
    PersistentMemory("bot", "ana", manager=manager).save_to_memory("x", "The user moved to Paris.")
    _assert_disputed(manager, "The user moved to Paris.", "assistant")


def test_note_of_one_agent_disputes_what_the_user_told_another(manager: MemoryManager, clock: FakeClock) -> None:
    manager.delete(1, user="ana")
    _say(manager, clock, "I live in Oslo.", agent="one")
    manager.remember("User moved to Paris.", user="ana", agent="two")
    _assert_disputed(manager, "User moved to Paris.", "assistant")
    assert [hit.disputed for hit in manager.recall("Where do I live?", user="ana", agent="one")] == [()]


def test_edited_note_of_another_agent_no_longer_disputes(manager: MemoryManager) -> None:
    [outcome] = manager.remember("User moved to Paris.", user="ana", agent="bot")
    assert outcome.memory is not None
    manager.update(outcome.memory.id, "User likes tea.", user="ana")
    assert manager.conflicts(user="ana") == []
    assert [hit.disputed for hit in manager.recall("Where do I live? Oslo?", user="ana") if hit.id == 1] == [()]


@pytest.mark.parametrize(
    "text", ["I moved to Paris.", "I'm a user of Emacs.", "My client moved to Paris.", "The client moved our meeting."]
)
def test_text_in_the_first_person_is_the_users_word(manager: MemoryManager, text: str) -> None:
    [outcome] = manager.remember(text, user="ana")
    assert outcome.memory is not None
    assert outcome.memory.trust == "user"


def test_text_about_the_user_with_the_user_as_its_source_is_their_word(manager: MemoryManager) -> None:
    manager.remember("User moved to Paris.", user="ana", source="user")
    assert _cities(manager) == [("Paris", "user")]


@pytest.mark.parametrize("source", ["https://example.org/a", "notes.pdf", "email", "tool:search"])
@pytest.mark.parametrize("as_message", [False, True])
def test_page_in_the_first_person_disputes_what_the_user_said(
    manager: MemoryManager, clock: FakeClock, source: str, as_message: bool
) -> None:
    text = "I moved to Paris."
    manager.remember(Message("user", text, timestamp=clock.now) if as_message else text, user="ana", source=source)
    _assert_disputed(manager, text, "document")


def test_page_in_the_first_person_makes_no_fact_and_is_not_hidden(manager: MemoryManager, clock: FakeClock) -> None:
    manager.remember("I work at Ikea.", user="ana", source="https://example.org/a")
    assert [fact.attribute for fact in manager.facts(user="ana")] == ["city"]
    _say(manager, clock, "I left Ikea and work at Volvo now.")
    assert "I work at Ikea." in [hit.content for hit in manager.recall("Ikea", user="ana")]


def test_what_somebody_says_of_another_is_no_conflict_once_that_person_says_it_too(manager: MemoryManager) -> None:
    said = (
        ("Omar", "I work at Volvo."),
        ("Lea", "Omar works at Saab."),
        ("Omar", "I work at Saab, and you should as well."),
    )
    for name, text in said:
        manager.remember(Message("user", text, name=name), user="team")
        conflicts = manager.conflicts(user="team")
        assert len(conflicts) == (name == "Lea")


def test_context_shows_no_value_as_current_that_the_user_contradicts(manager: MemoryManager) -> None:
    manager.remember("The user lives in Paris.", user="ana", source="https://page.example")
    text = manager.context("The user lives in Paris.", user="ana", limit=1)
    assert "The user lives in Paris." in text
    assert "city: Paris" not in text
