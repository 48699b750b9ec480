from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from memoranda import ANY, MemoryManager, MemoryType, Message
from memoranda.maintenance.policies import UpkeepSettings
from memoranda.recall import arms
from memoranda.storage.base import Transaction
from memoranda.storage.changes import Supersede
from memoranda.storage.rows import to_micros
from memoranda.storage.schema import memories
from memoranda.storage.write import MemoryWrite
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Scope
from tests.fake_clock import FakeClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


def add(memory: MemoryManager, text: str, **options: object) -> int:
    return memory.add_memory(text, user="nora", **options).id  # type: ignore[arg-type]


def supersede(memory: MemoryManager, old: int, new: int, at: datetime) -> None:
    change = Supersede(Scope(user="nora"), (old,), new, at)
    memory._components.open().store.write(MemoryWrite([change]))


def test_found_memory_has_its_rank_and_score(memory: MemoryManager) -> None:
    kettle = add(memory, "The kettle is green.")
    found = memory.recall("kettle", user="nora")
    answer = memory.why_not("kettle", kettle, user="nora")
    assert (answer.step, answer.rank, answer.score) == ("found", 1, found[0].score)
    assert answer.why == found[0].why


def test_memory_below_the_limit_has_its_rank_and_score(memory: MemoryManager) -> None:
    for n in range(5):
        add(memory, f"The kettle number {n} is green.")
    found = memory.recall("green kettle", user="nora", limit=5)
    answer = memory.why_not("green kettle", found[3].id, user="nora", limit=2)
    assert (answer.step, answer.rank, answer.score) == ("limit", 4, found[3].score)
    assert answer.reason == "3 memories fit better, and the limit is 2"


@pytest.mark.parametrize(
    ("asked", "words"),
    [({"agent": "b"}, "its agent is 'a', and the question asks for 'b'"), ({"session": "s"}, "its session is None")],
)
def test_memory_of_another_agent_or_session_is_named_so(
    memory: MemoryManager, asked: dict[str, str], words: str
) -> None:
    kettle = add(memory, "The kettle is green.", agent="a")
    answer = memory.why_not("kettle", kettle, user="nora", **asked)  # type: ignore[arg-type]
    assert answer.step == "scope"
    assert words in answer.reason


def test_nothing_is_said_about_memories_of_other_users(memory: MemoryManager) -> None:
    kettle = add(memory, "The kettle is green.")
    for scope in ({"user": "ben"}, {}):
        other, missing = memory.why_not("kettle", kettle, **scope), memory.why_not("kettle", 999, **scope)
        assert other.step == missing.step == "scope"
        assert other.reason.replace(str(kettle), "999") == missing.reason
        assert other.superseded_by is None
    assert memory.why_not("kettle", kettle, user=ANY).step == "found"


def test_filters_that_exclude_a_memory_are_named_and_others_are_not(memory: MemoryManager) -> None:
    kettle = add(memory, "The kettle is green.", memory_type="semantic", metadata={"room": "hall"}, importance=0.9)
    where = {"metadata": {"room": "hall", "floor": 2}, "min_importance": 0.5}
    answer = memory.why_not("kettle", kettle, user="nora", types=["episodic"], where=where)
    assert answer.step == "filter"
    assert "types" in answer.reason
    assert "its type is semantic" in answer.reason
    assert "metadata 'floor'" in answer.reason
    assert "room" not in answer.reason
    assert "importance" not in answer.reason


def test_superseded_memory_names_what_superseded_it_and_when(memory: MemoryManager, clock: FakeClock) -> None:
    old = add(memory, "The kettle is green.")
    clock.advance(days=3)
    new = add(memory, "The kettle is red.")
    supersede(memory, old, new, clock())
    clock.advance(days=1)
    answer = memory.why_not("kettle", old, user="nora")
    assert answer.step == "superseded"
    assert answer.superseded_by == memory.get(new, user="nora")
    assert answer.since == START + 3 * DAY
    assert f"memory {new}, 'The kettle is red.'" in answer.reason
    assert "2026-03-04" in answer.reason
    assert memory.why_not("kettle", old, user="nora", as_of=START + DAY).step == "found"


def test_memory_that_was_not_yet_true_at_that_time_says_so(memory: MemoryManager) -> None:
    kettle = add(memory, "The kettle is green.")
    answer = memory.why_not("kettle", kettle, user="nora", as_of=START - DAY)
    assert (answer.step, answer.since) == ("not yet true", START)


def test_memory_that_ended_without_a_successor_says_when(memory: MemoryManager, clock: FakeClock) -> None:
    kettle = add(memory, "The kettle is green.")

    def end(tx: Transaction) -> None:
        tx.execute(update(memories).where(memories.c.id == kettle).values(valid_to=to_micros(START + DAY)))

    memory._components.open().store.write(end)
    clock.advance(days=2)
    assert memory.why_not("kettle", kettle, user="nora").step == "ended"


