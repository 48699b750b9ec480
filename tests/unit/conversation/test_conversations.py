from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from memoranda import Closed, ConversationMemory, Incompatible, InvalidInput, MemoryManager, Message
from memoranda.testing.fakes import HashEmbedder

OpenManager = Callable[..., MemoryManager]


@pytest.fixture
def open_manager(tmp_path: Path) -> Iterator[OpenManager]:
    """Return a function that opens a manager on one database, as another start of the program would."""
    managers: list[MemoryManager] = []

    def open_one(retention_policy: str = "session", **arguments: object) -> MemoryManager:
        manager = MemoryManager(
            f"sqlite:///{tmp_path}/a.db",
            embedder=HashEmbedder(64),
            retention_policy=retention_policy,
            **arguments,  # type: ignore[arg-type]
        )
        managers.append(manager)
        return manager

    yield open_one
    for manager in managers:
        manager.close()


def contents(memory: ConversationMemory) -> list[object]:
    return [message.content for message in memory.get_messages()]


def add_text(manager: MemoryManager, text: str, agent: str = "Analyzer") -> ConversationMemory:
    memory = manager.get_memory(agent)
    memory.add_message(Message("user", text))
    return memory


def test_agent_has_one_conversation_per_user(open_manager: OpenManager) -> None:
    manager = open_manager()
    memory = add_text(manager, "hello")
    assert manager.get_memory("Analyzer") is memory
    assert manager.get_memory("Other") is not memory
    assert manager.get_memory("Analyzer", user="ann") is not memory
    assert manager.get_memory("Analyzer", user="ann") is manager.get_memory("Analyzer", user="ann")
    assert (contents(memory), memory.max_messages, memory.retention_policy) == (["hello"], 1000, "session")


def test_unused_stored_conversations_are_released_and_lose_nothing(open_manager: OpenManager) -> None:
    manager = open_manager("persistent")
    held = manager.get_memory("Analyzer", user="held")
    reference = weakref.ref(add_text(manager, "hello"))
    for number in range(1000):
        manager.get_memory("Analyzer", user=f"user {number}")
    gc.collect()
    assert reference() is None
    assert contents(manager.get_memory("Analyzer")) == ["hello"]
    assert manager.get_memory("Analyzer", user="held") is held


def test_conversations_in_memory_are_never_released(open_manager: OpenManager) -> None:
    manager = open_manager("session")
    add_text(manager, "hello")
    for number in range(1000):
        manager.get_memory("Analyzer", user=f"user {number}")
    gc.collect()
    assert contents(manager.get_memory("Analyzer")) == ["hello"]
    manager.set_retention_policy("Analyzer", "persistent")
    assert contents(manager.get_memory("Analyzer")) == ["hello"]


@pytest.mark.parametrize("policy", ["single_run", "session"])
def test_policies_other_than_persistent_write_no_file(open_manager: OpenManager, policy: str, tmp_path: Path) -> None:
    manager = open_manager(policy)
    add_text(manager, "hello")
    with manager.run("Analyzer"):
        add_text(manager, "again")
    manager.set_retention_policy("Other", "session")
    manager.clear_agent_memory("Analyzer")
    manager.clear_all()
    manager.close()
    assert list(tmp_path.iterdir()) == []


def test_only_persistent_conversation_outlives_its_manager(open_manager: OpenManager) -> None:
    manager = open_manager()
    manager.set_retention_policy("Archivist", "persistent")
    session_memory, persistent_memory = add_text(manager, "for now"), add_text(manager, "for good", "Archivist")
    manager.close()
    assert len(session_memory) == 0
    with pytest.raises(Closed):
        persistent_memory.get_messages()
    with pytest.raises(Closed):
        manager.get_memory("Archivist")
    again = open_manager("persistent")
    assert contents(again.get_memory("Archivist")) == ["for good"]
    assert contents(again.get_memory("Analyzer")) == []


def run_with_an_error(manager: MemoryManager) -> None:
    with manager.run("Analyzer"):
        add_text(manager, "before the error")
        raise ZeroDivisionError


def test_single_run_conversation_is_cleared_when_the_run_ends(open_manager: OpenManager) -> None:
    manager = open_manager("single_run")
    with manager.run("Analyzer") as memory:
        add_text(manager, "inside")
        with manager.run("Analyzer"):
            assert contents(memory) == ["inside"]
        assert contents(memory) == ["inside"]
    assert len(memory) == 0
    with pytest.raises(ZeroDivisionError):
        run_with_an_error(manager)
    assert len(memory) == 0
    add_text(manager, "by hand")
    add_text(manager, "another agent", "Other")
    manager.end_run("Analyzer")
    assert len(memory) == 0
    assert len(manager.get_memory("Other")) == 1


@pytest.mark.parametrize("policy", ["session", "persistent"])
def test_run_does_not_clear_other_policies(open_manager: OpenManager, policy: str) -> None:
    manager = open_manager(policy)
    with manager.run("Analyzer") as memory:
        add_text(manager, "kept")
    assert contents(memory) == ["kept"]


