"""The graph of memories: associations, lineage, replacements, and the names that memories mention."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Final

from sqlalchemy import or_, select

from memoranda.dashboard.results import EntityNode, MemoryEdge, MemoryGraph, MemoryNode
from memoranda.storage.base import ReadTransaction, chunked
from memoranda.storage.read import find_memories, get_memories, related_memories, require_memories
from memoranda.storage.rows import in_scope
from memoranda.storage.schema import associations, lineage, memories
from memoranda.types import EVERYTHING, Memory, Scope, utc_now

_M = memories.c
_TEXT: Final = 160
_DEPTH: Final = 2
_MAX_ENTITIES: Final = 500


def read_graph(tx: ReadTransaction, scope: Scope, *, around: int | None, limit: int) -> MemoryGraph:
    """Return the newest memories of a scope, linked ones first, or the neighbourhood of one memory."""
    found = _linked(tx, scope, limit) if around is None else _neighbourhood(tx, scope, around)
    chosen = found[:limit]
    ids = {memory.id for memory in chosen}
    nodes = tuple(
        MemoryNode(each.id, each.content[:_TEXT], each.type, each.user, each.importance, state_of(each))
        for each in chosen
    )
    return MemoryGraph(nodes, tuple(_edges(tx, chosen, ids)), tuple(_entities(chosen)), len(found) > limit)


def state_of(memory: Memory) -> str:
    """Return the state of a memory in one word."""
    if memory.quarantined_at is not None:
        return "quarantined"
    if memory.archived_at is not None:
        return "archived"
    if memory.superseded_by is not None:
        return "superseded"
    return "expired" if memory.has_expired(utc_now()) else "current"


def _linked(tx: ReadTransaction, scope: Scope, limit: int) -> list[Memory]:
    """Return memories that have a link, then the newest others."""
    ends: set[int] = set()
    for table, columns in ((associations, ("memory_id", "related_memory_id")), (lineage, ("derived_id", "source_id"))):
        for column in columns:
            query = select(table.c[column]).join(memories, memories.c.id == table.c[column]).where(*in_scope(scope))
            ends.update(tx.scalars(query.order_by(table.c[column].desc()).limit(limit)))
    replaced = select(_M.id, _M.superseded_by).where(_M.superseded_by.is_not(None), *in_scope(scope))
    for row in tx.execute(replaced.order_by(_M.id.desc()).limit(limit)):
        ends.update(row)
    linked = [each for each in get_memories(tx, scope, sorted(ends, reverse=True)) if each is not None]
    known = {each.id for each in linked}
    newest = find_memories(tx, scope, EVERYTHING, limit + 1, newest_first=True)
    return linked + [each for each in newest if each.id not in known]


def _neighbourhood(tx: ReadTransaction, scope: Scope, around: int) -> list[Memory]:
    require_memories(tx, scope, [around])
    ids = {around, *(each.memory.id for each in related_memories(tx, scope, around, None, _DEPTH))}
    for _ in range(_DEPTH):
        for derived, source in _lineage(tx, sorted(ids)):
            ids |= {derived, source}
        replaced = or_(_M.superseded_by.in_(ids), _M.id.in_(ids))
        for row in tx.execute(select(_M.id, _M.superseded_by).where(replaced, *in_scope(scope)).limit(_MAX_ENTITIES)):
            ids |= {each for each in row if each is not None}
    return [each for each in get_memories(tx, scope, sorted(ids)) if each is not None]


def _lineage(tx: ReadTransaction, ids: Sequence[int]) -> Iterator[tuple[int, int]]:
    line = lineage.c
    for part in chunked(ids):
        query = select(line.derived_id, line.source_id).where(or_(line.derived_id.in_(part), line.source_id.in_(part)))
        yield from ((row[0], row[1]) for row in tx.execute(query))


def _edges(tx: ReadTransaction, chosen: Sequence[Memory], ids: set[int]) -> Iterator[MemoryEdge]:
    for part in chunked(sorted(ids)):
        links: list[Any] = list(tx.execute(select(associations).where(associations.c.memory_id.in_(part))))
        yield from (MemoryEdge(row[0], row[1], row[2], row[3]) for row in links if row[1] in ids)
        lines: list[Any] = list(tx.execute(select(lineage).where(lineage.c.derived_id.in_(part))))
        yield from (MemoryEdge(row[0], row[1], row[2], 1.0) for row in lines if row[1] in ids)
    for memory in chosen:
        if memory.superseded_by in ids:
            yield MemoryEdge(memory.superseded_by or 0, memory.id, "replaced", 1.0)


def _entities(chosen: Sequence[Memory]) -> list[EntityNode]:
    """Return the names that at least two memories mention, the most frequent first."""
    mentions: dict[str, dict[int, None]] = defaultdict(dict)
    for memory in chosen:
        for entity in memory.notes.get("entities", ()):
            if entity.get("kind") in ("name", "place", "organisation", "person"):
                mentions[str(entity["text"])][memory.id] = None
    shared = [EntityNode(name, tuple(ids)) for name, ids in mentions.items() if len(ids) > 1]
    return sorted(shared, key=lambda entity: (-len(entity.memories), entity.name))[:_MAX_ENTITIES]
