from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner, set_tracing_disabled
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

from memoranda import Closed, InvalidInput, Message, MissingExtra, aio
from memoranda import MemoryManager as SyncManager
from memoranda.integrations.openai_agents import MemorandaSession
from memoranda.testing.fakes import HashEmbedder

CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Porto"}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "18 degrees"}
REASONING = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "xyz"}


def said(text: str, role: str = "user") -> dict[str, Any]:
    return {"role": role, "content": text}


def open_manager(path: Path, **options: Any) -> aio.MemoryManager:
    settings = {"retention_policy": "persistent", "max_messages_per_agent": None} | options
    return aio.MemoryManager(f"sqlite:///{path}/m.db", embedder=HashEmbedder(), **settings)


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[aio.MemoryManager]:
    async with open_manager(tmp_path) as manager:
        yield manager


async def test_items_come_back_as_they_were_in_another_process(tmp_path: Path) -> None:
    items: list[Any] = [
        said("What is the weather in Porto?"),
        REASONING,
        CALL,
        RESULT,
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "18°", "annotations": []}],
        },
        said("Be brief.", "developer"),
        said("a\0b, half \ud83d"),
        {**RESULT, "output": "a\0b, half \ud83d"},
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AA=="}]},
    ]
    async with open_manager(tmp_path) as manager:
        session = MemorandaSession("s1", manager)
        assert isinstance(session, Session)
        await session.add_items(items)
        assert await session.get_items() == items
    async with open_manager(tmp_path) as manager:
        session = MemorandaSession("s1", manager)
        assert await session.get_items() == items
        assert await session.get_items(limit=2) == items[-2:]
        assert await session.get_items(limit=0) == []
        assert await session.pop_item() == items[-1]
        assert await session.get_items() == items[:-1]


async def test_settings_limit_applies_unless_a_limit_is_given(memory: aio.MemoryManager) -> None:
    session = MemorandaSession("s1", memory, session_settings={"limit": 2})
    await session.add_items([said(f"text {i}") for i in range(5)])  # type: ignore[misc]
    assert session.session_settings == SessionSettings(limit=2)
    assert [item["content"] for item in await session.get_items()] == ["text 3", "text 4"]
    assert len(await session.get_items(limit=4)) == 4
    assert len(await session.get_items(limit=-1)) == 5  # as in the SDK's own session


async def test_what_is_said_is_recalled_in_other_sessions_of_the_user_only(memory: aio.MemoryManager) -> None:
    session = MemorandaSession("s1", memory, user="ann", agent="helper")
    await session.add_items([said("My sister Eva lives in Porto."), CALL, RESULT])  # type: ignore[list-item]
    found = await memory.recall("Where does Eva live?", user="ann", agent="helper")
    assert [(hit.content, hit.session, hit.memory.trust) for hit in found] == [
        ("My sister Eva lives in Porto.", "s1", "user")
    ]
    assert len(await memory.recall("Where does Eva live?", user="bob")) == 0
    assert await MemorandaSession("s1", memory, user="bob", agent="helper").get_items() == []


async def test_clearing_and_popping_change_the_history_and_keep_memories(memory: aio.MemoryManager) -> None:
    session = MemorandaSession("s1", memory)
    await session.add_items([said("My sister Eva lives in Porto."), said("My brother Tom lives in Oslo.")])  # type: ignore[list-item]
    await session.pop_item()
    await session.clear_session()
    assert await session.get_items() == []
    assert await session.pop_item() is None
    assert len(await memory.list_memories()) == 2
    await session.add_items([said("My sister Eva lives in Porto.")])  # type: ignore[list-item]
    assert len(await memory.list_memories()) == 2


async def test_session_that_does_not_remember_stores_the_history_only(memory: aio.MemoryManager) -> None:
    session = MemorandaSession("s1", memory, remember=False)
    await session.add_items([said("My sister Eva lives in Porto.")])  # type: ignore[list-item]
    assert len(await session.get_items()) == 1
    assert await memory.list_memories() == []


