"""Rows → values: what the store answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, or_, select

from recollect.errors import Incompatible, NotFound
from recollect.storage.base import IndexRow, PartitionKey
from recollect.storage.filters import passing
from recollect.storage.lifecycle import only_repeats
from recollect.storage.rows import SELECT_MEMORY, in_partition, in_scope, memory_from_row, name, owned_by, select_by_ids
from recollect.storage.schema import associations, changes, memories, memory_text, vectors
from recollect.types import ANY, Association, Filter, IntArray, Memory, Related, Scope

if TYPE_CHECKING:
    from sqlalchemy import Select

_CHUNK = 500
_MICROS = 1e6
_NEVER = float("inf")
HEAD = "SELECT coalesce(max(seq), 0) FROM changes"


def get_memories(connection: Connection, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
    found: dict[int, Memory] = {}
    wanted, parameters = select_by_ids(scope)
    for start in range(0, len(ids), _CHUNK):
        rows = connection.execute(wanted, {"ids": ids[start : start + _CHUNK], **parameters})
        found.update((row[0], memory_from_row(row)) for row in rows)
    return [found.get(memory_id) for memory_id in ids]


def find_memories(connection: Connection, scope: Scope, where: Filter, limit: int, after: int) -> list[Memory]:
    wanted = SELECT_MEMORY.where(memories.c.id > after, *in_scope(scope), *passing(where))
    return [memory_from_row(row) for row in connection.execute(wanted.order_by(memories.c.id).limit(limit))]


def matching_ids(connection: Connection, scope: Scope, where: Filter) -> IntArray:
    wanted = select(memories.c.id).where(*in_scope(scope), *passing(where)).order_by(memories.c.id)
    return _ids(connection, wanted)


def memory_by_key(connection: Connection, scope: Scope, key: str) -> Memory | None:
    row = connection.execute(SELECT_MEMORY.where(memories.c.key == key, *owned_by(scope))).first()
    return None if row is None else memory_from_row(row)


def related_memories(
    connection: Connection, scope: Scope, memory_id: int, kind: str | None, depth: int
) -> list[Related]:
    """Breadth first: each memory once, at its smallest depth and by its strongest way there."""
    if get_memories(connection, scope, [memory_id]) == [None]:
        raise NotFound(f"no memory {memory_id} in {scope}")
    ways: dict[int, tuple[float, str, int]] = {memory_id: (1.0, "", 0)}
    frontier = [memory_id]
    for level in range(1, depth + 1):
        reached: dict[int, tuple[float, str, int]] = {}
        for link in _links(connection, frontier, kind):
            for here, there in ((link.memory_id, link.related_memory_id), (link.related_memory_id, link.memory_id)):
                if here in ways and ways[here][2] == level - 1 and there not in ways:
                    way = (ways[here][0] * link.strength, link.relationship_type, level)
                    reached[there] = max(reached.get(there, way), way)
        # A way must not lead through a memory that the scope cannot see.
        visible = [memory.id for memory in get_memories(connection, scope, sorted(reached)) if memory]
        ways |= {there: reached[there] for there in visible}
        frontier = visible
    del ways[memory_id]
    found = [memory for memory in get_memories(connection, scope, sorted(ways)) if memory]
    related = [Related(memory, ways[memory.id][1], ways[memory.id][0], ways[memory.id][2]) for memory in found]
    return sorted(related, key=lambda each: (each.depth, -each.strength, each.memory.id))


def _links(connection: Connection, ids: Sequence[int], kind: str | None) -> Iterator[Association]:
    a = associations.c
    for start in range(0, len(ids), _CHUNK):
        part = ids[start : start + _CHUNK]
        wanted = select(associations).where(or_(a.memory_id.in_(part), a.related_memory_id.in_(part)))
        if kind is not None:
            wanted = wanted.where(a.relationship_type == kind)
        yield from (Association(*row) for row in connection.execute(wanted))


def changed_ids(connection: Connection, key: PartitionKey, since: int) -> IntArray:
    c = changes.c
    wanted = select(c.memory_id).distinct().where(c.tenant == key.tenant, c.seq > since).order_by(c.memory_id)
    return _ids(connection, wanted if key.user is ANY else wanted.where(c.user == name(key.user)))


def index_rows(
    connection: Connection, key: PartitionKey, ids: IntArray | None, generation: int | None
) -> Iterator[IndexRow]:
    m = memories.c
    wanted = (
        select(
            m.id, m.agent, m.session, m.speaker, m.valid_from, m.valid_to, m.expires_at, memory_text.c.terms,
            vectors.c.data,
        )
        .select_from(memories)
        .outerjoin(memory_text, memory_text.c.rowid == m.id)
        .outerjoin(vectors, (vectors.c.memory_id == m.id) & (vectors.c.generation == generation))
        .where(*in_partition(key), m.archived_at.is_(None), m.quarantined_at.is_(None), ~only_repeats())
        .order_by(m.id)
    )  # fmt: skip
    if ids is None:
        yield from map(_index_row, connection.execute(wanted))
        return
    for start in range(0, len(ids), _CHUNK):
        part = wanted.where(m.id.in_(ids[start : start + _CHUNK].tolist()))
        yield from map(_index_row, connection.execute(part))


def _index_row(row: Sequence[Any]) -> IndexRow:
    key, agent, session, speaker, start, end, expiry, words, data = row
    if not (isinstance(start, int) and isinstance(words, str | None) and isinstance(data, bytes | None)):
        raise Incompatible(f"memory {key} is damaged: restore a backup")
    return IndexRow(
        key, agent or None, session or None, speaker, start / _MICROS,
        _seconds(end), _seconds(expiry), words or "", data,
    )  # fmt: skip


def _seconds(micros: object) -> float:
    return micros / _MICROS if isinstance(micros, int) else _NEVER


def _ids(connection: Connection, wanted: Select[tuple[int]]) -> IntArray:
    import numpy as np

    return np.fromiter(connection.scalars(wanted), dtype=np.int64)
