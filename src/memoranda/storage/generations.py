"""Embedding generations: which model made the vectors, and moving from one model to the next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from memoranda.embedding.base import EmbedderIdentity
from memoranda.errors import Incompatible
from memoranda.storage.base import Generation
from memoranda.storage.connections import Fetch
from memoranda.storage.schema import generations, memories, vectors
from memoranda.storage.tables import chunked
from memoranda.types import FloatArray

_ACTIVE = select(generations).where(generations.c.active == 1)
ACTIVE_ROW = "SELECT id, provider, model, dimension, fingerprint, active FROM generations WHERE active = 1"


def active(connection: Connection) -> Generation | None:
    row = connection.execute(_ACTIVE).first()
    return None if row is None else from_row(row)


def accepted(generation: Generation | None, identity: EmbedderIdentity) -> Generation | None:
    """The generation if this embedder made it; None in a store without vectors yet."""
    if generation is None or _made_by(generation, identity):
        return generation
    raise Incompatible(
        f"the store holds vectors of {generation.provider}:{generation.model} ({generation.dimension} dimensions), "
        f"the embedder is {identity}; they cannot be mixed: open it with the old model, "
        "or move all memories to the new one with reembed()"
    )


def start(connection: Connection, identity: EmbedderIdentity, *, activate: bool) -> Generation:
    """The generation of this embedder, made if it is new."""
    g = generations.c
    same = (g.provider == identity.provider, g.model == identity.model, g.dimension == identity.dimension)
    row = connection.execute(select(generations).where(*same, g.fingerprint == identity.fingerprint)).first()
    if row is not None:
        return from_row(row)
    values = (identity.provider, identity.model, identity.dimension, identity.fingerprint)
    names = ("provider", "model", "dimension", "fingerprint")
    statement = insert(generations).values(dict(zip(names, values, strict=True)) | {"active": int(activate)})
    key = connection.execute(statement).inserted_primary_key
    assert key is not None
    return Generation(key[0], *values, active=activate)


def switch(connection: Connection, generation_id: int) -> bool:
    """Makes this generation the one that answers and drops all others; not while a memory is still missing."""
    if count_missing(connection, generation_id):
        return False
    connection.execute(delete(vectors).where(vectors.c.generation != generation_id))
    connection.execute(delete(generations).where(generations.c.id != generation_id))
    connection.execute(update(generations).values(active=1))
    return True


def missing(connection: Connection, generation_id: int, limit: int) -> list[tuple[int, str]]:
    """(id, content) of memories that this generation has not embedded yet."""
    wanted = select(memories.c.id, memories.c.content).where(_not_in(generation_id)).order_by(memories.c.id)
    return [(row[0], row[1]) for row in connection.execute(wanted.limit(limit))]


def count_missing(connection: Connection, generation_id: int) -> int:
    return connection.execute(select(func.count()).select_from(memories).where(_not_in(generation_id))).scalar_one()


def _not_in(generation_id: int) -> ColumnElement[bool]:
    made = exists().where(vectors.c.memory_id == memories.c.id, vectors.c.generation == generation_id)
    return ~made


def put_vectors(connection: Connection, generation_id: int, made: Sequence[tuple[int, str, FloatArray]]) -> None:
    """Vectors for (id, the content they were made of); a memory changed meanwhile keeps none."""
    for memory_id, content, vector in made:
        current = connection.execute(select(memories.c.content).where(memories.c.id == memory_id)).scalar()
        if current == content:
            row = {"memory_id": memory_id, "generation": generation_id, "data": vector.astype("<f4").tobytes()}
            connection.execute(upsert(vectors).values(row).on_conflict_do_nothing())


def by_hash(fetch: Fetch, generation_id: int, hashes: Sequence[bytes]) -> dict[bytes, bytes]:
    """Vectors already made for these texts: nothing is embedded twice."""
    found: dict[bytes, bytes] = {}
    for part in chunked(hashes):
        found.update(fetch(_by_hash(len(part)), (generation_id, *part)))
    return found


@cache
def _by_hash(count: int) -> str:
    return (
        "SELECT content_hash, data FROM memories JOIN vectors ON vectors.memory_id = memories.id "
        f"WHERE vectors.generation = ? AND content_hash IN ({', '.join('?' * count)})"
    )


def from_row(row: Sequence[Any]) -> Generation:
    return Generation(row[0], row[1], row[2], row[3], row[4], active=bool(row[5]))


def _made_by(generation: Generation, identity: EmbedderIdentity) -> bool:
    mine = (generation.provider, generation.model, generation.dimension, generation.fingerprint)
    return mine == (identity.provider, identity.model, identity.dimension, identity.fingerprint)
