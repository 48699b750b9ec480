from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from memoranda import Hit, Memory, MemoryManager
from memoranda.recall.later import asks_for_the_present, least_share, put_latest_first, put_newer_first
from memoranda.storage.base import OwnedWork
from memoranda.storage.claim_resolution import follow
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY
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


def test_very_near_later_words_need_no_score_of_their_own_except_where_people_take_turns() -> None:
    assert least_share(0.9, in_dialogue=False) == 0.0
    assert (
        least_share(0.9, in_dialogue=True) == least_share(0.5, in_dialogue=True) > least_share(0.5, in_dialogue=False)
    )
    assert least_share(0.25, in_dialogue=True) == least_share(0.25, in_dialogue=False) == 1.0
    assert least_share(1.0, in_dialogue=True) == 0.0


def test_turn_of_a_dialogue_that_hardly_fits_the_question_is_not_put_above_one_that_it_resembles(
    manager: MemoryManager,
) -> None:
    lines = ("Ann: Do you still play chess?", "Ben: I play chess every week.", "Ann: Nice.", "Ben: Thanks a lot, Ann.")
    pairs = [line.split(": ") for line in lines]
    messages = [{"role": "user", "name": name, "content": text} for name, text in pairs]
    stored = [each.memory for each in manager.remember(messages, user="ana", session="a", keep_all=True)]
    plays, thanks = stored[1], stored[3]
    assert plays is not None
    assert thanks is not None
    store = manager._components.open().store
    store.write(OwnedWork(lambda tx: follow(tx, thanks.id, [plays.id], 0.9)), tenant=ANY)
    assert manager.recall("Which game does Ben play: chess?", user="ana")[0].id == plays.id


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


def test_newer_hit_is_above_a_reply_to_what_it_follows(manager: MemoryManager) -> None:
    texts = ("It is due on 9 January.", "A January baby!", "It is due on the 2nd now.", "A cat")
    old, reply, new, cat = (say(manager, text, n) for n, text in enumerate(texts))
    hits = [
        Hit(memory=cat, score=0.9),
        Hit(memory=reply, score=0.8),
        Hit(memory=old, score=0.7, later=(new,)),
        Hit(memory=new, score=0.6),
    ]
    ordered = put_newer_first(hits, lambda memory, hit: Hit(memory=memory, score=hit.score), {reply.id: old.id})
    assert [hit.id for hit in ordered] == [cat.id, new.id, reply.id, old.id]
    assert [hit.score for hit in ordered] == [0.9, 0.8, 0.8, 0.7]
    kept = put_newer_first(hits, lambda memory, hit: None, {reply.id: old.id})
    assert [hit.id for hit in kept] == [hit.id for hit in hits]


def test_first_hit_is_the_same_however_many_are_asked_for(manager: MemoryManager) -> None:
    said = (("Theo", "The due date is 9 January."), ("Nora", "A January baby, the due date is in winter!"),
            ("Theo", "The weather is grey."), ("Theo", "The due date is 2 January now, not the 9th."))  # fmt: skip
    for number, (who, text) in enumerate(said):
        turn = {"role": "user", "name": who, "content": text, "timestamp": f"2025-0{number + 1}-10T10:00:00Z"}
        manager.remember([turn], user="both", session="talk", keep_all=True)
    firsts = {manager.recall("When is the due date?", user="both", limit=limit)[0].content for limit in (1, 2, 3, 8)}
    assert firsts == {"The due date is 2 January now, not the 9th."}


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
        ("Where are my bikes now?", "new"),
        ("How many bikes have we bought?", "new"),
        ("How much are our bikes?", "new"),
        ("How many bikes must I clean?", "new"),
        ("How many dogs do I own?", "old"),
        ("How many bikes did I sell?", "new"),
        ("Do I own more bikes than I did before?", "new"),
        ("Did I own more bikes than before?", "old"),
        ("Is Ben taller than Ana?", "old"),
        ("How many days passed between my first ride and the race?", "old"),
        ("How long ago did I sell my bike?", "old"),
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
    assert [hit.score for hit in ordered] == ([0.9, 0.9, 0.1] if first == "new" else [0.9, 0.7, 0.1])


def test_later_hit_that_names_other_things_stays_below(manager: MemoryManager) -> None:
    texts = ("I planted five tomato plants first.", "I watered a plant today.", "Seven tomato plants now.")
    old, other, new = (say(manager, text, days) for days, text in enumerate(texts))
    hits = [Hit(memory=old, score=0.9), Hit(memory=other, score=0.8), Hit(memory=new, score=0.7)]
    ordered = put_latest_first("How many tomato plants do I have?", hits)
    assert [hit.id for hit in ordered] == [new.id, old.id, other.id]


def test_hits_of_one_session_keep_their_order(manager: MemoryManager) -> None:
    old, new = (replace(say(manager, text, 0), session="monday") for text in ("Two bikes.", "Four bikes."))
    hits = [
        Hit(memory=old, score=0.9),
        Hit(memory=replace(new, valid_from=new.valid_from + timedelta(hours=1)), score=0.8),
    ]
    assert put_latest_first("How many bikes do I own?", hits) == hits


def test_scores_never_rise_from_one_hit_to_the_next(manager: MemoryManager) -> None:
    told = [say(manager, f"{count} bikes.", days) for days, count in enumerate(("Two", "Three", "Four"))]
    hits = [Hit(memory=memory, score=score) for memory, score in zip(told, (0.9, 0.8, 0.6), strict=True)]
    ordered = put_latest_first("How many bikes do I own now?", hits)
    assert [hit.id for hit in ordered] == [memory.id for memory in reversed(told)]
    assert [hit.score for hit in ordered] == [0.9, 0.9, 0.9]


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("How many films did I watch in the last 3 months?", "I watched five films in the last 3 months."),
        ("How many films did I watch on 4 March?", "I watched four films in the last 3 months."),
    ],
)
def test_period_that_reaches_the_present_is_asked_about_as_of_now(
    manager: MemoryManager, question: str, first: str
) -> None:
    say(manager, "I watched four films in the last 3 months.", 0)
    say(manager, "I watched five films in the last 3 months.", 20)
    hits = manager.recall(question, user="ana", now=SAID + timedelta(days=40))
    assert hits[0].content == first
