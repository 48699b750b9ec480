"""Types that a type checker must infer for the public API; checked by mypy, never run."""

from __future__ import annotations

from typing import assert_type

from memoranda import ConversationMemory, Hit, Memory, MemoryManager, MemoryType, Message, Outcomes, Recall, aio
from memoranda.aio.manager import MemoryManager as AsyncMemoryManager


def use_manager(manager: MemoryManager) -> None:
    assert_type(manager.add_memory("tea", MemoryType.SEMANTIC), Memory)
    assert_type(manager.add_memory("tea", "semantic"), Memory)
    assert_type(manager.remember(["tea", Message("user", "tea"), {"role": "user", "content": "tea"}]), Outcomes)
    assert_type(manager.recall("tea"), Recall)
    assert_type(manager.recall("tea")[0], Hit)
    assert_type([hit.score for hit in manager.recall("tea")], list[float])
    assert_type(manager.search_memories("tea", memory_types=["semantic"]), list[Hit])
    assert_type(manager.get_memory("Analyzer"), ConversationMemory)
    with manager.run("Analyzer") as memory:
        assert_type(memory, ConversationMemory)


async def use_async_manager(manager: AsyncMemoryManager) -> None:
    assert_type(await manager.add_memory("tea", "semantic"), Memory)
    assert_type(await manager.recall("tea"), Recall)
    assert_type(await manager.get_memory("Analyzer"), aio.ConversationMemory)
    async with manager.run("Analyzer") as memory:
        assert_type(memory, aio.ConversationMemory)
    await manager.add_memory(7)  # type: ignore[arg-type]
