"""From what is said to what is remembered: the gate, the evidence, what supersedes what, and a model's second look."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import ANY, ExtractionFailed, MemoryManager, MemoryType, Message, Outcome, Unavailable
from memoranda.llm.base import LLM
from memoranda.llm.scripted import ScriptedLLM
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

SAID = datetime(2026, 3, 4, 9, tzinfo=UTC)  # a Wednesday


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(SAID + timedelta(days=100))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def manager(path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with opened(path, clock) as manager:
        yield manager


def opened(path: Path, clock: FakeClock, llm: LLM | None = None) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(64), clock=clock, llm=llm)


def said(text: str, number: int = 1, *, days: float = 0, role: str = "user", name: str | None = "Ana") -> Message:
    return Message(role, text, f"m{number}", name=name, timestamp=SAID + timedelta(days=days))


def remember(manager: MemoryManager, *messages: Message, user: str | None = "ana") -> list[Outcome]:
    return manager.remember(list(messages), user=user, session="s1")


def contents(manager: MemoryManager) -> list[str]:
    return [memory.content for memory in manager.list_memories(user=ANY)]


def ledger(path: Path) -> list[tuple[str, str | None]]:
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT message_id, content FROM messages ORDER BY seq").fetchall()


class TestTheGate:
    def test_what_is_refused_says_why_and_stays_in_the_ledger(self, manager: MemoryManager, path: Path) -> None:
        turns = [said("Hey! Good to see you!", 1), said("I keep bees in Porto.", 2), said("Hmm?", 3)]
        outcomes = remember(manager, *turns)
        assert [(end.status, end.rule, end.message_id) for end in outcomes] == [
            ("rejected", "greeting", "m1"),
            ("stored", "", "m2"),
            ("rejected", "greeting", "m3"),
        ]
        assert outcomes[0].reason == "only pleasantries: nothing is said"
        assert contents(manager) == ["I keep bees in Porto."]
        assert sorted(ledger(path)) == [(turn.message_id, turn.content) for turn in turns]

    def test_a_replayed_conversation_adds_nothing(self, manager: MemoryManager, path: Path) -> None:
        turns = [said("I keep bees in Porto.", 1), said("Hello!", 2), said("My hives are 12 years old.", 3)]
        remember(manager, *turns)
        known, rows = contents(manager), ledger(path)
        for _ in range(20):
            again = remember(manager, *turns)
            assert [end.status for end in again] == ["duplicate", "rejected", "duplicate"]
            assert again[0].memory is not None
        assert contents(manager) == known
        assert ledger(path) == rows

    def test_a_near_duplicate_names_its_twin(self, manager: MemoryManager) -> None:
        (first,) = remember(manager, said("My sister Nora loves long hiking weeks in the Swiss Alps every summer.", 1))
        (again,) = remember(manager, said("My sister Nora loves hiking weeks in the Swiss Alps every summer", 2))
        assert (again.status, again.rule, again.memory) == ("duplicate", "near_duplicate", first.memory)

    def test_a_repetition_inside_one_call_names_the_memory_it_repeats(self, manager: MemoryManager) -> None:
        first, again = remember(manager, said("I keep bees in Porto.", 1), said("I keep bees in Porto!", 2))
        assert (again.status, again.memory) == ("duplicate", first.memory)

    def test_a_twin_is_found_among_many_of_other_sessions(self, manager: MemoryManager) -> None:
        for number in range(8):
            message = said("I keep bees in Porto.", number)
            assert manager.remember(message, user="ana", session=f"s{number}")[0].status == "stored"
        (again,) = manager.remember(said("I keep bees in Porto.", 9), user="ana", session="s6")
        assert (again.status, again.memory and again.memory.session) == ("duplicate", "s6")

    def test_another_number_or_another_user_is_news(self, manager: MemoryManager) -> None:
        remember(manager, said("I keep 12 hives in Porto.", 1))
        assert remember(manager, said("I keep 14 hives in Porto.", 2))[0].status == "stored"
        assert remember(manager, said("I keep 12 hives in Porto.", 3), user="bob")[0].status == "stored"

    def test_an_assistant_that_repeats_a_memory_is_an_echo(self, manager: MemoryManager) -> None:
        remember(manager, said("My sister Nora keeps bees near the river in Porto.", 1))
        (end,) = remember(
            manager, said("Nora, your sister, keeps bees near the river Porto.", 2, role="assistant", name=None)
        )
        assert (end.status, end.rule) == ("rejected", "echo")

    def test_recalled_text_that_comes_back_is_not_stored_again(self, manager: MemoryManager) -> None:
        remember(manager, said("I keep bees in Porto.", 1))
        recalled = manager.context("bees", user="ana")
        ends = remember(manager, said(f"{recalled}\nThe honey was dark in 2025.", 2))
        assert [(end.status, end.rule) for end in ends] == [("rejected", "echo"), ("stored", "")]
        assert contents(manager) == ["I keep bees in Porto.", "The honey was dark in 2025."]

    def test_a_secret_reaches_neither_memory_nor_file(self, manager: MemoryManager, path: Path) -> None:
        text = "We moved to the new office. My password is hunter2! The lease runs until 2031."
        ends = remember(manager, said(text, 1))
        assert [(end.status, end.rule) for end in ends] == [("stored", ""), ("rejected", "secret"), ("stored", "")]
        assert contents(manager) == ["We moved to the new office.", "The lease runs until 2031."]
        manager.close()
        assert b"hunter2" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
        [(_, kept)] = ledger(path)
        assert kept is not None
        assert len(kept) == len(text)

    def test_short_term_memory_takes_everything(self, manager: MemoryManager) -> None:
        (end,) = manager.remember(said("Hello!"), type=MemoryType.SHORT_TERM)
        assert end.status == "stored"

    def test_a_caller_may_keep_everything(self, manager: MemoryManager) -> None:
        turns = [said("Hello!", 1), said("Hello!", 2)]
        assert [end.status for end in manager.remember(turns, user="ana", keep_all=True)] == ["stored", "stored"]

    def test_texts_are_kept_as_they_are(self, manager: MemoryManager) -> None:
        assert [end.status for end in manager.remember(["Hello!", "Hello!"], user="ana")] == ["stored", "duplicate"]

    def test_other_words_under_a_known_id_change_nothing(self, manager: MemoryManager, path: Path) -> None:
        remember(manager, said("I keep bees in Porto.", 1))
        (end,) = remember(manager, said("My goats ran away on Tuesday.", 1))
        assert end.status == "duplicate"
        assert "with other words" in end.reason
        assert ledger(path) == [("m1", "I keep bees in Porto.")]


class TestEvidence:
    def test_each_memory_points_at_its_words(self, manager: MemoryManager, path: Path) -> None:
        remember(manager, said("We moved. My password is hunter2! The lease runs until 2031.", 1))
        [(_, text)] = ledger(path)
        for memory in manager.list_memories(user="ana"):
            assert text is not None
            assert memory.evidence is not None
            assert text[slice(*memory.evidence)] == memory.content
            assert memory.message_id == "m1"

    def test_dates_names_and_claims_are_noted(self, manager: MemoryManager) -> None:
        (end,) = remember(manager, said("I moved to Lisbon last month with my sister Anna.", 1))
        assert end.memory is not None
        notes = manager.get(end.memory.id, user="ana").notes
        assert notes == end.memory.notes
        [event] = notes["events"]
        assert (event["text"], event["start"][:10], event["end"][:10]) == ("last month", "2026-02-01", "2026-03-01")
        assert {(each["kind"], each["text"]) for each in notes["entities"]} >= {("person", "Anna")}
        assert (notes["claims"][0]["attribute"], notes["claims"][0]["value"]) == ("city", "Lisbon")
        assert notes["features"]["personal fact"] == 0.5

    def test_what_is_given_back_is_the_callers_own(self, manager: MemoryManager) -> None:
        (end,) = remember(manager, said("I moved to Lisbon last month.", 1))
        assert end.memory is not None
        end.memory.notes.clear()
        assert manager.get(end.memory.id, user="ana").notes

    def test_new_words_are_read_anew(self, manager: MemoryManager) -> None:
        (end,) = remember(manager, said("I live in Berlin.", 1))
        assert end.memory is not None
        changed = manager.update(end.memory.id, "I live in Hamburg.", user="ana")
        assert [claim["value"] for claim in changed.notes["claims"]] == ["Hamburg"]
        assert changed.evidence is None
        (newer,) = remember(manager, said("I live in Porto now.", 2, days=9))
        assert manager.get(end.memory.id, user="ana").superseded_by == newer.memory.id  # type: ignore[union-attr]


class TestImportance:
    def test_it_is_scored_and_the_callers_own_wins(self, manager: MemoryManager) -> None:
        allergy, weather = remember(manager, said("I'm allergic to penicillin.", 1), said("It rained all day.", 2))
        assert allergy.memory is not None
        assert weather.memory is not None
        assert allergy.memory.importance > 0.8 > 0.5 > weather.memory.importance
        (given,) = manager.remember(said("I'm allergic to nuts.", 3), importance=0.2)
        assert given.memory is not None
        assert given.memory.importance == 0.2

    def test_what_is_handed_in_as_a_text_matters_at_least_somewhat(self, manager: MemoryManager) -> None:
        assert manager.add_memory("The weather was nice.").importance == 0.5
        assert manager.add_memory("I'm allergic to penicillin.").importance > 0.8

    def test_what_is_known_counts_less(self, manager: MemoryManager) -> None:
        (news,) = remember(manager, said("The old lighthouse keeper painted seven boats.", 1))
        (known,) = remember(manager, said("Seven painted boats, the lighthouse keeper is old today.", 2))
        assert news.memory is not None
        assert known.memory is not None
        assert known.memory.importance < news.memory.importance


class TestTruth:
    def test_a_newer_value_takes_the_place_of_an_older_one(self, manager: MemoryManager) -> None:
        (old,) = remember(manager, said("I live in Berlin.", 1))
        (new,) = remember(manager, said("I live in Lisbon now.", 2, days=30))
        assert old.memory is not None
        assert new.memory is not None
        assert (new.status, new.reason) == ("stored", f"replaces what {old.memory.id} said")
        assert [hit.id for hit in manager.recall("Where do I live?", user="ana")] == [new.memory.id]
        then = manager.recall("Where do I live?", user="ana", as_of=SAID + timedelta(days=1))
        assert [hit.id for hit in then] == [old.memory.id]
        kept = manager.history(old.memory.id, user="ana")
        assert kept.memory.valid_to == SAID + timedelta(days=30)
        assert kept.superseded_by is not None
        assert kept.superseded_by.id == new.memory.id
        [link] = manager.get_related_memories(new.memory.id, "supersedes", user="ana")
        assert link.id == old.memory.id

    def test_a_memory_that_tells_more_stays(self, manager: MemoryManager) -> None:
        (old,) = remember(manager, said("I live in Berlin. Our cat Tom fell into the Spree on Sunday.", 1))
        remember(manager, said("I live in Lisbon now.", 2, days=30))
        assert old.memory is not None
        kept = manager.get(old.memory.id, user="ana")
        assert kept.superseded_by is None
        assert [claim["valid_to"] is not None for claim in kept.notes["claims"]] == [True]
        shown = manager.context("Berlin, the cat and the Spree", user="ana")
        assert "fell into the Spree on Sunday. (no longer true: city Berlin, until 2026-04-03)" in shown

    def test_what_comes_late_and_is_older_is_superseded_at_once(self, manager: MemoryManager) -> None:
        (new,) = remember(manager, said("I live in Lisbon.", 1, days=30))
        (old,) = remember(manager, said("I live in Berlin.", 2))
        assert new.memory is not None
        assert old.memory is not None
        assert (old.status, old.memory.superseded_by) == ("superseded", new.memory.id)
        assert [hit.id for hit in manager.recall("Where do I live?", user="ana")] == [new.memory.id]

    def test_what_was_true_once_is_news_when_it_is_true_again(self, manager: MemoryManager) -> None:
        remember(manager, said("I live in Berlin.", 1))
        (away,) = remember(manager, said("I live in Lisbon now.", 2, days=30))
        (back,) = remember(manager, said("I live in Berlin.", 3, days=60))
        assert away.memory is not None
        assert back.reason == f"replaces what {away.memory.id} said"
        assert [hit.content for hit in manager.recall("Where do I live?", user="ana")] == ["I live in Berlin."]

    def test_several_values_live_beside_each_other(self, manager: MemoryManager) -> None:
        remember(manager, said("I love hiking.", 1), said("I love chess.", 2, days=1))
        assert [memory.superseded_by for memory in manager.list_memories(user="ana")] == [None, None]

    def test_a_tool_does_not_correct_the_user(self, manager: MemoryManager) -> None:
        (user,) = remember(manager, said("I live in Berlin.", 1))
        (other,) = remember(manager, said("I live in Lisbon.", 2, days=30, role="assistant"))
        assert user.memory is not None
        assert other.memory is not None
        assert manager.get(user.memory.id, user="ana").superseded_by is None
        [link] = manager.get_related_memories(other.memory.id, "contradicts", user="ana")
        assert link.id == user.memory.id

    def test_other_people_sessions_of_nobody_and_other_agents_are_left_alone(self, manager: MemoryManager) -> None:
        texts = [said("I live in Berlin.", 1), said("I live in Lisbon.", 2, days=9)]
        manager.remember(texts[0], user="ana")
        manager.remember(texts[1], user="bob")
        manager.remember(texts[1], user="ana", agent="other")
        manager.remember(said("I live in Berlin.", 3, name=None), session="one")
        manager.remember(said("I live in Lisbon.", 4, days=9, name=None), session="two")
        assert [memory.superseded_by for memory in manager.list_memories(user=ANY)] == [None] * 5

    def test_a_text_counts_as_the_users_word(self, manager: MemoryManager) -> None:
        old, new = manager.remember(["I live in Berlin.", "I live in Lisbon."], user="ana", at=SAID)
        assert old.memory is not None
        assert new.memory is not None
        assert manager.get(old.memory.id, user="ana").superseded_by == new.memory.id

    def test_an_import_still_knows_what_holds(self, manager: MemoryManager, clock: FakeClock, tmp_path: Path) -> None:
        remember(manager, said("I live in Berlin.", 1))
        manager.export_jsonl(tmp_path / "out.jsonl")
        with opened(tmp_path / "other.db", clock) as other:
            other.import_jsonl(tmp_path / "out.jsonl")
            (new,) = remember(other, said("I live in Lisbon.", 2, days=9))
            assert [memory.superseded_by for memory in other.list_memories(user="ana")] == [new.memory.id, None]  # type: ignore[union-attr]

    def test_what_is_forgotten_holds_no_longer(self, manager: MemoryManager, path: Path) -> None:
        (old,) = remember(manager, said("I live in Berlin.", 1), said("Hello again!", 2))[:1]
        assert old.memory is not None
        manager.forget(user="ana")
        assert ledger(path) == []
        assert remember(manager, said("I live in Lisbon.", 3, days=9))[0].reason == ""


class _Down:
    def complete(self, prompt: str, *, max_tokens: int) -> str:
        raise Unavailable("the model is out")


def _fact(quote: str, fact: str) -> str:
    return json.dumps([{"message": 1, "quote": quote, "fact": fact, "importance": 0.8}])


FACT = _fact("moved to Lisbon last month", "Ana moved to Lisbon in February 2026.")


class TestWithAModel:
    def test_its_facts_stand_beside_what_was_said(self, path: Path, clock: FakeClock) -> None:
        with opened(path, clock, ScriptedLLM([FACT])) as manager:
            ends = manager.remember([said("I moved to Lisbon last month.", 1)], user="ana")
            assert [(end.status, end.message_id) for end in ends] == [("stored", "m1"), ("stored", "m1")]
            fact = ends[1].memory
            assert fact is not None
            assert (fact.content, fact.type) == ("Ana moved to Lisbon in February 2026.", MemoryType.SEMANTIC)
            assert fact.evidence == (2, 28)
            assert (ends.usage.calls, ends.usage.estimated) == (1, True)

    def test_a_fact_without_evidence_is_refused(self, path: Path, clock: FakeClock) -> None:
        with opened(path, clock, ScriptedLLM([_fact("moved to Mars", "Ana moved to Mars.")])) as manager:
            ends = manager.remember([said("I moved to Lisbon last month.", 1)], user="ana")
            assert [(end.status, end.rule) for end in ends] == [("stored", ""), ("rejected", "evidence")]

    @pytest.mark.parametrize("llm", [_Down(), ScriptedLLM(["no JSON", "still no JSON"])])
    def test_a_failure_keeps_what_was_said_and_is_tried_again(self, path: Path, clock: FakeClock, llm: LLM) -> None:
        with opened(path, clock, llm) as manager:
            with pytest.raises(ExtractionFailed, match="what was said is stored") as failed:
                manager.remember([said("I moved to Lisbon last month.", 1)], user="ana", session="s1")
            assert [end.status for end in failed.value.outcomes] == ["stored"]  # type: ignore[attr-defined]
            assert contents(manager) == ["I moved to Lisbon last month."]
        two = json.dumps([{"message": 2, "quote": "moved to Lisbon", "fact": "Ana moved to Lisbon.", "importance": 1}])
        with opened(path, clock, ScriptedLLM([two])) as manager:
            ends = manager.remember([said("The bees are fine.", 2)], user="ana", session="s2")
            assert [(end.message_id, end.memory and end.memory.session) for end in ends] == [("m2", "s2"), ("m1", "s1")]
            assert manager.upkeep(policies=["extract"], user="ana").decisions == ()

    def test_the_same_call_again_is_the_other_try(self, path: Path, clock: FakeClock) -> None:
        message = said("I moved to Lisbon last month.", 1)
        with opened(path, clock, _Down()) as manager, pytest.raises(ExtractionFailed):
            remember(manager, message)
        with opened(path, clock, ScriptedLLM([FACT])) as manager:
            again = remember(manager, message)
            assert [end.status for end in again] == ["duplicate", "stored"]
            assert [end.status for end in remember(manager, message)] == ["duplicate"]

    def test_two_messages_of_one_id_keep_their_own_facts(self, path: Path, clock: FakeClock) -> None:
        with opened(path, clock, _Down()) as manager, pytest.raises(ExtractionFailed):
            manager.remember(said("I moved to Lisbon last month.", 1), user="ana", session="one")
        bees = _fact("keep bees", "Ana keeps bees.")
        with opened(path, clock, ScriptedLLM([bees, FACT])) as manager:
            ends = manager.remember(said("I keep bees.", 1), user="ana", session="two")
            assert [end.memory and end.memory.session for end in ends] == ["two", "two"]
            done = manager.upkeep(policies=["extract"])
            assert [each.content for each in done.decisions] == ["Ana moved to Lisbon in February 2026."]

    def test_a_nameless_user_is_the_user_of_the_scope_at_the_other_try_too(self, path: Path, clock: FakeClock) -> None:
        with opened(path, clock, _Down()) as manager, pytest.raises(ExtractionFailed):
            remember(manager, said("I moved to Lisbon last month.", 1, name=None))
        quoted = _fact("I moved to Lisbon last month", "Ana moved to Lisbon in February 2026.")
        with opened(path, clock, ScriptedLLM([quoted])) as manager:
            manager.upkeep(policies=["extract"])
            memories = manager.list_memories(user="ana")
            assert [memory.notes["claims"][0]["subject"] for memory in memories] == ["ana", "ana"]

    def test_tenants_share_the_model(self, path: Path, clock: FakeClock) -> None:
        script = path.with_suffix(".json")
        script.write_text("[]")
        with MemoryManager(
            f"sqlite:///{path}", embedder=HashEmbedder(16), clock=clock, llm=f"scripted:{script}"
        ) as one:
            assert one._components.llm is one.for_tenant("other")._components.llm is not None

    def test_upkeep_has_it_read_too(self, path: Path, clock: FakeClock) -> None:
        with opened(path, clock, _Down()) as manager, pytest.raises(ExtractionFailed):
            remember(manager, said("I moved to Lisbon last month.", 1))
        with opened(path, clock, _Down()) as manager:
            assert "the model is out" in manager.upkeep(policies=["extract"]).problems[0]
        with opened(path, clock) as manager:
            assert manager.upkeep(policies=["extract"]).decisions == ()
            planned = manager.upkeep(policies=["extract"], llm=ScriptedLLM([FACT]), dry_run=True)
            assert [each.content for each in planned.decisions] == ["I moved to Lisbon last month."]
            done = manager.upkeep(policies=["extract"], llm=ScriptedLLM([FACT]))
            assert [each.content for each in done.decisions] == ["Ana moved to Lisbon in February 2026."]
            assert done.usage.calls == 1
            assert manager.upkeep(policies=["extract"], llm=_Down()).decisions == ()

    def test_it_is_not_asked_about_what_the_gate_refused(self, path: Path, clock: FakeClock) -> None:
        llm = ScriptedLLM([])
        with opened(path, clock, llm) as manager:
            remember(manager, said("Hello!", 1))
            assert llm.prompts == []