def test_expired_memory_says_when(memory: MemoryManager) -> None:
    kettle = memory.remember("The kettle is green.", user="nora", type="short_term")[0].memory
    assert kettle is not None
    answer = memory.why_not("kettle", kettle.id, user="nora", now=START + 30 * DAY)
    assert (answer.step, answer.since) == ("expired", kettle.expires_at)


def test_archived_memory_says_who_archived_it_and_why(memory: MemoryManager, clock: FakeClock) -> None:
    by_hand = add(memory, "The kettle is green.", importance=0.9)
    faded = add(memory, "The pan was warm.", importance=0.02)
    memory.archive(by_hand, user="nora")
    clock.advance(days=400)
    memory.upkeep(policies=["fade"], settings=UpkeepSettings(fade_below=0.5, important=0.8))
    assert memory.get(faded, user="nora").archived_at is not None
    hand, upkeep = memory.why_not("kettle", by_hand, user="nora"), memory.why_not("pan", faded, user="nora")
    assert (hand.step, hand.since) == ("archived", START)
    assert "archive()" in hand.reason
    assert (upkeep.step, upkeep.since) == ("archived", clock())
    assert "by upkeep (fade: small talk: importance 0.02 has faded" in upkeep.reason


def test_reason_of_an_archive_does_not_outlive_it(memory: MemoryManager, clock: FakeClock) -> None:
    faded = add(memory, "The pan was warm.", importance=0.02)
    clock.advance(days=400)
    memory.upkeep(policies=["fade"], settings=UpkeepSettings(fade_below=0.5))
    memory.restore(faded, user="nora")
    assert memory.why_not("pan", faded, user="nora").step == "found"
    memory.archive(faded, user="nora")
    assert "archive()" in memory.why_not("pan", faded, user="nora").reason


def test_merged_memory_names_the_one_that_says_the_same(memory: MemoryManager) -> None:
    one, other = add(memory, "The kettle is green."), add(memory, "The kettle is green!")
    change = Supersede(Scope(user="nora"), (one,), other, START, merged=True)
    memory._components.open().store.write(MemoryWrite([change]))
    answer = memory.why_not("kettle", one, user="nora")
    assert answer.step == "merged"
    assert answer.superseded_by == memory.get(other, user="nora")


def test_quarantined_memory_says_so(memory: MemoryManager) -> None:
    kettle = add(memory, "The kettle is green.")

    def quarantine(tx: Transaction) -> None:
        tx.execute(update(memories).where(memories.c.id == kettle).values(quarantined_at=to_micros(START)))

    memory._components.open().store.write(quarantine)
    memory._components.open().partitions.clear()
    answer = memory.why_not("kettle", kettle, user="nora")
    assert (answer.step, answer.since) == ("quarantined", START)


def test_memory_that_no_arm_chose_in_a_large_scope_says_so(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [add(memory, f"Kettle {n} is green.", session=f"s{n}") for n in range(40)]
    monkeypatch.setattr(arms, "EXACT_UP_TO", 10)
    monkeypatch.setattr(arms, "_CANDIDATES_PER_ARM", 3)
    steps = {memory.why_not("Kettle 7", each, user="nora", limit=3).step for each in ids}
    assert "candidates" in steps
    assert "found" in steps


def test_every_step_agrees_with_recall(memory: MemoryManager, clock: FakeClock) -> None:
    ids = [add(memory, f"Kettle {n} is green.", memory_type="semantic" if n % 2 else "episodic") for n in range(12)]
    supersede(memory, ids[0], ids[1], START)
    memory.archive(ids[3], user="nora")
    clock.advance(days=1)
    found = {hit.id for hit in memory.recall("kettle", user="nora", types=[MemoryType.SEMANTIC], limit=3)}
    answers = [memory.why_not("kettle", each, user="nora", types=[MemoryType.SEMANTIC], limit=3) for each in ids]
    assert {answer.id for answer in answers if answer.step == "found"} == found
    assert {answer.step for answer in answers} == {"found", "limit", "filter", "superseded", "archived"}


def test_floor_and_time_of_knowledge_are_explained(memory: MemoryManager) -> None:
    kettle = add(memory, "The kettle is green.")
    early = memory.why_not("kettle", kettle, user="nora", known_at=START - DAY)
    assert (early.step, early.since) == ("not yet known", START)
    low = memory.why_not("kettle", kettle, user="nora", min_score=1.0)
    assert (low.step, low.rank) == ("floor", 1)


def test_memory_that_was_replaced_and_archived_says_both(memory: MemoryManager) -> None:
    said = [
        memory.remember(Message("user", text), user="nora")[0].memory
        for text in ("I live in Rome.", "I moved to Oslo.")
    ]
    assert said[0] is not None
    memory.archive(said[0].id, user="nora")
    reason = memory.why_not("Where do I live?", said[0].id, user="nora").reason
    assert "archived" in reason
    assert "I moved to Oslo." in reason
    assert "restore()" not in reason
