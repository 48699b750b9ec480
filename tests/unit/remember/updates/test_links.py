"""What a change that names no slot is linked to by its words: the older memories stay, and refer to it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.remember.updates.test_find import SAID, ended_by, say


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    clock = FakeClock(SAID + timedelta(days=99))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def later_than(manager: MemoryManager, memory_id: int, text: str) -> list[int]:
    (hit,) = [hit for hit in manager.recall(text, user="ana", limit=20) if hit.id == memory_id]
    return [memory.id for memory in hit.later]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("My phone provider is Vodafone.", "I switched to Iliad."),
        ("My insurer is Allianz.", "I've switched to HUK last week."),
        ("I work at Nokia.", "I'm with Olivetti since May."),
        ("Mia lives in Rome.", "Mia passed away."),
        ("My grandmother lives in Rome.", "My grandmother died last week."),
        ("I have a dog.", "We had to put our dog down."),
    ],
)
def test_older_memory_refers_to_what_its_words_leave_open(manager: MemoryManager, older: str, newer: str) -> None:
    first, second = say(manager, older, 0), say(manager, newer, 9)
    assert later_than(manager, first, older) == [second]
    assert ended_by(manager, first) is None


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("Mia lives in Rome.", "Tom passed away."),
        ("Mia lives in Rome.", "If Mia died, I would be sad."),
        ("My grandmother lives in Rome.", "My uncle died last week."),
        ("I live in Rome.", "I switched to Iliad."),
    ],
)
def test_words_about_something_else_are_not_linked(manager: MemoryManager, older: str, newer: str) -> None:
    first = say(manager, older, 0)
    say(manager, newer, 9)
    assert later_than(manager, first, older) == []


def test_switch_changes_the_only_service_that_can_be_meant(manager: MemoryManager) -> None:
    say(manager, "My phone provider is Vodafone.", 0)
    say(manager, "I switched to Iliad.", 9)
    assert [(fact.attribute, fact.value) for fact in manager.facts(user="ana")] == [("phone provider", "Iliad")]


def test_switch_changes_nothing_where_two_services_can_be_meant(manager: MemoryManager) -> None:
    say(manager, "My phone provider is Vodafone.", 0)
    say(manager, "My bank is Chase.", 1)
    say(manager, "I switched to Iliad.", 9)
    assert {fact.value for fact in manager.facts(user="ana")} == {"Vodafone", "Chase"}


@pytest.mark.parametrize("text", ["Hello from Ghent! I live here now.", "Greetings from Ghent. I'm based here."])
def test_here_is_the_place_that_was_named_before(manager: MemoryManager, text: str) -> None:
    first, second = say(manager, "I live in Hamburg.", 0), say(manager, text, 9)
    assert [(fact.attribute, fact.value) for fact in manager.facts(user="ana")] == [("city", "Ghent")]
    assert later_than(manager, first, "I live in Hamburg.") == [second]


def test_here_without_a_place_names_no_home(manager: MemoryManager) -> None:
    say(manager, "I live in Hamburg.", 0)
    say(manager, "I live here now.", 9)
    assert [fact.value for fact in manager.facts(user="ana")] == ["Hamburg"]
