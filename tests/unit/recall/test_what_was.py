"""Statements about the past and about what is yet to come, beside what holds now."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 10, 12, tzinfo=UTC))


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def say(manager: MemoryManager, clock: FakeClock, text: str, day: str) -> None:
    clock.now = datetime.fromisoformat(day).replace(hour=12, tzinfo=UTC)
    manager.remember(Message("user", text, timestamp=clock.now), user="ana")


def values(manager: MemoryManager, as_of: str | None = None) -> list[str]:
    return [fact.value for fact in manager.facts(user="ana", as_of=as_of) if fact.holds]


_BEFORE = [
    ("What is my phone number?", "My phone number is 0171 5555.", "My old number was 0170 1234."),
    ("What car do I have?", "My car is a Skoda.", "My first car was a Golf."),
    ("Who is my landlord?", "My landlord is Mr. Claes.", "My previous landlord was Mrs. Dubois."),
    ("What is my favourite colour?", "My favourite colour is green.", "My favourite colour used to be blue."),
    ("How much do I weigh?", "I weigh 80 kg.", "I weighed 92 kg before the diet."),
]


@pytest.mark.parametrize(("question", "now", "before"), _BEFORE)
def test_what_was_stands_below_what_is_and_marks_nothing(
    manager: MemoryManager, clock: FakeClock, question: str, now: str, before: str
) -> None:
    say(manager, clock, now, "2026-01-10")
    held = values(manager)
    say(manager, clock, before, "2026-01-12")

    first, second = manager.recall(question, user="ana")
    assert (first.content, first.later, second.content) == (now, (), before)
    assert values(manager) == held


def test_value_that_begins_later_is_neither_above_nor_a_fact_before(manager: MemoryManager, clock: FakeClock) -> None:
    say(manager, clock, "My boss is Peter.", "2026-03-01")
    say(manager, clock, "From 1 May my boss is Karin.", "2026-03-12")

    for at, boss in (("2026-04-10T12:00Z", "Peter"), ("2026-05-10T12:00Z", "Karin")):
        assert values(manager, at) == [boss]
        assert boss in manager.recall("Who is my boss?", user="ana", as_of=at)[0].content
        assert f"manager: {boss}" in manager.context("Who is my boss?", user="ana", as_of=at)
    assert manager.recall("Who is my boss?", user="ana")[0].content == "My boss is Peter."


@pytest.mark.parametrize("told", ["Since 1 March I live in Malmö.", "On 1 March I moved to Malmö."])
def test_time_between_event_and_telling_is_answered_alike(manager: MemoryManager, clock: FakeClock, told: str) -> None:
    say(manager, clock, "I live in Lund.", "2026-01-10")
    say(manager, clock, told, "2026-03-12")

    between = "2026-03-05T12:00Z"
    assert values(manager, between) == ["Malmö"]
    assert manager.recall("Where do I live?", user="ana", as_of=between)[0].content == told
    assert "city: Malmö" in manager.context("Where do I live?", user="ana", as_of=between)
    assert [fact.value for fact in manager.facts(user="ana", known_at=between)] == ["Lund"]


def test_later_assertion_without_a_date_beats_an_earlier_start(manager: MemoryManager, clock: FakeClock) -> None:
    say(manager, clock, "Since January I live in Malmö.", "2026-03-10")
    say(manager, clock, "I live in Lund.", "2026-03-12")
    assert values(manager) == ["Lund"]
    assert values(manager, "2026-02-20T12:00Z") == ["Malmö"]


@pytest.mark.parametrize(
    "told", ["I have had diabetes since 2010.", "I smoked from 2003 to 2018.", "We bought the house in 2010."]
)
def test_dated_statement_without_a_slot_answers_for_its_time(
    manager: MemoryManager, clock: FakeClock, told: str
) -> None:
    say(manager, clock, told, "2026-03-10")
    assert [hit.content for hit in manager.recall(told, user="ana", as_of="2012-06-01T00:00Z")] == [told]
    assert not manager.recall(told, user="ana", as_of="2002-06-01T00:00Z")


@pytest.mark.parametrize("question", ["How old am I?", "How old is Ana now?"])
def test_how_old_asks_for_the_present(manager: MemoryManager, clock: FakeClock, question: str) -> None:
    say(manager, clock, "I'm 34 years old.", "2026-01-10")
    say(manager, clock, "I'm 35 now.", "2026-02-10")
    assert manager.recall(question, user="ana")[0].content == "I'm 35 now."
