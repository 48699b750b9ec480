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
from memoranda.mcp import Whose
from memoranda.server.keys import open_keys
from tests.mcp.door import LEGACY, NEWEST, McpDoor, open_mcp
from tests.mcp.programs import command, environment
from tests.server.live import free_port

READING = {
    *("recall", "context", "search", "fetch", "session_history"),
    *("read_graph", "search_nodes", "open_nodes"),
}
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}


@pytest.fixture
def door(tmp_path: Path) -> Iterator[McpDoor]:
    with open_mcp(tmp_path) as door:
        yield door


async def _names(client: Client) -> set[str]:
    return {tool.name for tool in (await client.list_tools()).tools}


def test_with_the_first_key_the_door_closes_for_those_who_have_none(door: McpDoor) -> None:
    assert door.post("ping").status_code not in (401, 403)
    key = door.key()
    time.sleep(0.05)
    refused = door.post("ping")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == "Bearer"
    assert refused.headers["Content-Type"] == "application/problem+json"
    assert door.post("ping", f"{key}x").status_code == 401
    assert door.post("ping", key).status_code not in (401, 403)


def test_a_key_that_has_ended_is_refused(door: McpDoor) -> None:
    short, revoked = door.key(expires_in=timedelta(milliseconds=1)), door.key()
    assert door.post("ping", revoked).status_code != 401
    with open_keys(door.db_url) as keys:
        keys.revoke(revoked.split(".")[1])
    assert door.post("ping", short).status_code == 401
    assert door.post("ping", revoked).status_code == 401


def test_a_key_that_has_used_up_its_rate_must_wait(door: McpDoor) -> None:
    key = door.key(rate=0.01)
    assert door.post("ping", key).status_code != 429
    refused = door.post("ping", key)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 1


@pytest.mark.parametrize("mode", [LEGACY, NEWEST])
async def test_a_key_sees_and_uses_the_tools_its_scopes_allow(door: McpDoor, mode: str) -> None:
    async with door.client(door.key(), mode) as both:
        await both.call_tool("remember", {"content": "Ann drinks tea"})
        all_tools = await _names(both)
    async with door.client(door.key(scopes=("read",)), mode) as reader:
        assert await _names(reader) == READING
        found = await reader.call_tool("recall", {"query": "What does Ann drink?"})
        assert "Ann drinks tea" in found.structured_content["text"]
        for tool in sorted(all_tools - READING):
            refused = await reader.call_tool(tool, {})
            assert refused.is_error, tool
            assert "no 'write' scope" in refused.content[0].text, tool
        assert (await reader.read_resource("memory://recent")).contents
    async with door.client(door.key(scopes=("write",)), mode) as writer:
        assert await _names(writer) == all_tools - READING - {"session_say"}
        for tool in sorted(READING | {"session_say"}):
            refused = await writer.call_tool(tool, {})
            assert refused.is_error, tool
            assert "no 'read' scope" in refused.content[0].text, tool
        with pytest.raises(MCPError, match="no 'read' scope"):
            await writer.read_resource("memory://recent")


def test_a_session_belongs_to_the_key_that_opened_it(door: McpDoor) -> None:
    first, second = door.key("red"), door.key("red")
    headers = {"Accept": "application/json, text/event-stream", "Authorization": f"Bearer {first}"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HANDSHAKE}
    session = httpx2.post(door.url, json=body, headers=headers).headers["Mcp-Session-Id"]
    assert door.post("ping", first, **{"Mcp-Session-Id": session}).status_code == 200
    for key in (second, door.key("blue")):
        assert door.post("ping", key, **{"Mcp-Session-Id": session}).status_code == 404


def test_a_body_that_is_too_long_or_no_json_is_refused(tmp_path: Path) -> None:
    with open_mcp(tmp_path, max_body=1000) as door:
        assert httpx2.post(door.url, json={"x": "y" * 2000}).status_code == 413
        assert httpx2.post(door.url, content=b"{}", headers={"Content-Type": "text/plain"}).status_code == 415
        nested = b"[" * 500 + b"]" * 500
        assert httpx2.post(door.url, content=nested, headers={"Content-Type": "application/json"}).status_code == 413
        assert httpx2.get(door.url.replace("/mcp", "/healthz")).json() == {"status": "ok"}


def test_other_names_and_pages_can_be_allowed(tmp_path: Path) -> None:
    with open_mcp(tmp_path, allowed_hosts=("memory.example",), allowed_origins=("https://app.example",)) as door:
        assert door.post("ping", Host="memory.example").status_code != 421
        assert door.post("ping", Host="other.example").status_code == 421
        allowed = door.post("ping", Origin="https://app.example")
        assert allowed.headers["Access-Control-Allow-Origin"] == "https://app.example"
        assert "Mcp-Session-Id" in allowed.headers["Access-Control-Expose-Headers"]
        assert door.post("ping", Origin="https://other.example").status_code == 403


async def test_whoever_has_no_key_is_the_tenant_the_door_was_opened_for(tmp_path: Path) -> None:
    with open_mcp(tmp_path, Whose(tenant="shop", user="ann")) as door:
        async with door.client() as client:
            await client.call_tool("remember", {"content": "Ann drinks tea"})
        async with door.client(door.key("shop")) as client:
            found = await client.call_tool("recall", {"query": "tea"})
            assert "Ann drinks tea" in found.structured_content["text"]


def test_no_key_no_start_where_others_can_reach_it(tmp_path: Path) -> None:
    options = ["--transport", "http", "--host", "0.0.0.0", "--port", str(free_port())]
    program = [sys.executable, *command(tmp_path / "m.db", *options)]
    done = subprocess.run(program, env=environment(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 8
    assert "memoranda keys create" in done.stderr
