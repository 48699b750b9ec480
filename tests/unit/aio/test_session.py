from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memoranda.aio.manager import MemoryManager
from memoranda.aio.session import SessionContext, create_session
from memoranda.errors import Closed, InvalidInput
from memoranda.manager.manager import create_session as sync_create_session
from memoranda.sessions.context import SessionContext as SyncSessionContext
from memoranda.testing.fakes import HashEmbedder


@pytest.fixture
async def manager(tmp_path: Path) -> AsyncIterator[MemoryManager]:
    async with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(64)) as manager:
        yield manager


def test_async_session_has_same_methods_and_arguments() -> None:
    methods = {name for name, _ in inspect.getmembers(SyncSessionContext, inspect.isfunction) if name[0] != "_"}
    assert {name for name in dir(SessionContext) if name[0] != "_"} == methods
    for name in methods:
        async_method, method = getattr(SessionContext, name), getattr(SyncSessionContext, name)
        assert inspect.signature(async_method) == inspect.signature(method), name
        assert inspect.iscoroutinefunction(async_method), name
    assert list(inspect.signature(create_session).parameters) == list(inspect.signature(sync_create_session).parameters)


async def test_session_stores_values_messages_and_executions(manager: MemoryManager) -> None:
    async with create_session("campaign", manager, metadata={"user": "ann"}) as session:
        assert await session.save_agent_memory("writer", "draft", "v1") is True
        assert await session.retrieve_agent_memory("writer", "draft") == "v1"
        await session.add_conversation_message("writer", "assistant", "done")
        assert [message.content for message in await session.get_conversation_history()] == ["done"]
        record_id = await session.save_execution_record("writer", {"status": "success"})
        summary = await session.get_session_summary()
        assert (summary.messages, summary.metadata) == (1, {"user": "ann"})
        assert (await manager.get_stats()).active_sessions == 1
    assert (await manager.get_execution_records(workflow="campaign"))[0].id == record_id
    assert await manager.get_conversation_history("campaign") == []
    assert (await manager.get_stats()).active_sessions == 0
    with pytest.raises(Closed):
        await session.get_conversation_history()


async def test_exception_cleans_up_session(manager: MemoryManager) -> None:
    async def fail() -> None:
        async with create_session("w", manager) as session:
            await session.save_agent_memory("writer", "draft", 1)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await fail()
    assert await manager.clear_session("w") is False


async def test_session_opens_once_at_first_call(manager: MemoryManager) -> None:
    session = create_session("w", manager)
    await asyncio.gather(*(session.add_conversation_message("writer", "user", f"m{n}") for n in range(10)))
    assert (await manager.get_stats()).active_sessions == 1
    assert len(await session.get_conversation_history()) == 10
    assert (await session.end_session()).messages == 10


async def test_concurrent_sessions_do_not_mix(manager: MemoryManager) -> None:
    async def work(name: str) -> object:
        async with create_session(name, manager) as session:
            await session.save_agent_memory("writer", "name", name)
            await asyncio.sleep(0)
            return await session.retrieve_agent_memory("writer", "name")

    workflows = [f"w{number}" for number in range(20)]
    assert await asyncio.gather(*map(work, workflows)) == workflows


async def test_empty_workflow_id_is_rejected(manager: MemoryManager) -> None:
    with pytest.raises(InvalidInput):
        async with create_session("", manager):
            pass
