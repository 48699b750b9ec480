"""Drafts → drafts with vectors. Runs before any transaction opens; nothing is embedded twice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memoranda.embedding.base import Embedder, is_instant
from memoranda.storage.base import Draft
from memoranda.types import FloatArray, Progress

if TYPE_CHECKING:
    from memoranda.storage.sqlite import SQLiteStore

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
