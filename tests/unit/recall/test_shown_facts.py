"""Which claims are listed as facts: what says nothing without the words around it is left out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memoranda import MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

NOW = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def manager() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=FakeClock(NOW)) as manager:
        yield manager


def facts(manager: MemoryManager, *texts: str) -> list[tuple[str, str]]:
    """Return what is known of a new user who says these texts."""
    user = f"u{abs(hash(texts))}"
    for text in texts:
        manager.remember(Message("user", text, name="Ana", timestamp=NOW), user=user)
    return [(fact.slot, fact.value) for fact in manager.facts(user=user)]


@pytest.mark.parametrize(
    "text",
    [
        "Sounds like a lovely evening!",
        "Your support means the world to me.",
        "Let's keep each other going.",
        "As a writer, I need quiet.",
        "I love the second chapter.",
        "I like that idea.",
        "There was so much noise and love everywhere.",
        "We're like a family.",
        "I have a good understanding of the topic.",
        "I got a great deal on shoes.",
        "I have 10.",
        "The answer is patience.",
        "The jug is now three jugs.",
        "Term starts on the 3rd.",
        "Long walks on Fridays, 6 km last time.",
        "Our season opener is next week.",
        "I've read lots of them.",
        "The hotel has a 4.5 rating.",
        "We argue about names for the baby. I like Hana.",
    ],
)
def test_words_that_say_nothing_by_themselves_make_no_fact(manager: MemoryManager, text: str) -> None:
    assert facts(manager, text) == []


@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("I love jazz.", ("Ana/likes", "jazz")),
        ("I'm a big fan of the Cubs.", ("Ana/likes", "Cubs")),
        ("I have a golden retriever.", ("Ana/owns", "golden retriever")),
        ("I bought a kayak.", ("Ana/owns", "kayak")),
        ("I'm a writer.", ("Ana/occupation", "writer")),
        ("The due date is 4 June.", ("Ana/due date", "4 June")),
        ("My budget is around $800 per person.", ("Ana/budget money", "$800")),
        ("My team is four people: Kim, Olga and two interns.", ("Ana/team people", "four people")),
        ("My uncle Bert drives and I sleep.", ("Ana's uncle/name", "Bert")),
        ("I smoke.", ("Ana/smoke", "")),
        ("Emi likes tea.", ("Emi/likes", "tea")),
        ("My parents live in Kiel.", ("Ana's parents/city", "Kiel")),
    ],
)
def test_statement_is_a_fact(manager: MemoryManager, text: str, fact: tuple[str, str]) -> None:
    assert facts(manager, text) == [fact]


@pytest.mark.parametrize(
    ("older", "newer", "fact"),
    [
        ("The due date is 9 June.", "They moved it. It's 2 June now instead of the 9th.", "2 June"),
        ("The party is on 12 May.", "Sorry, it's 21 May instead of the 12th.", "21 May"),
    ],
)
def test_value_that_is_retracted_in_words_is_no_fact_any_more(
    manager: MemoryManager, older: str, newer: str, fact: str
) -> None:
    assert [value for _, value in facts(manager, older, newer)] == [fact]
