"""The nine tools of the reference memory server, with its names, arguments and answers: a drop-in replacement.

Its knowledge graph is kept in memories: an entity, each of its observations and each relation is a memory of its own.
Associations link observations to their entity, and relations to the entities at both ends. So recall finds all of them,
and deleting a memory deletes its links.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final, Literal

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, ConfigDict, Field

from memoranda.aio.manager import MemoryManager
from memoranda.errors import NotFound
from memoranda.mcp.base import Owner
from memoranda.mcp.tools import ADDS, READS, REMOVES, MemoryTool, make_tool, public_errors, to_pretty_json, tool_result
from memoranda.types import JSON, Memory

_KIND: Final = "graph"
_SOURCE: Final = "knowledge graph"
_PAGE: Final = 1000


class GraphEntity(BaseModel):
    """A node of the graph."""

    name: str = Field(description="The name of the entity")
    entityType: str = Field(description="The type of the entity")
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class GraphRelation(BaseModel):
    """A directed link between two entities, which need not exist."""

    model_config = ConfigDict(populate_by_name=True, frozen=True)

    source: str = Field(alias="from", description="The name of the entity where the relation starts")
    target: str = Field(alias="to", description="The name of the entity where the relation ends")
    relationType: str = Field(description="The type of the relation")


class KnowledgeGraph(BaseModel):
    """Entities and the relations that touch them."""

    entities: list[GraphEntity]
    relations: list[GraphRelation]


@dataclass(slots=True)
class _Node:
    """An entity and the ids of the memories it is stored in."""

    entity: GraphEntity
    ids: list[int] = field(default_factory=list)
    observations: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class _LoadedGraph:
    nodes: dict[str, _Node] = field(default_factory=dict)
    relations: dict[GraphRelation, list[int]] = field(default_factory=dict)

    def add(self, memory: Memory) -> None:
        metadata = memory.metadata
        kind: Literal["entity", "observation", "relation"] = metadata[_KIND]
        if kind == "relation":
            self.relations.setdefault(GraphRelation.model_validate(metadata), []).append(memory.id)
            return
        name = metadata["name"]
        if kind == "entity":
            # Two processes may create the same entity at the same time: the older one counts, both are deleted.
            entity = GraphEntity(name=name, entityType=metadata["entityType"], observations=[])
            self.nodes.setdefault(name, _Node(entity)).ids.append(memory.id)
        elif name in self.nodes:
            node, text = self.nodes[name], metadata["observation"]
            node.observations.append((text, memory.id))
            node.entity.observations.append(text)

    def select(self, matches: Callable[[GraphEntity], bool]) -> KnowledgeGraph:
        entities = [node.entity for node in self.nodes.values() if matches(node.entity)]
        names = {entity.name for entity in entities}
        relations = [relation for relation in self.relations if {relation.source, relation.target} & names]
        return KnowledgeGraph(entities=entities, relations=relations)


class GraphStore:
    """The knowledge graph of one owner. Changes through one object run one after the other."""

    def __init__(self, memory: MemoryManager, owner: Owner) -> None:
        self._memory = memory
        self._owner = owner
        self._write_lock = asyncio.Lock()

    async def create_entities(self, entities: Iterable[GraphEntity]) -> list[GraphEntity]:
        """Store entities and return the new ones; an entity whose name exists is left as it is."""
        async with self._write_lock:
            known = (await self._load()).nodes
            new: dict[str, GraphEntity] = {}
            for entity in entities:
                if entity.name not in known:
                    new.setdefault(entity.name, entity)
            for entity in new.values():
                await self._add_entity(entity)
            return list(new.values())

    async def create_relations(self, relations: Iterable[GraphRelation]) -> list[GraphRelation]:
        """Store relations and return the new ones."""
        async with self._write_lock:
            graph = await self._load()
            new = [relation for relation in dict.fromkeys(relations) if relation not in graph.relations]
            for relation in new:
                await self._add_relation(relation, graph)
            return new

    async def add_observations(self, additions: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
        """Store observations and return the new ones of each entity; for an unknown entity, store nothing and raise."""
        async with self._write_lock:
            nodes = (await self._load()).nodes
            for name, _ in additions:
                if name not in nodes:
                    raise NotFound(f"Entity with name {name} not found")
            return [(name, await self._add_new_observations(nodes[name], texts)) for name, texts in additions]

    async def delete_entities(self, names: Iterable[str]) -> None:
        """Delete entities, their observations and every relation that touches them."""
        async with self._write_lock:
            graph, deleted = await self._load(), set(names)
            ids: list[int] = []
            for name in deleted & graph.nodes.keys():
                node = graph.nodes[name]
                ids += [*node.ids, *(memory_id for _, memory_id in node.observations)]
            for relation, memory_ids in graph.relations.items():
                if {relation.source, relation.target} & deleted:
                    ids += memory_ids
            await self._delete(ids)

    async def delete_observations(self, deletions: Iterable[tuple[str, list[str]]]) -> None:
        """Delete observations; unknown ones are ignored."""
        async with self._write_lock:
            nodes = (await self._load()).nodes
            ids = [
                memory_id
                for name, texts in deletions
                for text, memory_id in (nodes[name].observations if name in nodes else ())
                if text in texts
            ]
            await self._delete(ids)

    async def delete_relations(self, relations: Iterable[GraphRelation]) -> None:
        """Delete relations; unknown ones are ignored."""
        async with self._write_lock:
            known = (await self._load()).relations
            await self._delete([memory_id for relation in relations for memory_id in known.get(relation, [])])

    async def read(self) -> KnowledgeGraph:
        """Return the whole graph, including relations between unknown names."""
        graph = await self._load()
        return KnowledgeGraph(entities=[node.entity for node in graph.nodes.values()], relations=list(graph.relations))

    async def search(self, query: str) -> KnowledgeGraph:
        """Return the entities whose name, type or observations contain the text, ignoring case."""
        text = query.lower()

        def matches(entity: GraphEntity) -> bool:
            return any(text in part.lower() for part in (entity.name, entity.entityType, *entity.observations))

        return (await self._load()).select(matches)

    async def open(self, names: Iterable[str]) -> KnowledgeGraph:
        """Return the entities with these names."""
        requested = set(names)
        return (await self._load()).select(lambda entity: entity.name in requested)

    async def _add_entity(self, entity: GraphEntity) -> None:
        metadata: dict[str, JSON] = {_KIND: "entity", "name": entity.name, "entityType": entity.entityType}
        memory = await self._add(f"{entity.name} ({entity.entityType})", metadata)
        for text in entity.observations:
            await self._add_observation(entity.name, memory.id, text)

    async def _add_new_observations(self, node: _Node, texts: Iterable[str]) -> list[str]:
        new = [text for text in dict.fromkeys(texts) if text not in node.entity.observations]
        for text in new:
            await self._add_observation(node.entity.name, node.ids[0], text)
        node.entity.observations += new
        return new

    async def _add_observation(self, name: str, entity_id: int, text: str) -> None:
        memory = await self._add(f"{name}: {text}", {_KIND: "observation", "name": name, "observation": text})
        await self._link(entity_id, memory.id, "observation")

    async def _add_relation(self, relation: GraphRelation, graph: _LoadedGraph) -> None:
        text = f"{relation.source} {relation.relationType} {relation.target}"
        memory = await self._add(text, {_KIND: "relation", **relation.model_dump(by_alias=True)})
        if relation.source in graph.nodes:
            await self._link(graph.nodes[relation.source].ids[0], memory.id, relation.relationType)
        if relation.target in graph.nodes:
            await self._link(memory.id, graph.nodes[relation.target].ids[0], relation.relationType)

    async def _add(self, content: str, metadata: dict[str, JSON]) -> Memory:
        return await self._memory.add_memory(content, "semantic", _SOURCE, metadata, **self._owner.arguments())

    async def _link(self, memory_id: int, related_id: int, kind: str) -> None:
        await self._memory.add_memory_association(
            memory_id,
            related_id,
            kind if kind.strip() else "related_to",
            agent=self._owner.agent,
            user=self._owner.user,
        )

    async def _delete(self, ids: Sequence[int]) -> None:
        if ids:
            await self._memory.delete(list(dict.fromkeys(ids)), **self._owner.arguments())

    async def _load(self) -> _LoadedGraph:
        graph, after = _LoadedGraph(), 0
        where = {"metadata": {_KIND: ["entity", "observation", "relation"]}, "source": _SOURCE}
        while page := await self._memory.list_memories(_PAGE, after, where=where, **self._owner.arguments()):
            for memory in page:
                graph.add(memory)
            after = page[-1].id
        return graph


GRAPH_URI = "memory://knowledge-graph"


class CreatedEntities(BaseModel):
    """The new entities."""

    entities: list[GraphEntity]


class CreatedRelations(BaseModel):
    """The new relations."""

    relations: list[GraphRelation]


class ObservationAddition(BaseModel):
    """Observations to add to one entity."""

    entityName: str = Field(description="The name of the entity to add the observations to")
    contents: list[str] = Field(description="An array of observation contents to add")


class AddedObservations(BaseModel):
    """The new observations of one entity."""

    entityName: str
    addedObservations: list[str]


class AddObservationsResult(BaseModel):
    """One result for each entity."""

    results: list[AddedObservations]


class ObservationDeletion(BaseModel):
    """Observations of one entity to delete."""

    entityName: str = Field(description="The name of the entity containing the observations")
    observations: list[str] = Field(description="An array of observations to delete")


class DeletionResult(BaseModel):
    """That a deletion is done."""

    success: bool
    message: str


class GraphTools:
    """The tools over one knowledge graph."""

    def __init__(self, memory: MemoryManager, owner: Owner) -> None:
        self._graph = GraphStore(memory, owner)

    def tools(self) -> list[MemoryTool]:
        """Return the tools, with the titles and hints of the reference server."""
        return [
            make_tool(self.create_entities, "Create Entities", ADDS),
            make_tool(self.create_relations, "Create Relations", ADDS),
            make_tool(self.add_observations, "Add Observations", ADDS),
            make_tool(self.delete_entities, "Delete Entities", REMOVES),
            make_tool(self.delete_observations, "Delete Observations", REMOVES),
            make_tool(self.delete_relations, "Delete Relations", REMOVES),
            make_tool(self.read_graph, "Read Graph", READS),
            make_tool(self.search_nodes, "Search Nodes", READS),
            make_tool(self.open_nodes, "Open Nodes", READS),
        ]

    def add_resource(self, server: MCPServer) -> None:
        """Add the graph as a resource to a server."""

        @server.resource(GRAPH_URI, name="knowledge-graph", title="Knowledge Graph", mime_type="application/json")
        async def knowledge_graph() -> str:
            """The full knowledge graph with all entities and relations"""
            with public_errors():
                return to_pretty_json((await self._graph.read()).model_dump(by_alias=True))

    async def create_entities(
        self, entities: list[GraphEntity], ctx: Context
    ) -> Annotated[CallToolResult, CreatedEntities]:
        """Create multiple new entities in the knowledge graph"""
        created = CreatedEntities(entities=await self._graph.create_entities(entities))
        await ctx.notify_resource_updated(GRAPH_URI)
        return _list_result(created, "entities")

    async def create_relations(
        self, relations: list[GraphRelation], ctx: Context
    ) -> Annotated[CallToolResult, CreatedRelations]:
        """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice"""
        created = CreatedRelations(relations=await self._graph.create_relations(relations))
        await ctx.notify_resource_updated(GRAPH_URI)
        return _list_result(created, "relations")

    async def add_observations(
        self, observations: list[ObservationAddition], ctx: Context
    ) -> Annotated[CallToolResult, AddObservationsResult]:
        """Add new observations to existing entities in the knowledge graph"""
        added = await self._graph.add_observations([(item.entityName, item.contents) for item in observations])
        await ctx.notify_resource_updated(GRAPH_URI)
        results = [AddedObservations(entityName=name, addedObservations=texts) for name, texts in added]
        return _list_result(AddObservationsResult(results=results), "results")

    async def delete_entities(
        self,
        entityNames: Annotated[list[str], Field(description="An array of entity names to delete")],
        ctx: Context,
    ) -> Annotated[CallToolResult, DeletionResult]:
        """Delete multiple entities and their associated relations from the knowledge graph"""
        await self._graph.delete_entities(entityNames)
        await ctx.notify_resource_updated(GRAPH_URI)
        return _deletion_result("Entities deleted successfully")

    async def delete_observations(
        self, deletions: list[ObservationDeletion], ctx: Context
    ) -> Annotated[CallToolResult, DeletionResult]:
        """Delete specific observations from entities in the knowledge graph"""
        await self._graph.delete_observations([(item.entityName, item.observations) for item in deletions])
        await ctx.notify_resource_updated(GRAPH_URI)
        return _deletion_result("Observations deleted successfully")

    async def delete_relations(
        self,
        relations: Annotated[list[GraphRelation], Field(description="An array of relations to delete")],
        ctx: Context,
    ) -> Annotated[CallToolResult, DeletionResult]:
        """Delete multiple relations from the knowledge graph"""
        await self._graph.delete_relations(relations)
        await ctx.notify_resource_updated(GRAPH_URI)
        return _deletion_result("Relations deleted successfully")

    async def read_graph(self) -> Annotated[CallToolResult, KnowledgeGraph]:
        """Read the entire knowledge graph"""
        return _graph_result(await self._graph.read())

    async def search_nodes(
        self,
        query: Annotated[
            str, Field(description="The search query to match against entity names, types, and observation content")
        ],
    ) -> Annotated[CallToolResult, KnowledgeGraph]:
        """Search for nodes in the knowledge graph based on a query"""
        return _graph_result(await self._graph.search(query))

    async def open_nodes(
        self, names: Annotated[list[str], Field(description="An array of entity names to retrieve")]
    ) -> Annotated[CallToolResult, KnowledgeGraph]:
        """Open specific nodes in the knowledge graph by their names"""
        return _graph_result(await self._graph.open(names))


def _list_result(data: BaseModel, field: str) -> CallToolResult:
    # As in the reference server: the text is the list alone, the structured content has it under its name.
    return tool_result(to_pretty_json(data.model_dump(mode="json", by_alias=True)[field]), data)


def _graph_result(graph: KnowledgeGraph) -> CallToolResult:
    return tool_result(to_pretty_json(graph.model_dump(mode="json", by_alias=True)), graph)


def _deletion_result(message: str) -> CallToolResult:
    return tool_result(message, DeletionResult(success=True, message=message))
