"""The same random calls to the reference memory server and to ours: every answer must be the same."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from mcp.client.stdio import stdio_client

from mcp import Client, StdioServerParameters
from tests.mcp.graph_calls import random_calls
from tests.mcp.programs import over_stdio


async def differences(server: Path, folder: Path, seed: int, count: int) -> list[str]:
    """What the two said differently, one line each."""
    environment = {**os.environ, "MEMORY_FILE_PATH": str(folder / f"{seed}.jsonl")}
    theirs = StdioServerParameters(command="node", args=[str(server / "dist" / "index.js")], env=environment)
    found: list[str] = []
    async with (
        Client(stdio_client(theirs)) as reference,
        Client(stdio_client(over_stdio(folder / f"{seed}.db"))) as ours,
    ):
        found += await _different_tools(reference, ours)
        for tool, arguments in random_calls(seed, count):
            expected, got = [_seen(await each.call_tool(tool, arguments)) for each in (reference, ours)]
            if expected != got:
                found.append(f"{tool} {arguments}\n  reference: {expected}\n  ours:      {got}")
    return found


def _seen(result: Any) -> tuple[bool, object, str]:
    return result.is_error, result.structured_content, result.content[0].text


async def _different_tools(reference: Client, ours: Client) -> list[str]:
    mine = {tool.name: tool for tool in (await ours.list_tools()).tools}
    found = []
    for tool in (await reference.list_tools()).tools:
        twin = mine.get(tool.name)
        if twin is None or (twin.title, twin.description, twin.annotations) != (
            tool.title,
            tool.description,
            tool.annotations,
        ):
            found.append(f"tool {tool.name}: {tool.title, tool.description, tool.annotations} against {twin}")
        elif set(twin.input_schema["properties"]) != set(tool.input_schema.get("properties", {})):
            found.append(f"tool {tool.name}: other arguments")
    return found


async def compare(server: Path, seeds: int, calls: int) -> int:
    """How many answers differ; prints the first of them."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            found += await differences(server, Path(folder), seed, calls)
    for difference in found[:20]:
        print(difference)
    print(f"reference memory server: {seeds * calls} calls, {len(found)} differences")
    return len(found)
