from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import InvalidInput, MemoryManager, Message, NotFound
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

JANUARY = datetime(2026, 1, 10, 12, tzinfo=UTC)
BETWEEN = datetime(2026, 3, 8, 12, tzinfo=UTC)
"""After the move, before it was told."""
MARCH = datetime(2026, 3, 12, 12, tzinfo=UTC)
PAGE = "https://example.org/ana"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(JANUARY)


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        say(manager, "I live in Hamburg.")
        clock.now = MARCH
        say(manager, "I moved to Ghent last week.")
        yield manager


def say(manager: MemoryManager, text: str, user: str = "ana") -> int:
    [outcome] = manager.remember({"role": "user", "name": user.title(), "content": text}, user=user)
    assert outcome.memory is not None
    return outcome.memory.id


def values_of(manager: MemoryManager, **times: datetime) -> list[tuple[str, str]]:
    return [(fact.slot, fact.value) for fact in manager.facts(user="ana", **times)]


class TestFacts:
    def test_fact_says_since_when_who_said_it_and_what_it_replaced(self, manager: MemoryManager) -> None:
        [fact] = manager.facts(user="ana")
        assert (fact.slot, fact.value, fact.speaker, fact.trust) == ("Ana/city", "Ghent", "Ana", "user")
        assert fact.since == datetime(2026, 3, 2, tzinfo=UTC)
        assert [(value.value, value.until) for value in fact.replaced] == [("Hamburg", fact.since)]
        assert fact["slot"] == "Ana/city"

    def test_two_axes_of_time_differ_between_event_and_telling(self, manager: MemoryManager) -> None:
        assert values_of(manager, as_of=BETWEEN) == [("Ana/city", "Ghent")]
        assert values_of(manager, known_at=BETWEEN) == [("Ana/city", "Hamburg")]
        assert values_of(manager, as_of=BETWEEN, known_at=BETWEEN) == [("Ana/city", "Hamburg")]
        assert values_of(manager, as_of=datetime(2026, 2, 1, tzinfo=UTC)) == [("Ana/city", "Hamburg")]
        assert values_of(manager, known_at=datetime(2025, 1, 1, tzinfo=UTC)) == []

    def test_expired_memory_is_no_fact(self, manager: MemoryManager, clock: FakeClock) -> None:
        for text in ("My locker code is zebra nine.", "I live in Bruges now."):
            manager.remember({"role": "user", "name": "Ana", "content": text}, user="ana", ttl=60)
        assert ("Ana/city", "Bruges") in values_of(manager)
        clock.advance(minutes=2)
        assert values_of(manager) == [("Ana/city", "Ghent")]
        assert [value.value for value in manager.history("Ana/city", user="ana").values] == ["Hamburg", "Ghent"]
        with pytest.raises(NotFound):
            manager.history("Ana/locker code", user="ana")
        manager.upkeep(user="ana")  # what it replaced holds again
        assert [hit.content for hit in manager.recall("Where do I live?", user="ana")] == [
            "I moved to Ghent last week."
        ]
        say(manager, "I like plums.")
        assert values_of(manager)[0] == ("Ana/city", "Ghent")

    def test_edited_memory_says_what_it_said_then(self, manager: MemoryManager, clock: FakeClock) -> None:
        memory_id = say(manager, "My favourite colour is blue.")
        silent = say(manager, "My favourite drink is tea.")
        clock.advance(days=1)
        manager.update(memory_id, "My favourite colour is green.", user="ana", importance=0.9)
        manager.update(silent, "Yesterday was a long day.", user="ana")
        clock.advance(days=1)
        manager.update(memory_id, user="ana", source="letter")
        drink, then, now = ("Ana/favourite drink", "tea"), "blue", "green"
        assert values_of(manager) == [("Ana/city", "Ghent"), ("Ana/favourite colour", now)]
        known = values_of(manager, known_at=MARCH)
        assert known == [("Ana/city", "Ghent"), ("Ana/favourite colour", then), drink]
        assert values_of(manager, known_at=clock() - timedelta(hours=1)) == values_of(manager)
        assert values_of(manager, as_of=MARCH) == values_of(manager)

    def test_facts_of_other_users_are_not_seen(self, manager: MemoryManager) -> None:
        assert manager.facts() == manager.facts(user="bo") == manager.conflicts(user="bo") == []
        with pytest.raises(NotFound, match="subject/attribute"):
            manager.history("ana/city", user="bo")

    def test_time_without_zone_is_refused(self, manager: MemoryManager) -> None:
        for name in ("as_of", "known_at"):
            with pytest.raises(InvalidInput, match=name):
                manager.facts(user="ana", **{name: "2026-03-08T12:00:00"})
            with pytest.raises(InvalidInput, match=name):
                manager.list_memories(user="ana", **{name: "soon"})


