from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from memoranda.aio import MemoryManager
from memoranda.mcp.base import Owner
from memoranda.mcp.graph import GRAPH_URI, GraphEntity, GraphStore
from memoranda.testing.fakes import HashEmbedder
from tests.mcp.graph_calls import GraphModel, random_calls
from tests.unit.mcp.conftest import Connect


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_random_calls_give_the_results_of_the_reference_model(connect: Connect, seed: int) -> None:
    model = GraphModel()
    async with connect() as client:
        for tool, arguments in random_calls(seed, 60):
            expected, done = model.call(tool, arguments), await client.call_tool(tool, arguments)
            assert done.is_error is (expected is None), (tool, arguments)
            assert done.structured_content == expected, (tool, arguments)


async def test_text_content_is_the_result_as_json(connect: Connect) -> None:
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    async with connect() as client:
        made = await client.call_tool("create_entities", {"entities": [entity]})
        assert made.content[0].text == json.dumps([entity], indent=2)  # type: ignore[union-attr]
        read = await client.call_tool("read_graph", {})
        assert read.content[0].text == json.dumps(read.structured_content, indent=2)  # type: ignore[union-attr]
        resource = await client.read_resource("memory://knowledge-graph")
        assert json.loads(resource.contents[0].text) == read.structured_content  # type: ignore[union-attr]
        gone = await client.call_tool("delete_entities", {"entityNames": ["Ann", "Nobody"]})
        assert gone.content[0].text == "Entities deleted successfully"  # type: ignore[union-attr]


async def test_unknown_entity_is_an_error_and_nothing_is_stored(connect: Connect) -> None:
    async with connect() as client:
        await client.call_tool(
            "create_entities", {"entities": [{"name": "Ann", "entityType": "person", "observations": []}]}
        )
        additions = [{"entityName": "Ann", "contents": ["likes tea"]}, {"entityName": "Zoe", "contents": ["x"]}]
        done = await client.call_tool("add_observations", {"observations": additions})
        assert (done.is_error, done.content[0].text) == (True, "Entity with name Zoe not found")  # type: ignore[union-attr]
        graph = (await client.call_tool("read_graph", {})).structured_content
        assert graph["entities"][0]["observations"] == []


async def test_graph_is_found_by_recall_and_associations(tmp_path: Path) -> None:
    async with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as memory:
        graph = GraphStore(memory, Owner(user="ann"))
        await graph.create_entities([GraphEntity(name="Bob", entityType="person", observations=["plays chess"])])
        [hit] = await memory.search_memories("who plays chess", limit=1, user="ann")
        assert hit.content == "Bob: plays chess"
        [link] = await memory.get_related_memories(hit.id, "observation", user="ann")
        assert link.content == "Bob (person)"
        await graph.delete_entities(["Bob"])
        assert await memory.list_memories(user="ann") == []


async def test_concurrent_creation_of_one_name_makes_one_entity(connect: Connect) -> None:
    entity = {"name": "Ann", "entityType": "person", "observations": ["likes tea"]}
    async with connect() as client:
        made = await asyncio.gather(*(client.call_tool("create_entities", {"entities": [entity]}) for _ in range(8)))
        assert sum(len(each.structured_content["entities"]) for each in made) == 1
        assert (await client.call_tool("read_graph", {})).structured_content["entities"] == [entity]


async def test_subscribers_are_notified_of_graph_changes(connect: Connect) -> None:
    entity = {"name": "Ann", "entityType": "person", "observations": []}
    async with connect() as client, client.listen(resource_subscriptions=[GRAPH_URI]) as changes:
        await client.call_tool("create_entities", {"entities": [entity]})
        async for change in changes:
            assert change.uri == GRAPH_URI  # type: ignore[union-attr]
            break
