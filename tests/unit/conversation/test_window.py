from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.conversation.base import ListLog
from memoranda.conversation.memory import ConversationMemory
from memoranda.conversation.window import message_tokens
from memoranda.errors import InvalidInput
from memoranda.messages.calls import ToolCallMsg
from memoranda.messages.message import Message
from memoranda.messages.openai import format_for_openai


def by_words(text: str) -> int:
    return len(text.split())


def call(identity: str) -> ToolCallMsg:
    return ToolCallMsg(identity, identity, "function", "search", "{}")


def contents(messages: list[Message]) -> list[Any]:
    return [message.content for message in messages]


def test_the_newest_turns_that_fit_beside_the_system_message() -> None:
    memory = ConversationMemory(counter=by_words)
    memory.add(Message("system", "be kind"))
    memory.add([Message("user", f"turn {i}") for i in range(10)])
    assert contents(memory.get_window(6 + 3 * 6)) == ["be kind", "turn 7", "turn 8", "turn 9"]
    assert contents(memory.get_window(6 + 3 * 6 + 5)) == ["be kind", "turn 7", "turn 8", "turn 9"]
    assert len(memory.get_window(10_000)) == 11


def test_a_call_and_its_results_come_together_or_not_at_all() -> None:
    memory = ConversationMemory(counter=by_words)
    memory.add(
        [
            Message("user", "find"),
            Message("assistant", tool_calls=[call("a"), call("b")]),
            Message("tool", "first", tool_call_id="a"),
            Message("tool", "second", tool_call_id="b"),
            Message("assistant", "found"),
        ]
    )
    whole = sum(message_tokens(message, by_words) for message in memory.get_messages())
    assert len(memory.get_window(whole)) == 5
    assert contents(memory.get_window(whole - 1)) == [None, "first", "second", "found"]
    assert contents(memory.get_window(whole - 6)) == ["found"]


def test_results_whose_call_was_dropped_are_left_out() -> None:
    memory = ConversationMemory(max_messages=2, counter=by_words)
    memory.add(
        [
            Message("assistant", tool_calls=[call("a")]),
            Message("tool", "result", tool_call_id="a"),
            Message("assistant", "done"),
        ]
    )
    assert contents(memory.get_window(100)) == ["done"]
    assert format_for_openai(memory.get_window(100))


def test_a_window_too_small_for_anything_says_so() -> None:
    memory = ConversationMemory(counter=by_words)
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
def test_every_window_fits_is_newest_and_can_be_formatted(
    groups: list[list[Message]], max_tokens: int, dropped: int
) -> None:
    messages = [message for group in groups for message in group]
    kept = messages[min(dropped, len(messages) - 1) :]
    memory = ConversationMemory(counter=by_words)
    memory.add(kept)
    window = memory.get_window(max_tokens)
    assert sum(message_tokens(message, by_words) for message in window) <= max_tokens
    assert window == kept[len(kept) - len(window) :]
    format_for_openai(window)


def test_the_cost_depends_on_the_window_not_on_the_conversation() -> None:
    class CountingLog(ListLog):
        handed_out = 0

        def read(self, start: int, stop: int) -> list[Message]:
            found = super().read(start, stop)
            self.handed_out += len(found)
            return found

    log = CountingLog([Message("user", "a few words here", message_id=str(i)) for i in range(10_000)])
    window = ConversationMemory(counter=by_words, log=log).get_window(200)
    # Beside the window itself: the first message, which could be the system's, and the rest of a page.
    assert log.handed_out <= len(window) + 1 + 32