class TestConflicts:
    def test_less_trusted_source_disputes_and_hides_nothing(self, manager: MemoryManager) -> None:
        manager.remember("Ana lives in Lyon.", user="ana", source=PAGE)
        [conflict] = manager.conflicts(user="ana")
        assert [(value.value, value.trust) for value in conflict.values] == [("Ghent", "user"), ("Lyon", "document")]
        [fact] = manager.facts(user="ana")
        assert (fact.value, [value.value for value in fact.disputed_by]) == ("Ghent", ["Lyon"])

    def test_every_replaced_value_has_an_end(self, manager: MemoryManager) -> None:
        manager.remember(Message("user", "I work at Siemens.", name="Ana"), user="ana", agent="one")
        manager.remember("Ana works at Bayer.", user="ana", agent="two")
        replaced = [value for fact in manager.facts(user="ana") for value in fact.replaced]
        assert all(value.until is not None and value.since <= value.until for value in replaced)

    def test_value_that_was_replaced_is_disputed_no_longer(self, manager: MemoryManager) -> None:
        say_as(manager, "Ana", "My favourite colour is blue.")
        manager.remember("Ana's favourite colour is red.", user="ana", source=PAGE)
        question = "What is Ana's favourite colour?"
        before = {hit.content: hit for hit in manager.recall(question, user="ana")}
        assert before["My favourite colour is blue."].disputed
        say_as(manager, "Ana", "My favourite colour is green.")
        assert not [hit for hit in manager.recall(question, user="ana") if hit.disputed]

    def test_without_contradiction_there_is_none(self, manager: MemoryManager) -> None:
        assert manager.conflicts(user="ana") == []


def test_why_not_agrees_with_recall_where_something_was_said_later(manager: MemoryManager) -> None:
    for text in ("My favourite colour is blue.", "My favourite colour is green.", "I keep bees."):
        say(manager, text)
    question = "What is my favourite colour?"
    for limit in (1, 2, 5):
        ids = [hit.id for hit in manager.recall(question, user="ana", limit=limit)]
        for memory in manager.list_memories(user="ana"):
            answer = manager.why_not(question, memory.id, user="ana", limit=limit)
            assert (answer.step == "found") == (memory.id in ids)
            assert answer.step != "found" or answer.rank == ids.index(memory.id) + 1


class TestSlotHistory:
    def test_history_of_slot_has_every_value_and_the_current_memory(self, manager: MemoryManager) -> None:
        manager.remember("Ana lives in Lyon.", user="ana", source=PAGE)
        past = manager.history("ana/CITY", user="ana")
        assert [value.value for value in past.values] == ["Hamburg", "Ghent", "Lyon"]
        assert past.memory.content == "I moved to Ghent last week."

    @pytest.mark.parametrize("slot", ["city", "ana/", "nobody/city", "/"])
    def test_unknown_slot_says_how_to_name_one(self, manager: MemoryManager, slot: str) -> None:
        with pytest.raises(NotFound, match="facts"):
            manager.history(slot, user="ana")


class TestContext:
    def test_context_shows_what_held_at_the_named_time(self, manager: MemoryManager, clock: FakeClock) -> None:
        say(manager, "My favourite colour is blue.")
        clock.advance(days=8)
        say(manager, "My favourite colour is green.")
        question = "What is my favourite colour?"
        now = manager.context(question, user="ana")
        assert "## What holds on 2026-03-20\n- Ana, favourite colour: green" in now
        assert "later said on 2026-03-20: My favourite colour is green." in now
        then = manager.context(question, user="ana", known_at=MARCH)
        assert "## What holds on 2026-03-12\n- Ana, favourite colour: blue" in then
        assert "green" not in then

    def test_context_by_what_was_known_does_not_tell_what_came_later(self, manager: MemoryManager) -> None:
        text = manager.context("Where does Ana live?", user="ana", known_at=BETWEEN)
        assert "Hamburg" in text
        assert "no longer true" not in text
        assert "Ghent" not in text


