"""What `context` and `recall` show of what was said later."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.recall.later import surest_later
from memoranda.recall.render import render_hits
from memoranda.storage.claim_resolution import follow
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Hit
from tests.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 10, 12, tzinfo=UTC))


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def _say(manager: MemoryManager, clock: FakeClock, *texts: str) -> None:
    for text in texts:
        clock.advance(days=1)
        manager.remember(Message("user", text, timestamp=clock.now), user="ana")


def _link(manager: MemoryManager, older: int, newer: int, strength: float) -> None:
    manager._components.open().store.write(lambda tx: follow(tx, newer, [older], strength))


def test_fact_stays_under_what_holds_next_to_a_link_to_other_words(manager: MemoryManager, clock: FakeClock) -> None:
    _say(manager, clock, "My car is a Volvo.", "Mia got a new job in Bergen.")
    _link(manager, 1, 2, 0.4)
    text = str(manager.context("What car do I have?", user="ana"))
    assert "- ana, car: Volvo (since 2026-01-11; later said: #2) [#1]" in text


def test_fact_leaves_what_holds_when_its_slot_has_a_later_value(manager: MemoryManager, clock: FakeClock) -> None:
    _say(manager, clock, "My favourite colour is blue.", "My favourite colour is green.")
    text = str(manager.context("What is my favourite colour?", user="ana"))
    assert "favourite colour: green" in text
    assert "favourite colour: blue" not in text


def test_memory_shows_the_two_surest_of_what_was_said_later(manager: MemoryManager, clock: FakeClock) -> None:
    _say(manager, clock, "My car is a Volvo.", "My car was stolen.", "Ben sings.", "Mia plays chess.")
    for newer, strength in ((2, 0.9), (3, 0.3), (4, 0.4)):
        _link(manager, 1, newer, strength)
    hit = next(hit for hit in manager.recall("What car do I have?", user="ana") if hit.id == 1)
    assert [memory.id for memory in surest_later(hit)] == [2, 4]
    shown = render_hits([hit], "m", clock.now)
    assert "My car was stolen." in shown
    assert "Mia plays chess." in shown
    assert "Ben sings." not in shown


def test_of_equally_sure_words_the_latest_come_first(manager: MemoryManager, clock: FakeClock) -> None:
    _say(manager, clock, "My car is a Volvo.", "Ben sings.", "Mia plays chess.")
    one, two, three = (manager.get(each, user="ana") for each in (1, 2, 3))
    assert surest_later(Hit(one, 1.0, later=(two, three))) == [three, two]


def test_later_leaves_out_what_began_after_the_time_asked_for(manager: MemoryManager, clock: FakeClock) -> None:
    _say(manager, clock, "My favourite colour is blue.")
    said = clock.now
    clock.advance(days=9)
    _say(manager, clock, "My favourite colour is green.")
    question = "What is my favourite colour?"

    def later(at: datetime | None) -> list[list[str]]:
        hits = manager.recall(question, user="ana", as_of=at)
        return [[memory.content for memory in hit.later] for hit in hits if hit.id == 1]

    assert later(said + timedelta(days=3)) == [[]]
    assert later(clock.now) == [["My favourite colour is green."]]


def test_what_was_retracted_is_not_said_later_of_what_holds(manager: MemoryManager, clock: FakeClock) -> None:
    _say(manager, clock, "I work at Volvo.")
    clock.advance(days=1)
    for text in ("I left Volvo and joined Saab.", "Scratch that, I was joking."):
        clock.advance(minutes=1)
        manager.remember(Message("user", text, timestamp=clock.now), user="ana")
    hits = {hit.content: hit for hit in manager.recall("Where do I work?", user="ana")}
    assert hits["I work at Volvo."].later == ()
    assert [later.content for later in hits["I left Volvo and joined Saab."].later] == ["Scratch that, I was joking."]
