"""Two tenants, every tool and resource, random queries: neither ever sees a row or an id of the other."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest

from mcp import Client
from tests.mcp.http_server import LEGACY, NEWEST, McpHttpServer, open_mcp_server

ROUNDS = 10
Call = tuple[str, dict[str, Any]]


class Tenant:
    """One tenant: fills everything a tool can reach with a word that identifies it, and keeps its ids."""

    def __init__(self, name: str, client: Client) -> None:
        self.client = client
        self.word = f"canary{name}"
        self.ids: list[int] = []
        self.recall_id = ""

    async def fill(self) -> None:
        texts = [f"{self.word} likes tea number {number}" for number in range(10)]
        kept = await self.client.call_tool("remember", {"content": texts})
        self.ids = [each["id"] for each in kept.structured_content["outcomes"]]
        found = await self.client.call_tool("recall", {"query": self.word})
        self.recall_id = found.structured_content["recall_id"]
        entities = [
            {"name": name, "entityType": self.word, "observations": [f"{self.word} drinks tea"]}
            for name in ("Ann", "Bo")
        ]
        await self.client.call_tool("create_entities", {"entities": entities})
        relation = {"from": "Ann", "to": "Bo", "relationType": self.word}
        await self.client.call_tool("create_relations", {"relations": [relation]})
        said = {"workflow": "campaign", "agent": "writer", "content": self.word}
        await self.client.call_tool("session_say", said)

    async def read_all(self) -> str:
        """Everything that this tenant can read, without what differs between calls."""
        graph = await self.client.call_tool("read_graph", {})
        said = await self.client.call_tool("session_history", {"workflow": "campaign", "limit": 1000})
        found = await self.client.call_tool("recall", {"query": self.word, "limit": 1000})
        ids = sorted(each["id"] for each in found.structured_content["memories"])
        return json.dumps([graph.structured_content, said.structured_content, ids])


def reading_calls(rng: random.Random, other: Tenant) -> list[Call]:
    """Every tool that reads, aimed at the data of the other tenant."""
    query = rng.choice([other.word, "tea", "likes", f"{other.word} tea number {rng.randrange(10)}"])
    return [
        ("recall", {"query": query, "limit": rng.randint(1, 1000)}),
        ("context", {"query": query, "budget": 10_000}),
        ("context", {"budget": 10_000}),
        ("list", {"limit": rng.randint(1, 1000), "after": rng.choice([None, *other.ids])}),
        ("search", {"query": query}),
        ("fetch", {"id": str(rng.choice(other.ids))}),
        ("replay", {"recall_id": other.recall_id}),
        ("quarantine", {}),
        ("facts", {}),
        ("conflicts", {}),
        ("history", {"memory_or_slot": rng.choice(other.ids)}),
        ("session_history", {"workflow": "campaign"}),
        ("read_graph", {}),
        ("search_nodes", {"query": query}),
        ("open_nodes", {"names": ["Ann", "Bo"]}),
    ]


def writing_calls(rng: random.Random, other: Tenant) -> list[Call]:
    """Every tool that writes, aimed at names that both tenants use and at ids of the other."""
    seen = f"{other.word} drinks tea"
    return [
        ("remember", {"content": f"a fact {rng.random()}"}),
        ("update", {"memory_id": rng.choice(other.ids), "content": "changed", "expected_version": 7}),
        ("discard", {"memory_ids": [rng.choice(other.ids)]}),
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
def server(tmp_path: Path) -> Iterator[McpHttpServer]:
    with open_mcp_server(tmp_path) as server:
        yield server


async def two_tenants(server: McpHttpServer, stack: AsyncExitStack, mode: str) -> tuple[Tenant, Tenant]:
    keys = {name: server.key(name) for name in ("red", "blue")}
    opened = [Tenant(name, await stack.enter_async_context(server.client(key, mode))) for name, key in keys.items()]
    for tenant in opened:
        await tenant.fill()
    return opened[0], opened[1]


@pytest.mark.parametrize("mode", [LEGACY, NEWEST])
async def test_reading_tools_never_return_data_of_another_tenant(server: McpHttpServer, mode: str) -> None:
    rng, answered = random.Random(11), 0
    async with AsyncExitStack() as stack:
        both = await two_tenants(server, stack, mode)
        for _ in range(ROUNDS):
            for mine, other in (both, both[::-1]):
                for tool, arguments in reading_calls(rng, other):
                    answer = await mine.client.call_tool(tool, arguments)
                    assert other.word not in answer.model_dump_json(), (tool, arguments)
                    answered += not answer.is_error
                for prompt in (await mine.client.list_prompts()).prompts:
                    assert other.word not in (await mine.client.get_prompt(prompt.name)).model_dump_json()
                for resource in (await mine.client.list_resources()).resources:
                    assert other.word not in (await mine.client.read_resource(resource.uri)).model_dump_json()
    assert answered == ROUNDS * 2 * 12  # all but fetch, replay and history, whose ids belong to the other tenant


@pytest.mark.parametrize("mode", [LEGACY, NEWEST])
async def test_writing_tools_never_change_another_tenant(server: McpHttpServer, mode: str) -> None:
    async with AsyncExitStack() as stack:
        mine, other = await two_tenants(server, stack, mode)
        before = await other.read_all()
        assert other.word in before
        for tool, arguments in writing_calls(random.Random(5), other):
            answer = await mine.client.call_tool(tool, arguments)
            assert other.word not in answer.model_dump_json(), (tool, arguments)
        assert await other.read_all() == before


async def test_id_of_another_tenant_answers_like_an_unknown_id(server: McpHttpServer) -> None:
    async with AsyncExitStack() as stack:
        mine, other = await two_tenants(server, stack, NEWEST)
        asked: list[Callable[[int], Call]] = [
            lambda number: ("fetch", {"id": str(number)}),
            lambda number: ("forget", {"memory_ids": [number]}),
            lambda number: ("update", {"memory_id": number, "content": "x", "expected_version": 7}),
        ]
        for make_call in asked:
            answers = [await mine.client.call_tool(*make_call(number)) for number in (other.ids[0], 987_654_321)]
            assert answers[0].is_error
            foreign, never = (re.sub(r"\d+", "N", each.content[0].text) for each in answers)
            assert foreign == never


async def test_isolation_tests_cover_every_tool(server: McpHttpServer) -> None:
    async with AsyncExitStack() as stack:
        mine, other = await two_tenants(server, stack, NEWEST)
        rng = random.Random(0)
        tried = {tool for tool, _ in [*reading_calls(rng, other), *writing_calls(rng, other)]}
        assert {tool.name for tool in (await mine.client.list_tools()).tools} == tried
