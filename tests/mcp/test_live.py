from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from mcp.client.stdio import stdio_client

from mcp import Client
from memoranda import MemoryManager
from memoranda.mcp.base import TOOL_GROUPS
from tests.mcp.programs import over_http, over_stdio


async def test_stdio_memories_survive_into_a_new_process(tmp_path: Path) -> None:
    async with Client(stdio_client(over_stdio(tmp_path / "m.db", "--user", "ann"))) as client:
        done = await client.call_tool("remember", {"content": "Ann moved to Oslo in May"})
        assert done.structured_content["outcomes"][0]["status"] == "stored"
    async with Client(stdio_client(over_stdio(tmp_path / "m.db", "--user", "ann"))) as client:
        assert client.server_info.name == "memoranda"
        found = await client.call_tool("recall", {"query": "Where does Ann live?"})
        assert "Ann moved to Oslo in May" in found.structured_content["text"]
    with MemoryManager(f"sqlite:///{tmp_path}/m.db") as manager:
        assert [memory.content for memory in manager.list_memories(user="ann")] == ["Ann moved to Oslo in May"]
        assert manager.check().ok


async def test_http_serves_several_clients(tmp_path: Path) -> None:
    with over_http(tmp_path / "m.db", "--user", "ann") as url:
        async with Client(url) as one, Client(url) as two:
            await one.call_tool("remember", {"content": "Ann drinks tea"})
            found = await two.call_tool("recall", {"query": "What does Ann drink?"})
            assert "Ann drinks tea" in found.structured_content["text"]
            assert {tool.name for tool in (await two.list_tools()).tools} == set(TOOL_GROUPS["core"])


async def test_stdio_without_a_database_uses_the_folder_of_the_user(tmp_path: Path) -> None:
    start = over_stdio(tmp_path / "unused.db", "--tools", "core,facts")
    assert start.env is not None
    variables = {name: value for name, value in start.env.items() if name != "MEMORY_DB_URL"}
    start.args = [part for part in start.args if part not in ("--db", str(tmp_path / "unused.db"))]
    start.env, start.cwd = {**variables, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path / "data")}, tmp_path
    async with Client(stdio_client(start)) as client:
        assert not (await client.call_tool("remember", {"content": "Ann moved to Oslo in May"})).is_error
        assert "Oslo" in (await client.call_tool("facts", {})).structured_content["text"]
    folder = tmp_path / "data" / "memoranda"
    assert folder.stat().st_mode & 0o777 == 0o700
    with MemoryManager(f"sqlite:///{folder}/memories.db") as manager:
        assert len(manager.list_memories()) == 1
    assert not (tmp_path / "memories.db").exists()


def _status(url: str, headers: dict[str, str]) -> int:
    where = urlsplit(url)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}})
    connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=10)
    given = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **headers}
    connection.request("POST", where.path, body, given)
    status = connection.getresponse().status
    connection.close()
    return status


def test_http_refuses_unknown_hosts_and_origins(tmp_path: Path) -> None:
    with over_http(tmp_path / "m.db") as url:
        assert _status(url, {"Host": "evil.example"}) == 421
        assert _status(url, {"Origin": "https://evil.example"}) == 403
        assert _status(url, {"Origin": "null"}) == 403
        assert _status(url, {"Origin": f"http://{urlsplit(url).netloc}"}) not in (403, 421)


def test_command_line_allows_hosts_and_origins(tmp_path: Path) -> None:
    options = ["--allowed-host", "memory.example", "--allowed-origin", "https://app.example"]
    with over_http(tmp_path / "m.db", *options) as url:
        assert _status(url, {"Host": "memory.example"}) not in (403, 421)
        assert _status(url, {"Origin": "https://app.example"}) not in (403, 421)
        assert _status(url, {"Host": "evil.example"}) == 421


@pytest.mark.parametrize(
    "option", [["--transport", "carrier-pigeon"], ["--port", "x", "--transport", "http"], ["--tools", "some"]]
)
def test_wrong_option_is_a_usage_error(option: list[str]) -> None:
    from typer.testing import CliRunner

    from memoranda.cli.app import app

    assert CliRunner().invoke(app, ["mcp", *option]).exit_code == 2
