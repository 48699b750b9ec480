"""Streams of MCP over HTTP: they end with their key, and are limited; what is no message is refused in plain words."""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from memoranda.server import services
from memoranda.server.keys import open_keys
from tests.mcp.http_server import NEWEST, McpHttpServer, open_mcp_server
from tests.mcp.test_keys import HANDSHAKE

PREFIX = "io.modelcontextprotocol/"
META = {
    f"{PREFIX}protocolVersion": NEWEST,
    f"{PREFIX}clientInfo": {"name": "test", "version": "1"},
    f"{PREFIX}clientCapabilities": {},
}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[McpHttpServer]:
    with open_mcp_server(tmp_path) as server:
        yield server


def send(server: McpHttpServer, method: str, key: str, body: dict[str, Any] | None, **headers: str) -> socket.socket:
    """Send a request and return its connection, from which nothing was read yet."""
    address, data = urlsplit(server.url), b"" if body is None else json.dumps(body).encode()
    connection = socket.create_connection((address.hostname, address.port))
    lines = (
        ACCEPT | {"Host": address.netloc, "Authorization": f"Bearer {key}", "Content-Length": str(len(data))} | headers
    )
    head = [f"{method} {address.path} HTTP/1.1", *(f"{name}: {value}" for name, value in lines.items()), "", ""]
    connection.sendall("\r\n".join(head).encode() + data)
    return connection


def listen(server: McpHttpServer, key: str, number: int = 7) -> socket.socket:
    wanted = {"resourceSubscriptions": ["memory://knowledge-graph"]}
    body = message("subscriptions/listen", number, {"_meta": META, "notifications": wanted})
    headers = {"Content-Type": "application/json", "MCP-Protocol-Version": NEWEST, "Mcp-Method": "subscriptions/listen"}
    return send(server, "POST", key, body, **headers)


def message(method: str, number: object, params: dict[str, Any]) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def open_session(server: McpHttpServer, key: str) -> dict[str, str]:
    """Open a session of the older protocol; return the headers of its requests."""
    headers = ACCEPT | {"Authorization": f"Bearer {key}"}
    opened = httpx2.post(server.url, json=message("initialize", 0, HANDSHAKE), headers=headers, timeout=30)
    return headers | {"Mcp-Session-Id": opened.headers["mcp-session-id"], "MCP-Protocol-Version": "2025-06-18"}


def read_status(connection: socket.socket) -> int:
    connection.settimeout(20)
    found = b""
    while b"\r\n\r\n" not in found:
        found += connection.recv(4096)
    return int(found.split()[1])


def seconds_to_end(connection: socket.socket) -> float:
    started = time.monotonic()
    connection.settimeout(8)
    data = b""
    while not data.endswith(b"0\r\n\r\n"):
        part = connection.recv(4096)
        if not part:
            break
        data += part
    connection.close()
    return time.monotonic() - started


def revoke(server: McpHttpServer, key: str) -> None:
    with open_keys(server.db_url) as keys:
        keys.revoke(key.split(".")[1])


def test_streams_end_when_their_key_is_revoked(server: McpHttpServer) -> None:
    key = server.key()
    session = open_session(server, key)
    own = {name: value for name, value in session.items() if name.startswith("M")}
    streams = [listen(server, key), send(server, "GET", key, None, **own)]
    assert [read_status(each) for each in streams] == [200, 200]
    revoke(server, key)
    assert max(seconds_to_end(each) for each in streams) < 3


def test_stream_ends_when_its_key_expires(server: McpHttpServer) -> None:
    stream = listen(server, server.key(expires_in=timedelta(seconds=2)))
    assert read_status(stream) == 200
    assert seconds_to_end(stream) < 5


def test_key_and_tenant_have_a_limited_number_of_streams(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "MAX_STREAMS", 3)
    monkeypatch.setattr(services, "MAX_TENANT_STREAMS", 5)
    with open_mcp_server(tmp_path) as server:
        first, second, other = server.key("red"), server.key("red"), server.key("blue")
        streams = [listen(server, key) for key in (first,) * 4 + (second,) * 3 + (other,)]
        try:
            found = [read_status(each) for each in streams]
            assert (found[:4].count(200), found[4:7].count(200), found[7]) == (3, 2, 200)
            assert found.count(429) == 2
        finally:
            for each in streams:
                each.close()


def test_key_cannot_hold_all_connections_of_the_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "max_connections", lambda: 8)
    with open_mcp_server(tmp_path) as server:
        greedy, other = server.key("red"), server.key("blue")
        unfinished = {"Content-Type": "application/json", "Content-Length": "100"}
        held = [send(server, "POST", greedy, None, **unfinished) for _ in range(8)]
        try:
            time.sleep(0.5)
            assert server.post("ping", greedy).status_code == 429
            assert server.post("ping", other).status_code == 400  # it has no session, but was heard
        finally:
            for each in held:
                each.close()


def test_of_two_requests_with_one_id_each_gets_an_answer(server: McpHttpServer) -> None:
    session = open_session(server, server.key())
    answers: list[httpx2.Response] = []

    def ask() -> None:
        body = message("tools/call", 5, {"name": "remember", "arguments": {"content": f"Ann likes tea {time.time()}"}})
        answers.append(httpx2.post(server.url, json=body, headers=session, timeout=20))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    for answer in answers:
        if answer.status_code == 400:
            assert answer.json()["id"] == 5
            assert "in progress" in answer.json()["error"]["message"]
        else:
            assert '"id":5' in answer.text
    assert any(answer.status_code == 200 for answer in answers)


@pytest.mark.parametrize("body", [[], [{"jsonrpc": "2.0", "id": 1, "method": "ping"}], {"secret": 1}, 5, "text", None])
def test_what_is_no_message_is_refused_in_plain_words(server: McpHttpServer, body: Any) -> None:
    headers = ACCEPT | {"Authorization": f"Bearer {server.key()}", "Content-Type": "application/json"}
    refused = httpx2.post(server.url, content=json.dumps(body).encode(), headers=headers, timeout=20)
    assert refused.status_code == 400
    assert refused.json()["error"]["code"] == -32600
    for raw in ("pydantic", "validation error", "input_value", "secret"):
        assert raw not in refused.text
