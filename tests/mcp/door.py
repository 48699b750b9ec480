"""The MCP door over HTTP in a thread of this process: the real application, a real store, real keys, real clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from memoranda.mcp import Whose
from memoranda.mcp.run import create_http_app
from memoranda.server.config import ServerConfig
from memoranda.server.keys import open_keys
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from tests.server.live import free_port, listening

LEGACY, NEWEST = "legacy", "2026-07-28"
"""With a handshake and a session, and without either."""


@dataclass(frozen=True)
class McpDoor:
    """A door that is open, and the way to it."""

    url: str
    db_url: str

    def key(self, tenant: str = "default", scopes: tuple[str, ...] = ("read", "write"), **options: Any) -> str:
        with open_keys(self.db_url) as keys:
            return keys.create("test", tenant=tenant, scopes=scopes, **options).key

    @asynccontextmanager
    async def client(self, key: str | None = None, mode: str = LEGACY) -> AsyncIterator[Client]:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            Client(streamable_http_client(self.url, http_client=http), mode=mode) as client,
        ):
            yield client

    def post(self, method: str, key: str | None = None, **headers: str) -> httpx2.Response:
        """One message without a client, as anybody could send it."""
        given = {"Accept": "application/json, text/event-stream"} | headers
        given |= {"Authorization": f"Bearer {key}"} if key else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
        return httpx2.post(self.url, json=body, headers=given, timeout=30)


@contextmanager
def open_mcp(folder: Path, whose: Whose | None = None, **config: Any) -> Iterator[McpDoor]:
    port, db_url = free_port(), f"sqlite:///{folder}/mcp.db"
    settings = ServerConfig(port=port, key_cache_seconds=0.01, **config)
    app = create_http_app(settings, MemoryConfig(db_url=db_url), whose, embedder=HashEmbedder(64))
    with listening(app, settings) as url:
        yield McpDoor(f"{url}/mcp", db_url)
