from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from memoranda import Closed, Message, aio
from memoranda.conversation.base import ListLog, MessageLog


class SlowLog(ListLog):
    """Simulates a slow disk: `append` blocks until `proceed` is set."""

    def __init__(self) -> None:
        self.proceed = threading.Event()
        super().__init__()

    def append(self, messages, *, keep, skip_duplicates=False):  # type: ignore[no-untyped-def]
        if messages:
            assert self.proceed.wait(10)
        super().append(messages, keep=keep, skip_duplicates=skip_duplicates)


def runs_inline(call: Coroutine[Any, Any, object]) -> bool:
    """Return whether the call completes at its first step, without yielding to the event loop."""
    try:
        call.send(None)
    except StopIteration:
        return True
    call.close()
    return False


async def test_calls_without_io_run_inline() -> None:
    memory = aio.ConversationMemory()
    assert runs_inline(memory.add({"role": "user", "content": "hello"}))
    assert runs_inline(memory.get_messages())
    assert runs_inline(memory.get_recent(3))
    assert runs_inline(memory.size())
    assert runs_inline(memory.clear())


async def test_long_calls_run_off_the_loop() -> None:
    memory = aio.ConversationMemory()
    await memory.add([{"role": "user", "content": "hello"}] * 3, allow_duplicates=True)
    assert not runs_inline(memory.get_window(100))
    assert not runs_inline(memory.to_dict())
    await memory.add([Message("user", str(n)) for n in range(2_000)])
    assert not runs_inline(memory.get_messages())
    await asyncio.sleep(0.05)


async def test_slow_log_does_not_block_the_loop() -> None:
    log = SlowLog()
    memory = aio.ConversationMemory(log=WrappedLog(log))
    adding = asyncio.create_task(memory.add(Message("user", "slowly")))
    for _ in range(20):
        await asyncio.sleep(0.001)
    assert not adding.done()
    log.proceed.set()
    await adding
    assert await memory.size() == 1


async def test_call_that_is_cancelled_again_still_waits_for_the_end_of_the_write() -> None:
    log = SlowLog()
    memory = aio.ConversationMemory(log=WrappedLog(log))
    adding = asyncio.create_task(memory.add([Message("user", "hello")]))
    for _ in range(3):
        await asyncio.sleep(0.01)
        adding.cancel()
    await asyncio.sleep(0.01)
    assert not adding.done()
    log.proceed.set()
    with pytest.raises(asyncio.CancelledError):
        await adding
    assert [message.content for message in log.read(0, 9)] == ["hello"]


class WrappedLog:
    """Hides that a log is in memory."""

    def __init__(self, log: MessageLog) -> None:
        self._log = log

    def __len__(self) -> int:
        return len(self._log)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)


async def test_agent_has_one_conversation_with_retention_policy(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    manager = aio.MemoryManager(url)
    memory = await manager.get_memory("Analyzer")
    assert isinstance(memory, aio.ConversationMemory)
    assert await manager.get_memory("Analyzer") is memory
    await memory.add_message(Message("user", "hello"))
    assert memory.in_memory
    assert list(tmp_path.iterdir()) == []
    await manager.set_retention_policy("Analyzer", "persistent")
    assert not memory.in_memory
    assert memory.retention_policy == "persistent"
    await memory.add([Message("assistant", "hi")])
    await manager.close()
    with pytest.raises(Closed):
        await memory.get_messages()
    async with aio.MemoryManager(url, retention_policy="persistent") as again:
        reloaded = await again.get_memory("Analyzer")
        assert [m.content for m in await reloaded.get_messages()] == ["hello", "hi"]
        assert [m.content for m in await reloaded.get_window(100)] == ["hello", "hi"]
        await again.clear_agent_memory("Analyzer")
        assert await reloaded.size() == len(reloaded) == 0
        await reloaded.add(Message("user", "skip_duplicates more"))
        await again.clear_all()
        assert await reloaded.get_last_message() is None


async def test_single_run_conversation_is_cleared_at_end_of_run() -> None:
    manager = aio.MemoryManager(retention_policy="single_run")
    async with manager.run("Analyzer") as memory:
        await memory.add(Message("user", "inside"))
        assert await manager.get_memory("Analyzer") is memory
        assert await memory.size() == 1
    assert await memory.size() == 0
    await memory.add(Message("user", "by hand"))
    await manager.end_run("Analyzer")
    assert await memory.size() == 0
    await manager.close()


async def test_concurrent_tasks_add_to_stored_conversation(tmp_path: Path) -> None:
    async with aio.MemoryManager(f"sqlite:///{tmp_path}/a.db", retention_policy="persistent") as manager:
        memory = await manager.get_memory("Analyzer")
        await asyncio.gather(*(memory.add({"role": "user", "content": str(n)}) for n in range(50)))
        assert {message.content for message in await memory.get_messages()} == {str(n) for n in range(50)}
