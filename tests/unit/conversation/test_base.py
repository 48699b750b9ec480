from __future__ import annotations

import importlib
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.conversation import base as base_module
from memoranda.conversation.base import (
    ListLog,
    MessageLog,
    count_message_tokens,
    default_counter,
    estimate_tokens,
    exact_counter,
)
from memoranda.conversation.memory import ConversationMemory
from memoranda.errors import InvalidInput, MissingExtra
from memoranda.messages.content import ToolCallMsg
from memoranda.messages.formatting import format_for_openai
from memoranda.messages.message import Message
from memoranda.testing.contracts import MessageLogContract


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


DIALOGUE = """Hey! I went to the pottery class on 12 March 2024, it was amazing. We made three bowls, and Anna's
turned out really well. Do you still want to come with us next Thursday? It costs $45, they take
reservations until noon."""
CODE = 'def add(a: int, b: int = 3) -> int:\n    """Adds."""\n    return {"sum": a + b}["sum"]\n' * 5
JSON = '{"query": "AI trends", "limit": 10, "filters": {"year": [2023, 2024], "lang": "en"}}' * 3
GERMAN = "Die Größe der Schüler überraschte die Lehrkräfte während der Prüfungen in München im Frühjahr."
CHINESE = "我昨天去了北京的一家新餐厅,那里的烤鸭非常好吃,下次我们一起去吧。"


def count_words(text: str) -> int:
    return len(text.split())


def call(call_id: str) -> ToolCallMsg:
    return ToolCallMsg(call_id, call_id, "function", "search", "{}")


def contents(messages: list[Message]) -> list[Any]:
    return [message.content for message in messages]


def test_window_has_the_system_message_and_the_newest_turns() -> None:
    memory = ConversationMemory(counter=count_words)
    memory.add(Message("system", "be kind"))
    memory.add([Message("user", f"turn {i}") for i in range(10)])
    assert contents(memory.get_window(6 + 3 * 6)) == ["be kind", "turn 7", "turn 8", "turn 9"]
    assert contents(memory.get_window(6 + 3 * 6 + 5)) == ["be kind", "turn 7", "turn 8", "turn 9"]
    assert len(memory.get_window(10_000)) == 11


def test_window_keeps_a_tool_call_with_its_results() -> None:
    memory = ConversationMemory(counter=count_words)
    memory.add(
        [
            Message("user", "find"),
            Message("assistant", tool_calls=[call("a"), call("b")]),
            Message("tool", "first", tool_call_id="a"),
            Message("tool", "second", tool_call_id="b"),
            Message("assistant", "found"),
        ]
    )
    whole = sum(count_message_tokens(message, count_words) for message in memory.get_messages())
    assert len(memory.get_window(whole)) == 5
    assert contents(memory.get_window(whole - 1)) == [None, "first", "second", "found"]
    assert contents(memory.get_window(whole - 6)) == ["found"]


def test_window_leaves_out_results_without_their_call() -> None:
    memory = ConversationMemory(max_messages=2, counter=count_words)
    memory.add(
        [
            Message("assistant", tool_calls=[call("a")]),
            Message("tool", "result", tool_call_id="a"),
            Message("assistant", "done"),
        ]
    )
    assert contents(memory.get_window(100)) == ["done"]
    assert format_for_openai(memory.get_window(100))


def test_too_small_a_window_raises() -> None:
    memory = ConversationMemory(counter=count_words)
    assert memory.get_window(1) == []
    memory.add([Message("system", "be kind"), Message("user", "a longer question than that")])
    with pytest.raises(InvalidInput, match="what is always kept takes 6"):
        memory.get_window(5)
    with pytest.raises(InvalidInput, match="the newest turn needs 9"):
        memory.get_window(14)
    with pytest.raises(InvalidInput, match="max_tokens is 0"):
        memory.get_window(0)


turns = st.one_of(
    st.builds(lambda n: [Message("user", "w " * n)], st.integers(1, 6)),
    st.builds(
        lambda n, ids: [
            Message("assistant", "w " * n, tool_calls=[call(i) for i in ids]),
            *(Message("tool", "r " * n, tool_call_id=i) for i in ids),
        ],
        st.integers(1, 6),
        st.lists(st.uuids().map(str), min_size=1, max_size=3, unique=True),
    ),
)


@given(st.lists(turns, min_size=1, max_size=12), st.integers(60, 300), st.integers(0, 8))
def test_every_window_fits_and_is_newest_and_can_be_formatted(
    groups: list[list[Message]], max_tokens: int, dropped: int
) -> None:
    messages = [message for group in groups for message in group]
    kept = messages[min(dropped, len(messages) - 1) :]
    memory = ConversationMemory(counter=count_words)
    memory.add(kept)
    window = memory.get_window(max_tokens)
    assert sum(count_message_tokens(message, count_words) for message in window) <= max_tokens
    assert window == kept[len(kept) - len(window) :]
    format_for_openai(window)


def test_cost_depends_on_the_window_and_not_on_the_conversation() -> None:
    class CountingLog(ListLog):
        messages_read = 0

        def read(self, start: int, stop: int) -> list[Message]:
            found = super().read(start, stop)
            self.messages_read += len(found)
            return found

    log = CountingLog([Message("user", "a few words here", message_id=str(i)) for i in range(10_000)])
    window = ConversationMemory(counter=count_words, log=log).get_window(200)
    # Besides the window: the first message, which could be a system message, and the rest of a page.
    assert log.messages_read <= len(window) + 1 + 32


@pytest.mark.parametrize(("text", "count"), [("", 0), ("hello world", 2), ("tiktoken is great!", 6)])
def test_exact_counter_uses_openai_vocabulary(text: str, count: int) -> None:
    assert exact_counter("o200k_base")(text) == count


def test_encodings_differ_and_unknown_one_raises() -> None:
    assert exact_counter("cl100k_base")(CHINESE) > exact_counter("o200k_base")(CHINESE)
    with pytest.raises(InvalidInput, match="unknown encoding 'x'"):
        exact_counter("x")


@pytest.mark.parametrize("text", [DIALOGUE, CODE, JSON, GERMAN, CHINESE])
def test_estimate_is_close_and_rarely_too_low(text: str) -> None:
    exact = exact_counter()(text)
    assert 0.9 * exact <= estimate_tokens(text) <= 1.5 * exact


def test_special_token_in_a_text_is_counted_as_text() -> None:
    assert exact_counter()("<|endoftext|>") > 1


def test_without_the_extra_the_estimate_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    real = importlib.import_module

    def missing(name: str, *args: Any) -> Any:
        if name == "toktok":
            raise ImportError(name)
        return real(name, *args)

    base_module.exact_counter.cache_clear()
    monkeypatch.setattr(base_module, "import_module", missing)
    assert default_counter() is estimate_tokens
    with pytest.raises(MissingExtra, match=r"memoranda\[tokens\]"):
        exact_counter()
    monkeypatch.undo()
    assert default_counter() is not estimate_tokens


def test_message_tokens_count_text_calls_images_and_overhead() -> None:
    count = len
    assert count_message_tokens(Message("user", "abc"), count) == 4 + 3
    assert count_message_tokens(Message("user", images=["a.png"]), count) == 4 + 1_000
    message = Message("assistant", tool_calls=[ToolCallMsg("id", "id", "function", "name", "{}")])
    assert count_message_tokens(message, count) == 4 + 2 + 4 + 2
