"""Embedding generations: which model made the vectors, and moving from one model to the next."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from sqlalchemy import ColumnElement, Connection, delete, exists, func, insert, select, update
from sqlalchemy.dialects.sqlite import insert as upsert

from memoranda.embedding.base import Embedder, EmbedderIdentity, is_instant
from memoranda.errors import Incompatible
from memoranda.memories.changes import Draft, Generation
from memoranda.storage.schema import generations, memories, vectors
from memoranda.storage.sqlite.connections import Fetch, chunked
from memoranda.types import FloatArray, Progress

if TYPE_CHECKING:
    from memoranda.storage.sqlite.store import SQLiteStore


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


_BATCH = 256


class Vectors:
    """The embedder beside the store: which generation it writes, and what it has made before."""

    def __init__(self, store: SQLiteStore, embedder: Embedder | None) -> None:
        self._store = store
        self.embedder = embedder
        self._instant = embedder is not None and is_instant(embedder)
        self._generation: int | None = None

    def generation(self) -> int | None:
        """The generation to search in; None when there are no vectors. `Incompatible` for a foreign model."""
        if self.embedder is None:
            return None
        known = self._store.generation(self.embedder.identity)
        return known.id if known else None

    def attach(self, drafts: Sequence[Draft], progress: Progress | None = None) -> Sequence[Draft]:
        """The same drafts, now with their vectors; unchanged when vector search is off."""
        if self.embedder is None or not drafts:
            return drafts
        generation = self._writable()
        for start in range(0, len(drafts), _BATCH):
            part = drafts[start : start + _BATCH]
            for draft, row in zip(part, self._embed(part, generation), strict=True):
                draft.vector, draft.generation = row, generation
            if progress is not None:
                progress(start + len(part), len(drafts))
        return drafts

    def query(self, text: str) -> FloatArray | None:
        """The vector of a question; None when vector search is off."""
        return None if self.embedder is None else self.embedder.embed([text], kind="query")[0]

    def forget_generation(self) -> None:
        """After a move to another model: what was known of the old one no longer holds."""
        self._generation = None

    def _writable(self) -> int:
        # Looked up once: should another process move the store to another model, the store refuses the old number.
        if self._generation is None:
            assert self.embedder is not None
            identity = self.embedder.identity
            known = self._store.generation(identity) or self._store.start_generation(identity, activate=True)
            self._generation = known.id
        return self._generation

    def _embed(self, drafts: Sequence[Draft], generation: int) -> list[FloatArray]:
        assert self.embedder is not None
        if self._instant:
            return list(self.embedder.embed([draft.content for draft in drafts], kind="passage"))
        import numpy as np

        made = self._store.known_vectors(generation, list({draft.content_hash for draft in drafts}))
        known = {key: np.frombuffer(data, "<f4") for key, data in made.items()}
        missing = {d.content_hash: d.content for d in drafts if d.content_hash not in known}
        if missing:
            fresh = self.embedder.embed(list(missing.values()), kind="passage")
            known.update(zip(missing, fresh, strict=True))
        return [known[draft.content_hash] for draft in drafts]


_BATCH = 256


def reembed(store: SQLiteStore, embedder: Embedder, progress: Progress | None = None) -> int:
    """Every memory through the new model; how many that were. Interrupted, it goes on where it stopped."""
    generation = store.start_generation(embedder.identity, activate=False)
    made = embed_missing(store, embedder, generation.id, progress)
    while not store.switch_generation(generation.id):  # others wrote on meanwhile
        made = embed_missing(store, embedder, generation.id, progress, made)
    return made


def embed_missing(
    store: SQLiteStore, embedder: Embedder, generation: int, progress: Progress | None, made: int = 0
) -> int:
    """How many vectors were made, beside those that had been before."""
    total = made + store.count_without_vector(generation)
    while batch := store.without_vector(generation, limit=_BATCH):
        rows = embedder.embed([content for _, content in batch], kind="passage")
        store.put_vectors(generation, [(key, text, row) for (key, text), row in zip(batch, rows, strict=True)])
        made += len(batch)
        if progress is not None:
            progress(made, max(made, total))
    return made
