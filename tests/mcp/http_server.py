"""The MCP server over HTTP in a thread of this process, with a real store, real keys and real clients."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from mcp import Client
from memoranda.mcp.base import Owner
from memoranda.mcp.run import create_http_app
from memoranda.server.config import ServerConfig
from memoranda.server.keys import open_keys
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from tests.ports import free_port
from tests.server.running import listening

LEGACY, NEWEST = "legacy", "2026-07-28"
"""The protocol with a handshake and a session, and the one without them."""


@dataclass(frozen=True)
class McpHttpServer:
    """A running server and its address."""

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
        """Send one message without an MCP client."""
        all_headers = {"Accept": "application/json, text/event-stream"} | headers
        all_headers |= {"Authorization": f"Bearer {key}"} if key else {}
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {}}
        return httpx2.post(self.url, json=body, headers=all_headers, timeout=30)


@contextmanager
def open_mcp_server(folder: Path, owner: Owner | None = None, **config: Any) -> Iterator[McpHttpServer]:
    port, db_url = free_port(), f"sqlite:///{folder}/mcp.db"
    settings = ServerConfig(**{"port": port, "key_cache_seconds": 0.01, "allow_unauthenticated": True} | config)
    app = create_http_app(settings, MemoryConfig(db_url=db_url), owner, tools="all", embedder=HashEmbedder(64))
    with listening(app, settings) as url:
        yield McpHttpServer(f"{url}/mcp", db_url)
