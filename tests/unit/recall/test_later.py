from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Hit, Memory, MemoryManager
from memoranda.recall.later import asks_for_the_present, put_latest_first, put_newer_first
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)
QUESTION = "Where do I live?"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(SAID + timedelta(days=99))


@pytest.fixture
def manager(clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def say(manager: MemoryManager, text: str, days: float) -> Memory:
    (outcome,) = manager.remember(text, user="ana", at=SAID + timedelta(days=days))
    assert outcome.memory is not None
    return outcome.memory


def later_texts(manager: MemoryManager, question: str = QUESTION, **options: datetime) -> dict[str, list[str]]:
    hits = manager.recall(question, user="ana", **options)
    return {hit.content: [later.content for later in hit.later] for hit in hits}


@pytest.mark.parametrize("question", [QUESTION, "What is my phone number?", "Who is my boss now?"])
def test_question_is_about_the_present(question: str) -> None:
    assert asks_for_the_present(question)


@pytest.mark.parametrize("question", ["Where did I live before?", "What was my old number?", "Who used to be my boss?"])
def test_question_is_about_the_past(question: str) -> None:
    assert not asks_for_the_present(question)


def test_older_hit_shows_what_was_said_later_in_order(manager: MemoryManager) -> None:
    for days, place in enumerate(("Berlin", "Paris", "Rome")):
        say(manager, f"I live in {place}.", days)
    assert later_texts(manager) == {
        "I live in Rome.": [],
        "I live in Paris.": ["I live in Rome."],
        "I live in Berlin.": ["I live in Paris.", "I live in Rome."],
    }


def test_newest_is_first_for_a_question_about_the_present(manager: MemoryManager) -> None:
    for days, place in enumerate(("Berlin", "Paris", "Rome")):
        say(manager, f"I live in {place}.", days)
    assert manager.recall(QUESTION, user="ana")[0].content == "I live in Rome."


def test_later_statement_is_added_when_the_question_finds_only_the_older(manager: MemoryManager) -> None:
    say(manager, "I live in Berlin.", 0)
    say(manager, "I live in Rome.", 9)
    (first, *_) = manager.recall("Berlin", user="ana", limit=1)
    assert first.content == "I live in Rome."


def test_archived_or_deleted_statement_is_not_later(manager: MemoryManager) -> None:
    say(manager, "I live in Berlin.", 0)
    paris, rome = say(manager, "I live in Paris.", 1), say(manager, "I live in Rome.", 2)
    manager.archive(paris.id, user="ana")
    manager.delete(rome.id, user="ana")
    assert later_texts(manager) == {"I live in Berlin.": []}


def test_what_was_not_known_yet_is_not_later(manager: MemoryManager, clock: FakeClock) -> None:
    say(manager, "I live in Berlin.", 0)
    before = clock()
    clock.advance(days=3)
    say(manager, "I live in Rome.", 100)
    assert later_texts(manager, known_at=before) == {"I live in Berlin.": []}


def test_newer_hits_take_the_place_and_score_of_the_older(manager: MemoryManager) -> None:
    berlin, rome, cat = (say(manager, text, n) for n, text in enumerate(("Home: Berlin", "Home: Rome", "A cat")))
    old = Hit(memory=berlin, score=0.9, later=(rome,))
    hits = [old, Hit(memory=cat, score=0.5), Hit(memory=rome, score=0.1)]
    ordered = put_newer_first(hits, lambda memory, hit: Hit(memory=memory, score=hit.score))
    assert [(hit.id, hit.score) for hit in ordered] == [(rome.id, 0.9), (berlin.id, 0.9), (cat.id, 0.5)]


def test_newer_memory_that_no_hit_holds_is_made_a_hit(manager: MemoryManager) -> None:
    berlin, rome = say(manager, "Home: Berlin", 0), say(manager, "Home: Rome", 1)
    old = Hit(memory=berlin, score=0.9, later=(rome,))
    made = put_newer_first([old], lambda memory, hit: Hit(memory=memory, score=0.0))
    assert [hit.id for hit in made] == [rome.id, berlin.id]
    assert put_newer_first([old], lambda memory, hit: None) == [old]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How many bikes do I own?", "new"),
        ("Where is the office now?", "new"),
        ("How many bikes does Ana own?", "old"),
        ("Which bike did Ana sell?", "old"),
    ],
)
def test_latest_of_the_best_hits_is_first_where_the_latest_state_is_asked_for(
    manager: MemoryManager, question: str, first: str
) -> None:
    old, new, other = say(manager, "Two bikes.", 0), say(manager, "Four bikes.", 5), say(manager, "A cat.", 9)
    hits = [Hit(memory=old, score=0.9), Hit(memory=new, score=0.7), Hit(memory=other, score=0.1)]
    ordered = put_latest_first(question, hits)
    assert [hit.id for hit in ordered] == ([new.id, old.id] if first == "new" else [old.id, new.id]) + [other.id]
    assert ordered[0].score == 0.9
