"""Memoranda, through its public API."""

from __future__ import annotations

import os
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby
from pathlib import Path

import numpy as np

from peers.base import DIMENSION, LIMIT, POSTGRES_URL, FloatArray, Item, Lookup, Query

_IMPORTANCE = 0.5
"""A fixed importance, because no peer computes one: reading a text is not part of the engine's cost."""


class Ours:
    """Memoranda on its default store, one SQLite file."""

    settings = "SQLite file, every acknowledged write synced, hybrid (lexical + dense), bulk = add_memories(list)"

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        self._open(f"sqlite:///{folder / 'memories.db'}", lookup)

    def _open(self, url: str, lookup: Lookup) -> None:
        from memoranda import MemoryConfig, MemoryManager

        self.version = _version()
        # A server has no file beside it for the key of receipts.
        config = MemoryConfig(db_url=url, audit_key=None if url.startswith("sqlite") else "a key for measurements")
        self._manager = MemoryManager(config, embedder=LookupEmbedder(lookup))

    def add(self, item: Item) -> None:
        self._manager.add_memory(
            item.text, "semantic", source="bench", metadata={}, user=item.user, importance=_IMPORTANCE
        )

    def add_many(self, items: Sequence[Item]) -> None:
        for user, group in groupby(items, key=lambda item: item.user):
            texts = [item.text for item in group]
            self._manager.add_memories(texts, memory_type="semantic", source="bench", user=user, importance=_IMPORTANCE)

    def search(self, query: Query) -> list[str]:
        return [hit.content for hit in self._manager.recall(query.text, user=query.user, limit=LIMIT)]

    def write_ledger(self) -> None:
        """Write the recalls that wait for a moment without any."""
        self._manager._components.ledger.write()

    def close(self) -> None:
        self._manager.close()


class OursPostgres(Ours):
    """Memoranda on a PostgreSQL server."""

    settings = "PostgreSQL, synchronous_commit=on, hybrid (lexical + dense), bulk = add_memories(list)"

    def __init__(self, folder: Path, lookup: Lookup) -> None:  # noqa: ARG002
        self._open(os.environ[POSTGRES_URL], lookup)


class LookupEmbedder:
    """Returns precomputed vectors, so that only the engine is measured."""

    instant = True
    """A lookup costs nothing, so the store is not searched for existing vectors first."""

    def __init__(self, lookup: Lookup) -> None:
        from memoranda.embedding.base import EmbedderIdentity

        self.identity = EmbedderIdentity(provider="benchmark", model="lookup", dimension=DIMENSION)
        self._lookup = lookup

    def embed(self, texts: Sequence[str], *, kind: str) -> FloatArray:  # noqa: ARG002
        return np.stack([self._lookup(text) for text in texts])


def _version() -> str:
    try:
        return version("memoranda")
    except PackageNotFoundError:
        return "checkout"
