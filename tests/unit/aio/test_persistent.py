from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

import memoranda
from memoranda import aio
from memoranda.aio.persistent import MemoryTools
from memoranda.persistent import tools
from memoranda.testing.fakes import HashEmbedder

MESSAGES = [
    {"role": "user", "content": "My name is Alice"},
    {"role": "assistant", "content": "Nice to meet you, Alice!"},
]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[aio.PersistentMemory]:
    url = f"sqlite:///{tmp_path}/a.db"
    async with aio.PersistentMemory("a", embedding_backend=HashEmbedder(64), db_url=url) as memory:
        yield memory


def _public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def _parameters(method: object) -> list[tuple[str, object, object]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("async_class", "sync_class", "not_awaited"),
    [
        (aio.PersistentMemory, memoranda.PersistentMemory, {"tools", "llm_backend"}),
        (aio.PersistentMemoryBase, memoranda.PersistentMemoryBase, {"tools"}),
        (aio.MemoryBase, memoranda.MemoryBase, {"register"}),
        (MemoryTools, tools.MemoryTools, {"openai", "anthropic", "responses"}),
    ],
)
def test_async_class_has_same_methods_and_arguments(async_class: type, sync_class: type, not_awaited: set[str]) -> None:
    assert _public(async_class) - {"llm_backend"} == _public(sync_class) - {"llm_backend"}
    methods = {name for name in _public(sync_class) if callable(getattr(sync_class, name))}
    for name in methods | {"__init__"}:
        assert _parameters(getattr(async_class, name)) == _parameters(getattr(sync_class, name)), name
        assert inspect.iscoroutinefunction(getattr(async_class, name)) == (name not in {*not_awaited, "__init__"}), name


async def test_record_retrieve_save_and_recall(memory: aio.PersistentMemory) -> None:
    assert [outcome.status for outcome in await memory.record(MESSAGES)] == ["stored", "stored"]
    assert "Alice" in await memory.retrieve("name")
    saved = await memory.save_to_memory("personal", ["User's favorite color is blue"])
    assert saved == {"success": True, "message": "Saved 1", "memory_ids": [3]}
    found = await memory.recall_from_memory(["favorite color"], limit=1)
    assert (found["success"], found["count"]) == (True, 1)


async def test_tools_are_awaited(memory: aio.PersistentMemory) -> None:
    call = {"type": "tool_use", "id": "t", "name": "save_to_memory", "input": {"thinking": "", "content": ["tea"]}}
    wrong = {"type": "tool_use", "id": "u", "name": "save_to_memory", "input": {}}
    (message,) = await memory.tools().run_all([call, wrong])
    assert [result["is_error"] for result in message["content"]] == [False, True]


async def test_shared_manager_stays_open(tmp_path: Path) -> None:
    async with aio.MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        async with aio.PersistentMemory(user_name="alice", manager=manager) as memory:
            await memory.record(MESSAGES)
        assert len(await manager.recall("name", user="alice")) == 2


async def test_after_close_tools_report_failure_and_retrieve_raises(memory: aio.PersistentMemory) -> None:
    await memory.close()
    await memory.close()
    assert (await memory.save_to_memory("", ["tea"]))["success"] is False
    assert (await memory.recall_from_memory(["tea"]))["success"] is False
    with pytest.raises(memoranda.Closed):
        await memory.retrieve("tea")


async def test_slow_backend_does_not_block_the_loop(tmp_path: Path) -> None:
    class SlowEmbedder(HashEmbedder):
        def embed(self, texts, *, kind):  # type: ignore[no-untyped-def]
            time.sleep(0.3)
            return super().embed(texts, kind=kind)

    async with aio.PersistentMemory(
        "a", embedding_backend=SlowEmbedder(64), db_url=f"sqlite:///{tmp_path}/s.db"
    ) as memory:
        saving = asyncio.create_task(memory.save_to_memory("", ["tea"]))
        ticks = 0
        while not saving.done():
            await asyncio.sleep(0.005)
            ticks += 1
        assert (await saving)["success"]
        assert ticks > 10


async def test_async_conversation_memory_is_a_memory_base() -> None:
    assert isinstance(aio.ConversationMemory(), aio.MemoryBase)