class TestKnownAt:
    def test_edited_memory_has_the_words_of_that_time(self, manager: MemoryManager, clock: FakeClock) -> None:
        memory = manager.add_memory("The kettle is green.", user="ana", metadata={"room": "kitchen"}, importance=0.4)
        clock.advance(days=1)
        manager.update(memory.id, "The kettle is red.", user="ana", metadata={"room": "hall"}, importance=0.9)
        clock.advance(days=1)
        manager.update(memory.id, "The kettle is blue.", user="ana", source="repair")
        words = {1: "The kettle is green.", 2: "The kettle is red.", 3: "The kettle is blue."}
        for version, days in ((1, 0), (2, 1), (3, 2)):
            then = MARCH.replace(day=MARCH.day + days)
            [listed] = [each for each in manager.list_memories(user="ana", known_at=then) if each.id == memory.id]
            [hit] = [hit for hit in manager.recall("kettle", user="ana", known_at=then) if hit.id == memory.id]
            assert (listed.content, listed.version) == (hit.content, hit.memory.version) == (words[version], version)
        assert hit.source == "repair"
        first = next(each for each in manager.list_memories(user="ana", known_at=MARCH) if each.id == memory.id)
        assert (first.metadata, first.importance, first.source) == ({"room": "kitchen"}, 0.4, None)

    def test_end_that_was_learnt_later_is_left_out(self, manager: MemoryManager) -> None:
        [hit] = manager.recall("Where does Ana live?", user="ana", known_at=BETWEEN)
        assert (hit.content, hit.memory.valid_to, hit.superseded_by) == ("I live in Hamburg.", None, None)
        [claim] = hit.memory.notes["claims"]
        assert claim["valid_to"] is None
        assert manager.get(hit.id, user="ana").valid_to is not None


class TestListMemories:
    def test_list_follows_both_axes_of_time(self, manager: MemoryManager) -> None:
        def contents(**times: datetime) -> list[str]:
            return [memory.content for memory in manager.list_memories(user="ana", **times)]

        assert contents() == ["I live in Hamburg.", "I moved to Ghent last week."]
        assert contents(as_of=BETWEEN) == contents(known_at=MARCH) == ["I moved to Ghent last week."]
        assert contents(known_at=BETWEEN) == contents(as_of=BETWEEN, known_at=BETWEEN) == ["I live in Hamburg."]
        assert contents(as_of=datetime(2026, 2, 1, tzinfo=UTC)) == ["I live in Hamburg."]

    def test_list_and_recall_agree_at_every_time(self, manager: MemoryManager, clock: FakeClock) -> None:
        say(manager, "My favourite colour is blue.")
        clock.advance(days=5)
        say(manager, "I no longer live in Ghent.")
        manager.add_memory("The kettle is green.", user="ana", at="2026-02-01T00:00Z")
        times = [None, *(datetime(2026, month, day, tzinfo=UTC) for month in (1, 2, 3) for day in (5, 11, 15, 25))]
        for as_of in times:
            for known_at in times:
                if as_of is None and known_at is None:
                    continue
                listed = manager.list_memories(user="ana", as_of=as_of, known_at=known_at)
                recalled = manager.recall("Ana", user="ana", as_of=as_of, known_at=known_at, limit=100)
                assert {memory.id for memory in listed} == {hit.id for hit in recalled}, (as_of, known_at)

    def test_pages_continue_after_the_last_id(self, manager: MemoryManager) -> None:
        manager.add_memories([f"fact {n}" for n in range(5)], user="ana")
        first = manager.list_memories(3, user="ana", known_at=MARCH)
        second = manager.list_memories(3, first[-1].id, user="ana", known_at=MARCH)
        assert len({memory.id for memory in [*first, *second]}) == 6


def say_as(manager: MemoryManager, name: str, text: str) -> None:
    [outcome] = manager.remember({"role": "user", "name": name, "content": text}, user="ana")
    assert outcome.status == "stored"


