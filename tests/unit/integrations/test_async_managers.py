"""Every adapter, given the manager of the other kind: it stores what it acknowledges."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from importlib import import_module
from inspect import isclass, signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest
from langchain_core.documents import Document
from langgraph.checkpoint.base import empty_checkpoint

from memoranda import InvalidType, MemoryManager, aio, integrations
from memoranda.errors import MissingExtra
from memoranda.integrations import anthropic, langchain, langgraph, mem0
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[aio.MemoryManager]:
    async with aio.MemoryManager(tmp_path / "memories.db", embedder=HashEmbedder(64)) as opened:
        yield opened


async def in_store(memory: aio.MemoryManager) -> bool:
    store = langgraph.MemorandaStore(memory)
    await store.aput(("a",), "k", {"x": 1})
    item = await store.aget(("a",), "k")
    return item is not None and item.value == {"x": 1}


async def in_saver(memory: aio.MemoryManager) -> bool:
    saver, config = langgraph.MemorandaSaver(memory), {"configurable": {"thread_id": "1", "checkpoint_ns": ""}}
    await saver.aput(config, empty_checkpoint(), {"source": "input", "step": -1}, {})
    return await saver.aget_tuple(config) is not None


async def in_vector_store(memory: aio.MemoryManager) -> bool:
    store = langchain.MemorandaVectorStore(memory)
    await store.aadd_documents([Document("green tea")])
    return [found.page_content for found in await store.asimilarity_search("tea")] == ["green tea"]


async def in_byte_store(memory: aio.MemoryManager) -> bool:
    store = langchain.MemorandaByteStore(memory)
    await store.amset([("k", b"v")])
    return [*await store.amget(["k"])] == [b"v"]


async def in_retriever(memory: aio.MemoryManager) -> bool:
    await memory.remember("I drink green tea.")
    retriever = langchain.MemorandaRetriever(memory=memory)
    return [found.page_content for found in await retriever.ainvoke("green tea")] == ["I drink green tea."]


async def in_memory_tool(memory: aio.MemoryManager) -> bool:
    tool = anthropic.AsyncMemorandaMemoryTool(memory)
    await tool.call({"command": "create", "path": "/memories/a.txt", "file_text": "green tea"})
    return "green tea" in str(await tool.call({"command": "view", "path": "/memories/a.txt"}))


WRITES: list[Callable[[aio.MemoryManager], Awaitable[bool]]] = [
    in_store,
    in_saver,
    in_vector_store,
    in_byte_store,
    in_retriever,
    in_memory_tool,
]


@pytest.mark.parametrize("write", WRITES)
async def test_adapter_stores_what_it_acknowledges_in_an_async_manager(
    manager: aio.MemoryManager, write: Callable[[aio.MemoryManager], Awaitable[bool]]
) -> None:
    assert await write(manager)


def adapters() -> list[type[Any]]:
    """Return the classes of the adapters whose framework is installed."""
    found: dict[str, type[Any]] = {}
    for module in iter_modules(integrations.__path__, f"{integrations.__name__}."):
        try:
            members = vars(import_module(module.name)).values()
        except MissingExtra:
            continue
        ours = [each for each in members if isclass(each) and each.__module__.startswith(integrations.__name__)]
        taking = [each for each in ours if each.__name__.startswith(("Memoranda", "AsyncMemoranda"))]
        found |= {f"{each.__module__}.{each.__name__}": each for each in taking if not issubclass(each, dict)}
    return [*found.values(), mem0.Memory, mem0.AsyncMemory]


@pytest.mark.parametrize("adapter", adapters(), ids=lambda each: f"{each.__module__}.{each.__name__}")
async def test_adapter_refuses_what_is_no_manager(adapter: type[Any]) -> None:
    required = {"session_id": "s"} if "session_id" in signature(adapter).parameters else {}
    if "memory" in signature(adapter).parameters or adapter is langchain.MemorandaRetriever:
        with pytest.raises(InvalidType, match="memory must be a"):
            adapter(**required, memory=object())


@pytest.mark.parametrize("adapter", adapters(), ids=lambda each: f"{each.__module__}.{each.__name__}")
async def test_adapter_takes_either_manager_and_a_path(
    adapter: type[Any], manager: aio.MemoryManager, tmp_path: Path
) -> None:
    required = {"session_id": "s"} if "session_id" in signature(adapter).parameters else {}
    if "memory" not in signature(adapter).parameters and adapter is not langchain.MemorandaRetriever:
        return
    asynchronous = adapter.__module__.endswith(("openai_agents", "autogen"))
    with MemoryManager("sqlite://", embedder=HashEmbedder(64)) as blocking:
        for memory in (manager, blocking, str(tmp_path / "own.db"), tmp_path / "own.db"):
            used = getattr(adapter(**required, memory=memory), "memory", None)
            assert used is None or isinstance(used, aio.MemoryManager if asynchronous else MemoryManager)


def test_store_and_saver_close_at_the_end_of_a_with_block(tmp_path: Path) -> None:
    with langgraph.MemorandaStore(tmp_path / "a.db") as store, langgraph.MemorandaSaver(store.memory) as saver:
        store.put(("a",), "k", {"x": 1})
        assert saver.memory is store.memory
    with pytest.raises(Exception, match="closed"):
        store.get(("a",), "k")
