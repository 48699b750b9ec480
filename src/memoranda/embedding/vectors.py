"""Embed memories, and keep track of generations: which model made the vectors of a store."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

import numpy as np
from sqlalchemy import ColumnElement, and_, delete, exists, func, insert, select, update

from memoranda.embedding.base import (
    CachesByTenant,
    Embedder,
    EmbedderIdentity,
    InputKind,
    find_sentence_embedder,
    is_instant,
    pack_sentences,
)
from memoranda.errors import Incompatible, MemorandaError, Unavailable
from memoranda.storage.base import Generation, ReadTransaction, Row, Store, Transaction
from memoranda.storage.changes import NewMemory
from memoranda.storage.schema import generations, memories, vectors
from memoranda.text.terms import content_hash
from memoranda.types import ANY, FloatArray, Memory, Progress

_G = generations.c
_BATCH = 256
_Made: TypeAlias = "tuple[FloatArray, bytes | None]"
"""The vector of a text, and the packed ones of its sentences; None from a model that gives none."""


class Vectors:
    """The embedder of one store: which generation it writes, and which vectors exist already."""

    def __init__(self, store: Store, embedder: Embedder | None) -> None:
        self._store = store
        self.embedder = embedder
        self._by_tenant = embedder if isinstance(embedder, CachesByTenant) else None
        self._instant = embedder is not None and is_instant(embedder)
        self.gives_sentences = find_sentence_embedder(embedder) is not None
        self._generation: int | None = None
        self.last_generation: int | None = None
        """The generation that was searched last."""

    def generation(self) -> int | None:
        """Return the generation to search in; None without vectors. `Incompatible` when another model made them."""
        return None if self.embedder is None else self.choose(self._store.active_generation())

    def choose(self, answering: Generation | None) -> int | None:
        """Like `generation`, of a store in which this one answers."""
        if self.embedder is None:
            return None
        active = require_same_model(answering, self.embedder.identity)
        self.last_generation = active.id if active else None
        return self.last_generation

    def is_last(self, active: Generation | None) -> bool:
        """Return whether this generation, which answers now, is the one that `generation` returned last."""
        return self.embedder is None or (active.id if active else None) == self.last_generation

    def attach(self, new: Sequence[NewMemory], progress: Progress | None = None) -> Sequence[NewMemory]:
        """Set the vectors of new memories that have a text and return all; unchanged when vector search is off."""
        texts = [each for each in new if each.content]
        if self.embedder is None or not texts:
            return new
        generation = self._writable_generation()
        for start in range(0, len(texts), _BATCH):
            part = texts[start : start + _BATCH]
            for each, (vector, sentences) in zip(part, self._embed(part, generation), strict=True):
                each.vector, each.sentences, each.generation = vector, sentences, generation
            if progress is not None:
                progress(start + len(part), len(texts))
        return new

    def attach_stored(self, memories: Sequence[Memory]) -> None:
        """Set `embedding` of memories that were read, where the store holds the vector of their text."""
        active = self._store.active_generation()
        if active is None:
            return
        for tenant in {memory.tenant for memory in memories}:
            hashed = [(content_hash(memory.content), memory) for memory in memories if memory.tenant == tenant]
            stored = self._store.known_vectors(tenant, active.id, [key for key, _ in hashed])
            for key, memory in hashed:
                if key in stored:
                    memory.with_embedding(np.frombuffer(stored[key][0], "<f4"))

    def embed_query(self, tenant: str, text: str) -> FloatArray | None:
        """Return the vector of a tenant's question; None when vector search is off."""
        return None if self.embedder is None else embed_checked(self._embedder_for(tenant), [text], "query")[0]

    def embed_passages(self, tenant: str, texts: Sequence[str]) -> FloatArray:
        """Return the vectors of a tenant's texts, one row each; vector search must be on."""
        return embed_checked(self._embedder_for(tenant), list(texts), "passage")

    def reembed(self, progress: Progress | None = None) -> int:
        """Embed every memory with this embedder; return how many. Interrupted, it continues where it stopped."""
        if self.embedder is None:
            return 0
        return self.end_reembedding(self._new_generation(self.embedder), progress)

    def begin_reembedding(self) -> tuple[int | None, list[int]]:
        """Return the generation of this embedder, and the ids of the memories that it lacks; None without embedder."""
        if self.embedder is None:
            return None, []
        generation = self._new_generation(self.embedder)
        missing = _not_embedded(generation, sentences=self.gives_sentences)
        query = select(memories.c.id).where(missing).order_by(memories.c.id)
        return generation, self._store.read(lambda tx: list(tx.scalars(query)), tenant=ANY)

    def end_reembedding(self, generation: int, progress: Progress | None) -> int:
        """Embed what is left, and let the generation answer; return how many memories were left."""
        made = self.embed_missing(generation, progress)
        while not self._store.write(lambda tx: switch_generation(tx, generation), tenant=ANY):  # others went on writing
            made = self.embed_missing(generation, progress, made)
        self._generation = None
        return made

    def _new_generation(self, embedder: Embedder) -> int:
        return self._store.write(lambda tx: start_generation(tx, embedder.identity, activate=False)).id

    def embed_missing(
        self,
        generation: int,
        progress: Progress | None,
        made: int = 0,
        *,
        within: tuple[int, int] | None = None,
        sentences: bool = True,
    ) -> int:
        """Embed the memories that this generation lacks; return how many vectors it got, `made` included.

        Args:
            generation: The number of the generation.
            progress: Called with (done, total).
            made: How many it got before.
            within: Only memories with ids from the first to the last of these.
            sentences: Whether those that only lack the vectors of their sentences are embedded too.
        """
        assert self.embedder is not None
        missing = _not_embedded(generation, sentences=sentences and self.gives_sentences)
        total = made + self._store.read(lambda tx: _count(tx, missing), tenant=ANY)
        while batch := self._store.read(lambda tx: _read_texts(tx, missing, _BATCH, within), tenant=ANY):
            fresh = embed_stored(self.embedder, [content for _, content in batch])
            rows = [(memory_id, text, *made_of) for (memory_id, text), made_of in zip(batch, fresh, strict=True)]
            self._store.write(partial(put_vectors, generation=generation, made=rows), tenant=ANY)
            made += len(batch)
            if progress is not None:
                progress(made, max(made, total))
        return made

    def _writable_generation(self) -> int:
        # Looked up once: should another process move the store to another model, the store refuses the old number.
        if self._generation is None:
            assert self.embedder is not None
            identity = self.embedder.identity
            active = require_same_model(self._store.active_generation(), identity)
            if active is None:
                active = self._store.write(lambda tx: start_generation(tx, identity, activate=True))
            self._generation = active.id
        return self._generation

    def _embed(self, new: Sequence[NewMemory], generation: int) -> list[_Made]:
        assert self.embedder is not None
        if self._instant:
            return embed_stored(self.embedder, [each.content for each in new])
        tenants = {each.scope.tenant for each in new}
        known = {tenant: self._embed_for(tenant, new, generation) for tenant in tenants}
        return [known[each.scope.tenant][each.content_hash] for each in new]

    def _embed_for(self, tenant: str, new: Sequence[NewMemory], generation: int) -> dict[bytes, _Made]:
        """Return the vectors of a tenant's texts by hash. What other tenants have stored saves it no time."""
        texts = {each.content_hash: each.content for each in new if each.scope.tenant == tenant}
        stored = self._store.known_vectors(tenant, generation, list(texts))
        known: dict[bytes, _Made] = {
            key: (np.frombuffer(data, "<f4"), sentences) for key, (data, sentences) in stored.items()
        }
        missing = {key: text for key, text in texts.items() if key not in known}
        if missing:
            # The cache of a tenant has no sentences, and what is stored is seldom embedded twice.
            embedder = self.embedder if self.embedder and self.gives_sentences else self._embedder_for(tenant)
            fresh = embed_stored(embedder, list(missing.values()))
            known.update(zip(missing, fresh, strict=True))
        return known

    def _embedder_for(self, tenant: str) -> Embedder:
        assert self.embedder is not None
        return self.embedder if self._by_tenant is None else self._by_tenant.for_tenant(tenant)