class TestOtherSpeakers:
    @pytest.mark.parametrize(
        "text", ["Ana no longer lives in Ghent.", "Ana moved to Rome.", "Ana lives in Rome.", "Ana now lives in Rome."]
    )
    def test_another_person_disputes_but_hides_nothing(self, manager: MemoryManager, text: str) -> None:
        say_as(manager, "Bob", text)
        contents = [hit.memory.content for hit in manager.recall("Where does Ana live?", user="ana").hits]
        assert "I moved to Ghent last week." in contents
        assert ("Ana/city", "Ghent") in values_of(manager)
        [conflict] = manager.conflicts(user="ana")
        assert [value.speaker for value in conflict.values] == ["Ana", "Bob"]

    def test_own_words_after_a_dispute_still_end_the_own_statement(self, manager: MemoryManager) -> None:
        say_as(manager, "Ana", "I moved to Oslo.")
        say_as(manager, "Bob", "Ana moved to Rome.")
        say_as(manager, "Ana", "I moved to Bern.")
        contents = [hit.memory.content for hit in manager.recall("Where does Ana live?", user="ana").hits]
        assert "I moved to Oslo." not in contents
        assert "Ana moved to Rome." in contents
        assert values_of(manager) == [("Ana/city", "Bern")]


class TestSources:
    @pytest.mark.parametrize("name", ["Ana", None])
    def test_message_with_a_source_is_the_word_of_that_source(self, manager: MemoryManager, name: str | None) -> None:
        message = {"role": "user", "content": "I moved to Rome.", **({"name": name} if name else {})}
        [outcome] = manager.remember(message, user="ana", source=PAGE)
        assert outcome.memory is not None
        assert outcome.memory.trust == "document"
        contents = [hit.memory.content for hit in manager.recall("Where does Ana live?", user="ana").hits]
        assert "I moved to Ghent last week." in contents
        assert ("Ana/city", "Ghent") in values_of(manager)

    def test_conversation_is_a_source_of_the_users_own_words(self, manager: MemoryManager) -> None:
        message = {"role": "user", "name": "Ana", "content": "I keep bees."}
        [outcome] = manager.remember(message, user="ana", session="s1", source="s1")
        assert outcome.memory is not None
        assert outcome.memory.trust == "user"


class TestOnePerson:
    """The user's id and the name by which they speak are one subject."""

    @pytest.fixture
    def berlin(self, manager: MemoryManager) -> MemoryManager:
        manager.remember({"role": "user", "name": "Ana", "content": "I live in Berlin."}, user="u-4713")
        return manager

    @pytest.mark.parametrize(
        ("content", "city"),
        [
            ({"role": "user", "name": "Ana", "content": "Ghent is home now."}, "Ghent"),
            ("I moved to Rome.", "Rome"),
            ({"role": "user", "content": "I moved to Rome."}, "Rome"),
        ],
    )
    def test_words_about_the_user_share_one_subject(
        self, berlin: MemoryManager, content: str | dict[str, str], city: str
    ) -> None:
        [outcome] = berlin.remember(content, user="u-4713")
        assert outcome.status == "stored"
        assert [(fact.slot, fact.value) for fact in berlin.facts(user="u-4713")] == [("Ana/city", city)]
        assert berlin.conflicts(user="u-4713") == []

    @pytest.mark.parametrize("source", [{}, {"source": "agent"}, {"agent": "bot"}])
    def test_agents_note_disputes_what_the_user_said(self, berlin: MemoryManager, source: dict[str, str]) -> None:
        berlin.remember("User moved to Rome.", user="u-4713", **source)
        [fact] = berlin.facts(user="u-4713")
        assert (fact.slot, fact.value, [each.value for each in fact.disputed_by]) == ("Ana/city", "Berlin", ["Rome"])

    @pytest.mark.parametrize("first", ["I live in Oslo.", {"role": "user", "content": "I live in Oslo."}])
    def test_name_of_a_guest_is_not_the_users(self, manager: MemoryManager, first: str | dict[str, str]) -> None:
        manager.remember(first, user="u-7")
        manager.remember({"role": "user", "name": "Bob", "content": "I live in Berlin."}, user="u-7")
        manager.remember("I moved to Rome.", user="u-7")
        facts = [(fact.slot, fact.value) for fact in manager.facts(user="u-7")]
        assert facts == [("Bob/city", "Berlin"), ("u-7/city", "Rome")]

    def test_several_named_people_leave_the_user_unnamed(self, berlin: MemoryManager) -> None:
        berlin.remember({"role": "user", "name": "Bob", "content": "I live in Oslo."}, user="u-4713")
        berlin.remember("User moved to Rome.", user="u-4713")
        facts = [(fact.slot, fact.value) for fact in berlin.facts(user="u-4713")]
        assert facts == [("Ana/city", "Berlin"), ("Bob/city", "Oslo"), ("u-4713/city", "Rome")]