def test_change_to_persistent_appends_to_the_stored_messages(open_manager: OpenManager) -> None:
    before = open_manager("persistent")
    add_text(before, "an earlier start")
    before.close()
    manager = open_manager()
    memory = add_text(manager, "this start")
    view = memory.messages
    manager.set_retention_policy("Analyzer", "persistent")
    view.append({"role": "user", "content": "afterwards"})
    assert manager.get_memory("Analyzer") is memory
    assert memory.retention_policy == "persistent"
    assert contents(memory) == ["an earlier start", "this start", "afterwards"]
    manager.close()
    assert contents(open_manager("persistent").get_memory("Analyzer")) == [
        "an earlier start",
        "this start",
        "afterwards",
    ]


def test_change_from_persistent_removes_messages_from_the_store(open_manager: OpenManager) -> None:
    manager = open_manager("persistent")
    memory = add_text(manager, "hello")
    manager.set_retention_policy("Analyzer", "single_run")
    assert contents(memory) == ["hello"]
    assert contents(open_manager("persistent").get_memory("Analyzer")) == []
    manager.end_run("Analyzer")
    assert len(memory) == 0


def test_failed_policy_change_changes_nothing(open_manager: OpenManager, tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("this is no database, and it is long enough to be sure of it" * 20)
    manager = open_manager()
    memory = add_text(manager, "hello")
    with pytest.raises(Incompatible, match="restore a backup"):
        manager.set_retention_policy("Analyzer", "persistent")
    assert (contents(memory), memory.retention_policy, memory.in_memory) == (["hello"], "session", True)
    assert manager.get_memory("Analyzer", user="ann").retention_policy == "session"


def test_clearing_one_agent_keeps_the_others(open_manager: OpenManager) -> None:
    manager = open_manager("persistent")
    analyzer, other = add_text(manager, "a"), add_text(manager, "b", "Other")
    manager.get_memory("Analyzer", user="ann").add({"role": "user", "content": "c"})
    manager.clear_agent_memory("Analyzer")
    assert (len(analyzer), len(manager.get_memory("Analyzer", user="ann")), len(other)) == (0, 0, 1)


def test_clear_all_clears_the_tenants_conversations_but_no_memory(open_manager: OpenManager) -> None:
    earlier, other_tenant = open_manager("persistent"), open_manager("persistent", tenant="acme")
    add_text(earlier, "an earlier start", "Old")
    add_text(other_tenant, "somebody else's")
    manager = open_manager("persistent")
    manager.set_retention_policy("Temporary", "session")
    manager.remember(Message("user", "Ann likes tea"), agent="Analyzer")
    memories = [add_text(manager, "x"), add_text(manager, "y", "Temporary")]
    manager.clear_all()
    assert [len(memory) for memory in memories] == [0, 0]
    assert len(manager.get_memory("Old")) == len(earlier.get_memory("Old")) == 0
    assert contents(other_tenant.get_memory("Analyzer")) == ["somebody else's"]
    assert [hit.content for hit in manager.search_memories("tea", agent="Analyzer")] == ["Ann likes tea"]


def test_deleting_a_memory_keeps_the_message_in_the_conversation(open_manager: OpenManager) -> None:
    manager = open_manager("persistent")
    message = Message("user", "Ann likes tea")
    manager.get_memory("Analyzer").add_message(message)
    [outcome] = manager.remember(message, agent="Analyzer")
    assert outcome.memory is not None
    manager.delete(outcome.memory.id)
    assert manager.get_memory("Analyzer").get_messages() == [message]


def test_limit_keeps_the_newest_messages_across_restarts(open_manager: OpenManager) -> None:
    for text in "abcde":
        manager = open_manager("persistent", max_messages_per_agent=3)
        add_text(manager, text)
        manager.close()
    assert contents(open_manager("persistent", max_messages_per_agent=3).get_memory("Analyzer")) == ["c", "d", "e"]


def test_two_managers_see_each_others_messages_at_once(open_manager: OpenManager) -> None:
    one, other = open_manager("persistent"), open_manager("persistent")
    add_text(one, "a")
    add_text(other, "b")
    add_text(one, "c")
    assert contents(one.get_memory("Analyzer")) == contents(other.get_memory("Analyzer")) == ["a", "b", "c"]


def test_wrong_arguments_raise(open_manager: OpenManager, tmp_path: Path) -> None:
    manager = open_manager()
    with pytest.raises(InvalidInput, match="Name an agent"):
        manager.get_memory()
    with pytest.raises(InvalidInput, match="agent"):
        manager.get_memory("  ")
    with pytest.raises(InvalidInput, match="single_run, session, persistent"):
        manager.set_retention_policy("Analyzer", "forever")
    with pytest.raises(InvalidInput, match="single_run, session, persistent"):
        open_manager("forever")
    with pytest.raises(InvalidInput, match="max_messages_per_agent"):
        open_manager(max_messages_per_agent=0)
