"""A wish, a plan or an allergy that its speaker says is over is linked to the older words: both stay."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda import MemoryManager, Message
from memoranda.remember.updates.links import find_ended, states_intention
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

_ENDED = [
    ("I want to be a vet", "I no longer want to be a vet"),
    ("My son wants to be a vet.", "My son doesn't want to be a vet anymore."),
    ("I'm planning to move to Spain", "I'm no longer planning to move to Spain"),
    ("I'm allergic to peanuts", "I outgrew my peanut allergy"),
    ("I have a peanut allergy", "I no longer have a peanut allergy."),
    ("I'm thinking of buying a boat", "I gave up the idea of buying a boat"),
    ("We plan to adopt a dog", "We decided not to adopt a dog after all"),
    ("Lena wants to become a pilot", "Lena no longer wants to become a pilot"),
    ("I'm going to run the marathon", "I'm not going to run the marathon after all"),
    ("I dream of opening a bakery", "I've given up my dream of opening a bakery"),
    ("User wants to learn Welsh", "User no longer wants to learn Welsh"),
    ("I intend to quit sugar", "I changed my mind about quitting sugar"),
]
_OTHERS = [
    ("I want to be a vet", "My son no longer wants to be a vet"),
    ("My son wants to be a vet.", "I no longer want to be a vet"),
    ("I want to be a vet", "I no longer want to be a pilot"),
    ("I want to be a vet", "I don't want to be a vet in Spain anymore"),
    ("I don't want to be a vet", "I no longer want to be a vet"),
    ("I'm allergic to nuts", "My son outgrew his nut allergy"),
    ("I'm allergic to peanuts", "I outgrew my peanut costume"),
]


@pytest.mark.parametrize(("older", "newer"), _ENDED)
def test_ended_wish_is_above_the_older_words_that_stay(tmp_path: Path, older: str, newer: str) -> None:
    clock = FakeClock(datetime(2026, 1, 10, 12, tzinfo=UTC))
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        for text in (older, newer):
            manager.remember(Message("user", text), user="ana")
            clock.advance(days=9)
        first, second = manager.recall(older, user="ana")
    assert (first.content, second.content, second.memory.valid_to) == (newer, older, None)
    assert [later.content for later in second.later] == [newer]


@pytest.mark.parametrize(("older", "newer"), _OTHERS)
def test_other_wish_or_person_is_not_meant(older: str, newer: str) -> None:
    ended = find_ended(newer)
    assert ended is None or not states_intention(older, ended)
