"""Two tenants, every tool and resource, random queries: nobody ever sees a row or an id of the other."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from mcp import Client
from tests.mcp.door import LEGACY, NEWEST, McpDoor, open_mcp

ROUNDS = 10
Call = tuple[str, dict[str, Any]]


class Tenant:
    """One of the two: fills everything a tool can reach with its own word, and knows its ids."""

    def __init__(self, name: str, client: Client) -> None:
        self.client = client
        self.word = f"canary{name}"
        self.ids: list[int] = []

    async def fill(self) -> None:
        texts = [f"{self.word} likes tea number {number}" for number in range(10)]
        kept = await self.client.call_tool("remember", {"content": texts})
        self.ids = [each["id"] for each in kept.structured_content["outcomes"]]
        entities = [
            {"name": name, "entityType": self.word, "observations": [f"{self.word} drinks tea"]}
            for name in ("Ann", "Bo")
        ]
        await self.client.call_tool("create_entities", {"entities": entities})
        relation = {"from": "Ann", "to": "Bo", "relationType": self.word}
        await self.client.call_tool("create_relations", {"relations": [relation]})
        said = {"workflow": "campaign", "agent": "writer", "content": self.word}
        await self.client.call_tool("session_say", said)

    async def everything(self) -> str:
        """All that this tenant can read, without what differs from one reading to the next."""
        graph = await self.client.call_tool("read_graph", {})
        said = await self.client.call_tool("session_history", {"workflow": "campaign", "limit": 1000})
        found = await self.client.call_tool("recall", {"query": self.word, "limit": 1000})
        ids = sorted(each["id"] for each in found.structured_content["memories"])
        return json.dumps([graph.structured_content, said.structured_content, ids])


def reading(rng: random.Random, other: Tenant) -> list[Call]:
    """Every tool that reads, aimed at what only the other one has."""
    query = rng.choice([other.word, "tea", "likes", f"{other.word} tea number {rng.randrange(10)}"])
    return [
        ("recall", {"query": query, "limit": rng.randint(1, 1000)}),
        ("context", {"query": query, "budget": 10_000}),
        ("search", {"query": query}),
        ("fetch", {"id": str(rng.choice(other.ids))}),
        ("session_history", {"workflow": "campaign"}),
        ("read_graph", {}),
        ("search_nodes", {"query": query}),
        ("open_nodes", {"names": ["Ann", "Bo"]}),
    ]


def writing(rng: random.Random, other: Tenant) -> list[Call]:
    """Every tool that changes something, aimed at the same names and at the other one's ids."""
    seen = f"{other.word} drinks tea"
    return [
        ("remember", {"content": f"a fact {rng.random()}"}),
        ("forget", {"memory_ids": [rng.choice(other.ids)]}),
        ("forget", {"memory_ids": other.ids, "dry_run": True}),
        ("session_say", {"workflow": "campaign", "agent": "writer", "content": "hi"}),
        ("session_end", {"workflow": "campaign"}),
        ("create_entities", {"entities": [{"name": "Ann", "entityType": "x", "observations": ["new"]}]}),
        ("add_observations", {"observations": [{"entityName": "Ann", "contents": ["more"]}]}),
        ("delete_observations", {"deletions": [{"entityName": "Ann", "observations": [seen]}]}),
        ("create_relations", {"relations": [{"from": "Bo", "to": "Ann", "relationType": "knows"}]}),
        ("delete_relations", {"relations": [{"from": "Ann", "to": "Bo", "relationType": other.word}]}),
        ("delete_entities", {"entityNames": ["Ann", "Bo"]}),
    ]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[McpDoor]:
    with open_mcp(tmp_path) as door:
        yield door


async def two_tenants(door: McpDoor, stack: AsyncExitStack, mode: str) -> tuple[Tenant, Tenant]:
    keys = {name: door.key(name) for name in ("red", "blue")}
    opened = [Tenant(name, await stack.enter_async_context(door.client(key, mode))) for name, key in keys.items()]
    for tenant in opened:
        await tenant.fill()
    return opened[0], opened[1]


@pytest.mark.parametrize("mode", [LEGACY, NEWEST])
async def test_whatever_is_asked_nothing_of_the_other_tenant_comes_back(door: McpDoor, mode: str) -> None:
    rng, answered = random.Random(11), 0
    async with AsyncExitStack() as stack:
        both = await two_tenants(door, stack, mode)
        for _ in range(ROUNDS):
            for mine, other in (both, both[::-1]):
                for tool, arguments in reading(rng, other):
                    answer = await mine.client.call_tool(tool, arguments)
                    assert other.word not in answer.model_dump_json(), (tool, arguments)
                    answered += not answer.is_error
                for resource in (await mine.client.list_resources()).resources:
                    assert other.word not in (await mine.client.read_resource(resource.uri)).model_dump_json()
    assert answered == ROUNDS * 2 * 7  # all but fetch, whose id is always the other one's


@pytest.mark.parametrize("mode", [LEGACY, NEWEST])
async def test_writing_at_the_other_tenant_changes_nothing_there(door: McpDoor, mode: str) -> None:
    async with AsyncExitStack() as stack:
        mine, other = await two_tenants(door, stack, mode)
        before = await other.everything()
        assert other.word in before
        for tool, arguments in writing(random.Random(5), other):
            answer = await mine.client.call_tool(tool, arguments)
            assert other.word not in answer.model_dump_json(), (tool, arguments)
        assert await other.everything() == before


async def test_an_id_of_the_other_tenant_reads_like_one_that_never_was(door: McpDoor) -> None:
    async with AsyncExitStack() as stack:
        mine, other = await two_tenants(door, stack, NEWEST)
        for tool, name in (("fetch", "id"), ("forget", "memory_ids")):
            asked = [{name: str(number) if name == "id" else [number]} for number in (other.ids[0], 987_654_321)]
            answers = [await mine.client.call_tool(tool, each) for each in asked]
            assert answers[0].is_error
            foreign, never = (re.sub(r"\d+", "N", each.content[0].text) for each in answers)
            assert foreign == never


async def test_every_tool_is_tried(door: McpDoor) -> None:
    async with AsyncExitStack() as stack:
        mine, other = await two_tenants(door, stack, NEWEST)
        rng = random.Random(0)
        tried = {tool for tool, _ in [*reading(rng, other), *writing(rng, other)]}
        assert {tool.name for tool in (await mine.client.list_tools()).tools} == tried
