from __future__ import annotations

import asyncio
import inspect
import threading
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest

from memoranda import Closed, MemoryManager
from memoranda.aio.manager import MemoryManager as AsyncMemoryManager
from memoranda.aio.manager import SessionContext, create_session
from memoranda.embedding.base import InputKind
from memoranda.errors import InvalidInput
from memoranda.manager.manager import create_session as sync_create_session
from memoranda.sessions.context import SessionContext as SyncSessionContext
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import FloatArray


def _public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def test_async_manager_has_same_methods_and_arguments() -> None:
    assert _public(AsyncMemoryManager) == _public(MemoryManager)
    for name in [*_public(MemoryManager) - {"run"}, "__init__"]:
        async_method, method = getattr(AsyncMemoryManager, name), getattr(MemoryManager, name)
        assert inspect.signature(async_method) == inspect.signature(method), name
        assert inspect.iscoroutinefunction(async_method) or name == "__init__", name


def test_run_takes_same_arguments_and_is_async_context_manager() -> None:
    parameters = inspect.signature(AsyncMemoryManager.run).parameters
    assert parameters == inspect.signature(MemoryManager.run).parameters
    assert isinstance(AsyncMemoryManager().run("Analyzer"), AbstractAsyncContextManager)


async def test_memory_is_added_found_and_deleted(tmp_path: Path) -> None:
    async with AsyncMemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        memory = await manager.add_memory("Ann likes tea", "semantic")
        found = await manager.search_memory("tea", "semantic", limit=5)
        assert [hit.id for hit in found] == [memory.id]
        assert await manager.delete(memory.id) == 1


async def test_adding_memories_does_not_block_the_loop(tmp_path: Path) -> None:
    class SlowEmbedder(HashEmbedder):
        def embed(self, texts, *, kind):  # type: ignore[no-untyped-def]
            time.sleep(0.3)
            return super().embed(texts, kind=kind)

    async with AsyncMemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=SlowEmbedder(64)) as manager:
        adding = asyncio.create_task(manager.add_memories(["tea", "milk"]))
        ticks = 0
        while not adding.done():
            await asyncio.sleep(0.005)
            ticks += 1
        assert ticks > 10
        assert len(await adding) == 2


async def test_cancelled_write_is_complete_or_absent(tmp_path: Path) -> None:
    async with AsyncMemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        adding = asyncio.create_task(manager.add_memories([f"fact {n}" for n in range(500)]))
        await asyncio.sleep(0.01)
        adding.cancel()
        with pytest.raises(asyncio.CancelledError):
            await adding
        assert (await manager.get_stats()).long_term_entries in (0, 500)


async def test_close_waits_for_running_calls_without_blocking_the_loop(tmp_path: Path) -> None:
    started, proceed = threading.Event(), threading.Event()

    class SlowEmbedder(HashEmbedder):
        def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
            started.set()
            proceed.wait(30)
            return super().embed(texts, kind=kind)

    manager = AsyncMemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=SlowEmbedder(64))
    adding = asyncio.create_task(manager.add_memory("tea"))
    await asyncio.to_thread(started.wait)
    closing = asyncio.create_task(manager.close())
    for _ in range(50):
        await asyncio.sleep(0.001)
    assert not closing.done()
    proceed.set()
    await closing
    with pytest.raises(Closed):
        await adding


async def test_close_twice_is_allowed_and_later_calls_raise_closed(tmp_path: Path) -> None:
    manager = AsyncMemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64))
    await manager.add_memory("tea")
    await manager.close()
    await manager.close()
    with pytest.raises(Closed):
        await manager.get_stats()


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[AsyncMemoryManager]:
    async with AsyncMemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        yield manager


def test_async_session_has_same_methods_and_arguments() -> None:
    public = {name for name in dir(SyncSessionContext) if name[0] != "_"}
    assert {name for name in dir(SessionContext) if name[0] != "_"} == public | {"auto_cleanup"}
    assert (
        inspect.signature(SessionContext).parameters.keys() == inspect.signature(SyncSessionContext).parameters.keys()
    )
    methods = {name for name, _ in inspect.getmembers(SyncSessionContext, inspect.isfunction) if name[0] != "_"}
    for name in methods:
        async_method, method = getattr(SessionContext, name), getattr(SyncSessionContext, name)
        assert inspect.signature(async_method) == inspect.signature(method), name
        assert inspect.iscoroutinefunction(async_method), name
    assert list(inspect.signature(create_session).parameters) == list(inspect.signature(sync_create_session).parameters)


async def test_session_stores_values_messages_and_executions(manager: AsyncMemoryManager) -> None:
    async with create_session("campaign", manager, metadata={"user": "ann"}) as session:
        assert await session.save_agent_memory("writer", "draft", "v1") is True
        assert await session.retrieve_agent_memory("writer", "draft") == "v1"
        await session.add_conversation_message("writer", "assistant", "done")
        assert [message.content for message in await session.get_conversation_history()] == ["done"]
        record_id = await session.save_execution_record("writer", {"status": "success"})
        summary = await session.get_session_summary()
        assert (session.is_active, session.ended_at, session.auto_cleanup) == (True, None, True)
        assert (session.session_id, session.metadata) == (summary.session_id, {"user": "ann"})
        assert (session.active_agents, len(session.agent_interactions)) == (["writer"], 4)
        assert session.started_at <= summary.started_at
        assert (summary.conversation_messages, summary.metadata) == (1, {"user": "ann"})
        assert (await manager.get_stats()).active_sessions == 1
    assert (await manager.get_execution_records(workflow="campaign"))[0].id == record_id
    assert await manager.get_conversation_history("campaign") == []
    assert (await manager.get_stats()).active_sessions == 0
    with pytest.raises(Closed):
        await session.get_conversation_history()


async def test_exception_cleans_up_session(manager: AsyncMemoryManager) -> None:
    async def fail() -> None:
        async with create_session("w", manager) as session:
            await session.save_agent_memory("writer", "draft", 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert (await manager.get_stats()).active_sessions == 0
    assert await manager.get_conversation_history("w") == []


async def test_session_opens_once_at_first_call(manager: AsyncMemoryManager) -> None:
    session = create_session("w", manager)
    await asyncio.gather(*(session.add_conversation_message("writer", "user", f"m{n}") for n in range(10)))
    assert (await manager.get_stats()).active_sessions == 1
    assert len(await session.get_conversation_history()) == 10
    assert (await session.end_session()).conversation_messages == 10


async def test_concurrent_sessions_do_not_mix(manager: AsyncMemoryManager) -> None:
    async def work(name: str) -> object:
        async with create_session(name, manager) as session:
            await session.save_agent_memory("writer", "name", name)
            await asyncio.sleep(0)
            return await session.retrieve_agent_memory("writer", "name")

    workflows = [f"w{number}" for number in range(20)]
    assert await asyncio.gather(*map(work, workflows)) == workflows


async def test_empty_workflow_id_is_rejected(manager: AsyncMemoryManager) -> None:
    with pytest.raises(InvalidInput):
        async with create_session("", manager):
            pass
