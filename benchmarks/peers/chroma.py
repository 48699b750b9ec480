"""chromadb: a persistent client, one collection, the user as metadata."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import numpy as np

from peers.base import LIMIT, Item, Lookup, Query


class Chroma:
    """chromadb's embedded engine in a folder."""

    settings = (
        "PersistentClient, one collection, HNSW cosine, where={user}, dense only, vectors given, bulk = add(list)"
    )

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        import chromadb
        from chromadb.config import Settings

        self.version = chromadb.__version__
        self._lookup = lookup
        self._ids = count()
        self._client = chromadb.PersistentClient(str(folder / "chroma"), Settings(anonymized_telemetry=False))
        self._collection = self._client.create_collection(
            "memories", embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
        )

    def add(self, item: Item) -> None:
        self.add_many([item])

    def add_many(self, items: Sequence[Item]) -> None:
        self._collection.add(
            ids=[str(next(self._ids)) for _ in items],
            embeddings=np.stack([self._lookup(item.text) for item in items]),
            documents=[item.text for item in items],
            metadatas=[{"user": item.user, "source": "bench"} for item in items],
        )

    def search(self, query: Query) -> list[str]:
        found = self._collection.query(
            query_embeddings=[self._lookup(query.text)], n_results=LIMIT, where={"user": query.user}
        )
        return list(found["documents"][0])

    def close(self) -> None:
        """The client has nothing to close."""
