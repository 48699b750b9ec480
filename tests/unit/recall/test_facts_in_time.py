"""Facts on a day: what began in a period of which only the name is known."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock


def day(month: int, number: int) -> datetime:
    return datetime(2026, month, number, 12, tzinfo=UTC)


def open_manager() -> MemoryManager:
    return MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=FakeClock(day(6, 1)))


def say(manager: MemoryManager, at: datetime, text: str) -> int:
    (outcome,) = manager.remember(Message("user", text, timestamp=at), user="ana", session=str(at))
    assert outcome.memory is not None
    return outcome.memory.id


def facts(manager: MemoryManager, at: datetime | None = None) -> list[tuple[str, bool]]:
    return [(fact.value, fact.holds) for fact in manager.facts(user="ana", as_of=at)]


@pytest.mark.parametrize("period", ["this year", "in March", "this month", "earlier this month", "in early March"])
def test_what_was_said_in_the_period_bounds_the_start(period: str) -> None:
    with open_manager() as manager:
        old = say(manager, day(3, 6), "I live in Oslo.")
        say(manager, day(3, 21), f"I moved to Bergen {period}.")
        assert facts(manager) == [("Bergen", True)]
        assert facts(manager, day(3, 7)) == [("Oslo", True)]
        [oslo, bergen] = manager.history("ana/city", user="ana").values
        assert oslo.until is not None
        assert oslo.since < oslo.until == bergen.since
        manager.delete(old, user="ana")
        assert facts(manager, day(3, 7)) == [("Bergen", True)]


@pytest.mark.parametrize("period", ["on 3 March", "in March", "last week"])
def test_what_was_said_before_the_period_does_not(period: str) -> None:
    with open_manager() as manager:
        say(manager, day(2, 20), "I live in Oslo.")
        say(manager, day(3, 12), f"I moved to Bergen {period}.")
        assert facts(manager, day(3, 9)) == [("Bergen", True)]


def test_late_statement_inside_the_period_bounds_it_as_well() -> None:
    with open_manager() as manager:
        say(manager, day(3, 21), "I moved to Bergen this year.")
        say(manager, day(3, 6), "I live in Oslo.")
        assert facts(manager, day(3, 7)) == [("Oslo", True)]
        assert facts(manager) == [("Bergen", True)]


def test_archiving_the_older_memory_leaves_the_newer_fact() -> None:
    with open_manager() as manager:
        old = say(manager, day(3, 1), "I take warfarin.")
        say(manager, day(3, 6), "I stopped taking warfarin.")
        manager.archive(old, user="ana")
        assert facts(manager) == [("warfarin", False)]


@pytest.mark.parametrize(
    ("older", "newer", "value"),
    [
        ("My rent is 900 euros.", "The landlord raised my rent to 980.", "980"),
        ("My rent is 900.", "My rent is 980 euros now.", "980 euros"),
        ("Our budget is 10,000 dollars.", "Our budget went up to 12,000.", "12,000"),
        ("My salary is 50000.", "My salary was raised to 52,000 euros.", "52,000 euros"),
    ],
)
def test_amount_without_currency_is_in_the_slot_of_one_with_it(older: str, newer: str, value: str) -> None:
    with open_manager() as manager:
        say(manager, day(3, 1), older)
        say(manager, day(3, 6), newer)
        assert facts(manager) == [(value, True)]
        [slot] = [fact.slot for fact in manager.facts(user="ana")]
        assert len(manager.history(slot, user="ana").values) == 2


def test_price_of_a_phone_is_not_its_number() -> None:
    with open_manager() as manager:
        say(manager, day(3, 1), "My phone is 4711 0815.")
        say(manager, day(3, 6), "My phone is 300 euros.")
        assert {value for value, _ in facts(manager)} == {"4711 0815", "300 euros"}


@pytest.mark.parametrize("label", ["User's phone", "The customer's phone", "User's phone number"])
def test_label_of_the_user_is_their_slot(label: str) -> None:
    with open_manager() as manager:
        manager.remember(f"{label}: 4711 0815", user="ana")
        manager.remember("User's phone changed to 9922 1100", user="ana")
        assert [(fact.attribute, fact.value) for fact in manager.facts(user="ana")] == [("phone", "9922 1100")]
