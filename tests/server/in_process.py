"""The real application in this process, with a real store and real keys."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
from starlette.testclient import TestClient

from memoranda.client import MemoryManager as RemoteManager
from memoranda.client.aio import MemoryManager as AsyncRemoteManager
from memoranda.server.config import ServerConfig
from memoranda.server.keys import open_keys
from memoranda.server.run import create_app
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import Clock

URL = "http://localhost"
LOOPBACK = ("127.0.0.1", 50000)


@dataclass
class InProcessServer:
    """A running server and its clients."""

    app: Any
    http: TestClient
    db_url: str

    def key(self, tenant: str = "default", scopes: tuple[str, ...] = ("read", "write", "admin"), **options: Any) -> str:
        with open_keys(self.db_url) as keys:
            return keys.create("test", tenant=tenant, scopes=scopes, **options).key

    def send(self, method: str, path: str, key: str | None = None, **options: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        return self.http.request(method, path, headers=headers | options.pop("headers", {}), **options)

    def client(self, key: str | None = None) -> RemoteManager:
        """A client of this application."""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        # `self.http` runs the lifespan; this client only sends requests, by the same event loop.
        client = TestClient(self.app, base_url=URL, headers=headers, client=LOOPBACK)
        client.portal = self.http.portal
        return RemoteManager(URL, client=client)

    def async_client(self, key: str | None = None) -> AsyncRemoteManager:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        transport = httpx2.ASGITransport(self.app)
        return AsyncRemoteManager(
            URL,
            client=httpx2.AsyncClient(transport=transport, base_url=URL, headers=headers),
            sync_client=TestClient(self.app, base_url=URL, headers=headers, client=LOOPBACK),
        )


@contextmanager
def open_server(folder: Path, *, clock: Clock | None = None, **config: Any) -> Iterator[InProcessServer]:
    url = f"sqlite:///{folder}/server.db"
    app = create_app(
        ServerConfig(**{"allow_unauthenticated": True} | config), url, embedder=HashEmbedder(64), clock=clock
    )
    with TestClient(app, base_url=URL, client=LOOPBACK) as http:
        yield InProcessServer(app, http, url)
