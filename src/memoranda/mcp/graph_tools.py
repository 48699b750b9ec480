"""The nine tools of the reference memory server, with its names, arguments and answers: a drop-in replacement."""

from __future__ import annotations

from typing import Annotated

from mcp.server.mcpserver import Context, MCPServer
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from memoranda.aio.manager import MemoryManager
from memoranda.mcp.graph import Entity, Graph, KnowledgeGraph, Relation
from memoranda.mcp.run import Whose
from memoranda.mcp.tools import ADDS, READS, REMOVES, answer, pretty, told

GRAPH_URI = "memory://knowledge-graph"


class Entities(BaseModel):
    """The entities that are new."""

    entities: list[Entity]


class Relations(BaseModel):
    """The relations that are new."""

    relations: list[Relation]


class Addition(BaseModel):
    """Observations for one entity."""

    entityName: str = Field(description="The name of the entity to add the observations to")
    contents: list[str] = Field(description="An array of observation contents to add")


class Added(BaseModel):
    """The observations of one entity that are new."""

    entityName: str
    addedObservations: list[str]


class AddedAll(BaseModel):
    """One answer for each entity."""

    results: list[Added]


class Deletion(BaseModel):
    """Observations of one entity to delete."""

    entityName: str = Field(description="The name of the entity containing the observations")
    observations: list[str] = Field(description="An array of observations to delete")


class Done(BaseModel):
    """That it was done."""

    success: bool
    message: str


class GraphTools:
    """The tools over one knowledge graph."""

    def __init__(self, memory: MemoryManager, whose: Whose) -> None:
        self.graph = KnowledgeGraph(memory, whose)

    def register(self, server: MCPServer) -> None:
        """Adds the tools and the graph's resource to a server."""
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
            server.add_tool(told(tool), title=title, annotations=hints)

        @server.resource(GRAPH_URI, name="knowledge-graph", title="Knowledge Graph", mime_type="application/json")
        async def knowledge_graph() -> str:
            """The full knowledge graph with all entities and relations"""
            return pretty((await self.graph.read()).model_dump(by_alias=True))

    async def create_entities(self, entities: list[Entity], ctx: Context) -> Annotated[CallToolResult, Entities]:
        """Create multiple new entities in the knowledge graph"""
        made = Entities(entities=await self.graph.create_entities(entities))
        await ctx.notify_resource_updated(GRAPH_URI)
        return _listed(made, "entities")

    async def create_relations(self, relations: list[Relation], ctx: Context) -> Annotated[CallToolResult, Relations]:
        """Create multiple new relations between entities in the knowledge graph. Relations should be in active voice"""
        made = Relations(relations=await self.graph.create_relations(relations))
        await ctx.notify_resource_updated(GRAPH_URI)
        return _listed(made, "relations")

    async def add_observations(self, observations: list[Addition], ctx: Context) -> Annotated[CallToolResult, AddedAll]:
        """Add new observations to existing entities in the knowledge graph"""
        added = await self.graph.add_observations([(each.entityName, each.contents) for each in observations])
        await ctx.notify_resource_updated(GRAPH_URI)
        return _listed(AddedAll(results=[Added(entityName=n, addedObservations=t) for n, t in added]), "results")

    async def delete_entities(
        self,
        entityNames: Annotated[list[str], Field(description="An array of entity names to delete")],
        ctx: Context,
    ) -> Annotated[CallToolResult, Done]:
        """Delete multiple entities and their associated relations from the knowledge graph"""
        await self.graph.delete_entities(entityNames)
        await ctx.notify_resource_updated(GRAPH_URI)
        return _done("Entities deleted successfully")

    async def delete_observations(self, deletions: list[Deletion], ctx: Context) -> Annotated[CallToolResult, Done]:
        """Delete specific observations from entities in the knowledge graph"""
        await self.graph.delete_observations([(each.entityName, each.observations) for each in deletions])
        await ctx.notify_resource_updated(GRAPH_URI)
        return _done("Observations deleted successfully")

    async def delete_relations(
        self,
        relations: Annotated[list[Relation], Field(description="An array of relations to delete")],
        ctx: Context,
    ) -> Annotated[CallToolResult, Done]:
        """Delete multiple relations from the knowledge graph"""
        await self.graph.delete_relations(relations)
        await ctx.notify_resource_updated(GRAPH_URI)
        return _done("Relations deleted successfully")

    async def read_graph(self) -> Annotated[CallToolResult, Graph]:
        """Read the entire knowledge graph"""
        return _graph(await self.graph.read())

    async def search_nodes(
        self,
        query: Annotated[
            str, Field(description="The search query to match against entity names, types, and observation content")
        ],
    ) -> Annotated[CallToolResult, Graph]:
        """Search for nodes in the knowledge graph based on a query"""
        return _graph(await self.graph.search(query))

    async def open_nodes(
        self, names: Annotated[list[str], Field(description="An array of entity names to retrieve")]
    ) -> Annotated[CallToolResult, Graph]:
        """Open specific nodes in the knowledge graph by their names"""
        return _graph(await self.graph.open(names))


def _listed(made: BaseModel, name: str) -> CallToolResult:
    # The reference server's text is the bare list, its structured content the list under its name.
    return answer(pretty(made.model_dump(mode="json", by_alias=True)[name]), made)


def _graph(graph: Graph) -> CallToolResult:
    return answer(pretty(graph.model_dump(mode="json", by_alias=True)), graph)


def _done(message: str) -> CallToolResult:
    return answer(message, Done(success=True, message=message))