def embed_stored(embedder: Embedder, texts: Sequence[str]) -> list[_Made]:
    """Return the vectors of texts to store, each with the packed ones of its sentences, if the embedder gives them."""
    by_sentence = find_sentence_embedder(embedder)
    if by_sentence is None:
        return [(vector, None) for vector in embed_checked(embedder, texts, "passage")]
    sentences: list[bytes | None] = []

    def embed() -> FloatArray:
        rows = [_check_rows(each, embedder.identity.dimension) for each in by_sentence.embed_sentences(texts)]
        sentences.extend(pack_sentences(each[1:]) for each in rows)
        return np.stack([each[0] for each in rows])

    return list(zip(_check(embedder.identity, len(texts), embed), sentences, strict=True))


def embed_checked(embedder: Embedder, texts: Sequence[str], kind: InputKind) -> FloatArray:
    """Return the vectors of the texts. An embedder may be anybody's: what it returns or raises is checked."""
    return _check(embedder.identity, len(texts), lambda: embedder.embed(texts, kind=kind))


def _check_rows(returned: object, dimension: int) -> FloatArray:
    """Return the vectors of a text and of its sentences if they are a matrix of directions."""
    rows: FloatArray = np.asarray(returned, np.float32)
    if rows.ndim != 2 or not len(rows) or rows.shape[1] != dimension:
        raise ValueError(f"rows of shape {rows.shape} for a text and its sentences, not of {dimension} numbers")
    if not np.isfinite(rows).all() or not rows[1:].any(axis=1).all():
        raise ValueError("the vector of a sentence has NaN or infinity, or is zero")
    return rows


