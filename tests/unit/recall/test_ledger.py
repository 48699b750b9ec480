from __future__ import annotations

import json
import logging
import os
import threading
from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import func, select

from memoranda import ANY, MemoryConfig, MemoryManager, NotFound, Recall
from memoranda.errors import Unavailable
from memoranda.recall import ledger as ledger_module
from memoranda.storage.base import ReadTransaction
from memoranda.storage.schema import recalled_memories, recalls
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

TEXTS = ("I live in Hamburg.", "My sister is called Ida.", "I play the cello on Mondays.", "I work at a bakery.")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def memory(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with open_manager(tmp_path, clock) as manager:
        manager.remember(list(TEXTS), user="nora")
        yield manager


def open_manager(folder: Path, clock: FakeClock, **settings: Any) -> MemoryManager:
    config = MemoryConfig(db_url=f"sqlite:///{folder}/a.db", **settings)
    return MemoryManager(config, embedder=HashEmbedder(64), clock=clock)


def count(manager: MemoryManager, table: Any) -> int:
    manager._components.ledger.write()

    def read(tx: ReadTransaction) -> int:
        return int(tx.execute(select(func.count()).select_from(table)).scalar_one())

    return manager._components.open().store.read(read)


def replayed(manager: MemoryManager, recall: Recall, **scope: Any) -> Recall:
    past = manager.replay(recall.id, user="nora", **scope)
    assert past.complete
    assert past.erased == ()
    return past.recall


def test_replay_returns_the_very_same_recall(memory: MemoryManager) -> None:
    found = memory.recall("Where do I live?", user="nora", explain=True)
    assert len(found) == 4
    assert replayed(memory, found) == found


def test_recall_context_and_replay_are_plain_json_data(memory: MemoryManager) -> None:
    found = memory.recall("Where do I live?", user="nora", explain=True)
    text = memory.context("Where do I live?", user="nora")
    past = memory.replay(found.id, user="nora")
    for result in (found, text, past):
        assert json.loads(json.dumps(result.to_dict())) == result.to_dict()
    assert found.to_dict()["hits"][0]["content"] == TEXTS[0]
    assert text.to_dict()["text"] == text


def test_replay_gives_scores_reasons_and_explanation_bit_by_bit(memory: MemoryManager) -> None:
    found = memory.recall("What did I play last week?", user="nora", explain=True, limit=3)
    again = replayed(memory, found)
    assert repr(again) == repr(found)
    assert [hit.why for hit in again] == [hit.why for hit in found]


def test_replay_says_when_and_how_it_was_asked(memory: MemoryManager, clock: FakeClock) -> None:
    asked_at = clock()
    found = memory.recall("cello?", user="nora", limit=2, types=["semantic", "episodic"], where={"speaker": "nora"})
    past = memory.replay(found.id, user="nora")
    assert past.asked_at == asked_at
    assert past.parameters["limit"] == 2
    assert past.parameters["types"] == ["semantic", "episodic"]
    assert past.parameters["where"] == {"speaker": "nora"}


def test_replay_is_unchanged_by_everything_that_happens_to_the_memories(
    memory: MemoryManager, clock: FakeClock
) -> None:
    found = memory.recall("What about my life?", user="nora")
    ids = {hit.content: hit.id for hit in found}
    clock.advance(minutes=1)
    memory.update(ids[TEXTS[1]], content="My sister is called Eva.", metadata={"new": 1}, user="nora")
    memory.archive(ids[TEXTS[2]], user="nora")
    memory.pin(ids[TEXTS[3]], user="nora")
    memory.remember("I moved to Ghent.", user="nora")
    memory.remember([f"I saw film number {n}." for n in range(30)], user="nora")
    clock.advance(minutes=1)
    assert memory.recall("What about my life?", user="nora").hits != found.hits
    assert replayed(memory, found) == found


def test_memory_that_changes_before_the_ledger_is_written_is_replayed_as_it_was_shown(memory: MemoryManager) -> None:
    first = memory.recall("sister", user="nora", limit=1)
    memory.update(first[0].id, content="My sister is called Eva.", user="nora")
    second = memory.recall("sister", user="nora", limit=1)
    assert first[0].content != second[0].content
    assert replayed(memory, first) == first
    assert replayed(memory, second) == second


def test_result_that_the_caller_changes_is_replayed_as_it_was(memory: MemoryManager) -> None:
    memory.add_memory("The alarm code is in the drawer.", metadata={"room": "hall"}, user="nora")
    found = memory.recall("alarm code drawer", user="nora", limit=1)
    found[0].metadata["room"] = "changed"
    found[0].memory.notes["changed"] = True
    again = replayed(memory, found)
    assert again[0].metadata == {"room": "hall"}
    assert "changed" not in again[0].memory.notes


def test_value_under_a_key_is_replayed_as_it_was(memory: MemoryManager) -> None:
    memory.save("writer", "draft", {"title": "Tea"}, memory_type="long_term")
    found = memory.recall("Tea", agent="writer")
    memory.save("writer", "draft", {"title": "Coffee"}, memory_type="long_term")
    assert memory.replay(found.id, agent="writer").recall == found


def test_recall_is_replayed_after_a_restart(tmp_path: Path, clock: FakeClock) -> None:
    with open_manager(tmp_path, clock) as manager:
        manager.remember(list(TEXTS), user="nora")
        found = manager.recall("Where do I live?", user="nora")
    with open_manager(tmp_path, clock) as manager:
        assert manager.replay(found.id, user="nora").recall == found


def test_recall_of_shared_knowledge_is_replayed(memory: MemoryManager) -> None:
    memory.add_knowledge("Tea is brewed for three minutes.", source="tea.md")
    found = memory.recall("How long is tea brewed?", user="nora", shared=True)
    memory.remove_knowledge("tea.md")
    past = memory.replay(found.id, user="nora")
    assert [hit.id for hit in past.erased] == [hit.id for hit in found if hit.source == "tea.md"]
    assert past.recall.hits == tuple(hit for hit in found if hit.source != "tea.md")


def test_deleted_memory_is_named_by_its_position(memory: MemoryManager) -> None:
    found = memory.recall("Where do I live?", user="nora")
    memory.delete(found[1].id, user="nora")
    past = memory.replay(found.id, user="nora")
    assert not past.complete
    assert [(hit.position, hit.id) for hit in past.erased] == [(2, found[1].id)]
    assert past.recall.hits == (found[0], *found[2:])


def test_forgotten_memory_leaves_no_text_in_the_file(memory: MemoryManager, tmp_path: Path) -> None:
    found = memory.recall("Which instrument?", user="nora")
    count(memory, recalls)
    cello = next(hit.id for hit in found if "cello" in hit.content)
    receipt = memory.forget(cello, user="nora")
    assert receipt.complete
    assert [hit.id for hit in memory.replay(found.id, user="nora").erased] == [cello]
    assert b"cello" not in b"".join(path.read_bytes() for path in tmp_path.glob("a.db*"))


def test_forgetting_a_user_erases_what_they_asked(memory: MemoryManager, tmp_path: Path) -> None:
    memory.remember("I like skiing.", user="ben")
    kept = memory.recall("What do I like?", user="ben")
    gone = memory.recall("Do I have xylophobia?", user="nora")
    receipt = memory.forget(user="nora")
    assert {store.store: store.count for store in receipt.stores}["recalls"] == 1
    with pytest.raises(NotFound):
        memory.replay(gone.id, user="nora")
    assert memory.replay(kept.id, user="ben").recall == kept
    assert b"xylophobia" not in b"".join(path.read_bytes() for path in tmp_path.glob("a.db*"))


def test_forgetting_a_user_without_memories_erases_what_they_asked(memory: MemoryManager, tmp_path: Path) -> None:
    memory.recall("Do I have xylophobia?", user="zoe")
    memory.forget(user="zoe")
    assert count(memory, recalls) == 0
    assert b"xylophobia" not in b"".join(path.read_bytes() for path in tmp_path.glob("a.db*"))


def test_forgetting_a_text_erases_the_questions_that_contain_it(memory: MemoryManager) -> None:
    gone = memory.recall("When do I play the Cello?", user="nora")
    kept = memory.recall("Where do I live?", user="nora")
    memory.forget(containing="cello", user="nora")
    with pytest.raises(NotFound):
        memory.replay(gone.id, user="nora")
    assert not memory.replay(kept.id, user="nora").complete


def test_recall_that_another_process_has_yet_to_write_does_not_survive_an_erasure(
    memory: MemoryManager, tmp_path: Path, clock: FakeClock
) -> None:
    with open_manager(tmp_path, clock) as other:
        other.recall("Do I have xylophobia?", user="nora")
        clock.advance(seconds=5)
        memory.forget(user="nora")
        clock.advance(seconds=5)
        later = other.recall("Am I new?", user="nora")
    assert memory.replay(later.id, user="nora").recall == later
    assert count(memory, recalls) == 1


def test_preview_of_forgetting_names_the_recalls_that_would_change(memory: MemoryManager, clock: FakeClock) -> None:
    first = memory.recall("Where do I live?", user="nora")
    asked_at = clock()
    clock.advance(minutes=5)
    second = memory.recall("Which instrument do I play?", user="nora", limit=1)
    ids = [first[0].id, first[1].id]
    preview = memory.forget(ids, user="nora", dry_run=True)
    affected = {recall.id: recall for recall in preview.recalls}
    assert affected[first.id].memories == 2
    assert affected[first.id].asked_at == asked_at
    assert (second.id in affected) == (second[0].id in ids)
    assert memory.replay(first.id, user="nora").complete
    assert memory.forget(ids, user="nora").recalls == ()


@pytest.mark.parametrize("scope", [{}, {"user": "ben"}, {"user": "nora", "agent": "other"}])
def test_replay_in_another_scope_finds_nothing(memory: MemoryManager, scope: dict[str, str]) -> None:
    found = memory.recall("Where do I live?", user="nora")
    with pytest.raises(NotFound, match=found.id):
        memory.replay(found.id, **scope)


def test_replay_of_another_tenant_finds_nothing(memory: MemoryManager) -> None:
    found = memory.recall("Where do I live?", user="nora")
    for scope in ({"user": "nora"}, {"user": ANY}):
        with pytest.raises(NotFound):
            memory.for_tenant("other").replay(found.id, **scope)


def test_recall_across_users_is_replayed_only_across_users(memory: MemoryManager) -> None:
    memory.remember("I live in Rome.", user="ben")
    found = memory.recall("Who lives where?", user=ANY)
    for user in (None, "nora", "ben"):
        with pytest.raises(NotFound):
            memory.replay(found.id, user=user)
    assert memory.replay(found.id, user=ANY).recall == found


def test_unknown_recall_is_not_found(memory: MemoryManager) -> None:
    with pytest.raises(NotFound, match="no recall 'abc'"):
        memory.replay("abc", user="nora")


def test_secrets_in_a_question_are_masked(memory: MemoryManager, tmp_path: Path) -> None:
    found = memory.recall("Is sk-abcdefghijklmnop1234 my key? Where do I live?", user="nora", explain=True)
    past = memory.replay(found.id, user="nora")
    assert past.recall.hits == found.hits
    assert "abcdefghijklmnop1234" not in past.recall.query
    assert "Where do I live?" in past.recall.query
    assert past.recall.explanation is None
    assert b"abcdefghijklmnop1234" not in b"".join(path.read_bytes() for path in tmp_path.glob("a.db*"))


def test_secrets_in_filters_are_masked(memory: MemoryManager) -> None:
    where = {"metadata": {"password": "hunter2x", "note": "sk-abcdefghijklmnop1234", "room": "hall"}}
    found = memory.recall("key", user="nora", where=where)
    kept = memory.replay(found.id, user="nora").parameters["where"]
    assert isinstance(kept, dict)
    assert "hunter2x" not in str(kept)
    assert "abcdefghijklmnop" not in str(kept)
    assert kept["metadata"]["room"] == "hall"  # type: ignore[call-overload, index]


def test_ledger_can_be_switched_off(tmp_path: Path, clock: FakeClock) -> None:
    with open_manager(tmp_path, clock, recall_ledger=False) as manager:
        manager.remember(list(TEXTS), user="nora")
        found = manager.recall("Where do I live?", user="nora")
        assert count(manager, recalls) == 0
        with pytest.raises(NotFound, match="switched off"):
            manager.replay(found.id, user="nora")


def test_ledger_keeps_the_newest_recalls(tmp_path: Path, clock: FakeClock) -> None:
    with open_manager(tmp_path, clock, recall_ledger_size=3) as manager:
        manager.remember(list(TEXTS), user="nora")
        asked = []
        for n in range(5):
            asked.append(manager.recall(f"Where do I live {n}?", user="nora", limit=1))
            clock.advance(seconds=1)
        assert count(manager, recalls) == 3
        for old in asked[:2]:
            with pytest.raises(NotFound):
                manager.replay(old.id, user="nora")
        assert all(manager.replay(new.id, user="nora").recall == new for new in asked[2:])


def test_ledger_drops_old_recalls_with_the_states_that_nothing_else_needs(tmp_path: Path, clock: FakeClock) -> None:
    with open_manager(tmp_path, clock, recall_ledger_days=1) as manager:
        manager.remember(list(TEXTS), user="nora")
        manager.recall("Where do I live?", user="nora")
        assert (count(manager, recalls), count(manager, recalled_memories)) == (1, 4)
        clock.advance(days=2)
        kept = manager.recall("sister", user="nora", limit=1)
        assert (count(manager, recalls), count(manager, recalled_memories)) == (1, 1)
        assert manager.replay(kept.id, user="nora").recall == kept


def test_state_that_is_used_again_is_kept_when_older_recalls_go(tmp_path: Path, clock: FakeClock) -> None:
    with open_manager(tmp_path, clock, recall_ledger_days=1) as manager:
        manager.remember(list(TEXTS), user="nora")
        for _ in range(6):
            found = manager.recall("Where do I live?", user="nora", limit=2)
            assert replayed(manager, found) == found
            clock.advance(hours=13)
        assert count(manager, recalls) == 2
        assert manager.replay(found.id, user="nora").recall == found


def test_state_of_a_memory_is_stored_once(memory: MemoryManager) -> None:
    for n in range(20):
        memory.recall(f"Where do I live {n}?", user="nora")
        memory._components.ledger.write()
    assert count(memory, recalls) == 20
    assert count(memory, recalled_memories) == 4


def test_recalls_are_written_in_the_background_when_there_are_many(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_BATCH", 10)
    found = [memory.recall(f"Where do I live {n}?", user="nora", limit=2) for n in range(35)]
    assert all(replayed(memory, each) == each for each in found)
    assert count(memory, recalls) == 35


def test_background_thread_does_not_let_others_wait_for_an_idle_moment(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_BATCH", 3)
    monkeypatch.setattr(ledger_module, "_IDLE", 600.0)
    found = [memory.recall(f"Where do I live {n}?", user="nora", limit=2) for n in range(3)]
    writer = memory._components.ledger._writer
    assert writer is not None
    assert writer.is_alive()
    assert all(replayed(memory, each) == each for each in found)
    writer.join(timeout=60)
    assert not writer.is_alive()


def test_waiting_recalls_are_written_next_to_others_once_they_are_many(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "_BATCH", 3)
    monkeypatch.setattr(ledger_module, "_MAX_WAITING", 3)
    monkeypatch.setattr(ledger_module, "_IDLE", 600.0)
    for n in range(3):
        memory.recall(f"Where do I live {n}?", user="nora", limit=2)
    ledger = memory._components.ledger
    assert ledger._writer is not None
    ledger._writer.join(timeout=60)
    assert not ledger._pending


def test_recalls_of_many_threads_are_all_kept(memory: MemoryManager, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "_BATCH", 7)
    found: list[Recall] = []

    def ask(thread: int) -> None:
        found.extend(memory.recall(f"Question {thread} {n}", user="nora", limit=2) for n in range(20))

    threads = [threading.Thread(target=ask, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 80
    assert all(replayed(memory, each) == each for each in found)


def test_recall_works_when_the_ledger_cannot_be_written(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: object) -> None:
        raise Unavailable("the disk is full")

    found = memory.recall("Where do I live?", user="nora")
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(ledger_module, "insert_recalls", fail)
        with pytest.raises(NotFound):
            memory.replay(found.id, user="nora")
    assert "1 recall could not be written to the ledger: the disk is full" in caplog.text
    assert len(memory.recall("Where do I live?", user="nora")) == 4


def test_recall_that_cannot_be_encoded_loses_no_other(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def mask(text: str) -> str:
        if "poison" in text:
            raise ValueError("poison is in the text")
        return text

    monkeypatch.setattr(memory._components.ledger, "_mask", mask)
    before, bad, after = [memory.recall(text, user="nora") for text in ("one", "poison", "two")]
    with caplog.at_level(logging.WARNING):
        assert replayed(memory, before) == before
    assert replayed(memory, after) == after
    assert caplog.text.count("1 recall could not be written to the ledger: ValueError") == 1
    with pytest.raises(NotFound):
        memory.replay(bad.id, user="nora")


def test_recall_that_the_store_refuses_loses_no_other(
    memory: MemoryManager, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    to_row = ledger_module._to_row

    def to_bad_row(entry: Any, *others: Any) -> Any:
        row = to_row(entry, *others)
        return replace(row, query="\ud800") if row.query == "poison" else row

    monkeypatch.setattr(ledger_module, "_to_row", to_bad_row)
    before, bad, after = [memory.recall(text, user="nora") for text in ("one", "poison", "two")]
    with caplog.at_level(logging.WARNING):
        assert replayed(memory, before) == before
    assert replayed(memory, after) == after
    assert caplog.text.count("1 recall could not be written to the ledger: a text holds a lone surrogate") == 1
    assert "file name" not in caplog.text
    with pytest.raises(NotFound):
        memory.replay(bad.id, user="nora")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_recalls_before_a_fork_are_written_once(memory: MemoryManager) -> None:
    found = memory.recall("Where do I live?", user="nora")
    child = os.fork()
    if not child:
        memory._components.ledger.write()
        os._exit(0)
    os.waitpid(child, 0)
    assert replayed(memory, found) == found
    assert count(memory, recalls) == 1


def test_why_takes_a_recall_or_its_id(memory: MemoryManager) -> None:
    found = memory.recall("Where do I live?", user="nora")
    chosen = found[2].id
    assert memory.why(found.id, chosen, user="nora") == memory.why(found, chosen) == found[2].why
    with pytest.raises(NotFound, match="use why_not"):
        memory.why(found.id, 999, user="nora")
    memory.delete(chosen, user="nora")
    with pytest.raises(NotFound, match="deleted since"):
        memory.why(found.id, chosen, user="nora")


def test_context_can_be_looked_up_by_its_recall_id(memory: MemoryManager) -> None:
    text = memory.context("Where do I live?", user="nora")
    past = memory.replay(text.recall_id, user="nora")
    assert {hit.id for hit in text.hits} <= {hit.id for hit in past.recall}
    assert past.recall.query == "Where do I live?"


def test_every_field_of_a_recall_is_kept(memory: MemoryManager) -> None:
    found = memory.recall("Where do I live?", user="nora", explain=True)
    again = replayed(memory, found)
    for spec in fields(Recall):
        assert getattr(again, spec.name) == getattr(found, spec.name)
    assert again != replace(found, head=found.head + 1)
    assert found.head > 0
