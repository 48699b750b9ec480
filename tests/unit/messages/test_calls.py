from __future__ import annotations

import pytest

from memoranda.errors import InvalidInput
from memoranda.messages.calls import AgentCallMsg, MessageContent, ToolCallMsg


def call(**changes: str) -> ToolCallMsg:
    fields = {"id": "c1", "call_id": "c1", "type": "function", "name": "add", "arguments": '{"a": 5}'}
    return ToolCallMsg(**{**fields, **changes})


def test_tool_call_round_trips_in_openai_format() -> None:
    form = {"id": "c1", "type": "function", "function": {"name": "add", "arguments": '{"a": 5}'}}
    assert call().to_dict() == form
    assert ToolCallMsg.from_dict(form) == call()


def test_separate_call_id_is_kept() -> None:
    assert ToolCallMsg.from_dict(call(call_id="fc_9").to_dict()) == call(call_id="fc_9")


def test_tool_call_can_be_read_like_a_dict() -> None:
    assert call()["name"] == "add"
    assert ToolCallMsg.from_dict(dict(call())) == call()


def test_arguments_can_be_passed_and_read_as_data() -> None:
    parsed = ToolCallMsg.from_dict({"id": "c1", "name": "add", "arguments": {"a": 5}})
    assert parsed == call()
    assert parsed.parsed_arguments() == {"a": 5}


def test_custom_tool_call_takes_free_text() -> None:
    form = {"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls -l"}}
    parsed = ToolCallMsg.from_dict(form)
    assert parsed.parsed_arguments() == "ls -l"
    assert parsed.to_dict() == form


@pytest.mark.parametrize("field", ["id", "call_id", "type", "name"])
def test_empty_field_is_refused(field: str) -> None:
    with pytest.raises(InvalidInput, match=f"{field} is empty"):
        call(**{field: "  "})


@pytest.mark.parametrize("arguments", ["", "{", "a=5", "{'a': 5}", "[" * 100_000])
def test_arguments_that_are_not_json_are_refused(arguments: str) -> None:
    with pytest.raises(InvalidInput, match="arguments of the call to 'add' are not JSON"):
        call(arguments=arguments)


def test_arguments_of_another_type_raise_type_error() -> None:
    with pytest.raises(TypeError, match="must be a string"):
        call(arguments=5)  # type: ignore[arg-type]


def test_agent_call_omits_none_and_checks_its_fields() -> None:
    assert AgentCallMsg("Writer", None).to_dict() == {"agent_name": "Writer"}
    assert AgentCallMsg.from_dict({"agent_name": "Writer"}) == AgentCallMsg("Writer", None)
    with pytest.raises(InvalidInput, match="agent_name is empty"):
        AgentCallMsg("", "go")
    with pytest.raises(InvalidInput, match="not JSON"):
        AgentCallMsg("Writer", object())


def test_message_content_omits_none_and_checks_its_fields() -> None:
    content = MessageContent(thought="think", next_action="invoke_agent", action_input={"agent_name": "X"})
    assert MessageContent.from_dict(content.to_dict()) == content
    assert MessageContent(thought="only").to_dict() == {"thought": "only"}
    assert content["next_action"] == "invoke_agent"
    with pytest.raises(InvalidInput, match="call_tool, invoke_agent, final_response"):
        MessageContent(next_action="dance")
    with pytest.raises(InvalidInput, match="unknown key 'mood'"):
        MessageContent.from_dict({"mood": "good"})
    with pytest.raises(TypeError, match="action_input must be a dict"):
        MessageContent(action_input=["x"])  # type: ignore[arg-type]
