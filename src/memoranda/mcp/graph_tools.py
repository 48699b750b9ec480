"""The nine tools of the reference memory server, with its names, arguments and answers: a drop-in replacement."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from memoranda.aio.manager import MemoryManager
from memoranda.mcp.graph import GraphEntity, GraphRelation, GraphStore, KnowledgeGraph
from memoranda.mcp.run import Owner
from memoranda.mcp.tools import ADDS, READS, REMOVES, add_tool, public_errors, to_pretty_json, tool_result

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

    def register(self, server: MCPServer) -> None:
        """Add the tools and the graph's resource to a server."""
        for tool, title, hints in (
            (self.create_entities, "Create Entities", ADDS),
            (self.create_relations, "Create Relations", ADDS),
            (self.add_observations, "Add Observations", ADDS),
            (self.delete_entities, "Delete Entities", REMOVES),
            (self.delete_observations, "Delete Observations", REMOVES),
            (self.delete_relations, "Delete Relations", REMOVES),
            (self.read_graph, "Read Graph", READS),
            (self.search_nodes, "Search Nodes", READS),
            (self.open_nodes, "Open Nodes", READS),
        ):
            add_tool(server, tool, title, hints)

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
