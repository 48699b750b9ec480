"""What somebody wants to be called is a fact beside their name, and ends only another one of its kind."""

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
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=FakeClock(SAID + timedelta(days=99))) as manager:
        yield manager


def names(manager: MemoryManager) -> dict[str, str]:
    return {fact.attribute: fact.value for fact in manager.facts(user="ana") if fact.holds}


@pytest.mark.parametrize(
    "words",
    [
        "Call me Lexi from now on.",
        "From now on, please call me Lexi.",
        "You can call me Lexi.",
        "I go by Lexi these days.",
        "I prefer to be called Lexi.",
        "I'd rather be called Lexi.",
        "My preferred name is Lexi.",
    ],
)
def test_name_to_be_called_by_leaves_the_name(manager: MemoryManager, words: str) -> None:
    name = say(manager, "My name is Alexandra.", 0)
    say(manager, words, 9)
    assert names(manager) == {"name": "Alexandra", "preferred name": "Lexi"}
    assert ended_by(manager, name) is None


@pytest.mark.parametrize(
    "words", ["Call me Sasha from now on.", "Please stop calling me Lexi.", "I no longer go by Lexi."]
)
def test_other_name_to_be_called_by_ends_the_first(manager: MemoryManager, words: str) -> None:
    first = say(manager, "Call me Lexi.", 0)
    second = say(manager, words, 9)
    assert ended_by(manager, first) == second


@pytest.mark.parametrize(
    "words", ["Call me Tuesday about the boat.", "Call me later.", "My kids want to call me Chief."]
)
def test_call_that_names_nobody_makes_no_fact(manager: MemoryManager, words: str) -> None:
    say(manager, words, 0)
    assert names(manager) == {}


def test_name_of_a_relative_is_their_name(manager: MemoryManager) -> None:
    say(manager, "My aunt is called Ilse.", 0)
    assert names(manager) == {"name": "Ilse"}


@pytest.mark.parametrize("whose", ["My new dog", "Our second dog", "My other dog"])
def test_name_of_another_animal_leaves_the_first(manager: MemoryManager, whose: str) -> None:
    first = say(manager, "My dog is called Odin.", 0)
    say(manager, f"{whose} is now called Thor.", 9)
    assert ended_by(manager, first) is None


@pytest.mark.parametrize("words", ["I handed in my notice at Fiat.", "I gave notice at Fiat yesterday."])
def test_notice_leaves_the_job_for_now(manager: MemoryManager, words: str) -> None:
    job = say(manager, "I work at Fiat.", 0)
    say(manager, words, 9)
    assert ended_by(manager, job) is None
