"""Sends the same random calls to the reference memory server and to ours: every result must be equal."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

from mcp.client.stdio import stdio_client

from mcp import Client, StdioServerParameters
from tests.mcp.graph_calls import random_calls
from tests.mcp.programs import over_stdio


async def find_differences(server: Path, folder: Path, seed: int, count: int) -> list[str]:
    """Return the differences between the two servers, one line each."""
    environment = {**os.environ, "MEMORY_FILE_PATH": str(folder / f"{seed}.jsonl")}
    theirs = StdioServerParameters(command="node", args=[str(server / "dist" / "index.js")], env=environment)
    found: list[str] = []
    async with (
        Client(stdio_client(theirs)) as reference,
        Client(stdio_client(over_stdio(folder / f"{seed}.db", "--tools", "graph"))) as ours,
    ):
        found += await _compare_tools(reference, ours)
        for tool, arguments in random_calls(seed, count):
            expected, got = [_to_comparable(await client.call_tool(tool, arguments)) for client in (reference, ours)]
            if expected != got:
                found.append(f"{tool} {arguments}\n  reference: {expected}\n  ours:      {got}")
    return found


def _to_comparable(result: Any) -> tuple[bool, object, str]:
    return result.is_error, result.structured_content, result.content[0].text


async def _compare_tools(reference: Client, ours: Client) -> list[str]:
    our_tools = {tool.name: tool for tool in (await ours.list_tools()).tools}
    found = []
    for tool in (await reference.list_tools()).tools:
        our_tool = our_tools.get(tool.name)
        if our_tool is None or (our_tool.title, our_tool.description, our_tool.annotations) != (
            tool.title,
            tool.description,
            tool.annotations,
        ):
            found.append(f"tool {tool.name}: {tool.title, tool.description, tool.annotations} against {our_tool}")
        elif set(our_tool.input_schema["properties"]) != set(tool.input_schema.get("properties", {})):
            found.append(f"tool {tool.name}: different arguments")
    return found


async def compare(server: Path, seeds: int, calls: int) -> int:
    """Print the first differences; return how many there are."""
    found: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            found += await find_differences(server, Path(folder), seed, calls)
    for difference in found[:20]:
        print(difference)
    print(f"reference memory server: {seeds * calls} calls, {len(found)} differences")
    return len(found)
