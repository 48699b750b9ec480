from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import ANY, InvalidInput, MemoryManager, Message, NotFound
from memoranda.maintenance.base import POLICIES, UpkeepSettings
from memoranda.maintenance.forget import Forgetting
from memoranda.results import ForgetReceipt
from memoranda.storage.sqlite import integrity
from memoranda.testing.fakes import HashEmbedder
from memoranda.transfer.export import export_lines
from tests.crash.children import Child
from tests.fake_clock import FakeClock

START = datetime(2026, 5, 1, 12, tzinfo=UTC)
CANARY = "quokkazebu"
"""One word that nothing else holds, and that stemming leaves as it is."""


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "m.db"


@pytest.fixture
def manager(path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with open_manager(path, clock) as manager:
        yield manager


def open_manager(path: Path, clock: FakeClock) -> MemoryManager:
    return MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(), clock=clock, retention_policy="persistent")


def bytes_left(path: Path, word: str = CANARY) -> list[str]:
    """The files beside the database, itself included, in which the word stands."""
    return [file.name for file in path.parent.iterdir() if word.encode() in file.read_bytes().lower()]


def vector_left(path: Path, text: str) -> bool:
    row = HashEmbedder().embed([text], kind="passage")[0].astype("<f4").tobytes()
    return any(row in file.read_bytes() for file in path.parent.iterdir())


def fill(manager: MemoryManager, user: str | None = "bob", count: int = 300) -> None:
    """Enough other memories that what is erased stands among them on many pages."""
    texts = [f"{user} remembers thing {n} of {count}, said at some length" for n in range(count)]
    manager.add_memories(texts, user=user)


def status(receipt: ForgetReceipt) -> dict[str, str]:
    return {each.store: each.status for each in receipt.stores}


def test_nothing_of_a_user_is_left_in_any_file(manager: MemoryManager, path: Path) -> None:
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
    assert bytes_left(path)
    receipt = manager.forget(user="ada")
    assert receipt.complete
    assert bytes_left(path) == []
    assert not vector_left(path, texts[7])
    assert list(manager.recall(CANARY, user="ada")) == []
    assert manager.get_memory("helper", user="ada").get_messages() == []
    assert manager.check().ok
    assert manager.get_stats().long_term_entries == 600


def test_the_receipt_names_every_store(manager: MemoryManager) -> None:
    first, second = manager.add_memories(["one", "two"], user="ada")
    manager.add_memory_association(first.id, second.id, user="ada")
    manager.update(first.id, "one and a half", user="ada")
    receipt = manager.forget(user="ada")
    counts = {each.store: each.count for each in receipt.stores}
    assert (counts["memories"], counts["vectors"], counts["associations"], counts["revisions"]) == (2, 2, 1, 1)
    assert status(receipt)["database file"] == "erased"
    assert status(receipt)["execution records"] == "not supported"
    assert receipt.ids == (first.id, second.id)


def test_a_dry_run_names_the_same_and_changes_nothing(manager: MemoryManager) -> None:
    manager.add_memories(["one", "two"], user="ada")
    planned = manager.forget(user="ada", dry_run=True)
    assert len(manager.list_memories(user="ada")) == 2
    assert planned.ids == manager.forget(user="ada").ids
    assert not planned.complete


def test_what_was_made_from_it_goes_with_it(manager: MemoryManager, clock: FakeClock, path: Path) -> None:
    words = ["lost", "found", "threw", "saw"]
    texts = [f"the cat {word} the {CANARY} ball in the garden" for word in words]
    turns = [Message("user", text, name="Ada", timestamp=START) for text in texts]
    said = manager.remember(turns, user="ada", session="s1")
    clock.advance(days=10)
    settings = UpkeepSettings(session_least=4, period_least=4)
    made = [
        each.id for each in manager.upkeep(policies=POLICIES, settings=settings).decisions if each.action == "derived"
    ]
    assert len(made) == 3
    one = said[0].memory
    assert one is not None
    receipt = manager.forget(one.id, user="ada")
    assert set(receipt.ids) == {one.id, *made}
    rest = [each.memory.id for each in said[1:] if each.memory]
    assert set(manager.forget(rest, user="ada").ids) >= set(rest)
    assert bytes_left(path) == []


def test_what_it_was_merged_with_goes_with_it(manager: MemoryManager) -> None:
    first, second = manager.add_memories(["The safe is behind the clock", "The safe is behind the clock!"])
    manager.upkeep(policies=["merge"])
    assert manager.forget(second.id).ids == (first.id, second.id)


def test_a_text_is_forgotten_wherever_it_stands(manager: MemoryManager, path: Path) -> None:
    manager.add_memories([f"I met {CANARY.upper()} today", "I met nobody today"], user="ada")
    chat = manager.get_memory("helper", user="ada")
    chat.add([Message("user", f"{word} is a name") for word in ("Ann", CANARY, "Ben")])
    manager.forget(containing=CANARY, user="ada")
    assert [memory.content for memory in manager.list_memories(user="ada")] == ["I met nobody today"]
    assert [message.content for message in chat.get_messages()] == ["Ann is a name", "Ben is a name"]
    assert bytes_left(path) == []
    assert manager.check().ok


def test_a_turn_is_forgotten_with_its_copy_in_the_conversation(manager: MemoryManager, path: Path) -> None:
    turn = Message("user", f"my word is {CANARY}")
    manager.get_memory("helper", user="ada").add(turn)
    (outcome,) = manager.remember(turn, agent="helper", user="ada")
    assert outcome.memory is not None
    manager.forget(outcome.memory.id, user="ada")
    assert bytes_left(path) == []


