from __future__ import annotations

import asyncio
import inspect
import threading
from pathlib import Path
from typing import Any

import pytest

from memoranda.aio import conversation
from memoranda.conversation.memory import ConversationMemory
from memoranda.conversation.summarizing import SummarizingMemory
from memoranda.errors import InvalidInput
from memoranda.messages.message import Message

NOT_AWAITED = {"state_dict", "load_state_dict"}


@pytest.mark.parametrize(
    ("sync", "async_class"),
    [(ConversationMemory, conversation.ConversationMemory), (SummarizingMemory, conversation.SummarizingMemory)],
)
def test_async_class_has_same_methods_and_arguments(sync: type, async_class: type) -> None:
    methods = {name: method for name, method in inspect.getmembers(sync, inspect.isfunction) if name[0] != "_"}
    for name, method in methods.items():
        other = getattr(async_class, name)
        assert inspect.signature(other) == inspect.signature(method), name
        assert inspect.iscoroutinefunction(other) == (name not in NOT_AWAITED), name
    assert inspect.signature(async_class) == inspect.signature(sync)


async def test_typical_chat_with_dict_messages() -> None:
    memory = conversation.ConversationMemory()
    await memory.add({"role": "user", "content": "Hello!"})
    await memory.add({"role": "assistant", "content": "Hi there!"})
    messages: list[Any] = await memory.get_messages()
    assert len(messages) == 2
    assert messages[0]["content"] == "Hello!"
    assert len(await memory.get_messages(limit=10)) == 2
    assert [m["content"] for m in await memory.get_messages_by_role("user")] == ["Hello!"]
    messages.insert(0, {"role": "system", "content": "Relevant memories: none"})
    state = memory.state_dict()
    await memory.truncate_to_size(1)
    assert await memory.size() == len(memory) == 1
    await memory.clear()
    assert await memory.get_last_message() is None
    new_memory = conversation.ConversationMemory()
    new_memory.load_state_dict(state)
    assert [m["content"] for m in await new_memory.get_messages()] == ["Hello!", "Hi there!"]


async def test_errors_of_sync_memory_are_raised() -> None:
    memory = conversation.ConversationMemory(max_messages=5, retention_policy="single_run")
    assert (memory.max_messages, memory.retention_policy) == (5, "single_run")
    with pytest.raises(TypeError):
        await memory.add("text")  # type: ignore[arg-type]
    with pytest.raises(IndexError):
        await memory.delete(0)
    with pytest.raises(InvalidInput):
        await memory.get_recent(-1)


async def test_file_window_and_message_view(tmp_path: Path) -> None:
    memory = conversation.ConversationMemory()
    await memory.add([Message("user", str(i)) for i in range(5)])
    await memory.add_message(Message("user", "5"))
    await memory.save_to_file(tmp_path / "c.json")
    other = conversation.ConversationMemory()
    await other.load_from_file(tmp_path / "c.json")
    assert await other.to_dict() == await memory.to_dict()
    assert len(await other.get_window(10)) == 2
    await other.delete([0, 5])
    other.messages = other.messages[1:]  # type: ignore[assignment]
    assert [m.content for m in other.messages] == ["2", "3", "4"]
    assert [m.content for m in await other.get_recent(1)] == ["4"]


async def test_concurrent_tasks_lose_no_message() -> None:
    memory = conversation.ConversationMemory()
    await asyncio.gather(*(memory.add({"role": "user", "content": str(i)}) for i in range(200)))
    assert {message.content for message in await memory.get_messages()} == {str(i) for i in range(200)}


async def test_full_conversation_is_summarised() -> None:
    memory = conversation.SummarizingMemory(max_messages=10)
    await memory.add([Message("user", f"I met Person{i} on day {i}.") for i in range(10)])
    assert len(memory.summaries) == 1
    assert memory.degraded is None
    assert len(await memory.originals()) == len(await memory.originals(0)) == 5
    summary = await memory.summary_message()
    assert summary is not None
    assert "Person3" in str(summary.content)
    assert (await memory.get_window(1_000))[0] == summary


class SlowLLM:
    def __init__(self) -> None:
        self.called = threading.Event()
        self.proceed = threading.Event()

    def complete(self, prompt: str, *, max_tokens: int) -> str:
        self.called.set()
        self.proceed.wait(10)
        return "Slowly said."


async def test_loop_is_free_during_model_call_and_cancelled_write_completes() -> None:
    llm = SlowLLM()
    memory = conversation.SummarizingMemory(max_messages=4, llm=llm)
    adding = asyncio.create_task(memory.add([Message("user", str(i)) for i in range(4)]))
    await asyncio.to_thread(llm.called.wait, 10)
    assert len(await memory.get_messages()) == 4
    adding.cancel()
    await asyncio.sleep(0)
    assert not adding.done()
    llm.proceed.set()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert memory.summaries == ["Slowly said."]
