"""LangGraph's stores: in memory, which keeps nothing on disk, and on PostgreSQL."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peers.base import DIMENSION, LIMIT, POSTGRES_URL, Item, Lookup, Query


class LangGraph:
    """LangGraph's in-memory store with its vector index."""

    settings = (
        "InMemoryStore with index and numpy, namespace per user, dense only, nothing on disk, bulk = batch(PutOps)"
    )

    def __init__(self, folder: Path, lookup: Lookup) -> None:  # noqa: ARG002
        from langgraph.store.base import PutOp
        from langgraph.store.memory import InMemoryStore

        self.version = version("langgraph-checkpoint")
        self._put_op = PutOp
        self._store: Any = InMemoryStore(index={"dims": DIMENSION, "embed": _embed_with(lookup), "fields": ["text"]})

    def add(self, item: Item) -> None:
        self._store.put((item.user,), _key(item), {"text": item.text, "source": "bench"})

    def add_many(self, items: Sequence[Item]) -> None:
        self._store.batch(
            [self._put_op((item.user,), _key(item), {"text": item.text, "source": "bench"}) for item in items]
        )

    def search(self, query: Query) -> list[str]:
        return [hit.value["text"] for hit in self._store.search((query.user,), query=query.text, limit=LIMIT)]

    def close(self) -> None:
        """Nothing to close: the store is in memory."""


class LangGraphPostgres(LangGraph):
    """LangGraph's store on a PostgreSQL server with pgvector."""

    settings = "PostgresStore with a pool of 32 and its default index (HNSW), namespace per user, bulk = batch(PutOps)"

    def __init__(self, folder: Path, lookup: Lookup) -> None:  # noqa: ARG002
        from langgraph.store.base import PutOp
        from langgraph.store.postgres import PostgresStore

        self.version = version("langgraph-checkpoint-postgres")
        self._put_op = PutOp
        self._context = PostgresStore.from_conn_string(
            os.environ[POSTGRES_URL],
            pool_config={"min_size": 1, "max_size": 32},
            index={"dims": DIMENSION, "embed": _embed_with(lookup), "fields": ["text"]},
        )
        self._store = self._context.__enter__()
        self._store.setup()

    def close(self) -> None:
        self._context.__exit__(None, None, None)


def _key(item: Item) -> str:
    """Return the number of an item, with which its text ends."""
    return item.text.rpartition(" ")[2]


def _embed_with(lookup: Lookup) -> Callable[[Sequence[str]], list[list[float]]]:
    return lambda texts: [lookup(text).tolist() for text in texts]
