from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoranda import Closed, ConversationMemory, Incompatible, InvalidInput, MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder

Open = Callable[..., MemoryManager]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    """Opens managers on one database; each call stands for another start of the program."""
    managers: list[MemoryManager] = []

    def open_again(retention_policy: str = "session", **arguments: object) -> MemoryManager:
        made = MemoryManager(
            f"sqlite:///{tmp_path}/a.db",
            embedder=HashEmbedder(64),
            retention_policy=retention_policy,
            **arguments,  # type: ignore[arg-type]
        )
        managers.append(made)
        return made

    yield open_again
    for manager in managers:
        manager.close()


def said(memory: ConversationMemory) -> list[object]:
    return [message.content for message in memory.get_messages()]


def say(manager: MemoryManager, text: str, agent: str = "Analyzer") -> ConversationMemory:
    memory = manager.get_memory(agent)
    memory.add_message(Message("user", text))
    return memory


def test_an_agent_has_one_conversation_while_the_manager_lives(opened: Open) -> None:
    manager = opened()
    memory = say(manager, "hello")
    assert manager.get_memory("Analyzer") is memory
    assert manager.get_memory("Other") is not memory
    assert manager.get_memory("Analyzer", user="ann") is not memory
    assert manager.get_memory("Analyzer", user="ann") is manager.get_memory("Analyzer", user="ann")
    assert (said(memory), memory.max_messages, memory.retention_policy) == (["hello"], 1000, "session")


def test_stored_conversations_are_let_go_beyond_the_latest_and_lose_nothing(opened: Open) -> None:
    manager = opened("persistent")
    held = manager.get_memory("Analyzer", user="held")
    seen = weakref.ref(say(manager, "hello"))
    for number in range(1000):
        manager.get_memory("Analyzer", user=f"user {number}")
    gc.collect()
    assert seen() is None
    assert said(manager.get_memory("Analyzer")) == ["hello"]
    assert manager.get_memory("Analyzer", user="held") is held


def test_a_conversation_of_this_process_stays_however_many_there_are(opened: Open) -> None:
    manager = opened("session")
    say(manager, "hello")
    for number in range(1000):
        manager.get_memory("Analyzer", user=f"user {number}")
    gc.collect()
    assert said(manager.get_memory("Analyzer")) == ["hello"]
    manager.set_retention_policy("Analyzer", "persistent")
    assert said(manager.get_memory("Analyzer")) == ["hello"]


@pytest.mark.parametrize("policy", ["single_run", "session"])
def test_what_is_not_persistent_touches_no_disk(opened: Open, policy: str, tmp_path: Path) -> None:
    manager = opened(policy)
    say(manager, "hello")
    with manager.run("Analyzer"):
        say(manager, "again")
    manager.set_retention_policy("Other", "session")
    manager.clear_agent_memory("Analyzer")
    manager.clear_all()
    manager.close()
    assert list(tmp_path.iterdir()) == []


def test_a_session_ends_with_its_manager_and_a_persistent_conversation_does_not(opened: Open) -> None:
    manager = opened()
    manager.set_retention_policy("Keeper", "persistent")
    passing, kept = say(manager, "for now"), say(manager, "for good", "Keeper")
    manager.close()
    assert len(passing) == 0
    with pytest.raises(Closed):
        kept.get_messages()
    with pytest.raises(Closed):
        manager.get_memory("Keeper")
    again = opened("persistent")
    assert said(again.get_memory("Keeper")) == ["for good"]
    assert said(again.get_memory("Analyzer")) == []


def run_into_an_error(manager: MemoryManager) -> None:
    with manager.run("Analyzer"):
        say(manager, "before the error")
        raise ZeroDivisionError


def test_a_single_run_is_forgotten_when_the_run_ends(opened: Open) -> None:
    manager = opened("single_run")
    with manager.run("Analyzer") as memory:
        say(manager, "inside")
        with manager.run("Analyzer"):
            assert said(memory) == ["inside"]
        assert said(memory) == ["inside"]
    assert len(memory) == 0
    with pytest.raises(ZeroDivisionError):
        run_into_an_error(manager)
    assert len(memory) == 0
    say(manager, "by hand")
    say(manager, "another agent", "Other")
    manager.end_run("Analyzer")
    assert len(memory) == 0
    assert len(manager.get_memory("Other")) == 1


@pytest.mark.parametrize("policy", ["session", "persistent"])
def test_a_run_leaves_other_policies_alone(opened: Open, policy: str) -> None:
    manager = opened(policy)
    with manager.run("Analyzer") as memory:
        say(manager, "kept")
    assert said(memory) == ["kept"]


