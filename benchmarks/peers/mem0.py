"""mem0ai: on its default local store (embedded Qdrant), and on FAISS."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from threading import Lock
from typing import Any

from peers.base import DIMENSION, LIMIT, POSTGRES_URL, Item, Lookup, Query


class _Mem0:
    def __init__(self, folder: Path, lookup: Lookup, store: dict[str, Any]) -> None:
        from mem0 import Memory
        from mem0.embeddings.base import EmbeddingBase

        class LookupEmbedding(EmbeddingBase):  # type: ignore[misc]
            def embed(self, text: str, memory_action: str | None = None) -> list[float]:  # noqa: ARG002
                vector: list[float] = lookup(text).tolist()
                return vector

        # mem0 warns at each start that keyword search is off; the settings line of the report says so.
        logging.getLogger("mem0").setLevel(logging.ERROR)
        self.version = version("mem0ai")
        self._memory = Memory.from_config({"vector_store": store, "history_db_path": str(folder / "history.db")})
        self._memory.embedding_model = LookupEmbedding()
        # Without the lock, writes from eight threads lose rows in the embedded stores and make searches raise.
        self._write_lock: AbstractContextManager[Any] = Lock()

    def add(self, item: Item) -> None:
        with self._write_lock:
            self._memory.add(item.text, user_id=item.user, metadata={"source": "bench"}, infer=False)

    def add_many(self, items: Sequence[Item]) -> None:
        for user, group in groupby(items, key=lambda item: item.user):
            messages = [{"role": "user", "content": item.text} for item in group]
            self._memory.add(messages, user_id=user, metadata={"source": "bench"}, infer=False)

    def search(self, query: Query) -> list[str]:
        found = self._memory.search(query.text, top_k=LIMIT, threshold=0.0, filters={"user_id": query.user})
        return [row["memory"] for row in found["results"]]

    def close(self) -> None:
        self._memory.close()


class Mem0Qdrant(_Mem0):
    """mem0ai with its default: embedded Qdrant in a folder."""

    settings = (
        "infer=False, embedded Qdrant on_disk=True, dense only (BM25 needs a model download), "
        "bulk = add(list), adds behind a lock"
    )

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        config = {"path": str(folder / "qdrant"), "embedding_model_dims": DIMENSION, "on_disk": True}
        super().__init__(folder, lookup, {"provider": "qdrant", "config": config})


class Mem0Faiss(_Mem0):
    """mem0ai on its FAISS store."""

    settings = "infer=False, FAISS inner product on unit vectors, dense only, bulk = add(list), adds behind a lock"

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        config = {
            "path": str(folder / "faiss"),
            "embedding_model_dims": DIMENSION,
            "distance_strategy": "inner_product",
        }
        super().__init__(folder, lookup, {"provider": "faiss", "config": config})


class Mem0Postgres(_Mem0):
    """mem0ai on a PostgreSQL server with pgvector, as it is by default."""

    settings = "infer=False, pgvector with its HNSW index, bulk = add(list)"
    hnsw = True

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        config = {
            "connection_string": os.environ[POSTGRES_URL],
            "embedding_model_dims": DIMENSION,
            "hnsw": self.hnsw,
            "maxconn": 32,
        }
        super().__init__(folder, lookup, {"provider": "pgvector", "config": config})
        self._write_lock = nullcontext()


class Mem0PostgresExact(Mem0Postgres):
    """mem0ai on a PostgreSQL server with pgvector, set up to find the true neighbours, and as fast as we could.

    It makes no index by which the rows of a user are found, so this adds one.
    """

    settings = "infer=False, pgvector with hnsw=False, an index on payload->>'user_id' that we added, bulk = add(list)"
    hnsw = False

    def __init__(self, folder: Path, lookup: Lookup) -> None:
        import psycopg

        super().__init__(folder, lookup)
        store = self._memory.vector_store
        store._ensure_collection()
        with psycopg.connect(os.environ[POSTGRES_URL], autocommit=True) as connection:
            name = store.collection_name
            connection.execute(f"CREATE INDEX IF NOT EXISTS {name}_user ON {name} ((payload->>'user_id'))")
