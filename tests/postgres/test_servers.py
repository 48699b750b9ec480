"""Two servers on one database: each sees at once what the other one has written."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from starlette.testclient import TestClient

from memoranda.server.config import ServerConfig
from memoranda.server.keys import open_keys
from memoranda.server.run import create_app
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder
from tests.server.in_process import LOOPBACK, URL, InProcessServer

AUDIT_KEY = "a key for the tests of two servers"


@pytest.fixture
def servers(url: str) -> Iterator[list[InProcessServer]]:
    config = MemoryConfig(db_url=url, audit_key=AUDIT_KEY)
    with ExitStack() as stack:
        apps = [create_app(ServerConfig(), config, embedder=HashEmbedder(64)) for _ in range(2)]
        clients = [stack.enter_context(TestClient(app, base_url=URL, client=LOOPBACK)) for app in apps]
        yield [InProcessServer(app, http, url) for app, http in zip(apps, clients, strict=True)]


@pytest.fixture
def key(url: str) -> str:
    with open_keys(MemoryConfig(db_url=url, audit_key=AUDIT_KEY)) as keys:
        return keys.create("test", tenant="acme", scopes=("read", "write", "admin")).key


def test_each_server_finds_at_once_what_the_other_one_stored(servers: list[InProcessServer], key: str) -> None:
    for number in range(4):
        writer, reader = servers[number % 2], servers[(number + 1) % 2]
        body = {"content": f"The boat number {number} is blue", "user": "ada"}
        made = writer.send("POST", "/v1/memories", key, json=body)
        assert made.status_code == 201, made.text
        found = reader.send("POST", "/v1/recall", key, json={"query": f"boat number {number}", "user": "ada"}).json()
        assert made.json()["id"] in [hit["memory"]["id"] for hit in found["hits"]]


def test_key_is_valid_and_idempotency_key_of_a_memory_holds_on_both(servers: list[InProcessServer], key: str) -> None:
    said = {"content": [{"role": "user", "content": "I live in Bern."}], "idempotency_key": "once", "user": "ada"}
    statuses = [
        outcome["status"]
        for server in servers
        for outcome in server.send("POST", "/v1/remember", key, json=said).json()
    ]
    assert statuses == ["stored", "duplicate"]


def test_other_tenant_sees_nothing_through_either_server(servers: list[InProcessServer], key: str, url: str) -> None:
    made = servers[0].send("POST", "/v1/memories", key, json={"content": "The safe is open", "user": "ada"}).json()
    with open_keys(MemoryConfig(db_url=url, audit_key=AUDIT_KEY)) as keys:
        other = keys.create("test", tenant="other", scopes=("read", "write", "admin")).key
    for server in servers:
        assert server.send("GET", f"/v1/memories/{made['id']}?user=ada", other).status_code == 404
        found = server.send("POST", "/v1/recall", other, json={"query": "safe", "user": "ada"}).json()
        assert found["hits"] == []
