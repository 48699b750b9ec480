"""What answers for a time between a statement and its correction."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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


_CORRECTED = [
    ("When is my birthday?", "My birthday is 4 May.", "Actually, my birthday is 5 May."),
    ("Where do I work?", "I work at Ikea.", "Correction: I work at Volvo."),
    ("When was I born?", "I was born in 1986.", "Correction: 1985."),
]


@pytest.mark.parametrize(("question", "wrong", "right"), _CORRECTED)
def test_correction_answers_for_the_time_in_which_the_wrong_value_was_believed(
    manager: MemoryManager, clock: FakeClock, question: str, wrong: str, right: str
) -> None:
    said = clock.now
    _tell_later(manager, clock, wrong, right)
    then = said + timedelta(days=3)

    assert [hit.content for hit in manager.recall(question, user="ana", as_of=then)] == [right]
    assert [hit.content for hit in manager.recall(question, user="ana", known_at=then)] == [wrong]
    assert [hit.content for hit in manager.recall(question, user="ana", as_of=then, known_at=then)] == [wrong]
    (fact,) = manager.facts(user="ana", as_of=then)
    assert (fact.memory_id, fact.since) == (2, said)
    assert manager.facts(user="ana", known_at=then)[0].memory_id == 1


def test_second_correction_holds_from_when_the_first_value_was_said(manager: MemoryManager, clock: FakeClock) -> None:
    said = clock.now
    _tell_later(manager, clock, "I work at Ikea.", "Actually, I work at Volvo.", "Actually, I work at Saab.")

    for days in (3, 12, 30):
        at = said + timedelta(days=days)
        assert [hit.content for hit in manager.recall("Where do I work?", user="ana", as_of=at)] == [
            "Actually, I work at Saab."
        ]
        assert [fact.value for fact in manager.facts(user="ana", as_of=at)] == ["Saab"]


def test_correction_holds_from_when_it_was_said_after_the_wrong_statement_is_deleted(
    manager: MemoryManager, clock: FakeClock
) -> None:
    said = clock.now
    _tell_later(manager, clock, "I work at Ikea.", "Correction: I work at Volvo.")
    manager.delete(1, user="ana")

    assert not manager.recall("Where do I work?", user="ana", as_of=said + timedelta(days=3))
    assert [fact.since for fact in manager.facts(user="ana")] == [said + timedelta(days=9)]


def _tell_later(manager: MemoryManager, clock: FakeClock, *texts: str) -> None:
    """Tell each of these nine days after the one before."""
    for text in texts:
        manager.remember(Message("user", text, timestamp=clock.now), user="ana")
        clock.advance(days=9)
