from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memoranda.errors import InvalidInput, InvalidType
from memoranda.messages.content import AgentCallMsg, MessageContent, ToolCallMsg
from memoranda.messages.message import ROLES, Message
from memoranda.messages.parsing import as_message

SEARCH = ToolCallMsg(id="call_1", call_id="call_1", type="function", name="search", arguments='{"q": "tea"}')
PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 8


def full_message() -> Message:
    return Message(
        role="assistant",
        content={"thought": "look it up", "steps": [1, {"deep": None}]},
        message_id="m1",
        name="Analyzer",
        tool_calls=[SEARCH],
        agent_calls=[AgentCallMsg("Writer", {"topic": "tea"})],
        structured_data={"done": True},
        images=["a.png", "https://example.org/b.png"],
        tool_call_id="call_0",
        timestamp=datetime(2024, 5, 1, 12, 30, tzinfo=UTC),
        metadata={"score": 0.5},
    )


def test_message_gets_an_id_and_an_aware_timestamp() -> None:
    before = datetime.now(UTC)
    first, second = Message("user", "hello"), Message("user", "hello")
    assert first.message_id != second.message_id
    assert before <= first.timestamp <= datetime.now(UTC)
    assert first.timestamp.tzinfo is UTC


def test_every_field_round_trips_through_json() -> None:
    message = full_message()
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.text(), json_values, max_size=3)
words = st.text(min_size=1).filter(str.strip)


@given(
    role=st.sampled_from(ROLES),
    content=st.none() | st.text() | objects,
    name=st.none() | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    structured_data=st.none() | objects,
    metadata=objects,
    request=json_values,
    call=st.tuples(words, words, json_values),
    timestamp=st.datetimes(
        datetime(1000, 1, 1),
        datetime(3000, 1, 1),
        timezones=st.timezones(),
    ),
)
def test_any_message_round_trips_through_json(
    role, content, name, structured_data, metadata, request, call, timestamp
) -> None:  # type: ignore[no-untyped-def]
    message = Message(
        role,
        content,
        name=name,
        structured_data=structured_data,
        metadata=metadata,
        agent_calls=[AgentCallMsg("other", request)],
        tool_calls=[ToolCallMsg(call[0], call[0], "function", call[1], json.dumps(call[2]))],
        timestamp=timestamp,
    )
    assert Message.from_dict(json.loads(json.dumps(message.to_dict()))) == message


def test_message_can_be_read_like_a_dict() -> None:
    message = Message("user", "hello", message_id="m1", timestamp="2024-05-01T12:30:00+02:00")
    assert message["role"] == "user"
    assert message["timestamp"] == "2024-05-01T10:30:00+00:00"
    assert message.get("content") == "hello"
    assert message.get("colour", "none") == "none"
    assert "content" in message
    assert "name" not in message
    assert message["name"] is None
    assert dict(message) == message.to_dict()
    assert list(dict(message)) == ["role", "content", "message_id", "timestamp"]
    with pytest.raises(KeyError):
        message["colour"]


def test_calls_are_dicts_as_items_and_objects_as_attributes() -> None:
    message = full_message()
    assert message.tool_calls == [SEARCH]
    assert message["tool_calls"][0]["function"]["name"] == "search"
    assert message["agent_calls"] == [{"agent_name": "Writer", "request": {"topic": "tea"}}]


def test_dicts_are_converted_to_calls() -> None:
    message = Message(
        "assistant", tool_calls=[SEARCH.to_dict()], agent_calls=[{"agent_name": "Writer", "request": "go"}]
    )
    assert message.tool_calls == [SEARCH]
    assert message.agent_calls == [AgentCallMsg("Writer", "go")]


def test_message_cannot_be_changed() -> None:
    given = {"list": [1]}
    message = Message("user", given, metadata={"tags": ["a"]}, images=["a.png"])
    given["list"].append(2)
    assert message.content == {"list": [1]}
    with pytest.raises(FrozenInstanceError):
        message.role = "system"  # type: ignore[misc]
    with pytest.raises(TypeError, match="cannot be changed"):
        message.content["list"] = []  # type: ignore[index, call-overload]
    with pytest.raises(TypeError, match="cannot be changed"):
        message.metadata["tags"].append("b")  # type: ignore[union-attr]
    with pytest.raises(TypeError, match="cannot be changed"):
        message.images.append("b.png")  # type: ignore[union-attr]


def test_changing_to_dict_does_not_change_the_message() -> None:
    message = full_message()
    data = message.to_dict()
    data["content"]["steps"].append("more")  # type: ignore[index, call-overload, union-attr]
    data["metadata"].clear()  # type: ignore[union-attr]
    assert message == full_message()


def test_message_can_be_copied_pickled_replaced_and_hashed() -> None:
    message = full_message()
    assert copy.deepcopy(message) == message
    assert pickle.loads(pickle.dumps(message)) == message  # noqa: S301
    assert replace(message, role="user").role == "user"
    assert len({message, full_message()}) == 1


@pytest.mark.parametrize("role", ["", "human", "User", None, 3])
def test_unknown_role_is_refused(role: object) -> None:
    assert not Message.is_valid_role(role)
    with pytest.raises(InvalidInput, match="system, user, assistant, tool"):
        Message(role, "hello")  # type: ignore[arg-type]


