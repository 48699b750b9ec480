"""What holds after memories were taken away: what only they had ended is true again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from memoranda import Memory, MemoryManager, Message
from memoranda.storage.changes import Supersede
from memoranda.testing.differential import StoreOperations
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Scope
from tests.fake_clock import FakeClock

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)
MAY = SAID + timedelta(days=60)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(SAID + timedelta(days=400))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def manager(path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with opened(path, clock) as manager:
        yield manager


def opened(path: Path, clock: FakeClock) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(64), clock=clock)


_numbers = count()


def tell(manager: MemoryManager, text: str, days: float, *, role: str = "user", user: str = "ana") -> int:
    """Each turn in a session of its own, where it is no repetition of another one."""
    message = Message(role, text, name="Ana", timestamp=SAID + timedelta(days=days))
    (end,) = manager.remember(message, user=user, session=f"s{next(_numbers)}")
    assert end.memory is not None
    return end.memory.id


def get(manager: MemoryManager, number: int) -> Memory:
    return manager.get(number, user="ana")


def ended(manager: MemoryManager, number: int) -> tuple[datetime | None, int | None]:
    memory = get(manager, number)
    return memory.valid_to, memory.superseded_by


def supersedes(manager: MemoryManager, number: int) -> list[int]:
    found = manager.get_related_memories(number, "supersedes", user="ana")
    return sorted(link.id for link in found)


def homes(manager: MemoryManager) -> list[str]:
    found = (hit.content for hit in manager.recall("Where do I live?", user="ana"))
    return sorted(text for text in found if text.startswith("I live"))


OPEN = (None, None)
Away = Callable[[MemoryManager, int], object]
WAYS: dict[str, Away] = {
    "delete": lambda manager, number: manager.delete(number, user="ana"),
    "forget": lambda manager, number: manager.forget(number, user="ana"),
    "other words": lambda manager, number: manager.update(number, "Our cat sleeps all day.", user="ana"),
}


@pytest.mark.parametrize("away", WAYS.values(), ids=WAYS.keys())
class TestWhatAMemoryEndedHoldsAgainWithoutIt:
    def test_an_older_one(self, manager: MemoryManager, away: Away) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        paris = tell(manager, "I live in Paris.", 30)
        assert homes(manager) == ["I live in Paris."]
        away(manager, paris)
        assert ended(manager, berlin) == OPEN
        assert get(manager, berlin).notes["claims"][0]["valid_to"] is None
        assert "I live in Berlin." in homes(manager)
        assert supersedes(manager, berlin) == []

    def test_unless_a_third_one_ends_it(self, manager: MemoryManager, away: Away) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        paris = tell(manager, "I live in Paris.", 30)
        rome = tell(manager, "I live in Rome.", 60)
        away(manager, paris)
        assert ended(manager, berlin) == (MAY, rome)
        assert supersedes(manager, rome) == [berlin]
        away(manager, rome)
        assert ended(manager, berlin) == OPEN

    def test_the_last_of_a_chain(self, manager: MemoryManager, away: Away) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        paris = tell(manager, "I live in Paris.", 30)
        away(manager, tell(manager, "I live in Rome.", 60))
        assert ended(manager, berlin) == (SAID + timedelta(days=30), paris)
        assert ended(manager, paris) == OPEN

    def test_what_was_told_late_and_was_past_at_once(self, manager: MemoryManager, away: Away) -> None:
        paris = tell(manager, "I live in Paris.", 30)
        berlin = tell(manager, "I live in Berlin.", 0)
        assert ended(manager, berlin) == (SAID + timedelta(days=30), paris)
        away(manager, paris)
        assert ended(manager, berlin) == OPEN

    def test_a_memory_that_tells_more(self, manager: MemoryManager, away: Away) -> None:
        berlin = tell(manager, "I live in Berlin. Our cat Tom fell into the Spree on Sunday.", 0)
        paris = tell(manager, "I live in Paris.", 30)
        assert "no longer true" in manager.context("the cat and the Spree", user="ana")
        away(manager, paris)
        assert ended(manager, berlin) == OPEN
        assert "no longer true" not in manager.context("Tom and the Spree", user="ana")

    def test_what_was_denied(self, manager: MemoryManager, away: Away) -> None:
        acme = tell(manager, "I work at Acme.", 0)
        away(manager, tell(manager, "I no longer work at Acme.", 30))
        assert ended(manager, acme) == OPEN

    def test_a_source_that_was_not_believed_is_believed(self, manager: MemoryManager, away: Away) -> None:
        guess = tell(manager, "I live in Berlin.", 0, role="assistant")
        users = tell(manager, "I live in Paris.", 10)
        other = tell(manager, "I live in Rome.", 20, role="assistant")
        assert ended(manager, other) == OPEN
        away(manager, users)
        assert ended(manager, guess) == (SAID + timedelta(days=20), other)
        assert [link.id for link in manager.get_related_memories(other, "contradicts", user="ana")] == []

    def test_another_handle_on_the_file_sees_it(
        self, manager: MemoryManager, away: Away, path: Path, clock: FakeClock
    ) -> None:
        tell(manager, "I live in Berlin.", 0)
        paris = tell(manager, "I live in Paris.", 30)
        with opened(path, clock) as other:
            assert homes(other) == ["I live in Paris."]
            away(manager, paris)
            assert "I live in Berlin." in homes(other)


class TestUpkeep:
    def test_a_clean_up_reopens(self, manager: MemoryManager, clock: FakeClock) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        manager.remember("I live in Paris.", user="ana", importance=0.1)
        assert ended(manager, berlin) != OPEN
        clock.advance(days=3)
        assert manager.cleanup_old_memories(max_age_days=2, min_importance=0.2, user="ana").removed == 1
        assert ended(manager, berlin) == OPEN

    def test_what_is_put_away_still_counts_until_it_is_deleted(self, manager: MemoryManager, clock: FakeClock) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        paris = manager.remember("I live in Paris.", user="ana", importance=0.1)[0].memory
        assert paris is not None
        manager.archive(paris.id, user="ana")
        assert ended(manager, berlin)[1] == paris.id
        clock.advance(days=31)
        assert [each.id for each in manager.upkeep(policies=["delete"], user="ana").decisions] == [paris.id]
        assert ended(manager, berlin) == OPEN

    def test_a_merged_memory_is_spoken_for_by_the_one_that_repeats_it(self, manager: MemoryManager) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        first, second = manager.remember(["I live in Paris!", "I live in Paris."], user="ana", at=MAY)
        assert first.memory is not None
        assert second.memory is not None
        merged = manager.upkeep(policies=["merge"], user="ana").decisions
        assert [(each.id, each.into) for each in merged] == [(second.memory.id, first.memory.id)]
        manager.delete(first.memory.id, user="ana")
        assert ended(manager, berlin) == OPEN


class TestWhatIsNotTouched:
    def test_an_end_that_somebody_set(self, manager: MemoryManager) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        other = tell(manager, "Our cat sleeps all day.", 0)
        store = manager._components.open().store
        StoreOperations(store).apply([Supersede(Scope("default", user="ana"), (berlin,), other, MAY)])
        paris = tell(manager, "I live in Paris.", 60)
        assert ended(manager, berlin) == (MAY, other)
        manager.delete(paris, user="ana")
        assert ended(manager, berlin) == (MAY, other)

    def test_an_end_that_the_words_name(self, manager: MemoryManager) -> None:
        paris = tell(manager, "I live in Paris.", 30)
        until = tell(manager, "I used to live in Berlin.", 40)
        before = get(manager, until)
        manager.delete(paris, user="ana")
        assert get(manager, until) == before

    def test_other_peoples_facts(self, manager: MemoryManager) -> None:
        bob = tell(manager, "I live in Berlin.", 0, user="bob")
        newer = tell(manager, "I live in Rome.", 5, user="bob")
        manager.delete(tell(manager, "I live in Paris.", 30), user="ana")
        assert manager.get(bob, user="bob").superseded_by == newer

    def test_an_update_that_leaves_the_words(self, manager: MemoryManager) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        paris = tell(manager, "I live in Paris.", 60)
        manager.update(berlin, metadata={"seen": True}, user="ana")
        manager.update(paris, metadata={"seen": True}, user="ana")
        assert ended(manager, berlin) == (MAY, paris)
        assert get(manager, berlin).notes["claims"][0]["ended_by"] == paris


class TestUpdate:
    def test_new_words_end_what_they_contradict(self, manager: MemoryManager) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        cat = tell(manager, "Our cat sleeps all day.", 60)
        manager.update(cat, "I live in Paris.", user="ana")
        assert ended(manager, berlin) == (MAY, cat)

    def test_other_words_for_what_has_ended_have_ended(self, manager: MemoryManager) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        paris = tell(manager, "I live in Paris.", 60)
        assert manager.update(berlin, "I live in Bern.", user="ana").superseded_by == paris
        assert supersedes(manager, paris) == [berlin]
        assert manager.update(berlin, "Our cat sleeps all day.", user="ana").superseded_by is None
        assert supersedes(manager, paris) == []


class TestErasure:
    def test_no_byte_of_the_erased_is_left_in_the_reopened(
        self, manager: MemoryManager, path: Path, clock: FakeClock
    ) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        paris = tell(manager, "I live in Zanzibarville.", 30)
        assert manager.forget(paris, user="ana").complete
        assert ended(manager, berlin) == OPEN
        manager.close()
        assert b"anzibarv" not in b"".join(file.read_bytes() for file in path.parent.iterdir())

    def test_the_change_log_names_the_reopened(self, manager: MemoryManager, path: Path) -> None:
        berlin = tell(manager, "I live in Berlin.", 0)
        manager.delete(tell(manager, "I live in Paris.", 30), user="ana")
        with sqlite3.connect(path) as connection:
            [last] = connection.execute("SELECT op, memory_id FROM changes ORDER BY seq DESC LIMIT 1").fetchall()
        assert last == ("reopen", berlin)


class TestImport:
    @pytest.fixture
    def file(self, manager: MemoryManager, tmp_path: Path) -> Path:
        tell(manager, "Our cat sleeps all day.", 0)
        tell(manager, "I live in Berlin.", 0)
        tell(manager, "I live in Paris.", 60)
        manager.export_jsonl(tmp_path / "out.jsonl")
        return tmp_path / "out.jsonl"

    @pytest.fixture
    def other(self, tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
        with opened(tmp_path / "other.db", clock) as other:
            tell(other, "My bike is red.", 0)
            yield other

    def test_it_knows_who_ended_what(self, other: MemoryManager, file: Path) -> None:
        for _ in range(2):
            other.import_jsonl(file)
        berlin, paris = [memory.id for memory in other.list_memories(user="ana")][2:]
        assert get(other, berlin).notes["claims"][0]["ended_by"] == paris
        other.delete(paris, user="ana")
        assert ended(other, berlin) == OPEN

    def test_what_was_deleted_and_comes_again_ends_it_again(self, other: MemoryManager, file: Path) -> None:
        other.import_jsonl(file)
        berlin, paris = [memory.id for memory in other.list_memories(user="ana")][2:]
        other.delete(paris, user="ana")
        other.import_jsonl(file)
        again = other.list_memories(user="ana")[-1].id
        assert again > paris
        assert ended(other, berlin) == (MAY, again)

    def test_what_holds_is_decided_among_all_that_is_there(self, other: MemoryManager, file: Path) -> None:
        rome = tell(other, "I live in Rome.", 90)
        bern = tell(other, "I live in Bern.", 30)
        other.import_jsonl(file)
        assert homes(other) == ["I live in Rome."]
        assert {memory.superseded_by for memory in other.list_memories(user="ana") if memory.valid_to} == {rome}
        assert ended(other, bern)[1] == rome

    def test_what_was_merged_stays_spoken_for(self, other: MemoryManager, manager: MemoryManager, file: Path) -> None:
        manager.remember(["I live in Oslo!", "I live in Oslo."], user="ana", at=MAY)
        manager.upkeep(policies=["merge"], user="ana")
        manager.export_jsonl(file)
        other.import_jsonl(file)
        *_, paris, oslo, _ = [memory.id for memory in other.list_memories(user="ana")]
        other.delete(oslo, user="ana")
        assert ended(other, paris) == OPEN


PLACES = ("Berlin", "Paris", "Rome")
TEXTS = (
    *(f"I live in {place}." for place in PLACES),
    *(f"I live in {place}. Our cat Tom fell into the river on Sunday." for place in PLACES[:2]),
    "I live in Berlin and I work at Acme.",
    "I used to live in Rome.",
    "I work at Acme.",
    "I work at Initech.",
    "I no longer work at Acme.",
    "I love chess.",
    "I love hiking.",
    "I don't like chess.",
    "Our cat sleeps all day.",
)
texts = st.sampled_from(TEXTS)
choices = st.integers(0, 999)
tells = st.tuples(st.just("tell"), texts, st.integers(0, 6), st.sampled_from(["user", "user", "user", "assistant"]))
takes = st.one_of(
    st.tuples(st.sampled_from(["delete", "forget", "archive"]), choices),
    st.tuples(st.just("update"), choices, texts),
)
stories = st.tuples(
    st.lists(tells, min_size=4, max_size=9), st.lists(st.one_of(takes, tells), min_size=1, max_size=9)
).map(lambda parts: [*parts[0], *parts[1]])


@dataclass
class Told:
    text: str
    days: int
    role: str


@dataclass
class Story:
    """A manager, and what a plain list says should be there."""

    manager: MemoryManager
    user: str
    told: dict[int, Told] = field(default_factory=dict)

    def tell(self, text: str, days: int, role: str) -> None:
        self.told[tell(self.manager, text, days, role=role, user=self.user)] = Told(text, days, role)

    def do(self, step: tuple[Any, ...]) -> None:
        verb, *rest = step
        if verb == "tell":
            self.tell(*rest)
        elif self.told:
            number = sorted(self.told)[rest[0] % len(self.told)]
            if verb == "update":
                self.told[number].text = rest[1]
                self.manager.update(number, rest[1], user=self.user)
            else:
                getattr(self.manager, verb)(number, user=self.user)
                if verb != "archive":
                    del self.told[number]

    def facts(self) -> list[tuple[Any, ...]]:
        """All that is known of each memory, with places in the list for ids."""
        order = {number: place for place, number in enumerate(sorted(self.told))}
        return [self._fact(self.manager.get(number, user=self.user), order) for number in order]

    def _fact(self, memory: Memory, order: dict[int, int]) -> tuple[Any, ...]:
        claims = [
            (claim["attribute"], claim["value"], claim["valid_to"], order.get(claim.get("ended_by")))
            for claim in memory.notes.get("claims", ())
        ]
        linked = self.manager.get_related_memories(memory.id, "supersedes", user=self.user)
        by = None if memory.superseded_by is None else order[memory.superseded_by]
        return memory.content, memory.valid_to, by, claims, sorted(order[link.id] for link in linked)


@pytest.fixture(scope="module")
def shared() -> Iterator[MemoryManager]:
    with MemoryManager("sqlite://", embedder=HashEmbedder(16), clock=FakeClock(MAY)) as manager:
        yield manager


@settings(max_examples=25, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(stories)
def test_what_holds_is_what_would_hold_had_only_the_rest_been_told(
    shared: MemoryManager, story: list[tuple[Any, ...]]
) -> None:
    lived = Story(shared, f"lived{next(_numbers)}")
    for step in story:
        lived.do(step)
    plain = Story(shared, f"plain{next(_numbers)}")
    for _, told in sorted(lived.told.items()):
        plain.tell(told.text, told.days, told.role)
    assert lived.facts() == plain.facts()
