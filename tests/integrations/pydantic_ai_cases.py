from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai_harness.memory import Memory, MemoryConflictError, MemoryOperation, MemoryStore, SearchableMemoryStore

from memoranda import aio
from memoranda.integrations.pydantic_ai import MemorandaStore

NOTE = "Rex the dog eats only fish."


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[aio.MemoryManager]:
    async with aio.MemoryManager(tmp_path / "memories.db") as manager:
        yield manager


def scripted(*calls: ToolCallPart) -> tuple[FunctionModel, list[str]]:
    """Return a model that makes the tool calls in order and then ends, and the prompts that it is given."""
    left, seen = list(calls), []

    def answer(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        seen.append(str(messages))
        return ModelResponse([left.pop(0) if left else TextPart("Done.")])

    return FunctionModel(answer), seen


async def test_agent_reads_what_another_agent_of_its_user_noted(memory: aio.MemoryManager) -> None:
    model, _ = scripted(ToolCallPart("write_memory", {"content": NOTE}))
    await Agent(model, capabilities=[Memory(store=MemorandaStore(memory, user="ann"))]).run("Remember this.")
    for user, is_told in (("ann", True), ("bob", False)):
        model, seen = scripted(ToolCallPart("search_memory", {"query": "fish"}))
        await Agent(model, capabilities=[Memory(store=MemorandaStore(memory, user=user))]).run("What does he eat?")
        assert (NOTE in seen[0], "snippet" in seen[1] and NOTE in seen[1]) == (is_told, is_told)
    assert NOTE in (await memory.recall("What does the dog eat?", user="ann"))[0].content


async def test_store_implements_the_protocols_and_keeps_text_exactly(memory: aio.MemoryManager) -> None:
    store = MemorandaStore(memory)
    assert isinstance(store, MemoryStore)
    assert isinstance(store, SearchableMemoryStore)
    text = "  spaces \r\n\n\ttabs, ümläuts and 日本語 \n, a\0b, half \ud83d"
    await store.write("a.md", text, expected_version=None)
    file = await store.read("a.md", max_chars=1000)
    assert file is not None
    assert file.content == text


async def test_of_many_concurrent_writers_one_wins_each_round(memory: aio.MemoryManager) -> None:
    stores = [MemorandaStore(memory) for _ in range(6)]

    async def create(number: int) -> bool:
        try:
            await stores[number].write("a.md", f"by {number}", expected_version=None)
        except MemoryConflictError:
            return False
        return True

    won = await asyncio.gather(*map(create, range(6)))
    assert sum(won) == 1
    file = await stores[0].read("a.md", max_chars=100)
    assert file is not None
    assert file.content == f"by {won.index(True)}"


async def test_concurrent_repetitions_of_an_operation_are_done_once(memory: aio.MemoryManager) -> None:
    operation = MemoryOperation(id="run:call", fingerprint="write a.md")
    stores = [MemorandaStore(memory) for _ in range(4)]
    results = await asyncio.gather(
        *(store.write("a.md", "text", expected_version=None, operation=operation) for store in stores)
    )
    assert sorted(result.replayed for result in results) == [False, True, True, True]
    assert len({result.version for result in results}) == 1


async def test_deleted_file_is_gone_from_lists_searches_and_recall(memory: aio.MemoryManager) -> None:
    store = MemorandaStore(memory)
    written = await store.write("pets/rex.md", NOTE, expected_version=None)
    await store.delete("pets/rex.md", expected_version=written.version)
    assert await store.list_paths(limit=10) == []
    found = await store.search("", "fish", limit=5, max_files=5, max_chars=100, max_file_chars=100)
    assert found.matches == []
    assert list(await memory.recall("What does the dog eat?")) == []