@pytest.mark.parametrize("content", [3, 1.5, True, b"bytes", object(), {1, 2}])
def test_content_of_another_type_raises_invalid_type(content: object) -> None:
    with pytest.raises(InvalidType, match="content must be a string"):
        Message("user", content)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("content", "error"),
    [
        ({"x": object()}, r"content\.x holds a object, which is not JSON"),
        ({"x": float("nan")}, r"content\.x is nan"),
        ({1: "x"}, "keys of JSON are strings"),
        (["text"], r"content\[0\] must be a dict with a 'type'"),
    ],
)
def test_content_error_names_the_part_that_is_not_json(content: object, error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        Message("user", content)  # type: ignore[arg-type]


def test_circular_reference_is_refused() -> None:
    loop: dict[str, object] = {}
    loop["self"] = {"again": [loop]}
    for field in ("content", "structured_data", "metadata"):
        with pytest.raises(InvalidInput, match="circular"):
            Message("user", **{field: loop})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="circular"):
        AgentCallMsg("other", loop)


def test_shared_object_is_not_a_circular_reference() -> None:
    shared = {"a": 1}
    assert Message("user", {"x": shared, "y": shared}).content == {"x": {"a": 1}, "y": {"a": 1}}


def test_deep_nesting_is_refused() -> None:
    deep: list[object] = []
    for _ in range(5_000):
        deep = [deep]
    with pytest.raises(InvalidInput, match="deeper than 100"):
        Message("user", {"deep": deep})


def test_timestamp_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no time zone"):
        Message("user", timestamp=datetime(2024, 1, 1))
    with pytest.raises(InvalidInput, match="no time zone"):
        Message("user", timestamp="2024-01-01T00:00:00")
    with pytest.raises(InvalidInput, match="not an ISO 8601"):
        Message.from_dict({"role": "user", "timestamp": "yesterday"})
    with pytest.raises(InvalidType, match="must be a datetime"):
        Message.from_dict({"role": "user", "timestamp": [17]})


def test_timestamp_of_a_dict_without_a_time_zone_is_of_this_computers() -> None:
    message = Message.from_dict({"role": "user", "timestamp": "2024-01-01T00:00:00"})
    assert message.timestamp == datetime(2024, 1, 1).astimezone()
    assert message["timestamp"] == "2024-01-01T00:00:00"


def test_timestamp_is_converted_to_utc() -> None:
    local = datetime(2024, 1, 1, 1, 0, tzinfo=timezone(timedelta(hours=2)))
    assert Message("user", timestamp=local).timestamp == datetime(2023, 12, 31, 23, 0, tzinfo=UTC)


def test_content_can_be_message_content() -> None:
    content = MessageContent(thought="look", next_action="call_tool", action_input={"name": "search"})
    message = Message("assistant", content)
    assert message.content == content.to_dict()
    assert MessageContent.from_dict(message["content"]) == content


def test_empty_lists_become_none_and_empty_object_stays() -> None:
    message = Message("assistant", tool_calls=[], agent_calls=[], images=[], structured_data={})
    assert (message.tool_calls, message.agent_calls, message.images) == (None, None, None)
    assert message.structured_data == {}
    assert Message.from_dict(message.to_dict()) == message


def test_images_can_be_paths_addresses_or_bytes() -> None:
    message = Message("user", images=["a.png", Path("b.png"), PNG])
    assert message.images is not None
    assert message.images[:2] == ["a.png", "b.png"]
    assert message.images[2].startswith("data:image/png;base64,")


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"images": "a.png"}, "images must be a list"),
        ({"images": [""]}, "an image is empty"),
        ({"images": [b"not a picture"]}, "not a PNG"),
        ({"tool_calls": SEARCH}, "tool_calls must be a list"),
        ({"tool_calls": ["search"]}, "a tool call must be a ToolCallMsg or a dict"),
        ({"agent_calls": [3]}, "an agent call must be an AgentCallMsg or a dict"),
        ({"metadata": [1]}, "metadata must be a dict"),
        ({"structured_data": "x"}, "structured_data must be a dict"),
        ({"message_id": " "}, "message_id is empty"),
        ({"message_id": 3}, "message_id must be a string"),
        ({"name": 3}, "name must be a string"),
    ],
)
def test_field_errors_say_what_is_wrong(fields: dict[str, object], error: str) -> None:
    with pytest.raises(InvalidInput, match=error):
        Message("assistant", **fields)  # type: ignore[arg-type]


def test_from_dict_stores_unknown_keys_as_metadata_and_id_as_message_id() -> None:
    message = Message.from_dict({"role": "user", "content": "hi", "id": "x1", "refusal": None, "turn": 3})
    assert message.message_id == "x1"
    assert message.metadata == {"turn": 3}


def test_from_dict_requires_a_dict_with_a_role() -> None:
    with pytest.raises(InvalidInput, match="needs a 'role'"):
        Message.from_dict({"content": "hi"})
    with pytest.raises(TypeError, match="must be a Message or a dict"):
        Message.from_dict("hi")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="expected a Message or a dict"):
        as_message(["hi"])
