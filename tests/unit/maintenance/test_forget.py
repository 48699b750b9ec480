from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda import ANY, InvalidInput, MemoryManager, Message, NotFound
from memoranda.maintenance import forget
from memoranda.maintenance.erasure import ErasureRows, ErasureTarget, find_rows, with_derived
from memoranda.maintenance.forget import MemoryEraser
from memoranda.maintenance.policies import POLICIES, UpkeepSettings
from memoranda.results.maintenance import Derivation, ForgetReceipt
from memoranda.storage.base import ReadTransaction
from memoranda.storage.sqlite import store as sqlite_store
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.export import export_lines
from tests.fake_clock import FakeClock
from tests.prove.children import Child
from tests.unit.maintenance.samples import NOW as START
from tests.unit.maintenance.samples import open_manager

CANARY = "quokkazebu"
"""A word that occurs nowhere else and that stemming leaves unchanged."""


@pytest.fixture
def manager(path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with open_manager(path, clock) as manager:
        yield manager


def files_containing(path: Path, word: str = CANARY) -> list[str]:
    """Return the names of the files in the database folder that contain the word."""
    return [file.name for file in path.parent.iterdir() if word.encode() in file.read_bytes().lower()]


def contains_vector(path: Path, text: str) -> bool:
    row = HashEmbedder().embed([text], kind="passage")[0].astype("<f4").tobytes()
    return any(row in file.read_bytes() for file in path.parent.iterdir())


def fill(manager: MemoryManager, user: str | None = "bob", count: int = 300) -> None:
    """Add enough other memories that the erased rows are spread over many pages."""
    texts = [f"{user} remembers thing {n} of {count}, said at some length" for n in range(count)]
    manager.add_memories(texts, user=user)


def status_by_store(receipt: ForgetReceipt) -> dict[str, str]:
    return {entry.store: entry.status for entry in receipt.stores}


def test_forgetting_user_leaves_no_bytes_in_any_file(manager: MemoryManager, path: Path) -> None:
    fill(manager)
    texts = [f"{CANARY} number {n} has a secret" for n in range(200)]
    manager.add_memories(texts, user="ada", metadata={"about": CANARY}, source=CANARY)
    manager.remember([Message("user", text, name=CANARY) for text in texts[:50]], user="ada", session="s")
    manager.get_memory("helper", user="ada").add(Message("user", f"chat of {CANARY}"))
    memory = manager.add_memory("will change", user="ada")
    manager.update(memory.id, f"changed to {CANARY}", user="ada")
    manager.update(memory.id, "changed back", user="ada")
    manager.recall(CANARY, user="ada")
    fill(manager)
    assert files_containing(path)
    receipt = manager.forget(user="ada")
    assert receipt.complete
    assert files_containing(path) == []
    assert not contains_vector(path, texts[7])
    assert list(manager.recall(CANARY, user="ada")) == []
    assert manager.get_memory("helper", user="ada").get_messages() == []
    assert manager.check().ok
    assert manager.get_stats().long_term_entries == 600


def test_receipt_names_every_store(manager: MemoryManager) -> None:
    first, second = manager.add_memories(["one", "two"], user="ada")
    manager.add_memory_association(first.id, second.id, user="ada")
    manager.update(first.id, "one and a half", user="ada")
    receipt = manager.forget(user="ada")
    counts = {entry.store: entry.count for entry in receipt.stores}
    assert (counts["memories"], counts["vectors"], counts["associations"], counts["revisions"]) == (2, 2, 1, 1)
    assert status_by_store(receipt)["database file"] == "erased"
    assert status_by_store(receipt)["execution records"] == "erased"
    others = {"messages", "conversation log", "claims", "lineage", "recalls", "short-term values", "backups"}
    assert others <= set(counts)
    assert receipt.ids == (first.id, second.id)


def test_dry_run_reports_same_ids_and_changes_nothing(manager: MemoryManager) -> None:
    manager.add_memories(["one", "two"], user="ada")
    planned = manager.forget(user="ada", dry_run=True)
    assert len(manager.list_memories(user="ada")) == 2
    assert planned.ids == manager.forget(user="ada").ids
    assert not planned.complete


def test_derived_memories_are_forgotten_with_their_source(manager: MemoryManager, clock: FakeClock, path: Path) -> None:
    words = ["lost", "found", "threw", "saw"]
    texts = [f"the cat {word} the {CANARY} ball in the garden" for word in words]
    turns = [Message("user", text, name="Ada", timestamp=START) for text in texts]
    outcomes = manager.remember(turns, user="ada", session="s1")
    clock.advance(days=10)
    settings = UpkeepSettings(session_least=4, period_least=4)
    derived = [
        decision.id
        for decision in manager.upkeep(policies=POLICIES, settings=settings).decisions
        if decision.action == "derived"
    ]
    assert len(derived) == 3
    source = outcomes[0].memory
    assert source is not None
    receipt = manager.forget(source.id, user="ada")
    assert set(receipt.ids) == {source.id, *derived}
    rest = [outcome.memory.id for outcome in outcomes[1:] if outcome.memory]
    assert set(manager.forget(rest, user="ada").ids) >= set(rest)
    assert files_containing(path) == []


def test_merged_memories_are_forgotten_together(manager: MemoryManager) -> None:
    first, second = manager.add_memories(["The safe is behind the clock", "The safe is behind the clock!"])
    manager.upkeep(policies=["merge"])
    assert manager.forget(second.id).ids == (first.id, second.id)


def test_forgetting_text_erases_memories_and_messages_with_it(manager: MemoryManager, path: Path) -> None:
    manager.add_memories([f"I met {CANARY.upper()} today", "I met nobody today"], user="ada")
    chat = manager.get_memory("helper", user="ada")
    chat.add([Message("user", f"{word} is a name") for word in ("Ann", CANARY, "Ben")])
    manager.forget(containing=CANARY, user="ada")
    assert [memory.content for memory in manager.list_memories(user="ada")] == ["I met nobody today"]
    assert [message.content for message in chat.get_messages()] == ["Ann is a name", "Ben is a name"]
    assert files_containing(path) == []
    assert manager.check().ok


def test_turn_is_forgotten_with_its_copy_in_conversation(manager: MemoryManager, path: Path) -> None:
    turn = Message("user", f"my word is {CANARY}")
    manager.get_memory("helper", user="ada").add(turn)
    (outcome,) = manager.remember(turn, agent="helper", user="ada")
    assert outcome.memory is not None
    manager.forget(outcome.memory.id, user="ada")
    assert files_containing(path) == []


def test_filter_and_session_limit_what_is_forgotten(manager: MemoryManager) -> None:
    for session in ("s1", "s2"):
        manager.add_memory("plain", user="ada", session=session)
        manager.add_memory("tagged", user="ada", session=session, metadata={"tag": "x"})
    assert len(manager.forget(user="ada", where={"metadata": {"tag": "x"}}).ids) == 2
    assert len(manager.forget(user="ada", session="s1").ids) == 1
    assert [memory.session for memory in manager.list_memories(user="ada")] == ["s2"]


def test_forgetting_leaves_other_users_tenants_and_shared_knowledge(manager: MemoryManager) -> None:
    manager.add_knowledge("The office opens at nine.", source="a")
    other = manager.for_tenant("other")
    for one in (manager, other):
        for user in ("ada", "bob", None):
            one.add_memory("hello", user=user)
    manager.forget(user="ada")
    assert {memory.user for memory in manager.list_memories(user=ANY)} >= {"bob", None}
    manager.forget(user=ANY)
    assert manager.get_knowledge_sources()[0].chunks == 1
    assert len(other.list_memories(user=ANY)) == 3


def test_forgetting_agent_erases_its_short_term_values(manager: MemoryManager) -> None:
    manager.save("a", "k", CANARY)
    manager.save("b", "k", "kept")
    receipt = manager.forget(agent="a")
    assert status_by_store(receipt)["short-term values"] == "erased"
    assert (manager.retrieve("a", "k"), manager.retrieve("b", "k")) == (None, "kept")


def test_forget_rejects_missing_target_and_unknown_ids(manager: MemoryManager) -> None:
    memory = manager.add_memory("hello", user="ada")
    with pytest.raises(InvalidInput, match="forget what"):
        manager.forget()
    with pytest.raises(NotFound, match="424242"):
        manager.forget([memory.id, 424_242], user="ada")
    with pytest.raises(NotFound):
        manager.forget(memory.id)
    assert manager.get(memory.id, user="ada") == memory
    assert manager.forget(user="nobody").ids == ()


def test_reader_of_old_pages_makes_erasure_pending_until_upkeep(
    manager: MemoryManager, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_store, "_COMPACT_SECONDS", 0.05)
    manager.add_memory(CANARY, user="ada")
    opened = manager._components.open()
    lines = opened.store.stream(lambda tx: export_lines(tx, manager._components.knowledge.scope, opened.store.id))
    next(lines)
    next(lines)
    receipt = manager.forget(user="ada")
    assert status_by_store(receipt)["database file"] == "pending"
    assert not receipt.complete
    lines.close()  # type: ignore[attr-defined]
    manager.upkeep()
    assert files_containing(path) == []


def test_index_loaded_before_erasure_is_not_saved(path: Path, clock: FakeClock) -> None:
    first, second = open_manager(path, clock), open_manager(path, clock)
    fill(first, user="ada", count=30)
    for one in (first, second):
        one._components.open().partitions._graph_from = 10
        one.recall("thing", user="ada")
        one._components.open().partitions.wait_for_graphs()
    text = first.list_memories(1, user="ada")[0]
    first.forget(text.id, user="ada")
    second.close()
    assert not contains_vector(path, text.content)
    first.close()
    assert not contains_vector(path, text.content)


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12])
def test_killed_process_leaves_all_or_nothing(path: Path, clock: FakeClock, delay: float) -> None:
    with open_manager(path, clock) as manager:
        fill(manager, count=100)
        manager.add_memories([f"{CANARY} number {n}" for n in range(100)], user="ada")

    def forget(pipe: int) -> None:
        manager = open_manager(path, clock)
        manager.list_memories(1)
        os.write(pipe, b"{}\n")
        manager.forget(user="ada")
        time.sleep(10)

    child = Child(forget)
    next(child.messages(time.monotonic() + 20))
    time.sleep(delay)
    list(child.kill())
    with open_manager(path, clock) as manager:
        left = len(manager.list_memories(1000, user="ada"))
        assert left in (0, 100)
        assert bool(left) == bool(files_containing(path))
        manager.forget(user="ada")
        assert files_containing(path) == []
        assert len(manager.list_memories(1000, user="bob")) == 100
        assert manager.check().ok


