"""What somebody joined or moved to may be no employer and no home: linked, and the older value stays the fact."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

_HOME, _WORK = ("I live in Leeds.", "city", "Leeds"), ("I work at Ocado.", "employer", "Ocado")
_NO_HOMES = """
    I moved to Paris Street.
    I moved to Chester Road last week.
    I moved to Cardiff for the summer.
    I moved to Cardiff for a term in 2008.
    I moved to Cardiff and back.
    I moved to Bristol for three months.
    I moved to Orange, better coverage.
    I moved to Phoenix, the other project.
"""
_NO_EMPLOYERS = """
    I joined Sky, cheaper broadband.
    I joined Peloton, love the classes.
    I joined Tinder.
    I joined the Labour Party.
    I joined Costco, bulk discounts!
    I joined Vodafone, the signal is better.
"""
_HOMES = [
    ("I moved to Cardiff last week for work.", "Cardiff"),
    ("I moved to Bristol three months ago.", "Bristol"),
    ("We relocated to Porto with the kids.", "Porto"),
]
_EMPLOYERS = [
    ("I joined Monzo last week.", "Monzo"),
    ("I joined Bosch as a project manager.", "Bosch"),
]


def facts(older: str, newer: str, attribute: str) -> tuple[list[str], list[str]]:
    clock = FakeClock(datetime(2026, 1, 5, 12, tzinfo=UTC))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        for session, text in enumerate((older, newer)):
            manager.remember(Message("user", text), user="ana", session=f"s{session}")
            clock.advance(days=20)
        known = [fact.value for fact in manager.facts(user="ana") if fact.attribute == attribute]
        later = [
            each.content for hit in manager.recall(older, user="ana") if hit.content == older for each in hit.later
        ]
    return known, later


@pytest.mark.parametrize(
    ("newer", "known"),
    [
        (line.strip(), known)
        for text, known in ((_NO_HOMES, _HOME), (_NO_EMPLOYERS, _WORK))
        for line in text.strip().splitlines()
    ],
)
def test_older_value_stays_the_fact_and_is_marked(newer: str, known: tuple[str, str, str]) -> None:
    older, attribute, value = known
    assert facts(older, newer, attribute) == ([value], [newer])


@pytest.mark.parametrize(
    ("newer", "value", "known"),
    [(*each, known) for cases, known in ((_HOMES, _HOME), (_EMPLOYERS, _WORK)) for each in cases],
)
def test_home_and_employer_are_the_fact(newer: str, value: str, known: tuple[str, str, str]) -> None:
    assert facts(known[0], newer, known[1])[0] == [value]