class TestOneMessage:
    @pytest.mark.parametrize(
        ("text", "slot", "value"),
        [
            ("I was born in 1986. Sorry, 1985.", "Ana/birth year", "1985"),
            ("I live in Bonn. I moved to Oslo yesterday.", "Ana/city", "Oslo"),
            ("I work at Siemens. Actually, I left Siemens and joined Bosch.", "Ana/employer", "Bosch"),
        ],
    )
    def test_end_of_a_message_counts(self, manager: MemoryManager, text: str, slot: str, value: str) -> None:
        say(manager, text)
        facts = {fact.slot: fact.value for fact in manager.facts(user="ana")}
        assert facts[slot] == value


@pytest.mark.parametrize("text", ["I drink mine black.", "I drink mine.", "I started drinking more water."])
def test_habit_without_a_value_that_the_words_go_on_to_name_is_no_fact(manager: MemoryManager, text: str) -> None:
    say(manager, text, user="ben")
    assert manager.facts(user="ben") == []


@pytest.mark.parametrize(("text", "holds"), [("I smoke.", True), ("I smoke again.", True), ("I don't drink.", False)])
def test_plain_habit_is_a_fact(manager: MemoryManager, text: str, holds: bool) -> None:
    say(manager, text, user="ben")
    assert [(fact.value, fact.holds) for fact in manager.facts(user="ben")] == [("", holds)]


def test_replaced_value_ends_where_the_next_one_begins(manager: MemoryManager, clock: FakeClock) -> None:
    say(manager, "My favourite colour is blue.")
    clock.now += timedelta(days=9)
    say(manager, "My favourite colour is green.")
    [colour] = [fact for fact in manager.facts(user="ana") if fact.attribute == "favourite colour"]
    assert [(each.value, each.until) for each in colour.replaced] == [("blue", clock.now)]


def test_fact_says_what_was_said_later_about_it(manager: MemoryManager, clock: FakeClock) -> None:
    old = say(manager, "Our landlord is Mr. Claes, rent is 1,850 euros a month.")
    clock.now += timedelta(days=9)
    new = say(manager, "Mr. Claes sold the building, the new landlord is Ms. Peeters.")
    facts = {fact.attribute: fact for fact in manager.facts(user="ana")}
    assert (facts["landlord"].value, facts["landlord"].memory_id) == ("Ms. Peeters", new)
    assert [value.memory_id for value in facts["landlord"].replaced] == [old]
    assert facts["rent money"].later == ()


class TestAgents:
    def test_what_was_said_to_another_agent_counts_for_the_user(self, tmp_path: Path, clock: FakeClock) -> None:
        with MemoryManager(f"sqlite:///{tmp_path}/b.db", embedder=HashEmbedder(64), clock=clock) as manager:
            ids = []
            for agent, text in (
                ("a", "My favourite food is bacalhau."),
                ("b", "Actually, my favourite food is ramen now."),
            ):
                [outcome] = manager.remember(
                    {"role": "user", "name": "Maria", "content": text}, user="maria", agent=agent
                )
                assert outcome.memory is not None
                ids.append(outcome.memory.id)
                clock.now += timedelta(days=70)
            [fact] = manager.facts(user="maria")
            assert (fact.value, fact.since) == ("ramen", clock.now - timedelta(days=70))
            question = "What is Maria's favourite food?"
            hits = manager.recall(question, user="maria")
            assert [(hit.id, [each.id for each in hit.later]) for hit in hits] == [(ids[1], []), (ids[0], [ids[1]])]
            assert "favourite food: ramen" in manager.context(question, user="maria", min_score=0)
            [only] = manager.recall(question, user="maria", agent="a")
            assert (only.id, only.later) == (ids[0], ())
            manager.delete(ids[1], user="maria")
            [back] = manager.recall(question, user="maria")
            assert (back.id, back.later) == (ids[0], ())


def test_pronoun_is_the_only_person_of_the_message_before(manager: MemoryManager) -> None:
    say(manager, "My brother Pavel moved to Oslo last week.")
    say(manager, "He works at Equinor.")
    assert ("Ana's brother Pavel/employer", "Equinor") in values_of(manager)


def test_pronoun_that_may_mean_two_people_is_no_fact(manager: MemoryManager) -> None:
    say(manager, "My brother Pavel lives in Oslo. My friend Tom lives in Bergen.")
    say(manager, "He works at Equinor.")
    assert "Equinor" not in [value for _, value in values_of(manager)]
