"""Of several corrections the last word counts, also where it gives the first one right."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.remember.updates.test_find import SAID


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=FakeClock(SAID + timedelta(days=9))) as manager:
        yield manager


def talk(manager: MemoryManager, *texts: str) -> list[str]:
    """Say the texts, a minute apart, and return the values that hold."""
    for n, text in enumerate(texts):
        said = Message("user", text, name="Ana", timestamp=SAID + timedelta(minutes=n))
        manager.remember(said, user="ana", session="s")
    return [fact.value for fact in manager.facts(user="ana") if fact.holds]


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (("I was born in 1986.", "Correction: 1985.", "No wait, it was 1986 after all."), "1986"),
        (("The ferry is on 3 May.", "Sorry, 5 May.", "No, 3 May was right."), "3 May"),
        (("I live in Kiel.", "Actually, I live in Bonn.", "No sorry, Kiel was correct."), "Kiel"),
        (("My rent is 700 euros.", "I mean 750 euros.", "No wait, 700 euros is correct."), "700 euros"),
    ],
)
def test_first_value_holds_again_when_its_correction_is_corrected(
    manager: MemoryManager, texts: tuple[str, ...], value: str
) -> None:
    assert talk(manager, *texts) == [value]
    first = next(memory for memory in manager.list_memories(user="ana") if memory.content == texts[0])
    assert first.superseded_by is None
    assert manager.history(first.id, user="ana").later == ()


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (("The standup is at 9.", "Correction: 10.", "Correction: 11."), "11"),
        (("I was born in 1986.", "No, it's 1985."), "1985"),
        (("My aunt is called Ilsa.", "Typo: Ilse."), "Ilse"),
        (("The ferry is on 3 May.", "Oops, 5 May I mean."), "5 May"),
        (("The ferry is on Monday.", "The ferry moved to Friday.", "Sorry, it stays on Monday."), "Monday"),
    ],
)
def test_last_correction_counts(manager: MemoryManager, texts: tuple[str, ...], value: str) -> None:
    assert talk(manager, *texts) == [value]


@pytest.mark.parametrize("text", ["Ben was right.", "Rome was right.", "Peter is right.", "No, Ben."])
def test_somebody_who_was_right_corrects_nothing(manager: MemoryManager, text: str) -> None:
    assert talk(manager, "My boss is Peter.", text) == ["Peter"]


@pytest.mark.parametrize("words", ["No, the first one was right.", "Sorry, I was right the first time."])
def test_first_value_holds_again_when_its_correction_is_in_doubt(manager: MemoryManager, words: str) -> None:
    assert talk(manager, "I was born in 1986.", "Correction: 1985.", words) == ["1986"]
