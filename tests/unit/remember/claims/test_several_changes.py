"""Each clause of a sentence with several changes is a change of its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest

from memoranda import MemoryManager
from memoranda.remember.updates.likeness import changes_in
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.remember.updates.test_find import SAID, ended_by, say


@pytest.fixture
def manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=FakeClock(SAID + timedelta(days=99))) as manager:
        yield manager


BEFORE = ("I live in Kiel.", "I work at Lidl.", "I have a boat.", "I'm single.")


@pytest.mark.parametrize(
    ("text", "ended"),
    [
        ("I left Lidl, joined Bosch and sold the boat.", (1, 2)),
        ("I got married, moved to Faro and started at Bosch.", (0, 1, 3)),
        ("I moved to Faro and switched to Proximus.", (0,)),
        ("We sold the boat, bought a van and moved to Faro.", (0, 2)),
        ("I moved to Faro last week, started at Bosch on Monday, sold the boat, and got married.", (0, 1, 2, 3)),
        ("I moved to Faro and left after a month.", ()),
        ("I joined Bosch, hated it and came back.", ()),
        ("I was born in Bonn, moved to Faro and live in Kiel.", ()),
        ("My cousin left Lidl, joined Bosch and moved to Faro.", ()),
        ("If I got married, moved to Faro and sold the boat, you would laugh.", ()),
    ],
)
def test_each_clause_ends_what_it_changes(manager: MemoryManager, text: str, ended: tuple[int, ...]) -> None:
    before = [say(manager, each, 0) for each in BEFORE]
    said = say(manager, text, 9)
    assert [n for n, memory in enumerate(before) if ended_by(manager, memory) == said] == list(ended)


def test_clauses_of_a_relative_are_about_the_relative(manager: MemoryManager) -> None:
    say(manager, "My aunt left Lidl, joined Bosch and moved to Faro.", 0)
    facts = {(fact.subject, fact.attribute): fact.value for fact in manager.facts(user="ana") if fact.holds}
    assert facts == {("Ana's aunt", "employer"): "Bosch", ("Ana's aunt", "city"): "Faro"}


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I gave up coffee and became vegan.", ("I gave up coffee", "became vegan.")),
        ("I gave up coffee.", ("I gave up coffee.",)),
        ("I met Ben and ate soup.", ("I met Ben and ate soup.",)),
    ],
)
def test_changes_of_a_sentence_are_compared_one_by_one(text: str, parts: tuple[str, ...]) -> None:
    assert changes_in(text) == parts