def test_next_start_finishes_interrupted_erasure(path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> list[object]:
        raise KeyboardInterrupt

    with open_manager(path, clock) as manager:
        manager.add_memory(CANARY, user="ada")
        with monkeypatch.context() as patch:
            patch.setattr(MemoryEraser, "_clean_up", interrupt)
            with pytest.raises(KeyboardInterrupt):
                manager.forget(user="ada")
        assert files_containing(path)
    with open_manager(path, clock):
        assert files_containing(path) == []


def test_with_derived_follows_lineage_and_merges() -> None:
    lines = [
        Derivation(10, 1, "consolidated"),
        Derivation(11, 10, "reflection"),
        Derivation(12, 2, "summary"),
        Derivation(3, 4, "merged"),
    ]
    assert with_derived([1], lines) == {1, 10, 11}
    assert with_derived([3], lines) == {3, 4}
    assert with_derived([4], lines) == {3, 4}
    assert with_derived([11], lines) == {11}


@pytest.mark.parametrize("phrase", ["cafe\u0301 in lyon", "café  in\tLyon", "CAFÉ in Lyon"])
@pytest.mark.parametrize("stored", ["My café in Lyon opens at 7.", "My cafe\u0301  in Lyon opens at 7."])
def test_phrase_is_found_in_any_unicode_form_and_spacing(manager: MemoryManager, stored: str, phrase: str) -> None:
    manager.remember(Message("user", stored), user="ana")
    receipt = manager.forget(user="ana", containing=phrase)
    assert receipt.complete
    assert manager.list_memories(user="ana") == []


def test_spaces_around_a_phrase_keep_their_meaning(manager: MemoryManager) -> None:
    manager.remember("Every category counts.", user="ana")
    manager.forget(user="ana", containing=" cat ")
    assert len(manager.list_memories(user="ana")) == 1


@pytest.mark.parametrize(("tenant", "user"), [("other", "ann"), ("default", "bob"), ("default", None)])
def test_forget_finds_its_rows_once_while_others_write(
    manager: MemoryManager, monkeypatch: pytest.MonkeyPatch, tenant: str, user: str | None
) -> None:
    manager.add_memories(["the river is cold", "the lamp is green"], user="ann")
    other, searches = manager.for_tenant(tenant), list[int]()

    def find_while_others_write(tx: ReadTransaction, target: ErasureTarget) -> ErasureRows:
        rows = find_rows(tx, target)
        searches.append(other.add_memory(f"tea {len(searches)}", user=user).id)  # inside of a write it would wait
        return rows

    monkeypatch.setattr(forget, "find_rows", find_while_others_write)
    assert len(manager.forget(user="ann").ids) == 2
    assert len(searches) == 1
    assert manager.list_memories(user="ann") == []


def test_forget_erases_what_was_added_while_it_looked(manager: MemoryManager, monkeypatch: pytest.MonkeyPatch) -> None:
    manager.add_memory("the river is cold", user="ann")
    added: list[int] = []

    def find_before_another_is_added(tx: ReadTransaction, target: ErasureTarget) -> ErasureRows:
        rows = find_rows(tx, target)
        added.extend([] if added else [manager.add_memory(f"the {CANARY} is green", user="ann").id])
        return rows

    monkeypatch.setattr(forget, "find_rows", find_before_another_is_added)
    receipt = manager.forget(user="ann")
    assert set(receipt.ids) == {1, *added}
    assert manager.list_memories(user="ann") == []


def test_forget_erases_messages_that_came_while_it_looked(
    manager: MemoryManager, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manager.add_memory("the river is cold", user="ann")
    said: list[str] = []

    def find_before_something_is_said(tx: ReadTransaction, target: ErasureTarget) -> ErasureRows:
        rows = find_rows(tx, target)
        if not said:
            said.append(CANARY)
            manager.get_memory("agent", user="ann").add_message(Message("user", CANARY))
        return rows

    monkeypatch.setattr(forget, "find_rows", find_before_something_is_said)
    manager.forget(user="ann")
    assert files_containing(path) == []
