"""The conformance suite of the Claude Agent SDK over our session store, and what it does not ask for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import list_sessions_from_store
from claude_agent_sdk.testing import run_session_store_conformance
from documentation import run_example, run_page

from memoranda import MemoryManager, aio
from memoranda.integrations.claude_agent_sdk import MemorandaSessionStore
from memoranda.testing.fakes import HashEmbedder

KEY: Any = {"project_key": "proj", "session_id": "s"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder()) as manager:
        yield manager


def _said(uuid: str, text: str, role: str = "user") -> Any:
    return {"type": role, "uuid": uuid, "message": {"role": role, "content": [{"type": "text", "text": text}]}}


@pytest.mark.parametrize("search", [True, False])
async def test_all_14_contracts_hold(tmp_path: Path, search: bool) -> None:
    opened: list[MemoryManager] = []

    def make_store() -> Any:
        opened.append(MemoryManager(f"sqlite:///{tmp_path}/{len(opened)}.db", embedder=HashEmbedder()))
        return MemorandaSessionStore(opened[-1], user="ann", search=search)

    await run_session_store_conformance(make_store)
    assert len(opened) >= 14
    for manager in opened:
        manager.close()


async def test_entry_with_a_known_uuid_is_stored_once(memory: MemoryManager) -> None:
    store = MemorandaSessionStore(memory)
    await store.append(KEY, [_said("1", "hello"), _said("2", "there")])
    await store.append(KEY, [_said("2", "there"), _said("3", "again"), _said("3", "again")])
    assert [entry["uuid"] for entry in await store.load(KEY) or ()] == ["1", "2", "3"]
    title: Any = {"type": "custom-title", "customTitle": "x"}
    await store.append(KEY, [title, title])
    assert len(await store.load(KEY) or ()) == 5


async def test_what_is_said_is_recalled_and_tool_results_are_not(memory: MemoryManager) -> None:
    store = MemorandaSessionStore(memory, user="ann")
    result: Any = {"type": "user", "uuid": "9", "message": {"content": [{"type": "tool_result", "content": "secret"}]}}
    await store.append(KEY, [_said("1", "My sister Eva lives in Porto"), result])
    found = memory.recall("Where does Eva live?", user="ann")
    assert "Porto" in found[0].content
    assert not any("secret" in hit.content for hit in memory.recall("secret", user="ann"))
    assert list(memory.recall("Where does Eva live?", user="bob")) == []
    assert await MemorandaSessionStore(memory, user="bob").load(KEY) is None


async def test_entries_of_any_size_and_names_come_back(memory: MemoryManager) -> None:
    store = MemorandaSessionStore(memory)
    for name in ("*", "", "a/b:c%", "é" * 100):
        key: Any = {"project_key": name, "session_id": name, "subpath": "subagents/*"}
        entry = _said("1", "é\x00\ud800😀" * 200_000)
        await store.append(key, [entry])
        assert await store.load(key) == [entry]
        assert await store.list_subkeys(key) == ["subagents/*"]
        await store.delete(key)
        assert await store.load(key) is None
    assert memory.namespaces() == []


async def test_sdk_lists_sessions_of_an_async_manager(tmp_path: Path) -> None:
    async with aio.MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder()) as memory:
        store = MemorandaSessionStore(memory)
        from claude_agent_sdk import project_key_for_directory

        key: Any = {
            "project_key": project_key_for_directory(str(tmp_path)),
            "session_id": "0" * 8 + "-0000-4000-8000-" + "0" * 12,
        }
        await store.append(
            key, [{**_said("1", "Plan my trip"), "timestamp": "2026-01-01T00:00:00Z", "cwd": str(tmp_path)}]
        )
        listed = await list_sessions_from_store(store, directory=str(tmp_path))
        assert [session.first_prompt for session in listed] == ["Plan my trip"]


def test_page_and_example_run(tmp_path: Path) -> None:
    run_page("claude-agent-sdk.md", tmp_path)
    assert run_example("claude_agent_sessions.py", tmp_path) == "['user', 'assistant']\nrecalled: True\n"
