"""Vectors in Chroma: a server, a folder of its own, or only in memory."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from memoranda.errors import MissingExtra, Unavailable
from memoranda.index.collection import CollectionIndex
from memoranda.types import FloatArray, IntArray

_AT_ONCE = 512
_SEARCH_WIDTH = 768


class ChromaEngine:
    """A `VectorEngine`. With `host` a server, with `path` a folder, else the memory of this process.

    Every partition is a collection of its own. Chroma has no exact search: it searches a graph, and what the graph
    misses of a full answer is fetched and compared here: all scores are exact, the nearest few as good as the graph.
    """

    def __init__(
        self,
        *,
        host: str | None = None,
        port: int | None = None,
        path: str | None = None,
        collection_name: str = "memoranda",
        client: Any = None,
    ) -> None:
        self._name = collection_name
        self._lock = threading.RLock()
        with _translated():
            self._client = client or _client(host, port, path)

    def open(self, store_id: str, partition: str, dimension: int) -> CollectionIndex:
        """The vectors of one partition; what an earlier run left is still there."""
        name = f"{self._prefix(store_id)}-{dimension}-{_digest(partition)}"
        settings = {
            "hnsw": {"space": "cosine", "ef_search": _SEARCH_WIDTH, "ef_construction": 200, "max_neighbors": 32}
        }
        with self._lock, _translated():
            made = self._client.get_or_create_collection(name, configuration=settings, embedding_function=None)
        return CollectionIndex(_ChromaCollection(made, self._lock), dimension)

    def clear(self, store_id: str) -> None:
        """Removes everything that is kept for a store."""
        with self._lock, _translated():
            for found in self._client.list_collections():
                if found.name.startswith(f"{self._prefix(store_id)}-"):
                    self._client.delete_collection(found.name)

    def close(self) -> None:
        """Nothing to let go of: Chroma writes through, and keeps its own process-wide connection."""

    def _prefix(self, store_id: str) -> str:
        return f"{self._name}-{_digest(store_id)}"


class _ChromaCollection:
    """One partition's vectors. Chroma's ids are texts."""

    def __init__(self, collection: Any, lock: threading.RLock) -> None:
        self._collection = collection
        self._lock = lock

    def marks(self) -> dict[int, int]:
        found: dict[int, int] = {}
        while True:
            with self._lock, _translated():
                page = self._collection.get(include=["metadatas"], limit=_AT_ONCE, offset=len(found))
            if not page["ids"]:
                return found
            found |= {int(id): int(kept["mark"]) for id, kept in zip(page["ids"], page["metadatas"], strict=True)}

    def put(self, ids: IntArray, vectors: FloatArray, marks: list[int]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            with self._lock, _translated():
                self._collection.upsert(
                    ids=_names(ids[part]), embeddings=vectors[part], metadatas=[{"mark": mark} for mark in marks[part]]
                )

    def delete(self, ids: IntArray) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            with self._lock, _translated():
                self._collection.delete(ids=_names(ids[start : start + _AT_ONCE]))

    def nearest(
        self,
        query: FloatArray,
        limit: int,
        *,
        among: IntArray | None,
        exact: bool,  # noqa: ARG002 - it has no exact search
    ) -> tuple[IntArray, FloatArray]:
        narrowed = {} if among is None else {"ids": _names(among)}
        with self._lock, _translated():
            found = self._collection.query(
                query_embeddings=query[None], n_results=limit, include=["distances"], **narrowed
            )
        ids = np.array([int(id) for id in found["ids"][0]], dtype=np.int64)
        cosines = 1.0 - np.array(found["distances"][0], dtype=np.float32)
        return (ids, cosines) if len(ids) >= limit else self._completed(query, limit, among, (ids, cosines))

    def _completed(
        self, query: FloatArray, limit: int, among: IntArray | None, found: tuple[IntArray, FloatArray]
    ) -> tuple[IntArray, FloatArray]:
        everything = np.array(list(self.marks()), dtype=np.int64) if among is None else among
        missed = np.setdiff1d(everything, found[0])
        with self._lock, _translated():
            rows = self._collection.get(ids=_names(missed), include=["embeddings"])
        ids = np.array([int(id) for id in rows["ids"]], dtype=np.int64)
        cosines = np.asarray(rows["embeddings"], dtype=np.float32).reshape(len(ids), len(query)) @ query
        ids, cosines = np.concatenate([found[0], ids]), np.concatenate([found[1], cosines])
        best = np.argsort(-cosines, kind="stable")[:limit]
        return ids[best], cosines[best]


def _client(host: str | None, port: int | None, path: str | None) -> Any:
    try:
        chromadb = import_module("chromadb")
    except ModuleNotFoundError as error:
        raise MissingExtra("the vector store 'chroma'", "chroma") from error
    settings = chromadb.Settings(anonymized_telemetry=False)
    if host is not None:
        return chromadb.HttpClient(host=host, port=port or 8000, settings=settings)
    return chromadb.PersistentClient(path, settings=settings) if path else chromadb.EphemeralClient(settings=settings)


def _names(ids: IntArray) -> list[str]:
    return [str(id) for id in ids.tolist()]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@contextmanager
def _translated() -> Iterator[None]:
    """Chroma's errors as ours."""
    try:
        yield
    except MissingExtra:
        raise
    except Exception as error:  # its errors share no base class; the caller is told
        raise Unavailable(f"Chroma cannot be used now: {error}") from error