def _check(identity: EmbedderIdentity, count: int, embed: Callable[[], object]) -> FloatArray:
    try:
        vectors: FloatArray = np.asarray(embed(), np.float32)
    except MemorandaError:
        raise
    except (OSError, MemoryError) as error:
        raise Unavailable(f"the embedder {identity} failed: {str(error) or 'out of memory'}") from error
    except (TypeError, ValueError) as error:
        raise Incompatible(f"the embedder {identity} failed, or returned no numbers: {error}") from error
    expected = (count, identity.dimension)
    if vectors.shape != expected:
        raise Incompatible(f"the embedder {identity} returned an array of shape {vectors.shape}, not {expected}")
    if not np.isfinite(vectors).all():
        raise Incompatible(f"the embedder {identity} returned a vector with NaN or infinity")
    return vectors


def require_same_model(generation: Generation | None, identity: EmbedderIdentity) -> Generation | None:
    """Return the generation if this embedder made it; None in a store without vectors."""
    if generation is None or _is_made_by(generation, identity):
        return generation
    stored = f"{generation.provider}:{generation.model} ({generation.dimension} dimensions)"
    name = "another version of it" if stored == str(identity) else str(identity)
    raise Incompatible(
        f"the store holds vectors of {stored}, the embedder is {name}; they cannot be mixed: open it with the "
        "old model, or move all memories to the new one with reembed(), in a shell `memoranda reembed`",
        status=409,  # nothing is wrong with the server: its operator decides, and every caller may read what to do
    )


def active_generation(tx: ReadTransaction) -> Generation | None:
    row = tx.execute(select(generations).where(_G.active == 1)).first()
    return None if row is None else _generation(row)


def start_generation(tx: Transaction, identity: EmbedderIdentity, *, activate: bool) -> Generation:
    """Return the generation of this embedder, created if it is new; with `activate`, the one that answers."""
    if activate and (active := require_same_model(active_generation(tx), identity)):
        return active
    same_model = (_G.provider == identity.provider, _G.model == identity.model, _G.dimension == identity.dimension)
    row = tx.execute(select(generations).where(*same_model, _G.fingerprint == identity.fingerprint)).first()
    if row is not None:
        return _generation(row)
    columns = ("provider", "model", "dimension", "fingerprint")
    values = {column: getattr(identity, column) for column in columns}
    key = tx.execute(insert(generations).values(values | {"active": int(activate)})).inserted_primary_key
    assert key is not None
    return Generation(key[0], **values, active=activate)


def switch_generation(tx: Transaction, generation: int) -> bool:
    """Let this generation answer and drop all others; False, and no change, while memories are missing from it."""
    if _count(tx, _not_embedded(generation)):
        return False
    tx.execute(delete(vectors).where(vectors.c.generation != generation))
    tx.execute(delete(generations).where(_G.id != generation))
    tx.execute(update(generations).values(active=1))
    return True


def _read_texts(
    tx: ReadTransaction, missing: ColumnElement[bool], limit: int, within: tuple[int, int] | None = None
) -> list[tuple[int, str]]:
    """Return (id, content) of the first memories that a generation has not embedded yet."""
    query = select(memories.c.id, memories.c.content).where(missing).order_by(memories.c.id)
    if within is not None:
        query = query.where(memories.c.id.between(*within))
    return [(row[0], row[1]) for row in tx.execute(query.limit(limit))]


def _count(tx: ReadTransaction, missing: ColumnElement[bool]) -> int:
    return int(tx.execute(select(func.count()).select_from(memories).where(missing)).scalar_one())


def put_vectors(tx: Transaction, generation: int, made: Sequence[tuple[int, str, FloatArray, bytes | None]]) -> None:
    """Write vectors for (id, the content they were made from); skip a memory whose content has changed since."""
    for memory_id, content, vector, sentences in made:
        if tx.execute(select(memories.c.content).where(memories.c.id == memory_id)).scalar() == content:
            row = {"memory_id": memory_id, "generation": generation, "sentences": sentences}
            row["data"] = vector.astype("<f4").tobytes()
            tx.upsert(vectors, [row], key=("memory_id", "generation"), update=("data", "sentences"))


def _not_embedded(generation: int, *, sentences: bool = False) -> ColumnElement[bool]:
    """Return the condition on memories without a vector; with `sentences`, also on those that lack their sentences'."""
    embedded = exists().where(vectors.c.memory_id == memories.c.id, vectors.c.generation == generation)
    if sentences:
        embedded = embedded.where(vectors.c.sentences.is_not(None))
    return and_(memories.c.content != "", ~embedded)  # an item that is not searched has no text


def _generation(row: Row) -> Generation:
    return Generation(row[0], row[1], row[2], row[3], row[4], active=bool(row[5]))


def _is_made_by(generation: Generation, identity: EmbedderIdentity) -> bool:
    columns = ("provider", "model", "dimension", "fingerprint")
    return all(getattr(generation, column) == getattr(identity, column) for column in columns)
