from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from mcp import Client, MCPError
from memoranda.mcp import http
from memoranda.mcp.base import Owner
from memoranda.server.keys import open_keys
from tests.mcp.http_server import LEGACY, NEWEST, McpHttpServer, open_mcp_server
from tests.mcp.programs import command, environment
from tests.ports import free_port

READING = {
    *("recall", "context", "list", "replay", "search", "fetch", "session_history", "quarantine"),
    *("facts", "conflicts", "history"),
    *("read_graph", "search_nodes", "open_nodes"),
}
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[McpHttpServer]:
    with open_mcp_server(tmp_path) as server:
        yield server


async def _names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_first_key_locks_out_callers_without_one(server: McpHttpServer) -> None:
    assert server.post("ping").status_code not in (401, 403)
    key = server.key()
    time.sleep(0.05)
    refused = server.post("ping")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert server.post("ping", f"{key}x").status_code == 401
    assert server.post("ping", key).status_code not in (401, 403)


def test_expired_and_revoked_keys_are_refused(server: McpHttpServer) -> None:
    short, revoked = server.key(expires_in=timedelta(milliseconds=1)), server.key()
    assert server.post("ping", revoked).status_code != 401
    with open_keys(server.db_url) as keys:
        keys.revoke(revoked.split(".")[1])
    assert server.post("ping", short).status_code == 401
    assert server.post("ping", revoked).status_code == 401


def test_key_over_its_rate_limit_must_wait(server: McpHttpServer) -> None:
    key = server.key(rate=0.01)
    assert server.post("ping", key).status_code != 429
    refused = server.post("ping", key)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 1


@pytest.mark.parametrize("mode", [LEGACY, NEWEST])
async def test_key_sees_and_calls_only_the_tools_its_scopes_allow(server: McpHttpServer, mode: str) -> None:
    async with server.client(server.key(), mode) as both:
        await both.call_tool("remember", {"content": "Ann drinks tea"})
        all_tools = await _names(both)
    async with server.client(server.key(scopes=("read",)), mode) as reader:
        assert await _names(reader) == READING
        found = await reader.call_tool("recall", {"query": "What does Ann drink?"})
        assert "Ann drinks tea" in found.structured_content["text"]
        for tool in sorted(all_tools - READING):
            refused = await reader.call_tool(tool, {})
            assert refused.is_error, tool
            assert "no 'write' scope" in refused.content[0].text, tool
        assert (await reader.read_resource("memory://recent")).contents
    async with server.client(server.key(scopes=("write",)), mode) as writer:
        assert await _names(writer) == all_tools - READING - {"session_say"}
        for tool in sorted(READING | {"session_say"}):
            refused = await writer.call_tool(tool, {})
            assert refused.is_error, tool
            assert "no 'read' scope" in refused.content[0].text, tool
        with pytest.raises(MCPError, match="no 'read' scope"):
            await writer.read_resource("memory://recent")


def test_session_works_only_with_the_key_that_opened_it(server: McpHttpServer) -> None:
    first, second = server.key("red"), server.key("red")
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {first}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    session = httpx2.post(server.url, json=body, headers=headers).headers["Mcp-Session-Id"]
    assert server.post("ping", first, **{"Mcp-Session-Id": session}).status_code == 200
    for key in (second, server.key("blue")):
        assert server.post("ping", key, **{"Mcp-Session-Id": session}).status_code == 404


def test_tenant_opens_a_limited_number_of_sessions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "_MAX_SESSIONS", 2)
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    with open_mcp_server(tmp_path) as server:
        accept = {"Accept": "application/json, text/event-stream"}
        for tenant, statuses in (("one", [200, 200, 503]), ("two", [200])):
            headers = accept | {"Authorization": f"Bearer {server.key(tenant)}"}
            assert [httpx2.post(server.url, json=body, headers=headers).status_code for _ in statuses] == statuses


def test_too_large_or_non_json_body_is_refused(tmp_path: Path) -> None:
    with open_mcp_server(tmp_path, max_body=1000) as server:
        assert httpx2.post(server.url, json={"x": "y" * 2000}).status_code == 413
        assert httpx2.post(server.url, content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
        nested = b"[" * 500 + b"]" * 500
        assert httpx2.post(server.url, content=nested, headers={"Content-Type": "application/json"}).status_code == 413
        assert httpx2.get(server.url.replace("/mcp", "/healthz")).json() == {"status": "ok"}


def test_configured_hosts_and_origins_are_allowed(tmp_path: Path) -> None:
    with open_mcp_server(
        tmp_path, allowed_hosts=("memory.example",), allowed_origins=("https://app.example",)
    ) as server:
        assert server.post("ping", Host="memory.example").status_code != 421
        assert server.post("ping", Host="other.example").status_code == 421
        allowed = server.post("ping", Origin="https://app.example")
        assert allowed.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert "Mcp-Session-Id" in allowed.headers["Access-Control-Expose-Headers"]
        assert server.post("ping", Origin="https://other.example").status_code == 403


async def test_caller_without_key_uses_the_configured_tenant(tmp_path: Path) -> None:
    with open_mcp_server(tmp_path, Owner(tenant="shop", user="ann")) as server:
        async with server.client() as client:
            await client.call_tool("remember", {"content": "Ann drinks tea"})
        async with server.client(server.key("shop")) as client:
            found = await client.call_tool("recall", {"query": "tea"})
            assert "Ann drinks tea" in found.structured_content["text"]


def test_public_server_without_keys_does_not_start(tmp_path: Path) -> None:
    options = ["--transport", "http", "--host", "0.0.0.0", "--port", str(free_port())]
    program = [sys.executable, *command(tmp_path / "m.db", *options)]
    done = subprocess.run(program, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 8
    assert "memoranda keys create" in done.stderr
