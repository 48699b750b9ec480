from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage
from pydantic import ValidationError

from memoranda.errors import InvalidInput
from memoranda.messages.calls import AgentCallMsg, ToolCallMsg
from memoranda.messages.message import Message
from memoranda.messages.openai import format_for_openai, from_openai
from tests.unit.messages.vendors import accepted_by_openai

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


def call(identity: str, name: str = "search", arguments: str = '{"q": 1}') -> ToolCallMsg:
    return ToolCallMsg(identity, identity, "function", name, arguments)


def formatted(*messages: Message | dict[str, Any]) -> list[dict[str, Any]]:
    result = format_for_openai(messages)
    assert accepted_by_openai(result)
    return result


def test_the_judge_itself_refuses_what_is_wrong() -> None:
    with pytest.raises(ValidationError):
        accepted_by_openai([{"role": "user", "content": [{"type": "picture"}]}])
    assert not accepted_by_openai([{"role": "user", "content": "hi", "message_id": "m1"}])


def test_plain_turns_dicts_and_messages_mixed() -> None:
    assert formatted(
        {"role": "system", "content": "Be kind."}, Message("user", "hi"), Message("assistant", "hello")
    ) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
    ]


def test_several_calls_in_one_turn_and_their_results() -> None:
    result = formatted(
        Message("user", "compare"),
        Message("assistant", tool_calls=[call("a"), call("b")]),
        Message("tool", "first", tool_call_id="b", name="search"),
        Message("tool", {"hits": 2}, tool_call_id="a"),
        Message("assistant", "done"),
    )
    assert result[1]["content"] is None
    assert [c["id"] for c in result[1]["tool_calls"]] == ["a", "b"]
    assert result[2] == {"role": "tool", "content": "first", "tool_call_id": "b"}
    assert result[3]["content"] == '{"hits": 2}'


def test_a_result_may_name_the_call_by_either_id() -> None:
    asked = ToolCallMsg("item_1", "fc_1", "function", "search", "{}")
    result = formatted(Message("assistant", tool_calls=[asked]), Message("tool", "x", tool_call_id="fc_1"))
    assert result[0]["tool_calls"][0]["id"] == result[1]["tool_call_id"] == "item_1"


def test_calls_at_the_end_may_be_open() -> None:
    assert formatted(Message("assistant", "let me look", tool_calls=[call("a")]))[0]["content"] == "let me look"


def test_images_by_path_address_and_bytes(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    message = Message("user", "look", images=[tmp_path / "a.png", "https://example.org/b.jpg", PNG])
    parts = formatted(message)[0]["content"]
    assert parts[0] == {"type": "text", "text": "look"}
    urls = [part["image_url"]["url"] for part in parts[1:]]
    assert urls[0] == urls[2]
    assert urls[0].startswith("data:image/png;base64,")
    assert urls[1] == "https://example.org/b.jpg"


def test_pictures_of_a_tool_result_follow_in_a_user_turn() -> None:
    result = formatted(
        Message("assistant", tool_calls=[call("a"), call("b")]),
        Message("tool", "shot", tool_call_id="a", images=[PNG]),
        Message("tool", "text", tool_call_id="b"),
        Message("assistant", "I see"),
    )
    assert [entry["role"] for entry in result] == ["assistant", "tool", "tool", "user", "assistant"]
    assert result[3]["content"][0]["type"] == "image_url"


def test_structured_content_data_and_agent_calls_become_json_text() -> None:
    message = Message(
        "assistant", {"thought": "né"}, structured_data={"n": [1]}, agent_calls=[AgentCallMsg("Writer", "go")]
    )
    texts = [part["text"] for part in formatted(message)[0]["content"]]
    assert texts == ['{"thought": "né"}', '{"n": [1]}', '{"agent_calls": [{"agent_name": "Writer", "request": "go"}]}']


def test_names_are_made_to_fit() -> None:
    assert formatted(Message("user", "hi", name="Ana María <x>"))[0]["name"] == "Ana_María_x_"
    assert len(formatted(Message("user", "hi", name="n" * 100))[0]["name"]) == 64


def test_empty_content_is_an_empty_text() -> None:
    assert formatted(Message("user"), Message("assistant", "")) == [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
    ]


def test_another_vendors_reasoning_is_left_out() -> None:
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "yes"}]
    assert formatted(Message("assistant", content)) == [{"role": "assistant", "content": "yes"}]


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([Message("tool", "x", tool_call_id="a")], "answers the tool call 'a', which is not open"),
        ([Message("tool", "x")], "without a tool_call_id"),
        ([Message("assistant", tool_calls=[call("a")]), Message("user", "hi")], "'a' has no result before message 1"),
        (
            [Message("assistant", tool_calls=[call("a")]), *2 * [Message("tool", "x", tool_call_id="a")]],
            "message 2 answers the tool call 'a'",
        ),
        ([Message("assistant", "x", images=["https://example.org/a.png"])], "no 'image_url' in a assistant message"),
        ([Message("user", [{"type": "document", "source": {}}])], "no 'document' in a user message"),
        ([Message("user", images=["nowhere.png"])], "cannot read the image 'nowhere.png'"),
    ],
)
def test_what_the_vendor_would_refuse_is_a_clear_error(messages: list[Message], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
        format_for_openai(messages)


def test_a_running_history_is_taken_in_and_given_back() -> None:
    answer = ChatCompletionMessage.model_validate(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "now", "arguments": ""}}],
        }
    )
    history: list[Any] = [
        {"role": "developer", "content": "Be kind."},
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "time?"},
                {"type": "image_url", "image_url": {"url": "https://example.org/c.png", "detail": "low"}},
            ],
        },
        answer,
        {"role": "tool", "tool_call_id": "a", "content": "noon"},
    ]
    messages = from_openai(history)
    assert [message.role for message in messages] == ["system", "user", "assistant", "tool"]
    again = formatted(*messages)
    assert again[1] == history[1]
    assert again[2]["tool_calls"][0]["function"] == {"name": "now", "arguments": "{}"}
    assert from_openai(again)[3].content == "noon"


def test_a_custom_tool_call_goes_both_ways() -> None:
    given = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
    }
    assert formatted(*from_openai([given])) == [given]


def test_the_retired_form_and_strangers_are_refused() -> None:
    with pytest.raises(InvalidInput, match="retired"):
        from_openai([{"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}}])
    with pytest.raises(TypeError, match="SDK object"):
        from_openai(["hi"])
