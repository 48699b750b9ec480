"""Moving a store from one embedding model to another, while the old one still answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.embedding.base import Embedder
from recollect.types import Progress

if TYPE_CHECKING:
    from recollect.storage.sqlite import SQLiteStore

_BATCH = 256


def reembed(store: SQLiteStore, embedder: Embedder, progress: Progress | None = None) -> int:
    """Every memory through the new model; how many that were. Interrupted, it goes on where it stopped."""
    generation = store.start_generation(embedder.identity, activate=False)
    made, total = 0, store.count_without_vector(generation.id)
    while True:
        batch = store.without_vector(generation.id, limit=_BATCH)
        if batch:
            rows = embedder.embed([content for _, content in batch], kind="passage")
            store.put_vectors(generation.id, [(key, text, row) for (key, text), row in zip(batch, rows, strict=True)])
            made += len(batch)
            if progress is not None:
                progress(made, max(total, made))
        elif store.switch_generation(generation.id):
            return made
