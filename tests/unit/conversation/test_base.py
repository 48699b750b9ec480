from __future__ import annotations

from collections.abc import Iterable

import pytest

from memoranda.conversation.base import ListLog, MessageLog
from memoranda.conversation.memory import ConversationMemory
from memoranda.messages.message import Message
from memoranda.testing.log import MessageLogContract


class TestListLog(MessageLogContract):
    @pytest.fixture
    def log(self) -> MessageLog:
        return ListLog()


class CountingList(list):  # type: ignore[type-arg]
    """Counts the items that are moved or read, which is what makes a long list slow."""

    touched = 0

    def extend(self, items: Iterable[object]) -> None:
        added = list(items)
        self.touched += len(added)
        super().extend(added)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        found = super().__getitem__(index)
        self.touched += len(found)
        return found

    def __setitem__(self, index, items) -> None:  # type: ignore[no-untyped-def]
        self.touched += len(items)
        super().__setitem__(index, items)

    def __delitem__(self, index) -> None:  # type: ignore[no-untyped-def]
        super().__delitem__(index)
        self.touched += len(self)


@pytest.mark.parametrize("length", [1_000, 100_000])
def test_cost_of_append_and_read_does_not_grow_with_the_length(length: int) -> None:
    message = Message("user", "x", message_id="x")
    log = ListLog([message] * length)
    log._items = items = CountingList(log._items)
    for _ in range(2 * length):
        log.append([message], keep=length)
    # Each step adds one and drops one. Now and then all items move, after at least as many steps as there are items.
    assert items.touched <= 8 * 2 * length
    items.touched = 0
    assert len(log.read(length - 10, length)) == 10
    assert items.touched == 10


class HalvingMemory(ConversationMemory):
    """A subclass as a program would write it: it reads, slices and replaces the list."""

    def __init__(self, max_messages: int = 50) -> None:
        super().__init__(max_messages)
        self.summaries: list[str] = []

    def add_message(self, message) -> None:  # type: ignore[no-untyped-def]
        super().add_message(message)
        if len(self.messages) >= self.max_messages:  # type: ignore[operator]
            old_messages = self.messages[:25]
            self.summaries.append(f"{len(old_messages)} messages from {old_messages[0].content}")
            self.messages = self.messages[25:]  # type: ignore[assignment]


def test_subclass_can_slice_and_replace_the_messages() -> None:
    memory = HalvingMemory()
    for i in range(120):
        memory.add_message(Message("user", str(i)))
    assert memory.summaries == ["25 messages from 0", "25 messages from 25", "25 messages from 50"]
    assert [message.content for message in memory.get_messages()] == [str(i) for i in range(75, 120)]


def memory_with(*contents: str) -> ConversationMemory:
    memory = ConversationMemory()
    memory.add([Message("user", content, message_id=content) for content in contents])
    return memory


def test_view_reads_like_a_list() -> None:
    memory = memory_with("a", "b", "c", "d")
    view = memory.messages
    assert [message.content for message in view] == ["a", "b", "c", "d"]
    assert view[0].content == "a"
    assert view[-1].content == "d"
    assert [m.content for m in view[1:-1]] == ["b", "c"]
    assert [m.content for m in view[::-2]] == ["d", "b"]
    assert view[3:1] == []
    assert view == memory.get_messages()
    assert view == memory.messages
    assert view != []
    assert memory.get_messages()[1] in view
    with pytest.raises(IndexError):
        view[4]


def test_view_changes_the_conversation() -> None:
    memory = memory_with("a", "b", "c", "d")
    view = memory.messages
    view.append({"role": "user", "content": "e"})
    view.insert(0, Message("system", "s"))
    view[1] = Message("user", "A")
    view[2:4] = [Message("user", "B")]
    del view[-1]
    assert view.pop(0).content == "s"
    view += [Message("user", "f")]
    assert [message.content for message in memory.get_messages()] == ["A", "B", "d", "f"]
    del view[::2]
    assert [message.content for message in memory.get_messages()] == ["B", "f"]
    with pytest.raises(TypeError, match="expected a Message or a dict"):
        view.append("text")  # type: ignore[arg-type]


def test_replaced_conversation_has_only_the_new_ids() -> None:
    memory = memory_with("a", "b")
    memory.messages = [Message("user", "c", message_id="c")]  # type: ignore[assignment]
    memory.add([Message("user", "c", message_id="c"), Message("user", "a", message_id="a")])
    assert [message.content for message in memory.messages] == ["c", "a"]
