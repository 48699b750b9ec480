from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types import Message as AnthropicReply
from langchain_core.messages import AIMessage as LangChainAIMessage
from langchain_core.messages import FunctionMessage, ToolMessage
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessage
from openai.types.responses import Response, ResponseFunctionToolCall, ResponseReasoningItem
from pydantic import BaseModel

from memoranda import (
    ConversationMemory,
    InvalidType,
    MemoryManager,
    Message,
    PersistentMemory,
    create_session,
    format_for_anthropic,
    format_for_openai,
    from_anthropic,
    from_openai,
)
from memoranda.client import MemoryManager as RemoteManager
from memoranda.messages.parsing import as_message
from memoranda.testing.fakes import HashEmbedder

CALL = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"x": 1}'}}
TEXT = "I moved to Ghent in March."


def openai_reply() -> ChatCompletion:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}
    return ChatCompletion.model_validate(
        {"id": "chatcmpl-1", "object": "chat.completion", "created": 1_700_000_000, "model": "m", "choices": [choice]}
    )


def openai_message() -> ChatCompletionMessage:
    return ChatCompletionMessage.model_validate({"role": "assistant", "content": TEXT, "tool_calls": [CALL]})


def openai_response() -> Response:
    part = {"type": "output_text", "text": TEXT, "annotations": []}
    output = [
        {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [part]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"x": 1}'},
    ]
    return Response.model_construct(**_plain_response(output))


def _plain_response(output: list[dict[str, Any]]) -> dict[str, Any]:
    return {"id": "resp_1", "object": "response", "created_at": 1_700_000_000.0, "model": "m", "output": output}


def anthropic_reply() -> AnthropicReply:
    blocks = [{"type": "text", "text": TEXT}, {"type": "tool_use", "id": "c1", "name": "look", "input": {"x": 1}}]
    return AnthropicReply.model_validate(
        {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "content": blocks,
            "stop_reason": "tool_use",
            "usage": {"input_tokens": 1, "output_tokens": 1},
        }
    )


class AIMessage(BaseModel):
    """The fields of LangChain's message, which is a model like this one."""

    type: str = "ai"
    content: str = TEXT
    id: str | None = "run-1"
    tool_calls: list[dict[str, Any]] = [{"name": "look", "args": {"x": 1}, "id": "c1", "type": "tool_call"}]
    response_metadata: dict[str, Any] = {"model": "m"}


class HumanMessage(BaseModel):
    type: str = "human"
    content: str = TEXT
    name: str = "Ann"


class OwnModel(BaseModel):
    role: str = "user"
    content: str = TEXT


REPLIES: list[Callable[[], Any]] = [
    openai_reply,
    openai_message,
    openai_response,
    anthropic_reply,
    AIMessage,
    HumanMessage,
    OwnModel,
]


@pytest.mark.parametrize("make", REPLIES)
def test_a_vendors_object_is_accepted_wherever_a_message_is(make: Callable[[], Any], tmp_path: Path) -> None:
    role = "user" if make in (HumanMessage, OwnModel) else "assistant"
    conversation = ConversationMemory()
    conversation.add(make())
    conversation.add([make()], allow_duplicates=True)
    assert [(each.role, each.content) for each in conversation.messages] == [(role, TEXT)] * 2
    with MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64)) as manager:
        outcomes = [*manager.remember(make(), keep_all=True), *manager.remember([make()], keep_all=True)]
        assert outcomes[0].memory is not None
        assert outcomes[0].memory.content == TEXT
        memory = manager.get_memory("agent")
        memory.add(make())
        assert memory.get_last_message() is not None


@pytest.mark.parametrize("make", [openai_message, openai_response, anthropic_reply, AIMessage])
def test_tool_calls_are_kept(make: Callable[[], Any]) -> None:
    (call,) = as_message(make()).tool_calls or ()
    assert (call.id, call.name, call.arguments) == ("c1", "look", '{"x": 1}')


@pytest.mark.parametrize(
    ("make", "message_id"),
    [(openai_reply, "chatcmpl-1"), (anthropic_reply, "msg_1"), (AIMessage, "run-1"), (openai_response, "resp_1")],
)
def test_the_id_of_a_reply_is_the_id_of_its_message(make: Callable[[], Any], message_id: str) -> None:
    assert as_message(make()).message_id == message_id


def test_persistent_memory_records_a_reply(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with PersistentMemory(agent_name="a") as memory:
        memory.record([HumanMessage(), openai_reply()])
        assert "Ghent" in memory.retrieve(OwnModel(content="Where did I move?"))


@dataclass
class OwnRecord:
    role: str = "user"
    content: str = TEXT


def openai_chunk() -> ChatCompletionChunk:
    choice = {"index": 0, "delta": {"role": "assistant", "content": TEXT}, "finish_reason": None}
    return ChatCompletionChunk.model_validate(
        {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
    )


@pytest.mark.parametrize(
    "value", [OwnRecord(), SimpleNamespace(role="user", content=TEXT), TEXT.encode(), openai_chunk()]
)
def test_an_object_that_is_no_message_is_an_error_that_names_the_converters(value: Any, tmp_path: Path) -> None:
    with MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64)) as manager:
        for call in (
            as_message,
            manager.remember,
            lambda one: manager.remember([one]),
            manager.recall,
            manager.context,
            manager.add_memory,
            lambda one: manager.add_memories([one]),
            manager.add_memories,
            lambda one: manager.search_items(query=one),
            ConversationMemory().add_message,
            Message.from_dict,
            format_for_openai,
            format_for_anthropic,
        ):
            with pytest.raises(InvalidType, match=rf"{type(value).__name__}.*from_openai.*from_anthropic"):
                call(value)
        assert manager.list_memories() == []


