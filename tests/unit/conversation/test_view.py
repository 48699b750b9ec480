from __future__ import annotations

import pytest

from memoranda.conversation.memory import ConversationMemory
from memoranda.messages.message import Message


class Halving(ConversationMemory):
    """The way a program extends the class: reads, slices and replaces the list."""

    def __init__(self, max_messages: int = 50) -> None:
        super().__init__(max_messages)
        self.summaries: list[str] = []

    def add_message(self, message) -> None:  # type: ignore[no-untyped-def]
        super().add_message(message)
        if len(self.messages) >= self.max_messages:  # type: ignore[operator]
            old_messages = self.messages[:25]
            self.summaries.append(f"{len(old_messages)} messages from {old_messages[0].content}")
            self.messages = self.messages[25:]  # type: ignore[assignment]


def test_a_subclass_may_slice_and_replace_the_messages() -> None:
    memory = Halving()
    for i in range(120):
        memory.add_message(Message("user", str(i)))
    assert memory.summaries == ["25 messages from 0", "25 messages from 25", "25 messages from 50"]
    assert [message.content for message in memory.get_messages()] == [str(i) for i in range(75, 120)]


def memory_of(*contents: str) -> ConversationMemory:
    memory = ConversationMemory()
    memory.add([Message("user", content, message_id=content) for content in contents])
    return memory


def test_the_view_reads_like_a_list() -> None:
    memory = memory_of("a", "b", "c", "d")
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


def test_the_view_changes_the_conversation() -> None:
    memory = memory_of("a", "b", "c", "d")
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


def test_a_replaced_conversation_knows_its_ids() -> None:
    memory = memory_of("a", "b")
    memory.messages = [Message("user", "c", message_id="c")]  # type: ignore[assignment]
    memory.add([Message("user", "c", message_id="c"), Message("user", "a", message_id="a")])
    assert [message.content for message in memory.messages] == ["c", "a"]
