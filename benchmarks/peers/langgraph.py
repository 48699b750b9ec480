"""LangGraph's InMemoryStore: keeps nothing on disk."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from itertools import count
from pathlib import Path

from peers.base import DIMENSION, LIMIT, Item, Lookup, Query


class LangGraph:
    """LangGraph's in-memory store with its vector index."""

    settings = (
        "InMemoryStore with index and numpy, namespace per user, dense only, nothing on disk, bulk = batch(PutOps)"
    )

    def __init__(self, folder: Path, lookup: Lookup) -> None:  # noqa: ARG002
        from langgraph.store.base import PutOp
        from langgraph.store.memory import InMemoryStore

        def embed(texts: Sequence[str]) -> list[list[float]]:
            return [lookup(text).tolist() for text in texts]

        self.version = version("langgraph-checkpoint")
        self._ids = count()
        self._put_op = PutOp
        self._store = InMemoryStore(index={"dims": DIMENSION, "embed": embed, "fields": ["text"]})

    def add(self, item: Item) -> None:
        self._store.put((item.user,), str(next(self._ids)), {"text": item.text, "source": "bench"})

    def add_many(self, items: Sequence[Item]) -> None:
        self._store.batch(
            [self._put_op((item.user,), str(next(self._ids)), {"text": item.text, "source": "bench"}) for item in items]
        )

    def search(self, query: Query) -> list[str]:
        return [hit.value["text"] for hit in self._store.search((query.user,), query=query.text, limit=LIMIT)]

    def close(self) -> None:
        """Nothing to close: the store is in memory."""
