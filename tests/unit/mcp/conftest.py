from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Protocol

import pytest

from mcp import Client
from memoranda.aio import MemoryManager
from memoranda.mcp import Whose
from memoranda.mcp.run import create_server
from memoranda.testing.fakes import HashEmbedder


class Connect(Protocol):
    def __call__(self, whose: Whose = ...) -> AbstractAsyncContextManager[Client]: ...


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """A real client session with a server in this process, on a store of its own."""

    @asynccontextmanager
    async def open_client(whose: Whose = Whose(user="ann")) -> AsyncIterator[Client]:  # noqa: B008 - a frozen value
        url = f"sqlite:///{tmp_path}/m.db"
        async with (
            MemoryManager(url, embedder=HashEmbedder(64), tenant=whose.tenant) as memory,
            Client(create_server(memory, whose)) as client,
        ):
            yield client

    return open_client