def test_a_filter_and_a_session_narrow_it_down(manager: MemoryManager) -> None:
    for session in ("s1", "s2"):
        manager.add_memory("plain", user="ada", session=session)
        manager.add_memory("tagged", user="ada", session=session, metadata={"tag": "x"})
    assert len(manager.forget(user="ada", where={"metadata": {"tag": "x"}}).ids) == 2
    assert len(manager.forget(user="ada", session="s1").ids) == 1
    assert [memory.session for memory in manager.list_memories(user="ada")] == ["s2"]


def test_other_users_tenants_and_shared_knowledge_are_untouched(manager: MemoryManager) -> None:
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


def test_an_agents_short_term_values_go_as_well(manager: MemoryManager) -> None:
    manager.save("a", "k", CANARY)
    manager.save("b", "k", "kept")
    receipt = manager.forget(agent="a")
    assert status(receipt)["short-term values"] == "erased"
    assert (manager.retrieve("a", "k"), manager.retrieve("b", "k")) == (None, "kept")


def test_forgetting_says_what_is_missing(manager: MemoryManager) -> None:
    memory = manager.add_memory("hello", user="ada")
    with pytest.raises(InvalidInput, match="forget what"):
        manager.forget()
    with pytest.raises(NotFound, match="424242"):
        manager.forget([memory.id, 424_242], user="ada")
    with pytest.raises(NotFound):
        manager.forget(memory.id)
    assert manager.get(memory.id, user="ada") == memory
    assert manager.forget(user="nobody").ids == ()


def test_a_reader_that_holds_old_pages_makes_it_pending_and_upkeep_finishes_it(
    manager: MemoryManager, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "_COMPACT_BUSY_MS", 50)
    manager.add_memory(CANARY, user="ada")
    opened = manager._components.open()
    lines = opened.store.stream(lambda tx: export_lines(tx, manager._components.knowledge.scope, opened.store.id))
    next(lines)
    next(lines)
    receipt = manager.forget(user="ada")
    assert status(receipt)["database file"] == "pending"
    assert not receipt.complete
    lines.close()  # type: ignore[attr-defined]
    manager.upkeep()
    assert bytes_left(path) == []


def test_an_index_read_before_an_erasure_is_never_kept(path: Path, clock: FakeClock) -> None:
    first, second = open_manager(path, clock), open_manager(path, clock)
    fill(first, user="ada", count=30)
    for one in (first, second):
        one._components.open().partitions._graph_from = 10
        one.recall("thing", user="ada")
        one._components.open().partitions.wait_for_graphs()
    text = first.list_memories(1, user="ada")[0]
    first.forget(text.id, user="ada")
    second.close()
    assert not vector_left(path, text.content)
    first.close()
    assert not vector_left(path, text.content)


@pytest.mark.parametrize("delay", [0.0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12])
def test_killed_in_the_middle_it_is_all_there_or_all_gone(path: Path, clock: FakeClock, delay: float) -> None:
    with open_manager(path, clock) as manager:
        fill(manager, count=100)
        manager.add_memories([f"{CANARY} number {n}" for n in range(100)], user="ada")

    def forget(pipe: int) -> None:
        inside = open_manager(path, clock)
        inside.list_memories(1)
        os.write(pipe, b"{}\n")
        inside.forget(user="ada")
        time.sleep(10)

    child = Child(forget)
    next(child.messages(time.monotonic() + 20))
    time.sleep(delay)
    list(child.kill())
    with open_manager(path, clock) as manager:
        left = len(manager.list_memories(1000, user="ada"))
        assert left in (0, 100)
        assert bool(left) == bool(bytes_left(path))
        manager.forget(user="ada")
        assert bytes_left(path) == []
        assert len(manager.list_memories(1000, user="bob")) == 100
        assert manager.check().ok


def test_cut_short_before_the_file_was_cleaned_the_next_start_finishes_it(
    path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_short(*_: object) -> list[object]:
        raise KeyboardInterrupt

    with open_manager(path, clock) as manager:
        manager.add_memory(CANARY, user="ada")
        with monkeypatch.context() as patch:
            patch.setattr(Forgetting, "_clean", cut_short)
            with pytest.raises(KeyboardInterrupt):
                manager.forget(user="ada")
        assert bytes_left(path)
    with open_manager(path, clock):
        assert bytes_left(path) == []


def test_history_shows_how_a_memory_changed(manager: MemoryManager, clock: FakeClock) -> None:
    memory = manager.add_memory("I live in Bern", user="ada", importance=0.4, metadata={"v": 1})
    clock.advance(days=1)
    manager.update(memory.id, "I live in Basel", user="ada", metadata={"v": 2})
    clock.advance(days=1)
    manager.update(memory.id, importance=0.9, user="ada")
    history = manager.history(memory.id, user="ada")
    assert [(one.version, one.content, one.importance) for one in history.versions] == [
        (1, "I live in Bern", 0.4),
        (2, "I live in Basel", 0.4),
    ]
    assert [one.metadata for one in history.versions] == [{"v": 1}, {"v": 2}]
    assert [one.changed_at for one in history.versions] == [START + timedelta(days=1), START + timedelta(days=2)]
    assert (history.memory.version, history.memory.importance) == (3, 0.9)
    with pytest.raises(NotFound):
        manager.history(memory.id)
