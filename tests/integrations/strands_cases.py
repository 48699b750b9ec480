from __future__ import annotations

import json
from collections.abc import AsyncIterable, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from strands import Agent
from strands.memory import MemoryManager
from strands.models.model import Model

from memoranda import aio
from memoranda.errors import InvalidInput
from memoranda.integrations.strands import MemorandaStore

DOG = "My dog Rex is allergic to chicken and eats only fish."


class ScriptedModel(Model):
    """Gives the replies in order, a dict as a tool call, and keeps what it was asked."""

    def __init__(self, *replies: str | dict[str, Any]) -> None:
        self.replies = list(replies)
        self.seen: list[str] = []

    def update_config(self, **_: Any) -> None: ...

    def get_config(self) -> dict[str, Any]:
        return {}

    def structured_output(self, *_: Any, **__: Any) -> AsyncIterable[Any]:
        raise NotImplementedError

    async def stream(self, messages: list[Any], *_: Any, **__: Any) -> AsyncIterator[Any]:
        self.seen.append(json.dumps(messages))
        reply = self.replies.pop(0)
        is_text = isinstance(reply, str)
        tool = None if is_text else {"toolUse": {"name": reply["name"], "toolUseId": f"call-{len(self.seen)}"}}
        delta = {"text": reply} if is_text else {"toolUse": {"input": json.dumps(reply["input"])}}
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockStart": {"start": tool or {}}}
        yield {"contentBlockDelta": {"delta": delta}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn" if is_text else "tool_use"}}


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[aio.MemoryManager]:
    async with aio.MemoryManager(tmp_path / "memories.db") as manager:
        yield manager


async def run(model: ScriptedModel, store: MemorandaStore, text: str) -> str:
    """Run a new agent on one message, and wait until it is remembered."""
    manager = MemoryManager(stores=[store], add_tool_config=True)
    agent = Agent(model=model, memory_manager=manager, callback_handler=None)
    result = await agent.invoke_async(text)
    await manager.flush()
    return str(result).strip()


async def test_agent_is_given_what_its_user_said_to_another_agent(memory: aio.MemoryManager) -> None:
    await run(ScriptedModel("Noted."), MemorandaStore(memory, user="ann"), DOG)
    model = ScriptedModel("Fish.")
    assert await run(model, MemorandaStore(memory, user="ann"), "What can I feed my dog?") == "Fish."
    assert DOG in model.seen[0]
    stranger = ScriptedModel("No idea.")
    await run(stranger, MemorandaStore(memory, user="bob"), "What can I feed my dog?")
    assert "Rex" not in stranger.seen[0]


async def test_agent_searches_and_adds_by_its_tools(memory: aio.MemoryManager) -> None:
    store = MemorandaStore(memory, user="ann")
    await store.add_messages([{"role": "user", "content": [{"text": DOG}]}])
    search = {"name": "search_memory", "input": {"query": "food of the dog"}}
    note = {"name": "add_memory", "input": {"entries": ["Ann wants recipes with fish."]}}
    model = ScriptedModel(search, note, "Done.")
    await run(model, store, "Find recipes.")
    assert DOG in model.seen[1]
    (noted,) = [each for each in await memory.list_memories(user="ann") if "recipes with" in each.content]
    assert noted.trust == "assistant"


async def test_messages_that_are_delivered_again_are_stored_once(memory: aio.MemoryManager) -> None:
    store = MemorandaStore(memory, user="ann")
    message: Any = {"role": "user", "content": [{"text": DOG}, {"toolResult": {"content": []}}]}
    for _ in range(3):
        await store.add_messages([message])
    assert [each.content for each in await memory.list_memories(user="ann")] == [DOG]


async def test_search_returns_at_most_what_is_asked_for(memory: aio.MemoryManager) -> None:
    store = MemorandaStore(memory, user="ann", max_search_results=2)
    for food in ("fish", "rice", "beef"):
        await store.add(f"The dog of Ann eats {food}.")
    assert len(await store.search("What does the dog eat?")) == 2
    assert len(await store.search("What does the dog eat?", {"max_search_results": 1})) == 1
    assert await store.search(" ") == []


async def test_note_that_is_rejected_raises_with_the_reason(memory: aio.MemoryManager) -> None:
    store = MemorandaStore(memory, user="ann")
    with pytest.raises(InvalidInput):
        await store.add(" ")
    assert await memory.list_memories(user="ann") == []
