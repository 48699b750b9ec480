"""Moving a store from one embedding model to another, while the old one still answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memoranda.embedding.base import Embedder
from memoranda.types import Progress

if TYPE_CHECKING:
    from memoranda.storage.sqlite import SQLiteStore

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