async def test_item_that_is_not_json_is_refused_and_nothing_is_added(memory: aio.MemoryManager) -> None:
    session = MemorandaSession("s1", memory)
    wrong: Any = {"role": "user", "content": object()}
    with pytest.raises(TypeError):
        await session.add_items([said("My sister Eva lives in Porto."), wrong])  # type: ignore[list-item]
    assert await session.get_items() == []
    assert await memory.list_memories() == []


async def test_message_that_others_added_is_a_chat_message(memory: aio.MemoryManager) -> None:
    await (await memory.get_memory(session="s1")).add(Message("assistant", "Hello"))
    assert await MemorandaSession("s1", memory).get_items() == [said("Hello", "assistant")]


@pytest.mark.parametrize("options", [{"retention_policy": "session"}, {"max_messages_per_agent": 1000}])
async def test_manager_that_would_drop_items_is_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    async with open_manager(tmp_path, **options) as manager:
        with pytest.raises(InvalidInput, match="max_messages_per_agent=None"):
            await MemorandaSession("s1", manager).add_items([said("hello")])  # type: ignore[list-item]


async def test_blocking_manager_and_path_are_taken(tmp_path: Path) -> None:
    with SyncManager(tmp_path / "m.db", None, retention_policy="persistent") as manager:
        await MemorandaSession("s1", manager).add_items([said("hi")])  # type: ignore[list-item]
    async with MemorandaSession("s1", tmp_path / "m.db") as session:
        await session.add_items([said("hello")])  # type: ignore[list-item]
        assert await session.get_items() == [said("hi"), said("hello")]


async def test_closed_session_refuses_every_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    async with MemorandaSession("s1") as session:
        await session.add_items([said("My sister Eva lives in Porto.")])  # type: ignore[list-item]
    await session.close()
    for call in (session.get_items, session.pop_item, session.clear_session, lambda: session.add_items([])):
        with pytest.raises(Closed):
            await call()


async def test_several_loops_and_processes_pop_each_item_once(tmp_path: Path) -> None:
    async with open_manager(tmp_path) as one, open_manager(tmp_path) as other:
        sessions = [MemorandaSession("s1", manager, remember=False) for manager in (one, other)]
        await sessions[0].add_items([said(str(i)) for i in range(40)])  # type: ignore[misc]
        popped: list[Any] = []

        def pop_ten(session: MemorandaSession) -> None:
            popped.extend(asyncio.run(session.pop_item()) for _ in range(10))

        threads = [threading.Thread(target=pop_ten, args=(sessions[i % 2],)) for i in range(4)]
        for thread in threads:
            thread.start()
        await asyncio.to_thread(lambda: [thread.join() for thread in threads])
        assert sorted(int(item["content"]) for item in popped) == list(range(40))
        assert await sessions[1].get_items() == []


async def test_runner_gives_the_model_the_history_and_stores_its_answer(memory: aio.MemoryManager) -> None:
    set_tracing_disabled(True)
    model = ScriptedModel()
    agent = Agent(name="helper", model=model)
    session = MemorandaSession("s1", memory, user="ann")
    for question, answer in (("What is the capital of Portugal?", "Lisbon."), ("And of Norway?", "Oslo.")):
        model.enqueue([_answer(answer)])
        result = await Runner.run(agent, question, session=session)
        assert result.final_output == answer
    texts = [item.get("content") for item in model.calls[-1].input if item.get("role") == "user"]
    assert texts == ["What is the capital of Portugal?", "And of Norway?"]
    assert len(await session.get_items()) == 4


def test_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "agents"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "agents", None)
    monkeypatch.delitem(sys.modules, "memoranda.integrations.openai_agents")
    with pytest.raises(MissingExtra, match=r"memoranda\[openai-agents\]"):
        import memoranda.integrations.openai_agents  # noqa: F401


def _answer(text: str) -> ResponseOutputMessage:
    content = ResponseOutputText(text=text, type="output_text", annotations=[], logprobs=[])
    return ResponseOutputMessage(id="1", type="message", role="assistant", content=[content], status="completed")
