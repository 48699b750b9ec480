"""A knowledge graph in memories: an entity, each of its observations and each relation is a memory of its own.

Observations hang on their entity, and relations on the entities at both ends, by associations; so everything is found
by recall as well, and what is deleted takes its links with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from memoranda.aio.manager import MemoryManager
from memoranda.errors import NotFound
from memoranda.mcp.run import Whose
from memoranda.types import JSON, Memory

_KIND: Final = "graph"
_SOURCE: Final = "knowledge graph"
_PAGE: Final = 1000


class Entity(BaseModel):
    """A node of the graph."""

    name: str = Field(description="The name of the entity")
    entityType: str = Field(description="The type of the entity")
    observations: list[str] = Field(description="An array of observation contents associated with the entity")


class Relation(BaseModel):
    """A directed link between two entities, which need not exist."""

    model_config = ConfigDict(populate_by_name=True, frozen=True)

    source: str = Field(alias="from", description="The name of the entity where the relation starts")
    target: str = Field(alias="to", description="The name of the entity where the relation ends")
    relationType: str = Field(description="The type of the relation")


class Graph(BaseModel):
    """Entities and the relations that touch them."""

    entities: list[Entity]
    relations: list[Relation]


@dataclass(slots=True)
class _Node:
    """An entity and the memories it is made of."""

    entity: Entity
    ids: list[int] = field(default_factory=list)
    observed: list[tuple[str, int]] = field(default_factory=list)


@dataclass(slots=True)
class _Loaded:
    nodes: dict[str, _Node] = field(default_factory=dict)
    relations: dict[Relation, list[int]] = field(default_factory=dict)

    def view(self, wanted: Callable[[Entity], bool]) -> Graph:
        entities = [node.entity for node in self.nodes.values() if wanted(node.entity)]
        names = {entity.name for entity in entities}
        return Graph(
            entities=entities, relations=[each for each in self.relations if {each.source, each.target} & names]
        )


class KnowledgeGraph:
    """The graph of one owner. Changes made through one object are made one after the other."""

    def __init__(self, memory: MemoryManager, whose: Whose) -> None:
        self._memory = memory
        self._whose = whose
        self._one_writer = asyncio.Lock()

    async def create_entities(self, entities: Iterable[Entity]) -> list[Entity]:
        """Those that are new; a name that is taken is left as it is."""
        async with self._one_writer:
            known = set((await self._load()).nodes)
            fresh: dict[str, Entity] = {}
            for entity in entities:
                if entity.name not in known:
                    fresh.setdefault(entity.name, entity)
            for entity in fresh.values():
                await self._add_entity(entity)
            return list(fresh.values())

    async def create_relations(self, relations: Iterable[Relation]) -> list[Relation]:
        """Those that are new."""
        async with self._one_writer:
            loaded = await self._load()
            fresh = [each for each in dict.fromkeys(relations) if each not in loaded.relations]
            for relation in fresh:
                await self._add_relation(relation, loaded)
            return fresh

    async def add_observations(self, additions: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
        """For each entity the observations that are new; an unknown entity is an error and nothing is saved."""
        async with self._one_writer:
            nodes = (await self._load()).nodes
            for name, _ in additions:
                if name not in nodes:
                    raise NotFound(f"Entity with name {name} not found")
            return [(name, await self._observe(nodes[name], contents)) for name, contents in additions]

    async def delete_entities(self, names: Iterable[str]) -> None:
        """Removes entities, their observations and every relation that touches them."""
        async with self._one_writer:
            loaded, gone = await self._load(), set(names)
            nodes = [loaded.nodes[name] for name in gone if name in loaded.nodes]
            ids = [memory_id for node in nodes for memory_id in [*node.ids, *(each for _, each in node.observed)]]
            for relation, found in loaded.relations.items():
                ids += found if {relation.source, relation.target} & gone else []
            await self._delete(ids)

    async def delete_observations(self, deletions: Iterable[tuple[str, list[str]]]) -> None:
        async with self._one_writer:
            nodes = (await self._load()).nodes
            ids = [
                memory_id
                for name, texts in deletions
                for text, memory_id in (nodes[name].observed if name in nodes else ())
                if text in texts
            ]
            await self._delete(ids)

    async def delete_relations(self, relations: Iterable[Relation]) -> None:
        async with self._one_writer:
            known = (await self._load()).relations
            await self._delete([memory_id for relation in relations for memory_id in known.get(relation, [])])

    async def read(self) -> Graph:
        """All of it, relations between unknown names included."""
        loaded = await self._load()
        return Graph(entities=[node.entity for node in loaded.nodes.values()], relations=list(loaded.relations))

    async def search(self, query: str) -> Graph:
        """Entities whose name, type or observations contain the text, whatever its case."""
        text = query.lower()
        return (await self._load()).view(
            lambda e: any(text in each.lower() for each in (e.name, e.entityType, *e.observations))
        )

    async def open(self, names: Iterable[str]) -> Graph:
        """The entities of these names."""
        wanted = set(names)
        return (await self._load()).view(lambda entity: entity.name in wanted)

    async def _add_entity(self, entity: Entity) -> None:
        about: dict[str, JSON] = {_KIND: "entity", "name": entity.name, "entityType": entity.entityType}
        memory = await self._add(f"{entity.name} ({entity.entityType})", about)
        node = _Node(Entity(name=entity.name, entityType=entity.entityType, observations=[]), [memory.id])
        for text in entity.observations:
            await self._add_observation(node, text)

    async def _observe(self, node: _Node, contents: Iterable[str]) -> list[str]:
        fresh = [text for text in dict.fromkeys(contents) if text not in node.entity.observations]
        for text in fresh:
            await self._add_observation(node, text)
        node.entity.observations += fresh
        return fresh

    async def _add_observation(self, node: _Node, text: str) -> None:
        name = node.entity.name
        memory = await self._add(f"{name}: {text}", {_KIND: "observation", "name": name, "observation": text})
        await self._link(node.ids[0], memory.id, "observation")

    async def _add_relation(self, relation: Relation, loaded: _Loaded) -> None:
        values = relation.model_dump(by_alias=True)
        text = f"{relation.source} {relation.relationType} {relation.target}"
        memory = await self._add(text, {_KIND: "relation", **values})
        if relation.source in loaded.nodes:
            await self._link(loaded.nodes[relation.source].ids[0], memory.id, relation.relationType)
        if relation.target in loaded.nodes:
            await self._link(memory.id, loaded.nodes[relation.target].ids[0], relation.relationType)

    async def _add(self, content: str, metadata: dict[str, JSON]) -> Memory:
        return await self._memory.add_memory(content, "semantic", _SOURCE, metadata, **self._whose.scope())

    async def _link(self, one: int, other: int, kind: str) -> None:
        named = kind if kind.strip() else "related_to"
        await self._memory.add_memory_association(one, other, named, agent=self._whose.agent, user=self._whose.user)

    async def _delete(self, ids: Sequence[int]) -> None:
        if ids:
            await self._memory.delete(list(dict.fromkeys(ids)), **self._whose.scope())

    async def _load(self) -> _Loaded:
        loaded, after = _Loaded(), 0
        where = {"metadata": {_KIND: ["entity", "observation", "relation"]}, "source": _SOURCE}
        while page := await self._memory.list_memories(_PAGE, after, where=where, **self._whose.scope()):
            for memory in page:
                _take(loaded, memory)
            after = page[-1].id
        return loaded


def _take(loaded: _Loaded, memory: Memory) -> None:
    about = memory.metadata
    kind: Literal["entity", "observation", "relation"] = about[_KIND]
    if kind == "relation":
        loaded.relations.setdefault(Relation.model_validate(about), []).append(memory.id)
        return
    if kind == "entity":
        # Two processes may have made the same entity at the same moment: the older one counts, both go together.
        entity = Entity(name=about["name"], entityType=about["entityType"], observations=[])
        loaded.nodes.setdefault(about["name"], _Node(entity)).ids.append(memory.id)
        return
    node = loaded.nodes.get(about["name"])
    if node is not None:
        node.observed.append((about["observation"], memory.id))
        node.entity.observations.append(about["observation"])
