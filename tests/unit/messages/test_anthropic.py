from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from anthropic.types import TextBlock, ToolUseBlock
from pydantic import ValidationError

from memoranda.errors import InvalidInput
from memoranda.messages.anthropic import format_for_anthropic, from_anthropic, system_text
from memoranda.messages.calls import ToolCallMsg
from memoranda.messages.message import Message
from memoranda.messages.openai import format_for_openai
from tests.unit.messages.vendors import accepted_by_anthropic, accepted_by_openai

JPEG = b"\xff\xd8\xff\xe0" + b"\0" * 8


def call(identity: str, arguments: str = '{"q": 1}') -> ToolCallMsg:
    return ToolCallMsg(identity, identity, "function", "search", arguments)


def formatted(*messages: Message | dict[str, Any]) -> list[dict[str, Any]]:
    result = format_for_anthropic(messages)
    assert accepted_by_anthropic(result)
    return result


def test_the_judge_itself_refuses_what_is_wrong() -> None:
    with pytest.raises(ValidationError):
        accepted_by_anthropic([{"role": "tool", "content": "x"}])
    assert not accepted_by_anthropic([{"role": "user", "content": "hi", "name": "Ann"}])


def test_plain_turns_and_the_system_text_apart() -> None:
    messages = [{"role": "system", "content": "Be kind."}, Message("user", "hi"), Message("system", "Be brief.")]
    assert formatted(*messages) == [{"role": "user", "content": "hi"}]
    assert system_text(messages) == "Be kind.\n\nBe brief."
    assert system_text([Message("user", "hi")]) == ""


def test_consecutive_turns_of_one_role_are_merged() -> None:
    result = formatted(Message("user", "one"), Message("user", "two"), Message("assistant", "three"))
    assert result == [
        {"role": "user", "content": [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]},
        {"role": "assistant", "content": "three"},
    ]


def test_several_calls_and_their_results_share_one_user_turn_with_what_follows() -> None:
    result = formatted(
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


def test_images_by_path_address_and_bytes_also_in_results(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(JPEG)
    result = formatted(
        Message("user", "look", images=[tmp_path / "a.png", "https://example.org/b.jpg", JPEG]),
        Message("assistant", tool_calls=[call("a")]),
        Message("tool", tool_call_id="a", images=[JPEG]),
    )
    sources = [block["source"] for block in result[0]["content"][1:]]
    assert sources[0] == sources[2]
    assert sources[0]["media_type"] == "image/jpeg"
    assert sources[1] == {"type": "url", "url": "https://example.org/b.jpg"}
    assert result[2]["content"][0]["content"][0]["type"] == "image"


def test_a_users_name_stands_before_the_words_and_empty_messages_go() -> None:
    result = formatted(
        Message("user", "hi", name="Ann"), Message("assistant", "  "), Message("user"), Message("user", "ho")
    )
    assert result == [
        {"role": "user", "content": [{"type": "text", "text": "Ann: hi"}, {"type": "text", "text": "ho"}]}
    ]


def test_structured_content_becomes_json_text() -> None:
    assert formatted(Message("assistant", {"a": 1}))[0]["content"] == '{"a": 1}'


@pytest.mark.parametrize(
    ("messages", "complaint"),
    [
        ([Message("tool", "x", tool_call_id="a")], "answers the tool call 'a', which is not open"),
        ([Message("assistant", tool_calls=[call("a", "[1]")])], "must be a JSON object"),
        ([Message("assistant", images=["https://example.org/a.png"])], "no image in an assistant message"),
        ([Message("user", [{"type": "input_audio", "input_audio": {}}])], "no 'input_audio' part"),
        ([Message("user", images=["data:text/plain;base64,aGk="])], "not a PNG"),
    ],
)
def test_what_the_vendor_would_refuse_is_a_clear_error(messages: list[Message], complaint: str) -> None:
    with pytest.raises(InvalidInput, match=complaint):
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


def test_a_running_history_is_taken_in_and_given_back_unchanged() -> None:
    messages = from_anthropic(HISTORY, system="Be kind.")
    assert [m.role for m in messages] == ["system", "user", "assistant", "tool", "tool", "user", "assistant"]
    assert messages[2].tool_calls is not None
    assert messages[2].tool_calls[0].arguments == '{"q": "tea"}'
    assert formatted(*messages) == HISTORY
    assert system_text(messages) == "Be kind."


def test_a_history_crosses_from_one_vendor_to_the_other() -> None:
    result = format_for_openai(from_anthropic(HISTORY))
    assert accepted_by_openai(result)
    assert [entry["role"] for entry in result] == ["user", "assistant", "tool", "tool", "user", "assistant"]


def test_objects_of_the_sdk_are_taken_in() -> None:
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
