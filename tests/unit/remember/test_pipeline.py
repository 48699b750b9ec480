"""`remember` from outcome to outcome: gate, evidence, importance, claims, and extraction with a model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import ANY, ExtractionFailed, MemoryManager, MemoryType, Message, Outcomes, Unavailable
from memoranda.llm.base import LLM
from memoranda.llm.scripted import ScriptedLLM
from memoranda.testing.fakes import HashEmbedder
from tests.driver import sqlite3
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
    with open_manager(path, clock) as manager:
        yield manager


def open_manager(path: Path, clock: FakeClock, llm: LLM | None = None) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(64), clock=clock, llm=llm)


def make_message(
    text: str, number: int = 1, *, days: float = 0, role: str = "user", name: str | None = "Ana"
) -> Message:
    return Message(role, text, f"m{number}", name=name, timestamp=SAID + timedelta(days=days))


def remember(manager: MemoryManager, *messages: Message, user: str | None = "ana") -> Outcomes:
    return manager.remember(list(messages), user=user, session="s1")


def contents(manager: MemoryManager) -> list[str]:
    return [memory.content for memory in manager.list_memories(user=ANY)]


def logged_messages(path: Path) -> list[tuple[str, str | None]]:
    with sqlite3.connect(path) as connection:
        return connection.execute("SELECT message_id, content FROM messages ORDER BY seq").fetchall()


class TestGate:
    def test_rejected_message_has_a_reason_and_stays_in_the_log(self, manager: MemoryManager, path: Path) -> None:
        turns = [
            make_message("Hey! Good to see you!", 1),
            make_message("I keep bees in Porto.", 2),
            make_message("Hmm?", 3),
        ]
        outcomes = remember(manager, *turns)
        assert [(outcome.status, outcome.rule, outcome.message_id) for outcome in outcomes] == [
            ("rejected", "greeting", "m1"),
            ("stored", "", "m2"),
            ("rejected", "greeting", "m3"),
        ]
        assert outcomes[0].reason == "only pleasantries: nothing is said"
        assert contents(manager) == ["I keep bees in Porto."]
        assert logged_messages(path) == [(turn.message_id, turn.content) for turn in turns]

    def test_replayed_conversation_adds_nothing(self, manager: MemoryManager, path: Path) -> None:
        turns = [
            make_message("I keep bees in Porto.", 1),
            make_message("Hello!", 2),
            make_message("My hives are 12 years old.", 3),
        ]
        remember(manager, *turns)
        known, rows = contents(manager), logged_messages(path)
        for _ in range(20):
            again = remember(manager, *turns)
            assert [outcome.status for outcome in again] == ["duplicate", "rejected", "duplicate"]
            assert again[0].memory is not None
        assert contents(manager) == known
        assert logged_messages(path) == rows

    def test_same_statement_names_the_known_memory(self, manager: MemoryManager) -> None:
        (first,) = remember(manager, make_message("My sister Nora loves long weeks in the Swiss Alps.", 1))
        (again,) = remember(manager, make_message("my sister Nora loves long weeks in the Swiss Alps, thanks!", 2))
        assert (again.status, again.rule, again.memory) == ("duplicate", "duplicate", first.memory)

    @pytest.mark.parametrize(
        ("first", "second"),
        [
            ("Take the pill before meals.", "Take the pill after meals."),
            ("The light is on.", "The light is off."),
            ("I prefer tea over coffee.", "I prefer coffee over tea."),
        ],
    )
    def test_nearly_the_same_words_are_two_memories(self, manager: MemoryManager, first: str, second: str) -> None:
        outcomes = remember(manager, make_message(first, 1), make_message(second, 2))
        assert [outcome.status for outcome in outcomes] == ["stored", "stored"]

    def test_repetition_in_one_call_names_the_first_memory(self, manager: MemoryManager) -> None:
        first, again = remember(
            manager, make_message("I keep bees in Porto.", 1), make_message("I keep bees in Porto!", 2)
        )
        assert (again.status, again.memory) == ("duplicate", first.memory)

    def test_duplicate_is_found_among_many_in_other_sessions(self, manager: MemoryManager) -> None:
        for number in range(8):
            message = make_message("I keep bees in Porto.", number)
            assert manager.remember(message, user="ana", session=f"s{number}")[0].status == "stored"
        (again,) = manager.remember(make_message("I keep bees in Porto.", 9), user="ana", session="s6")
        assert (again.status, again.memory and again.memory.session) == ("duplicate", "s6")

    def test_other_number_or_other_user_is_stored(self, manager: MemoryManager) -> None:
        remember(manager, make_message("I keep 12 hives in Porto.", 1))
        assert remember(manager, make_message("I keep 14 hives in Porto.", 2))[0].status == "stored"
        assert remember(manager, make_message("I keep 12 hives in Porto.", 3), user="bob")[0].status == "stored"

    def test_assistant_that_repeats_a_memory_is_an_echo(self, manager: MemoryManager) -> None:
        remember(manager, make_message("My sister Nora keeps bees near the river in Porto.", 1))
        (outcome,) = remember(
            manager, make_message("Nora, your sister, keeps bees near the river Porto.", 2, role="assistant", name=None)
        )
        assert (outcome.status, outcome.rule) == ("rejected", "echo")

    def test_recalled_text_is_not_stored_again(self, manager: MemoryManager) -> None:
        remember(manager, make_message("I keep bees in Porto.", 1))
        recalled = manager.context("bees", user="ana")
        outcomes = remember(manager, make_message(f"{recalled}\nThe honey was dark in 2025.", 2))
        assert [(outcome.status, outcome.rule) for outcome in outcomes] == [("rejected", "echo"), ("stored", "")]
        assert contents(manager) == ["I keep bees in Porto.", "The honey was dark in 2025."]

    def test_secret_is_neither_in_a_memory_nor_in_the_file(self, manager: MemoryManager, path: Path) -> None:
        text = "We moved to the new office. My password is hunter2! The lease runs until 2031."
        outcomes = remember(manager, make_message(text, 1))
        assert [(outcome.status, outcome.rule) for outcome in outcomes] == [
            ("stored", ""),
            ("rejected", "secret"),
            ("stored", ""),
        ]
        assert contents(manager) == ["We moved to the new office.", "The lease runs until 2031."]
        manager.close()
        assert b"hunter2" not in b"".join(file.read_bytes() for file in path.parent.iterdir())
        [(_, kept)] = logged_messages(path)
        assert kept is not None
        assert len(kept) == len(text)

    def test_short_term_memory_keeps_every_message(self, manager: MemoryManager) -> None:
        (outcome,) = manager.remember(make_message("Hello!"), type=MemoryType.SHORT_TERM)
        assert outcome.status == "stored"

    def test_keep_all_stores_every_message(self, manager: MemoryManager) -> None:
        turns = [make_message("Hello!", 1), make_message("Hello!", 2)]
        assert [outcome.status for outcome in manager.remember(turns, user="ana", keep_all=True)] == [
            "stored",
            "stored",
        ]

    def test_plain_texts_do_not_go_through_the_gate(self, manager: MemoryManager) -> None:
        assert [outcome.status for outcome in manager.remember(["Hello!", "Hello!"], user="ana")] == [
            "stored",
            "duplicate",
        ]

    def test_other_text_under_a_known_message_id_changes_nothing(self, manager: MemoryManager, path: Path) -> None:
        remember(manager, make_message("I keep bees in Porto.", 1))
        (outcome,) = remember(manager, make_message("My goats ran away on Tuesday.", 1))
        assert outcome.status == "duplicate"
        assert "with other words" in outcome.reason
        assert logged_messages(path) == [("m1", "I keep bees in Porto.")]


class TestEvidence:
    def test_evidence_is_the_span_of_the_memory_in_its_message(self, manager: MemoryManager, path: Path) -> None:
        remember(manager, make_message("We moved. My password is hunter2! The lease runs until 2031.", 1))
        [(_, text)] = logged_messages(path)
        for memory in manager.list_memories(user="ana"):
            assert text is not None
            assert memory.evidence is not None
            assert text[slice(*memory.evidence)] == memory.content
            assert memory.message_id == "m1"

    def test_dates_names_and_claims_are_in_the_notes(self, manager: MemoryManager) -> None:
        (outcome,) = remember(manager, make_message("I moved to Lisbon last month with my sister Anna.", 1))
        assert outcome.memory is not None
        notes = manager.get(outcome.memory.id, user="ana").notes
        assert notes == outcome.memory.notes
        [event] = notes["events"]
        assert (event["text"], event["start"][:10], event["end"][:10]) == ("last month", "2026-02-01", "2026-03-01")
        assert {(each["kind"], each["text"]) for each in notes["entities"]} >= {("person", "Anna")}
        assert (notes["claims"][0]["attribute"], notes["claims"][0]["value"]) == ("city", "Lisbon")
        assert notes["features"]["family"] == 0.5

    def test_changing_returned_notes_does_not_change_stored_notes(self, manager: MemoryManager) -> None:
        (outcome,) = remember(manager, make_message("I moved to Lisbon last month.", 1))
        assert outcome.memory is not None
        outcome.memory.notes.clear()
        assert manager.get(outcome.memory.id, user="ana").notes

    def test_updated_text_is_extracted_again(self, manager: MemoryManager) -> None:
        (outcome,) = remember(manager, make_message("I live in Berlin.", 1))
        assert outcome.memory is not None
        changed = manager.update(outcome.memory.id, "I live in Hamburg.", user="ana")
        assert [claim["value"] for claim in changed.notes["claims"]] == ["Hamburg"]
        assert changed.evidence is None
        (newer,) = remember(manager, make_message("I live in Porto now.", 2, days=9))
        assert manager.get(outcome.memory.id, user="ana").superseded_by == newer.memory.id  # type: ignore[union-attr]


class TestImportance:
    def test_importance_is_scored_unless_the_caller_gives_it(self, manager: MemoryManager) -> None:
        allergy, weather = remember(
            manager, make_message("I'm allergic to penicillin.", 1), make_message("It rained all day.", 2)
        )
        assert allergy.memory is not None
        assert weather.memory is not None
        assert allergy.memory.importance > 0.8 > 0.5 > weather.memory.importance
        (nuts,) = manager.remember(make_message("I'm allergic to nuts.", 3), importance=0.2)
        assert nuts.memory is not None
        assert nuts.memory.importance == 0.2

    def test_plain_text_has_at_least_the_default_importance(self, manager: MemoryManager) -> None:
        assert manager.add_memory("The weather was nice.").importance == 0.5
        assert manager.add_memory("I'm allergic to penicillin.").importance > 0.8

    def test_known_content_is_less_important(self, manager: MemoryManager) -> None:
        (new,) = remember(manager, make_message("The old lighthouse keeper painted seven boats.", 1))
        (known,) = remember(manager, make_message("Seven painted boats and the old lighthouse keeper.", 2))
        assert new.memory is not None
        assert known.memory is not None
        assert known.memory.importance < new.memory.importance


class TestClaims:
    def test_newer_value_supersedes_older_one(self, manager: MemoryManager) -> None:
        (old,) = remember(manager, make_message("I live in Berlin.", 1))
        (new,) = remember(manager, make_message("I live in Lisbon now.", 2, days=30))
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

    def test_superseded_memory_with_other_content_stays(self, manager: MemoryManager) -> None:
        (old,) = remember(manager, make_message("I live in Berlin. Our cat Tom fell into the Spree on Sunday.", 1))
        remember(manager, make_message("I live in Lisbon now.", 2, days=30))
        assert old.memory is not None
        kept = manager.get(old.memory.id, user="ana")
        assert kept.superseded_by is None
        assert [claim["valid_to"] is not None for claim in kept.notes["claims"]] == [True]
        shown = manager.context("Berlin, the cat and the Spree", user="ana")
        assert "fell into the Spree on Sunday. (no longer true: city Berlin, until 2026-04-03)" in shown

    def test_older_value_that_arrives_late_is_superseded_at_once(self, manager: MemoryManager) -> None:
        (new,) = remember(manager, make_message("I moved to Lisbon.", 1, days=30))
        (old,) = remember(manager, make_message("I live in Berlin.", 2))
        assert new.memory is not None
        assert old.memory is not None
        assert (old.status, old.memory.superseded_by) == ("superseded", new.memory.id)
        assert [hit.id for hit in manager.recall("Where do I live?", user="ana")] == [new.memory.id]

    def test_superseded_value_that_is_true_again_is_stored(self, manager: MemoryManager) -> None:
        remember(manager, make_message("I live in Berlin.", 1))
        (away,) = remember(manager, make_message("I live in Lisbon now.", 2, days=30))
        (back,) = remember(manager, make_message("I live in Berlin again now.", 3, days=60))
        assert away.memory is not None
        assert back.reason == f"replaces what {away.memory.id} said"
        found = [hit.content for hit in manager.recall("Where do I live?", user="ana")]
        assert found == ["I live in Berlin again now."]

    def test_ended_statement_that_is_made_again_is_no_duplicate(self, manager: MemoryManager) -> None:
        remember(manager, make_message("I live in Berlin.", 1))
        remember(manager, make_message("I live in Lisbon now.", 2, days=30))
        (back,) = remember(manager, make_message("I live in Berlin.", 3, days=60))
        assert back.status == "stored"
        assert manager.recall("Where do I live?", user="ana")[0].content == "I live in Berlin."

    def test_followed_statement_that_is_made_again_is_no_duplicate(self, manager: MemoryManager) -> None:
        remember(manager, make_message("I live in Berlin.", 1))
        remember(manager, make_message("I live in Lisbon.", 2, days=30))
        (back,) = remember(manager, make_message("I live in Berlin.", 3, days=60))
        assert back.memory is not None
        assert manager.recall("Where do I live?", user="ana")[0].id == back.memory.id

    def test_plain_statement_with_another_value_leaves_the_older_one(self, manager: MemoryManager) -> None:
        (old,) = remember(manager, make_message("I live in Berlin.", 1))
        (new,) = remember(manager, make_message("I live in Lisbon.", 2, days=30))
        assert old.memory is not None
        assert new.memory is not None
        assert (new.status, new.reason) == ("stored", "")
        hits = manager.recall("Where do I live?", user="ana")
        assert [hit.id for hit in hits] == [new.memory.id, old.memory.id]
        assert [later.id for later in hits[1].later] == [new.memory.id]

    def test_attribute_with_several_values_keeps_all(self, manager: MemoryManager) -> None:
        remember(manager, make_message("I love hiking.", 1), make_message("I love chess.", 2, days=1))
        assert [memory.superseded_by for memory in manager.list_memories(user="ana")] == [None, None]

    def test_assistant_does_not_supersede_the_user(self, manager: MemoryManager) -> None:
        (user,) = remember(manager, make_message("I live in Berlin.", 1))
        (other,) = remember(manager, make_message("I now live in Lisbon.", 2, days=30, role="assistant"))
        assert user.memory is not None
        assert other.memory is not None
        assert manager.get(user.memory.id, user="ana").superseded_by is None
        [link] = manager.get_related_memories(other.memory.id, "contradicts", user="ana")
        assert link.id == user.memory.id

    def test_claims_of_other_users_agents_and_unnamed_speakers_stay(self, manager: MemoryManager) -> None:
        texts = [make_message("I live in Berlin.", 1), make_message("I now live in Lisbon.", 2, days=9)]
        manager.remember(texts[0], user="ana")
        manager.remember(texts[1], user="bob")
        manager.remember(texts[1], user="ana", agent="other")
        manager.remember(make_message("I live in Berlin.", 3, name=None), session="one")
        manager.remember(make_message("I now live in Lisbon.", 4, days=9, name=None), session="two")
        assert [memory.superseded_by for memory in manager.list_memories(user=ANY)] == [None] * 5

    def test_plain_text_makes_claims_of_the_user(self, manager: MemoryManager) -> None:
        old, new = manager.remember(["I live in Berlin.", "I now live in Lisbon."], user="ana", at=SAID)
        assert old.memory is not None
        assert new.memory is not None
        assert manager.get(old.memory.id, user="ana").superseded_by == new.memory.id

    def test_imported_claim_can_be_superseded(self, manager: MemoryManager, clock: FakeClock, tmp_path: Path) -> None:
        remember(manager, make_message("I live in Berlin.", 1))
        manager.export_jsonl(tmp_path / "out.jsonl")
        with open_manager(tmp_path / "other.db", clock) as other:
            other.import_jsonl(tmp_path / "out.jsonl")
            (new,) = remember(other, make_message("I moved to Lisbon.", 2, days=9))
            assert [memory.superseded_by for memory in other.list_memories(user="ana")] == [new.memory.id, None]  # type: ignore[union-attr]

    def test_forgotten_claim_is_not_superseded(self, manager: MemoryManager, path: Path) -> None:
        (old,) = remember(manager, make_message("I live in Berlin.", 1), make_message("Hello again!", 2))[:1]
        assert old.memory is not None
        manager.forget(user="ana")
        assert logged_messages(path) == []
        assert remember(manager, make_message("I moved to Lisbon.", 3, days=9))[0].reason == ""


class UnavailableLLM:
    def complete(self, prompt: str, *, max_tokens: int) -> str:
        raise Unavailable("the model is out")


class CountingBrokenLLM:
    calls = 0
    answers: str | None = None

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        self.calls += 1
        if self.answers is None:
            raise OSError("no route to host")
        return self.answers


def fact_answer(quote: str, fact: str) -> str:
    return json.dumps([{"message": 1, "quote": quote, "fact": fact, "importance": 0.8}])


FACT = fact_answer("moved to Lisbon last month", "Ana moved to Lisbon in February 2026.")


class TestWithModel:
    def test_facts_are_stored_besides_the_message(self, path: Path, clock: FakeClock) -> None:
        with open_manager(path, clock, ScriptedLLM([FACT])) as manager:
            outcomes = manager.remember([make_message("I moved to Lisbon last month.", 1)], user="ana")
            assert [(outcome.status, outcome.message_id) for outcome in outcomes] == [
                ("stored", "m1"),
                ("stored", "m1"),
            ]
            fact = outcomes[1].memory
            assert fact is not None
            assert (fact.content, fact.type) == ("Ana moved to Lisbon in February 2026.", MemoryType.SEMANTIC)
            assert fact.evidence == (2, 28)
            assert (outcomes.usage.calls, outcomes.usage.estimated) == (1, True)

    def test_fact_without_evidence_is_rejected(self, path: Path, clock: FakeClock) -> None:
        with open_manager(path, clock, ScriptedLLM([fact_answer("moved to Mars", "Ana moved to Mars.")])) as manager:
            outcomes = manager.remember([make_message("I moved to Lisbon last month.", 1)], user="ana")
            assert [(outcome.status, outcome.rule) for outcome in outcomes] == [
                ("stored", ""),
                ("rejected", "evidence"),
            ]

    @pytest.mark.parametrize("llm", [UnavailableLLM(), ScriptedLLM(["no JSON", "still no JSON"])])
    def test_failed_extraction_keeps_the_messages_and_is_retried(self, path: Path, clock: FakeClock, llm: LLM) -> None:
        with open_manager(path, clock, llm) as manager:
            outcomes = manager.remember([make_message("I moved to Lisbon last month.", 1)], user="ana", session="s1")
            assert [outcome.status for outcome in outcomes] == ["stored"]
            assert outcomes.failure
            assert outcomes[0].queued == outcomes.failure
            assert contents(manager) == ["I moved to Lisbon last month."]
        moved = fact_answer("moved to Lisbon", "Ana moved to Lisbon.")
        with open_manager(path, clock, ScriptedLLM(["[]", moved])) as manager:
            outcomes = manager.remember([make_message("The bees are fine.", 2)], user="ana", session="s2")
            assert [(outcome.message_id, outcome.memory and outcome.memory.session) for outcome in outcomes] == [
                ("m2", "s2"),
                ("m1", "s1"),
            ]
            assert outcomes.failure is None
            assert manager.upkeep(policies=["extract"], user="ana").decisions == ()

    def test_strict_call_raises_after_everything_is_stored(self, path: Path, clock: FakeClock) -> None:
        with open_manager(path, clock, UnavailableLLM()) as manager:
            with pytest.raises(ExtractionFailed, match=r"the messages .* are stored") as error:
                manager.remember(make_message("I moved to Lisbon last month.", 1), user="ana", strict=True)
            assert [outcome.status for outcome in error.value.outcomes] == ["stored"]  # type: ignore[attr-defined]
            assert contents(manager) == ["I moved to Lisbon last month."]
            assert manager.health().unread_messages == 1

    def test_repeating_the_call_retries_the_model(self, path: Path, clock: FakeClock) -> None:
        message = make_message("I moved to Lisbon last month.", 1)
        with open_manager(path, clock, UnavailableLLM()) as manager:
            remember(manager, message)
        with open_manager(path, clock, ScriptedLLM([FACT])) as manager:
            again = remember(manager, message)
            assert [outcome.status for outcome in again] == ["duplicate", "stored"]
            assert [outcome.status for outcome in remember(manager, message)] == ["duplicate"]

    def test_two_messages_with_the_same_id_keep_their_own_facts(self, path: Path, clock: FakeClock) -> None:
        with open_manager(path, clock, UnavailableLLM()) as manager:
            manager.remember(make_message("I moved to Lisbon last month.", 1), user="ana", session="one")
        bees = fact_answer("keep bees", "Ana keeps bees.")
        with open_manager(path, clock, ScriptedLLM([bees, FACT])) as manager:
            outcomes = manager.remember(make_message("I keep bees.", 1), user="ana", session="two")
            assert [outcome.memory and outcome.memory.session for outcome in outcomes] == ["two", "two", "one"]

    def test_unnamed_speaker_is_the_user_of_the_scope_in_a_retry(self, path: Path, clock: FakeClock) -> None:
        with open_manager(path, clock, UnavailableLLM()) as manager:
            remember(manager, make_message("I live in Lisbon.", 1, name=None))
        item = {"quote": "I live in Lisbon", "text": "Ana lives in Lisbon.", "value": "Lisbon"}
        with open_manager(path, clock, ScriptedLLM([json.dumps([item])])) as manager:
            manager.upkeep(policies=["extract"])
            memories = manager.list_memories(user="ana")
            assert [memory.trust for memory in memories] == ["user", "model"]
            assert [memory.notes["claims"][0]["subject"] for memory in memories] == ["ana", "ana"]

    def test_models_words_never_hide_what_the_user_said(self, path: Path, clock: FakeClock) -> None:
        item = {
            "quote": "My hotel is in Porto now",
            "text": "Ana's hotel is in Porto now",
            "subject": "Ana's hotel",
            "attribute": "is in",
            "value": "Porto",
            "operation": "update",
        }
        with open_manager(path, clock, ScriptedLLM(["[]", json.dumps([item])])) as manager:
            (told, *_) = remember(manager, make_message("I live in Lisbon.", 1))
            remember(manager, make_message("My hotel is in Porto now.", 2, days=3))
            assert told.memory is not None
            assert manager.get(told.memory.id, user="ana").superseded_by is None

    def test_model_that_is_out_is_not_asked_with_every_call(
        self, path: Path, clock: FakeClock, caplog: pytest.LogCaptureFixture
    ) -> None:
        llm = CountingBrokenLLM()
        with open_manager(path, clock, llm) as manager:
            for number in range(10):
                outcomes = remember(manager, make_message(f"I planted {number + 2} plum trees.", number))
                assert [outcome.status for outcome in outcomes] == ["stored"]
                assert outcomes.failure
                clock.advance(seconds=1)
            assert llm.calls == 2  # the second call asks again, then the model has a pause
            assert manager.health().unread_messages == 10
            assert "10 messages wait" in manager.health().problems[0]
            clock.advance(hours=1)
            llm.answers = "[]"
            assert remember(manager, make_message("I sold a plum tree.", 11)).failure is None
            assert manager.health().unread_messages == 0
            assert manager.health().last_model_failure is None
        assert len([record for record in caplog.records if record.levelname == "WARNING"]) == 1

    def test_message_that_no_model_can_read_does_not_keep_others_from_being_read(
        self, path: Path, clock: FakeClock
    ) -> None:
        class PickyLLM:
            prompts = 0

            def complete(self, prompt: str, *, max_tokens: int) -> str:
                self.prompts += 1
                return "{broken" if "cursed" in prompt else "[]"

        llm = PickyLLM()
        with open_manager(path, clock, llm) as manager:
            assert remember(manager, make_message("The cursed vase is in the attic.", 1)).failure
            assert remember(manager, make_message("The blue vase is in the hall.", 2))[0].queued == ""
            asked = llm.prompts
            assert remember(manager, make_message("The red vase is in the hall.", 3)).failure is None
            assert llm.prompts == asked + 1  # the unreadable one waits
            assert manager.health().unread_messages == 1

    def test_tenants_share_the_model(self, path: Path, clock: FakeClock) -> None:
        script = path.with_suffix(".json")
        script.write_text("[]")
        with MemoryManager(
            f"sqlite:///{path}", embedder=HashEmbedder(16), clock=clock, llm=f"scripted:{script}"
        ) as one:
            assert one._components.llm is one.for_tenant("other")._components.llm is not None

    def test_upkeep_retries_the_model(self, path: Path, clock: FakeClock) -> None:
        with open_manager(path, clock, UnavailableLLM()) as manager:
            remember(manager, make_message("I moved to Lisbon last month.", 1))
        with open_manager(path, clock, UnavailableLLM()) as manager:
            assert "the model is out" in manager.upkeep(policies=["extract"]).problems[0]
        with open_manager(path, clock) as manager:
            assert manager.upkeep(policies=["extract"]).decisions == ()
            planned = manager.upkeep(policies=["extract"], llm=ScriptedLLM([FACT]), dry_run=True)
            assert [each.content for each in planned.decisions] == ["I moved to Lisbon last month."]
            done = manager.upkeep(policies=["extract"], llm=ScriptedLLM([FACT]))
            assert [each.content for each in done.decisions] == ["Ana moved to Lisbon in February 2026."]
            assert done.usage.calls == 1
            assert manager.upkeep(policies=["extract"], llm=UnavailableLLM()).decisions == ()

    def test_model_is_not_asked_about_rejected_messages(self, path: Path, clock: FakeClock) -> None:
        llm = ScriptedLLM([])
        with open_manager(path, clock, llm) as manager:
            remember(manager, make_message("Hello!", 1))
            assert llm.prompts == []


_REPEATED = (
    *(
        "not ",
        "instead of ",
        "no longer ",
        "I live in ",
        "Anna, ",
        "Bob's ",
        "from A to B ",
        "until May ",
        "5, ",
        "and ",
    ),
    *("my name is Bob and ", "correction: ", "call me ", "user: a\n", "> q\n", "password ", "(", '"', ":", "\n"),
    *("1,", "$1,", "!", "## What holds on 2024-01-01 [#1", "- [#1"),
)


def test_long_text_is_read_in_bounded_time(manager: MemoryManager) -> None:
    long = [(part * 6_000)[:6_000] for part in _REPEATED]
    long += [(part * 18_000)[:18_000] for part in ("1,", "## What holds on 2024-01-01 [#1")]
    # What is quoted is replaced by spaces before the rules read a text.
    quoted = ['I said "' + "word " * 12_000 + '", not 6.', "Translate to German:\n" + "word " * 2_000]
    encoded = [character * 30_000 for character in "x1X"]
    for number, text in enumerate([*long, *quoted, *encoded]):
        started = time.process_time()
        remember(manager, make_message(text, number))
        assert time.process_time() - started < 5, text[:40]