def test_sessions_and_the_remote_client_name_the_converters_too(tmp_path: Path) -> None:
    with (
        MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64)) as manager,
        create_session("w", manager) as session,
    ):
        with pytest.raises(InvalidType, match=r"OwnRecord.*from_openai.*from_anthropic"):
            session.add_conversation_message("ann", "assistant", OwnRecord())  # type: ignore[arg-type]
        session.add_conversation_message("ann", "assistant", openai_reply())
        assert [each.content for each in session.get_conversation_history()] == [TEXT]
    with RemoteManager("http://127.0.0.1:1") as remote:
        for wrong in (OwnRecord(), [OwnRecord()]):
            with pytest.raises(InvalidType, match=r"OwnRecord.*from_openai.*from_anthropic"):
                remote.remember(wrong)


def test_developer_is_the_role_system_wherever_a_message_is(tmp_path: Path) -> None:
    assert Message("developer", "Be brief.").role == "system"
    conversation = ConversationMemory()
    conversation.add({"role": "developer", "content": "Be brief."})
    assert [each.role for each in conversation.get_messages_by_role("developer")] == ["system"]
    with MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64)) as manager:
        manager.remember([{"role": "developer", "content": "Be brief."}, {"role": "user", "content": TEXT}])
        with create_session("work", manager) as session:
            assert session.add_conversation_message("ann", "developer", "Be brief.").role == "system"


def test_a_model_that_is_no_message_is_an_error_that_names_the_converters() -> None:
    class Weather(BaseModel):
        degrees: int = 3

    with pytest.raises(InvalidType, match=r"from_openai.*from_anthropic"):
        as_message(Weather())
    with pytest.raises(InvalidType, match=r"from_openai.*from_anthropic"):
        as_message(3)
    with pytest.raises(InvalidType, match="Weather is not a message"):
        ConversationMemory().add(Weather())


def test_converters_convert_a_whole_reply() -> None:
    for (message,) in (from_openai(openai_reply()), from_openai(openai_response()), from_anthropic(anthropic_reply())):
        assert (message.role, TEXT in str(message.content)) == ("assistant", True)
    assert from_openai([openai_reply()])[0].message_id == "chatcmpl-1"


def test_output_of_a_response_becomes_its_messages_without_reasoning() -> None:
    result = {"type": "function_call_output", "call_id": "c1", "output": "found"}
    output = [{"type": "reasoning", "id": "r", "summary": []}, *openai_response().output, result]
    said, call, found = from_openai(output)
    assert (said.role, said.content) == ("assistant", TEXT)
    assert [each.id for each in call.tool_calls or ()] == ["c1"]
    assert (found.role, found.tool_call_id, found.content) == ("tool", "c1", "found")


def test_parts_of_a_reply_are_messages_or_a_clear_error() -> None:
    assert as_message(openai_reply().choices[0]).content == TEXT
    call = ResponseFunctionToolCall(type="function_call", call_id="c1", name="look", arguments="{}")
    assert [each.id for each in as_message(call).tool_calls or ()] == ["c1"]
    reasoning = as_message(ResponseReasoningItem(type="reasoning", id="r", summary=[]))
    assert (reasoning.role, reasoning.content, reasoning["id"]) == ("assistant", None, "r")
    with pytest.raises(InvalidType, match="from_openai"):
        as_message(anthropic_reply().content[0])


def test_objects_inside_a_dict_message_are_taken() -> None:
    given: list[dict[str, Any]] = [
        {"role": "assistant", "content": anthropic_reply().content},
        {"role": "assistant", "content": None, "tool_calls": openai_message().tool_calls},
    ]
    memory = ConversationMemory()
    memory.add(given)
    memory.add(openai_response().output)
    memory.add(FunctionMessage(content="3", name="look"))
    stored = memory.get_messages()
    assert [block["type"] for block in stored[0]["content"]] == ["text", "tool_use"]
    assert [[call.id for call in each.tool_calls or ()] for each in stored[1:4]] == [["c1"], [], ["c1"]]
    assert (stored[4].role, stored[4].tool_call_id, stored[4].content) == ("tool", "look", "3")


def test_objects_in_a_langchain_message_that_are_no_json_are_left_out() -> None:
    messages = [
        ToolMessage("found", tool_call_id="c1", artifact=object()),
        LangChainAIMessage("found", additional_kwargs={"o": object()}, response_metadata={"seen": {object()}}),
    ]
    assert [as_message(message).content for message in messages] == ["found", "found"]
    (message,) = from_openai([ChatCompletionMessage(role="assistant", content="found", extra=object())])  # type: ignore[call-arg]
    assert message.content == "found"


@pytest.mark.parametrize("wrong", [object(), 5, "text", b"bytes"])
def test_adding_what_is_no_message_names_the_converters(wrong: Any) -> None:
    memory = ConversationMemory()
    with pytest.raises(InvalidType, match="from_openai"):
        memory.add(wrong)
    assert len(memory) == 0