def test_becoming_persistent_writes_what_was_said_after_what_is_stored(opened: Open) -> None:
    before = opened("persistent")
    say(before, "an earlier start")
    before.close()
    manager = opened()
    memory = say(manager, "this start")
    view = memory.messages
    manager.set_retention_policy("Analyzer", "persistent")
    view.append({"role": "user", "content": "afterwards"})
    assert manager.get_memory("Analyzer") is memory
    assert memory.retention_policy == "persistent"
    assert said(memory) == ["an earlier start", "this start", "afterwards"]
    manager.close()
    assert said(opened("persistent").get_memory("Analyzer")) == ["an earlier start", "this start", "afterwards"]


def test_becoming_passing_takes_the_messages_out_of_the_store(opened: Open) -> None:
    manager = opened("persistent")
    memory = say(manager, "hello")
    manager.set_retention_policy("Analyzer", "single_run")
    assert said(memory) == ["hello"]
    assert said(opened("persistent").get_memory("Analyzer")) == []
    manager.end_run("Analyzer")
    assert len(memory) == 0


def test_a_move_that_fails_changes_nothing(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("this is no database, and it is long enough to be sure of it" * 20)
    manager = opened()
    memory = say(manager, "hello")
    with pytest.raises(Incompatible, match="restore a backup"):
        manager.set_retention_policy("Analyzer", "persistent")
    assert (said(memory), memory.retention_policy, memory.in_memory) == (["hello"], "session", True)
    assert manager.get_memory("Analyzer", user="ann").retention_policy == "session"


def test_clearing_one_agent_leaves_the_others(opened: Open) -> None:
    manager = opened("persistent")
    mine, other = say(manager, "a"), say(manager, "b", "Other")
    manager.get_memory("Analyzer", user="ann").add({"role": "user", "content": "c"})
    manager.clear_agent_memory("Analyzer")
    assert (len(mine), len(manager.get_memory("Analyzer", user="ann")), len(other)) == (0, 0, 1)


def test_clearing_all_clears_this_tenant_and_no_memory(opened: Open) -> None:
    earlier, foreign = opened("persistent"), opened("persistent", tenant="acme")
    say(earlier, "an earlier start", "Old")
    say(foreign, "somebody else's")
    manager = opened("persistent")
    manager.set_retention_policy("Passing", "session")
    manager.remember(Message("user", "Ann likes tea"), agent="Analyzer")
    memories = [say(manager, "x"), say(manager, "y", "Passing")]
    manager.clear_all()
    assert [len(memory) for memory in memories] == [0, 0]
    assert len(manager.get_memory("Old")) == len(earlier.get_memory("Old")) == 0
    assert said(foreign.get_memory("Analyzer")) == ["somebody else's"]
    assert [hit.content for hit in manager.search_memories("tea", agent="Analyzer")] == ["Ann likes tea"]


def test_a_conversation_and_a_memory_of_one_message_do_not_touch_each_other(opened: Open) -> None:
    manager = opened("persistent")
    message = Message("user", "Ann likes tea")
    manager.get_memory("Analyzer").add_message(message)
    [outcome] = manager.remember(message, agent="Analyzer")
    assert outcome.memory is not None
    manager.delete(outcome.memory.id)
    assert manager.get_memory("Analyzer").get_messages() == [message]


def test_the_window_holds_the_newest_across_starts(opened: Open) -> None:
    for text in "abcde":
        manager = opened("persistent", max_messages_per_agent=3)
        say(manager, text)
        manager.close()
    assert said(opened("persistent", max_messages_per_agent=3).get_memory("Analyzer")) == ["c", "d", "e"]


def test_two_managers_see_each_other_at_once(opened: Open) -> None:
    one, other = opened("persistent"), opened("persistent")
    say(one, "a")
    say(other, "b")
    say(one, "c")
    assert said(one.get_memory("Analyzer")) == said(other.get_memory("Analyzer")) == ["a", "b", "c"]


def test_wrong_arguments_are_refused(opened: Open, tmp_path: Path) -> None:
    manager = opened()
    with pytest.raises(InvalidInput, match="Name an agent"):
        manager.get_memory()
    with pytest.raises(InvalidInput, match="agent"):
        manager.get_memory("  ")
    with pytest.raises(InvalidInput, match="single_run, session, persistent"):
        manager.set_retention_policy("Analyzer", "forever")
    with pytest.raises(InvalidInput, match="single_run, session, persistent"):
        opened("forever")
    with pytest.raises(InvalidInput, match="max_messages_per_agent"):
        opened(max_messages_per_agent=0)
