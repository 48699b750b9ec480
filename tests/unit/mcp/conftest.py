from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from mcp import Client
from memoranda.aio import MemoryManager
from memoranda.mcp.base import Owner
from memoranda.mcp.run import create_server
from memoranda.testing.fakes import HashEmbedder


class Connect(Protocol):
    def __call__(self, owner: Owner = ..., tools: str = ...) -> AbstractAsyncContextManager[Client]: ...


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """Open a real client session with a server in this process and its own store."""

    @asynccontextmanager
    async def open_client(
        owner: Owner = Owner(user="ann"),  # noqa: B008 - a frozen value
        tools: str = "all",
    ) -> AsyncIterator[Client]:
        url = f"sqlite:///{tmp_path}/m.db"
        async with (
            MemoryManager(url, embedder=HashEmbedder(64), tenant=owner.tenant) as memory,
            Client(create_server(memory, owner, tools=tools)) as client,
        ):
            yield client

    return open_client
