"""Runs AutoGen's tests of memories on `MemorandaMemory`, in place of AutoGen's own ListMemory."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import autogen_core.memory
import pytest
from autogen_core.memory import MemoryContent
from autogen_core.memory._list_memory import ListMemoryConfig

from memoranda import aio
from memoranda.integrations.autogen import MemorandaMemory
from memoranda.testing.fakes import HashEmbedder

_opened: list[tuple[aio.MemoryManager, str]] = []


class SwappedMemory(MemorandaMemory):
    """`MemorandaMemory` with the constructor, the configuration and the `content` of AutoGen's class."""

    component_provider_override = "autogen_core.memory.ListMemory"
    component_config_schema = ListMemoryConfig  # type: ignore[assignment]

    def __init__(self, name: str | None = None, memory_contents: list[MemoryContent] | None = None) -> None:
        folder = tempfile.mkdtemp()
        manager = aio.MemoryManager(f"sqlite:///{folder}/m.db", embedder=HashEmbedder())
        _opened.append((manager, folder))
        super().__init__(manager, name=name or "default_list_memory")
        for content in memory_contents or ():
            _run(self.add(content))

    @property
    def content(self) -> list[MemoryContent]:
        found: list[MemoryContent] = _run(self.query("all")).results
        return found

    @classmethod
    def _from_config(cls, config: Any) -> SwappedMemory:
        return cls(config.name, config.memory_contents)

    def _to_config(self) -> Any:
        return ListMemoryConfig(name=self.name, memory_contents=self.content)


def _run(call: Coroutine[Any, Any, Any]) -> Any:
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, call).result()


@pytest.fixture(autouse=True)
def _close_managers() -> Iterator[None]:
    yield
    while _opened:
        manager, folder = _opened.pop()
        _run(manager.close())
        shutil.rmtree(folder)


autogen_core.memory.ListMemory = SwappedMemory  # type: ignore[misc, assignment]
