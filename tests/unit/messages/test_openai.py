from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from openai.types.chat import ChatCompletionMessage
from pydantic import ValidationError

from memoranda import ConversationMemory
from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.content import AgentCallMsg, ToolCallMsg
from memoranda.messages.formatting import format_for_anthropic, format_for_openai, system_text
from memoranda.messages.message import Message
from memoranda.messages.parsing import from_anthropic, from_openai
from tests.unit.messages.vendors import is_valid_for_openai

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


def call(call_id: str, name: str = "search", arguments: str = '{"q": 1}') -> ToolCallMsg:
    return ToolCallMsg(call_id, call_id, "function", name, arguments)


def format_checked(*messages: Message | dict[str, Any]) -> list[dict[str, Any]]:
    result = format_for_openai(messages)
    assert is_valid_for_openai(result)
    return result


def test_openai_types_refuse_wrong_messages() -> None:
    with pytest.raises(ValidationError):
        is_valid_for_openai([{"role": "user", "content": [{"type": "picture"}]}])
    assert not is_valid_for_openai([{"role": "user", "content": "hi", "message_id": "m1"}])


def test_dicts_and_messages_can_be_mixed() -> None:
    assert format_checked(
        {"role": "system", "content": "Be kind."}, Message("user", "hi"), Message("assistant", "hello")
    ) == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "hi"},
        {"role": "assistant", "content": "hello"},
    ]


def test_several_tool_calls_and_their_results_are_format_checked() -> None:
    result = format_checked(
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


def test_tool_result_may_use_either_id_of_the_call() -> None:
    asked = ToolCallMsg("item_1", "fc_1", "function", "search", "{}")
    result = format_checked(Message("assistant", tool_calls=[asked]), Message("tool", "x", tool_call_id="fc_1"))
    assert result[0]["tool_calls"][0]["id"] == result[1]["tool_call_id"] == "item_1"


def test_tool_calls_at_the_end_may_be_open() -> None:
    assert format_checked(Message("assistant", "let me look", tool_calls=[call("a")]))[0]["content"] == "let me look"


def test_images_by_path_address_and_bytes_are_format_checked(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    message = Message("user", "look", images=[tmp_path / "a.png", "https://example.org/b.jpg", PNG])
    parts = format_checked(message)[0]["content"]
    assert parts[0] == {"type": "text", "text": "look"}
    urls = [part["image_url"]["url"] for part in parts[1:]]
    assert urls[0] == urls[2]
    assert urls[0].startswith("data:image/png;base64,")
    assert urls[1] == "https://example.org/b.jpg"


def test_images_of_a_tool_result_follow_in_a_user_message() -> None:
    result = format_checked(
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
    texts = [part["text"] for part in format_checked(message)[0]["content"]]
    assert texts == ['{"thought": "né"}', '{"n": [1]}', '{"agent_calls": [{"agent_name": "Writer", "request": "go"}]}']


def test_names_are_made_valid() -> None:
    assert format_checked(Message("user", "hi", name="Ana María <x>"))[0]["name"] == "Ana_María_x_"
    assert len(format_checked(Message("user", "hi", name="n" * 100))[0]["name"]) == 64


def test_empty_content_is_an_empty_text() -> None:
    assert format_checked(Message("user"), Message("assistant", "")) == [
        {"role": "user", "content": ""},
        {"role": "assistant", "content": ""},
    ]


def test_thinking_parts_are_left_out() -> None:
    content = [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "yes"}]
    assert format_checked(Message("assistant", content)) == [{"role": "assistant", "content": "yes"}]


@pytest.mark.parametrize(
    ("messages", "error"),
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
def test_messages_that_openai_refuses_raise_invalid_input(messages: list[Message], error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        format_for_openai(messages)


def test_history_round_trips() -> None:
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
    again = format_checked(*messages)
    assert again[1] == history[1]
    assert again[2]["tool_calls"][0]["function"] == {"name": "now", "arguments": "{}"}
    assert from_openai(again)[3].content == "noon"


def test_custom_tool_call_round_trips() -> None:
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "a", "type": "custom", "custom": {"name": "sh", "input": "ls"}}],
    }
    assert format_checked(*from_openai([message])) == [message]


def test_retired_function_calls_become_tool_calls() -> None:
    history: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "add", "content": "3"},
    ]
    messages = from_openai(history * 2)
    assert [message.role for message in messages[:2]] == ["assistant", "tool"]
    assert [{key: message[key] for key in given} for message, given in zip(messages, history, strict=False)] == history
    sent = format_for_openai(messages)
    assert [entry.get("tool_call_id") for entry in sent] == [None, "add", None, "add"]
    assert sent[0]["tool_calls"] == [
        {"id": "add", "type": "function", "function": history[0]["function_call"]},
    ]


def test_types_that_are_no_messages_are_refused() -> None:
    with pytest.raises(TypeError, match="SDK object"):
        from_openai(["hi"])


@pytest.mark.parametrize("value", [None, 1, float("nan"), "text", b"text", {"role": "user"}])
@pytest.mark.parametrize("convert", [from_openai, format_for_openai, from_anthropic, format_for_anthropic, system_text])
def test_what_is_no_list_of_messages_is_refused(convert: Any, value: object) -> None:
    with pytest.raises(InvalidType, match="must be a list"):
        convert(value)


def test_message_without_a_role_is_refused() -> None:
    for data in ({"content": "hi"}, {"role": None, "content": "hi"}, {}, {"type": "text", "text": "hi"}):
        with pytest.raises(InvalidInput, match="needs a 'role'"):
            Message.from_dict(data)


def test_tool_blocks_of_anthropic_in_dict_messages_become_calls_and_results() -> None:
    history = [
        {"role": "user", "content": "Where is Ann?", "id": "m1"},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "I look it up."},
                {"type": "tool_use", "id": "t1", "name": "find", "input": {"who": "Ann"}},
            ],
        },
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "Oslo"}]},
    ]
    memory = ConversationMemory()
    memory.add(history)
    call = {"id": "t1", "type": "function", "function": {"name": "find", "arguments": '{"who": "Ann"}'}}
    for messages in (history, memory.get_messages()):
        assert format_for_openai(messages) == [
            {"role": "user", "content": "Where is Ann?"},
            {"role": "assistant", "content": "I look it up.", "tool_calls": [call]},
            {"role": "tool", "content": "Oslo", "tool_call_id": "t1"},
        ]
