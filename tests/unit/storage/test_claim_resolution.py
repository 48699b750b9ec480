"""Claims after memories are removed or edited: a claim that only they had ended holds again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, given, settings

from memoranda import Memory, MemoryManager, Message, UpkeepSettings
from memoranda.storage.changes import Supersede
from memoranda.testing.differential import StoreOperations
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Scope
from tests.driver import sqlite3
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
    with open_manager(path, clock) as manager:
        yield manager


def open_manager(path: Path, clock: FakeClock) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(64), clock=clock)


_numbers = count()


def remember(manager: MemoryManager, text: str, days: float, *, role: str = "user", user: str = "ana") -> int:
    """Remember a message in a new session, so that it is no duplicate; return the id of its memory."""
    message = Message(role, text, name="Ana", timestamp=SAID + timedelta(days=days))
    (outcome,) = manager.remember(message, user=user, session=f"s{next(_numbers)}")
    assert outcome.memory is not None
    return outcome.memory.id


def get(manager: MemoryManager, memory_id: int) -> Memory:
    return manager.get(memory_id, user="ana")


def end_of(manager: MemoryManager, memory_id: int) -> tuple[datetime | None, int | None]:
    memory = get(manager, memory_id)
    return memory.valid_to, memory.superseded_by


def superseded_ids(manager: MemoryManager, memory_id: int) -> list[int]:
    found = manager.get_related_memories(memory_id, "supersedes", user="ana")
    return sorted(link.id for link in found)


def followed_ids(manager: MemoryManager, memory_id: int) -> list[int]:
    return sorted(link.id for link in manager.get_related_memories(memory_id, "follows", user="ana"))


def later_ids(manager: MemoryManager, memory_id: int) -> list[int]:
    """Return what the hit for a memory says was said later."""
    hits = manager.recall(get(manager, memory_id).content, user="ana", limit=20)
    (hit,) = [hit for hit in hits if hit.id == memory_id]
    return [later.id for later in hit.later]


def homes(manager: MemoryManager) -> list[str]:
    found = (hit.content for hit in manager.recall("Where do I live?", user="ana"))
    return sorted(text for text in found if "live in" in text)


OPEN = (None, None)
Removal = Callable[[MemoryManager, int], object]
REMOVALS: dict[str, Removal] = {
    "delete": lambda manager, memory_id: manager.delete(memory_id, user="ana"),
    "forget": lambda manager, memory_id: manager.forget(memory_id, user="ana"),
    "update": lambda manager, memory_id: manager.update(memory_id, "Our cat sleeps all day.", user="ana"),
}


@pytest.mark.parametrize("remove", REMOVALS.values(), ids=REMOVALS.keys())
class TestRemovingSupersedingMemory:
    def test_restores_older_claim(self, manager: MemoryManager, remove: Removal) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I now live in Paris.", 30)
        assert homes(manager) == ["I now live in Paris."]
        remove(manager, paris)
        assert end_of(manager, berlin) == OPEN
        assert get(manager, berlin).notes["claims"][0]["valid_to"] is None
        assert "I live in Berlin." in homes(manager)
        assert superseded_ids(manager, berlin) == []

    def test_leaves_claim_ended_when_a_third_memory_ends_it(self, manager: MemoryManager, remove: Removal) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I now live in Paris.", 30)
        rome = remember(manager, "I now live in Rome.", 60)
        remove(manager, paris)
        assert end_of(manager, berlin) == (MAY, rome)
        assert superseded_ids(manager, rome) == [berlin]
        remove(manager, rome)
        assert end_of(manager, berlin) == OPEN

    def test_restores_last_claim_of_a_chain(self, manager: MemoryManager, remove: Removal) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I now live in Paris.", 30)
        remove(manager, remember(manager, "I now live in Rome.", 60))
        assert end_of(manager, berlin) == (SAID + timedelta(days=30), paris)
        assert end_of(manager, paris) == OPEN

    def test_restores_claim_that_was_past_when_stored(self, manager: MemoryManager, remove: Removal) -> None:
        paris = remember(manager, "I now live in Paris.", 30)
        berlin = remember(manager, "I live in Berlin.", 0)
        assert end_of(manager, berlin) == (SAID + timedelta(days=30), paris)
        remove(manager, paris)
        assert end_of(manager, berlin) == OPEN

    def test_restores_claim_of_memory_with_other_content(self, manager: MemoryManager, remove: Removal) -> None:
        berlin = remember(manager, "I live in Berlin. Our cat Tom fell into the Spree on Sunday.", 0)
        paris = remember(manager, "I now live in Paris.", 30)
        assert "no longer true" in manager.context("the cat and the Spree", user="ana")
        remove(manager, paris)
        assert end_of(manager, berlin) == OPEN
        assert "no longer true" not in manager.context("Tom and the Spree", user="ana")

    def test_restores_denied_claim(self, manager: MemoryManager, remove: Removal) -> None:
        acme = remember(manager, "I work at Acme.", 0)
        remove(manager, remember(manager, "I no longer work at Acme.", 30))
        assert end_of(manager, acme) == OPEN

    def test_lets_source_of_lower_trust_supersede(self, manager: MemoryManager, remove: Removal) -> None:
        guess = remember(manager, "I live in Berlin.", 0, role="assistant")
        users = remember(manager, "I live in Paris.", 10)
        other = remember(manager, "I now live in Rome.", 20, role="assistant")
        assert end_of(manager, other) == OPEN
        remove(manager, users)
        assert end_of(manager, guess) == (SAID + timedelta(days=20), other)
        assert [link.id for link in manager.get_related_memories(other, "contradicts", user="ana")] == []

    def test_is_seen_by_another_manager_on_the_file(
        self, manager: MemoryManager, remove: Removal, path: Path, clock: FakeClock
    ) -> None:
        remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I now live in Paris.", 30)
        with open_manager(path, clock) as other:
            assert homes(other) == ["I now live in Paris."]
            remove(manager, paris)
            assert "I live in Berlin." in homes(other)


class TestFollowing:
    def test_plain_statement_with_another_value_hides_nothing(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I live in Paris.", 30)
        assert end_of(manager, berlin) == OPEN
        hits = manager.recall("Where do I live?", user="ana")
        assert [(hit.id, [later.id for later in hit.later]) for hit in hits] == [(paris, []), (berlin, [paris])]
        assert followed_ids(manager, paris) == [berlin]

    @pytest.mark.parametrize("remove", REMOVALS.values(), ids=REMOVALS.keys())
    def test_removing_newer_statement_leaves_nothing_later(self, manager: MemoryManager, remove: Removal) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        remove(manager, remember(manager, "I live in Paris.", 30))
        assert later_ids(manager, berlin) == []

    def test_statement_that_arrives_late_takes_its_place(self, manager: MemoryManager) -> None:
        rome = remember(manager, "I live in Rome.", 60)
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I live in Paris.", 30)
        assert [later_ids(manager, each) for each in (berlin, paris, rome)] == [[paris, rome], [rome], []]

    def test_change_that_arrives_late_ends_only_what_was_said_before_it(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        rome = remember(manager, "I live in Rome.", 60)
        paris = remember(manager, "I moved to Paris.", 30)
        assert end_of(manager, berlin) == (SAID + timedelta(days=30), paris)
        assert [end_of(manager, each) for each in (paris, rome)] == [OPEN, OPEN]
        assert later_ids(manager, paris) == [rome]

    def test_lower_trust_neither_ends_nor_follows(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        guess = remember(manager, "I now live in Paris.", 30, role="assistant")
        assert end_of(manager, berlin) == OPEN
        assert later_ids(manager, berlin) == []
        assert [link.id for link in manager.get_related_memories(guess, "contradicts", user="ana")] == [berlin]

    def test_partly_ended_memory_refers_to_what_ended_it(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin. Our cat Tom fell into the Spree on Sunday.", 0)
        paris = remember(manager, "I moved to Paris.", 30)
        assert later_ids(manager, berlin) == [paris]

    def test_change_of_a_value_it_names_survives_removal_of_others(self, manager: MemoryManager) -> None:
        spotify = remember(manager, "I use Spotify.", 0)
        deezer = remember(manager, "I use Deezer.", 1)
        switch = remember(manager, "I switched from Spotify to Tidal.", 30)
        assert end_of(manager, spotify)[1] == switch
        manager.delete(deezer, user="ana")
        assert end_of(manager, spotify)[1] == switch


class TestUpkeep:
    def test_cleanup_restores_superseded_claim(self, manager: MemoryManager, clock: FakeClock) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        manager.remember("I now live in Paris.", user="ana", importance=0.1)
        assert end_of(manager, berlin) != OPEN
        clock.advance(days=3)
        assert manager.cleanup_old_memories(max_age_days=2, min_importance=0.2, user="ana").removed == 1
        assert end_of(manager, berlin) == OPEN

    def test_archived_memory_supersedes_until_it_is_deleted(self, manager: MemoryManager, clock: FakeClock) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = manager.remember("I now live in Paris.", user="ana", importance=0.1)[0].memory
        assert paris is not None
        manager.archive(paris.id, user="ana")
        assert end_of(manager, berlin)[1] == paris.id
        clock.advance(days=31)
        settings = UpkeepSettings(small_talk_only=False)
        report = manager.upkeep(policies=["delete"], settings=settings, delete=True, user="ana")
        assert [each.id for each in report.decisions] == [paris.id]
        assert end_of(manager, berlin) == OPEN

    def test_deleting_merged_memory_restores_claim_it_had_ended(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        twice = ["I now live in Paris!", "I now live in Paris."]
        first, second = manager.remember(twice, user="ana", at=MAY, keep_all=True)
        assert first.memory is not None
        assert second.memory is not None
        merged = manager.upkeep(policies=["merge"], user="ana").decisions
        assert [(each.id, each.into) for each in merged] == [(second.memory.id, first.memory.id)]
        manager.delete(first.memory.id, user="ana")
        assert end_of(manager, berlin) == OPEN


class TestUnaffectedClaims:
    def test_end_set_by_a_caller_is_kept(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        other = remember(manager, "Our cat sleeps all day.", 0)
        store = manager._components.open().store
        StoreOperations(store).apply([Supersede(Scope("default", user="ana"), (berlin,), other, MAY)])
        paris = remember(manager, "I now live in Paris.", 60)
        assert end_of(manager, berlin) == (MAY, other)
        manager.delete(paris, user="ana")
        assert end_of(manager, berlin) == (MAY, other)

    def test_end_stated_in_the_text_is_kept(self, manager: MemoryManager) -> None:
        paris = remember(manager, "I now live in Paris.", 30)
        until = remember(manager, "I used to live in Berlin.", 40)
        before = get(manager, until)
        manager.delete(paris, user="ana")
        assert get(manager, until) == before

    def test_claims_of_other_users_are_kept(self, manager: MemoryManager) -> None:
        bob = remember(manager, "I live in Berlin.", 0, user="bob")
        newer = remember(manager, "I now live in Rome.", 5, user="bob")
        manager.delete(remember(manager, "I now live in Paris.", 30), user="ana")
        assert manager.get(bob, user="bob").superseded_by == newer

    def test_update_without_new_text_keeps_claims(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I now live in Paris.", 60)
        manager.update(berlin, metadata={"seen": True}, user="ana")
        manager.update(paris, metadata={"seen": True}, user="ana")
        assert end_of(manager, berlin) == (MAY, paris)
        assert get(manager, berlin).notes["claims"][0]["ended_by"] == paris


class TestUpdate:
    def test_new_text_ends_claim_it_contradicts(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        cat = remember(manager, "Our cat sleeps all day.", 60)
        manager.update(cat, "I now live in Paris.", user="ana")
        assert end_of(manager, berlin) == (MAY, cat)

    def test_new_text_of_superseded_memory_is_resolved_again(self, manager: MemoryManager) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I now live in Paris.", 60)
        assert manager.update(berlin, "I live in Bern.", user="ana").superseded_by == paris
        assert superseded_ids(manager, paris) == [berlin]
        assert manager.update(berlin, "Our cat sleeps all day.", user="ana").superseded_by is None
        assert superseded_ids(manager, paris) == []


def test_bare_correction_takes_the_slot_of_what_it_corrects(manager: MemoryManager) -> None:
    texts = ("I was born in 1986.", "Correction: 1985")
    said = [Message("user", text, timestamp=SAID + timedelta(days=n)) for n, text in enumerate(texts)]
    born, corrected = (manager.remember(message, user="ana", session="one")[0].memory for message in said)
    assert born is not None
    assert corrected is not None
    assert end_of(manager, born.id)[1] == corrected.id
    assert [claim["attribute"] for claim in get(manager, corrected.id).notes["claims"]] == ["birth year"]


class TestErasure:
    def test_forgotten_text_is_not_left_in_restored_memory(
        self, manager: MemoryManager, path: Path, clock: FakeClock
    ) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        paris = remember(manager, "I now live in Zanzibarville.", 30)
        assert manager.forget(paris, user="ana").complete
        assert end_of(manager, berlin) == OPEN
        manager.close()
        assert b"anzibarv" not in b"".join(file.read_bytes() for file in path.parent.iterdir())

    def test_change_log_lists_restored_memory(self, manager: MemoryManager, path: Path) -> None:
        berlin = remember(manager, "I live in Berlin.", 0)
        manager.delete(remember(manager, "I now live in Paris.", 30), user="ana")
        with sqlite3.connect(path) as connection:
            [last] = connection.execute("SELECT op, memory_id FROM changes ORDER BY seq DESC LIMIT 1").fetchall()
        assert last == ("reopen", berlin)


class TestImport:
    @pytest.fixture
    def file(self, manager: MemoryManager, tmp_path: Path) -> Path:
        remember(manager, "Our cat sleeps all day.", 0)
        remember(manager, "I live in Berlin.", 0)
        remember(manager, "I now live in Paris.", 60)
        manager.export_jsonl(tmp_path / "out.jsonl")
        return tmp_path / "out.jsonl"

    @pytest.fixture
    def other(self, tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
        with open_manager(tmp_path / "other.db", clock) as other:
            remember(other, "My bike is red.", 0)
            yield other

    def test_imported_claims_know_which_memory_ended_them(self, other: MemoryManager, file: Path) -> None:
        for _ in range(2):
            other.import_jsonl(file)
        berlin, paris = [memory.id for memory in other.list_memories(user="ana")][2:]
        assert get(other, berlin).notes["claims"][0]["ended_by"] == paris
        other.delete(paris, user="ana")
        assert end_of(other, berlin) == OPEN

    def test_deleted_memory_imported_again_ends_claim_again(self, other: MemoryManager, file: Path) -> None:
        other.import_jsonl(file)
        berlin, paris = [memory.id for memory in other.list_memories(user="ana")][2:]
        other.delete(paris, user="ana")
        other.import_jsonl(file)
        again = other.list_memories(user="ana")[-1].id
        assert again > paris
        assert end_of(other, berlin) == (MAY, again)

    def test_imported_claims_are_resolved_with_stored_ones(self, other: MemoryManager, file: Path) -> None:
        rome = remember(other, "I now live in Rome.", 90)
        bern = remember(other, "I live in Bern.", 30)
        other.import_jsonl(file)
        assert homes(other) == ["I now live in Rome."]
        paris = other.list_memories(user="ana")[-1].id
        ended = {memory.content: memory.superseded_by for memory in other.list_memories(user="ana") if memory.valid_to}
        assert ended == {"I live in Bern.": paris, "I live in Berlin.": paris, "I now live in Paris.": rome}
        assert end_of(other, bern) == (MAY, paris)

    def test_deleting_imported_merged_memory_restores_claim(
        self, other: MemoryManager, manager: MemoryManager, file: Path
    ) -> None:
        manager.remember(["I now live in Oslo!", "I now live in Oslo."], user="ana", at=MAY, keep_all=True)
        manager.upkeep(policies=["merge"], user="ana")
        manager.export_jsonl(file)
        other.import_jsonl(file)
        *_, paris, oslo, _ = [memory.id for memory in other.list_memories(user="ana")]
        other.delete(oslo, user="ana")
        assert end_of(other, paris) == OPEN


PLACES = ("Berlin", "Paris", "Rome")
TEXTS = (
    *(f"I live in {place}." for place in PLACES),
    *(f"I now live in {place}." for place in PLACES),
    "I moved to Rome.",
    "I moved from Berlin to Paris.",
    "I no longer live in Berlin.",
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
additions = st.tuples(
    st.just("remember"),
    texts,
    st.integers(0, 6),
    st.just("user"),  # an assistant's repetition is an echo
)
changes = st.one_of(
    st.tuples(st.sampled_from(["delete", "forget", "archive"]), choices),
    st.tuples(st.just("update"), choices, texts),
)
histories = st.tuples(
    st.lists(additions, min_size=4, max_size=9), st.lists(st.one_of(changes, additions), min_size=1, max_size=9)
).map(lambda parts: [*parts[0], *parts[1]])


@dataclass
class Statement:
    text: str
    days: int
    role: str


@dataclass
class History:
    """A user of a manager, and the statements that its memories should hold, by memory id."""

    manager: MemoryManager
    user: str
    statements: dict[int, Statement] = field(default_factory=dict)

    def remember(self, text: str, days: int, role: str) -> None:
        self.statements[remember(self.manager, text, days, role=role, user=self.user)] = Statement(text, days, role)

    def run(self, step: tuple[Any, ...]) -> None:
        method, *arguments = step
        if method == "remember":
            self.remember(*arguments)
        elif self.statements:
            memory_id = sorted(self.statements)[arguments[0] % len(self.statements)]
            if method == "update":
                self.statements[memory_id].text = arguments[1]
                self.manager.update(memory_id, arguments[1], user=self.user)
            else:
                getattr(self.manager, method)(memory_id, user=self.user)
                if method != "archive":
                    del self.statements[memory_id]

    def facts(self) -> list[tuple[Any, ...]]:
        """Return what is stored about each memory, with positions in this list for ids."""
        order = {memory_id: position for position, memory_id in enumerate(sorted(self.statements))}
        return [self._fact(self.manager.get(memory_id, user=self.user), order) for memory_id in order]

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
@given(histories)
def test_changed_history_equals_history_of_remaining_statements(
    shared: MemoryManager, steps: list[tuple[Any, ...]]
) -> None:
    changed = History(shared, f"changed{next(_numbers)}")
    for step in steps:
        changed.run(step)
    remaining = History(shared, f"remaining{next(_numbers)}")
    for _, statement in sorted(changed.statements.items()):
        remaining.remember(statement.text, statement.days, statement.role)
    assert changed.facts() == remaining.facts()


def test_slot_with_many_values_refers_to_the_latest_ones_only(manager: MemoryManager) -> None:
    ids = [remember(manager, f"I live in Town{n}.", n) for n in range(24)]
    assert followed_ids(manager, ids[-1]) == ids[-21:-1]
    remember(manager, "I live in Oldtown.", 0.5)  # decides the whole slot again, with the same result
    assert followed_ids(manager, ids[-1]) == ids[-21:-1]


def test_sentence_like_several_older_ones_makes_one_claim_from_them(manager: MemoryManager) -> None:
    ids = [remember(manager, f"I like band {n}.", n) for n in range(5)]
    assert len(get(manager, ids[-1]).notes["claims"]) == 2  # what it says by itself is one more
