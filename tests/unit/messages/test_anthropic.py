from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import TextBlock, ToolUseBlock
from pydantic import ValidationError

from memoranda.errors import InvalidInput
from memoranda.messages.content import ToolCallMsg
from memoranda.messages.formatting import format_for_anthropic, format_for_openai, system_text
from memoranda.messages.message import Message
from memoranda.messages.parsing import from_anthropic
from tests.unit.messages.vendors import is_valid_for_anthropic, is_valid_for_openai

JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 8


def call(call_id: str, arguments: str = '{"q": 1}') -> ToolCallMsg:
    return ToolCallMsg(call_id, call_id, "function", "search", arguments)


def format_checked(*messages: Message | dict[str, Any]) -> list[dict[str, Any]]:
    result = format_for_anthropic(messages)
    assert is_valid_for_anthropic(result)
    return result


def test_anthropic_types_refuse_wrong_messages() -> None:
    with pytest.raises(ValidationError):
        is_valid_for_anthropic([{"role": "tool", "content": "x"}])
    assert not is_valid_for_anthropic([{"role": "user", "content": "hi", "name": "Ann"}])


def test_system_messages_are_left_out_and_returned_as_system_text() -> None:
    messages = [{"role": "system", "content": "Be kind."}, Message("user", "hi"), Message("system", "Be brief.")]
    assert format_checked(*messages) == [{"role": "user", "content": "hi"}]
    assert system_text(messages) == "Be kind.\n\nBe brief."
    assert system_text([Message("user", "hi")]) == ""


def test_consecutive_messages_of_one_role_are_merged() -> None:
    result = format_checked(Message("user", "one"), Message("user", "two"), Message("assistant", "three"))
    assert result == [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "three"},
    ]


def test_tool_results_and_next_user_message_share_one_user_turn() -> None:
    result = format_checked(
        Message("user", "compare"),
        Message("assistant", "looking", tool_calls=[call("a"), call("b", "{}")]),
        Message("tool", "first", tool_call_id="a"),
        Message("tool", tool_call_id="b", metadata={"is_error": True}),
        Message("user", "and?"),
    )
    assert [turn["role"] for turn in result] == ["user", "assistant", "user"]
    assert result[1]["content"][1] == {"type": "tool_use", "id": "a", "name": "search", "input": {"q": 1}}
    assert result[2]["content"] == [
        {"type": "tool_result", "tool_use_id": "a", "content": "first"},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True},
        {"type": "text", "text": "and?"},
    ]


def test_images_by_path_address_and_bytes_are_format_checked(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(JPEG)
    result = format_checked(
        Message("user", "look", images=[tmp_path / "a.png", "https://example.org/b.jpg", JPEG]),
        Message("assistant", tool_calls=[call("a")]),
        Message("tool", tool_call_id="a", images=[JPEG]),
    )
    sources = [block["source"] for block in result[0]["content"][1:]]
    assert sources[0] == sources[2]
    assert sources[0]["media_type"] == "image/jpeg"
    assert sources[1] == {"type": "url", "url": "https://example.org/b.jpg"}
    assert result[2]["content"][0]["content"][0]["type"] == "image"


def test_user_name_precedes_the_text_and_empty_messages_are_dropped() -> None:
    result = format_checked(
        Message("user", "hi", name="Ann"), Message("assistant", "  "), Message("user"), Message("user", "ho")
    )
    assert result == [
        {"role": "user", "content": [{"type": "text", "text": "Ann: hi"}, {"type": "text", "text": "ho"}]}
    ]


def test_structured_content_becomes_json_text() -> None:
    assert format_checked(Message("assistant", {"a": 1}))[0]["content"] == '{"a": 1}'


@pytest.mark.parametrize(
    ("messages", "error"),
    [
        ([Message("tool", "x", tool_call_id="a")], "answers the tool call 'a', which is not open"),
        ([Message("assistant", tool_calls=[call("a", "[1]")])], "must be a JSON object"),
        ([Message("assistant", images=["https://example.org/a.png"])], "no image in an assistant message"),
        ([Message("user", [{"type": "input_audio", "input_audio": {}}])], "no 'input_audio' part"),
        ([Message("user", images=["data:text/plain;base64,aGk="])], "not a PNG"),
    ],
)
def test_messages_that_anthropic_refuses_raise_invalid_input(messages: list[Message], error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        format_for_anthropic(messages)


HISTORY: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "look"},
            {"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "/9j/4AAAAAA="}},
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "hm", "signature": "s"},
            {"type": "text", "text": "I search."},
            {"type": "tool_use", "id": "a", "name": "search", "input": {"q": "tea"}},
            {"type": "tool_use", "id": "b", "name": "search", "input": {}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "a",
                "content": [{"type": "text", "text": "x"}, {"type": "text", "text": "y"}],
            },
            {"type": "tool_result", "tool_use_id": "b", "content": "failed", "is_error": True},
            {"type": "text", "text": "go on"},
        ],
    },
    {"role": "assistant", "content": "done"},
]


def test_history_round_trips_unchanged() -> None:
    messages = from_anthropic(HISTORY, system="Be kind.")
    assert [m.role for m in messages] == ["system", "user", "assistant", "tool", "tool", "user", "assistant"]
    assert messages[2].tool_calls is not None
    assert messages[2].tool_calls[0].arguments == '{"q": "tea"}'
    assert format_checked(*messages) == HISTORY
    assert system_text(messages) == "Be kind."


def test_anthropic_history_converts_to_openai() -> None:
    result = format_for_openai(from_anthropic(HISTORY))
    assert is_valid_for_openai(result)
    assert [entry["role"] for entry in result] == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_sdk_objects_are_parsed() -> None:
    answer = AnthropicMessage.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": [{"type": "text", "text": "hi"}],
            "stop_reason": "end_turn",
            "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )
    blocks = [
        TextBlock(type="text", text="again", citations=None),
        ToolUseBlock.model_validate({"type": "tool_use", "id": "a", "name": "f", "input": {"x": [1]}}),
    ]
    messages = from_anthropic(
        [answer, {"role": "assistant", "content": blocks}], system=[{"type": "text", "text": "S"}]
    )
    assert [message.content for message in messages] == ["S", "hi", "again"]
    assert messages[2].tool_calls is not None
    assert messages[2].tool_calls[0].parsed_arguments() == {"x": [1]}
