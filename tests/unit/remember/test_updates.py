"""Which older memories a new one is linked to, or ends, by its words and its meaning."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.updates import tells_event
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    clock = FakeClock(SAID + timedelta(days=99))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def say(manager: MemoryManager, text: str, days: float, *, name: str = "Ana", user: str = "ana") -> int:
    message = Message("user", text, name=name, timestamp=SAID + timedelta(days=days))
    (outcome,) = manager.remember(message, user=user)
    assert outcome.memory is not None
    return outcome.memory.id


def ended_by(manager: MemoryManager, memory_id: int) -> int | None:
    return manager.get(memory_id, user="ana").superseded_by


def follows(manager: MemoryManager, newer: int, older: int) -> bool:
    found = manager.get_related_memories(newer, "follows", user="ana")
    return older in [link.id for link in found] and manager.get(older, user="ana").notes.get("followed") is True


@pytest.mark.parametrize("text", ["I sold it.", "No longer true.", "It moved to Friday.", "Ghent is home now."])
def test_words_of_change_are_recognised(text: str) -> None:
    assert tells_event(text)


@pytest.mark.parametrize("text", ["I live in Rome.", "My boss is Eva.", 'She wrote "I sold the boat".'])
def test_plain_or_quoted_text_speaks_of_no_change(text: str) -> None:
    assert not tells_event(text)


def test_change_that_names_only_values_ends_the_claim_with_that_value(manager: MemoryManager) -> None:
    spotify = say(manager, "I use Spotify.", 0)
    other = say(manager, "I use Firefox.", 1)
    switch = say(manager, "I switched from Spotify to Tidal.", 9)
    assert [ended_by(manager, each) for each in (spotify, other)] == [switch, None]


def test_sold_thing_is_no_longer_owned(manager: MemoryManager) -> None:
    boat = say(manager, "I bought an old boat.", 0)
    bike = say(manager, "I bought a red bike.", 1)
    sold = say(manager, "I sold the boat.", 9)
    assert [ended_by(manager, each) for each in (boat, bike)] == [sold, None]


def test_repeated_sentence_with_a_new_value_and_now_ends_what_the_older_says(manager: MemoryManager) -> None:
    two = say(manager, "I have two children.", 0)
    three = say(manager, "I now have three children.", 9)
    assert [claim.get("ended_by") for claim in manager.get(two, user="ana").notes["claims"]] == [None, three]
    first, second = manager.recall("How many children do I have?", user="ana")
    assert [(first.id, first.later), (second.id, [each.id for each in second.later])] == [(three, ()), (two, [three])]


def test_repeated_sentence_with_a_new_value_follows(manager: MemoryManager) -> None:
    two = say(manager, "I have two children.", 0)
    three = say(manager, "I have three children.", 9)
    assert ended_by(manager, two) is None
    assert follows(manager, three, two)


def test_denied_sentence_ends(manager: MemoryManager) -> None:
    sundays = say(manager, "I volunteer on Sundays.", 0)
    denied = say(manager, "I no longer volunteer on Sundays.", 9)
    assert ended_by(manager, sundays) == denied


def test_change_in_other_words_follows_what_shares_a_telling_word(manager: MemoryManager) -> None:
    lease = say(manager, "The lease for the Zwicky office is signed by Petra.", 0)
    for number in range(5):
        say(manager, f"Lunch number {number} was soup.", 1)
    changed = say(manager, "Petra cancelled the Zwicky deal yesterday.", 9)
    assert ended_by(manager, lease) is None
    assert follows(manager, changed, lease)


@pytest.mark.parametrize(("name", "user"), [("Bob", "ana"), ("Ana", "bob")])
def test_other_speakers_and_users_change_nothing(manager: MemoryManager, name: str, user: str) -> None:
    two = say(manager, "I have two children.", 0)
    say(manager, "I now have three children.", 9, name=name, user=user)
    assert ended_by(manager, two) is None
    assert "followed" not in manager.get(two, user="ana").notes


def test_older_sentence_that_arrives_late_changes_nothing(manager: MemoryManager) -> None:
    three = say(manager, "I have three children.", 9)
    two = say(manager, "I now have two children.", 0)
    assert [ended_by(manager, each) for each in (two, three)] == [None, None]


def test_document_is_not_compared(manager: MemoryManager) -> None:
    two = say(manager, "I have two children.", 0)
    manager.remember("I now have three children. " + "The rest is a long report. " * 90, user="ana")
    assert ended_by(manager, two) is None


def test_text_from_a_web_page_hides_nothing_the_user_said(manager: MemoryManager) -> None:
    manager.remember("I have two children.", user="ana", at=SAID)
    manager.remember("I now have three children.", user="ana", source="https://example.org/a")
    first, second = manager.list_memories(user="ana")
    assert first.superseded_by is None
    found = manager.get_related_memories(second.id, "contradicts", user="ana")
    assert [link.id for link in found] == [first.id]
