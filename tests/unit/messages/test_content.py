from __future__ import annotations

import base64
from pathlib import Path

import pytest

from memoranda.errors import InvalidInput
from memoranda.messages import content
from memoranda.messages.content import AgentCallMsg, MessageContent, ToolCallMsg, image_url, split_data_url

PICTURES = {
    "image/png": b"\x89PNG\r\n\x1a\n" + b"\0" * 8,
    "image/jpeg": b"\xff\xd8\xff\xe0" + b"\0" * 8,
    "image/gif": b"GIF89a" + b"\0" * 8,
    "image/webp": b"RIFF\x10\0\0\0WEBPVP8 ",
}


@pytest.mark.parametrize("kind", PICTURES)
def test_media_type_is_detected_from_the_bytes(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "picture.txt"
    path.write_bytes(PICTURES[kind])
    url = image_url(str(path))
    assert url == f"data:{kind};base64,{base64.b64encode(PICTURES[kind]).decode()}"
    assert split_data_url(url) == (kind, base64.b64encode(PICTURES[kind]).decode())


def test_web_addresses_are_unchanged() -> None:
    assert image_url("https://example.org/a.png") == "https://example.org/a.png"


def test_file_that_is_not_an_image_is_refused(tmp_path: Path) -> None:
    secret = tmp_path / "secret.png"
    secret.write_text("password")
    with pytest.raises(InvalidInput, match="not a PNG, JPEG, GIF or WebP"):
        image_url(str(secret))


@pytest.mark.parametrize("reference", ["missing.png", "bad\0name.png", "."])
def test_unreadable_path_is_named(reference: str) -> None:
    with pytest.raises(InvalidInput, match="cannot read the image"):
        image_url(reference)


def test_other_schemes_and_huge_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInput, match="cannot use the image"):
        image_url("ftp://example.org/a.png")
    monkeypatch.setattr(content, "MAX_IMAGE_BYTES", 10)
    (tmp_path / "a.png").write_bytes(PICTURES["image/png"])
    with pytest.raises(InvalidInput, match="at most 10 fit"):
        image_url(str(tmp_path / "a.png"))


@pytest.mark.parametrize("url", ["data:image/png,abc", "data:image/png;base64", "data:image/png;base64,%%%%"])
def test_invalid_data_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match="data URL"):
        split_data_url(url)


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
