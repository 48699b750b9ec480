"""Vectors in Chroma: on a server, in a folder, or in memory only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

import numpy as np

from memoranda.errors import MissingExtra, Unavailable
from memoranda.index.collection import CollectionIndex, digest
from memoranda.types import FloatArray, IntArray

_BATCH_SIZE = 512
_SEARCH_WIDTH = 768


class ChromaEngine:
    """A `VectorEngine` over Chroma. Every partition is a collection.

    Chroma only searches a graph. When the graph returns fewer rows than requested, the missing ones are fetched and
    compared here: all scores are exact, and the nearest few are as good as the graph finds them.
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
        """Connect to a server with `host`, to a folder with `path`; else use the memory of this process.

        Args:
            host: The host name of a server.
            port: The port of the server; 8000 when None.
            path: The folder of the data.
            collection_name: The prefix of all collections.
            client: A ready Chroma client, used in place of all of these.
        """
        self._name = collection_name
        self._lock = threading.RLock()
        with _translate_errors():
            self._client = client or _open_client(host, port, path)

    def open(self, store_id: str, partition: str, dimension: int) -> CollectionIndex:
        """Return the vectors of one partition, with those of earlier runs."""
        name = f"{self._prefix(store_id)}-{dimension}-{digest(partition, size=8)}"
        settings = {
            "hnsw": {"space": "cosine", "ef_search": _SEARCH_WIDTH, "ef_construction": 200, "max_neighbors": 32}
        }
        with self._lock, _translate_errors():
            collection = self._client.get_or_create_collection(name, configuration=settings, embedding_function=None)
        return CollectionIndex(_ChromaCollection(collection, self._lock), dimension)

    def clear(self, store_id: str) -> None:
        """Remove all vectors of a store."""
        with self._lock, _translate_errors():
            for found in self._client.list_collections():
                if found.name.startswith(f"{self._prefix(store_id)}-"):
                    self._client.delete_collection(found.name)

    def close(self) -> None:
        """Do nothing: Chroma writes at once, and manages one connection per process itself."""

    def _prefix(self, store_id: str) -> str:
        return f"{self._name}-{digest(store_id, size=8)}"


class _ChromaCollection:
    """The vectors of one partition. Chroma's ids are strings."""

    def __init__(self, collection: Any, lock: threading.RLock) -> None:
        self._collection = collection
        self._lock = lock

    def checksums(self) -> dict[int, int]:
        found: dict[int, int] = {}
        while True:
            with self._lock, _translate_errors():
                page = self._collection.get(include=["metadatas"], limit=_BATCH_SIZE, offset=len(found))
            if not page["ids"]:
                return found
            found |= {
                int(id): int(metadata["mark"]) for id, metadata in zip(page["ids"], page["metadatas"], strict=True)
            }

    def put(self, ids: IntArray, vectors: FloatArray, checksums: list[int]) -> None:
        for start in range(0, len(ids), _BATCH_SIZE):
            part = slice(start, start + _BATCH_SIZE)
            with self._lock, _translate_errors():
                self._collection.upsert(
                    ids=_to_strings(ids[part]),
                    embeddings=vectors[part],
                    metadatas=[{"mark": checksum} for checksum in checksums[part]],
                )

    def delete(self, ids: IntArray) -> None:
        for start in range(0, len(ids), _BATCH_SIZE):
            with self._lock, _translate_errors():
                self._collection.delete(ids=_to_strings(ids[start : start + _BATCH_SIZE]))

    def nearest(
        self,
        query: FloatArray,
        limit: int,
        *,
        among: IntArray | None,
        exact: bool,  # noqa: ARG002 - Chroma has no exact search
    ) -> tuple[IntArray, FloatArray]:
        restriction = {} if among is None else {"ids": _to_strings(among)}
        with self._lock, _translate_errors():
            found = self._collection.query(
                query_embeddings=query[None], n_results=limit, include=["distances"], **restriction
            )
        ids = np.array([int(id) for id in found["ids"][0]], dtype=np.int64)
        cosines = 1.0 - np.array(found["distances"][0], dtype=np.float32)
        return (ids, cosines) if len(ids) >= limit else self._complete(query, limit, among, (ids, cosines))

    def _complete(
        self, query: FloatArray, limit: int, among: IntArray | None, found: tuple[IntArray, FloatArray]
    ) -> tuple[IntArray, FloatArray]:
        """Return the best of the found rows and of all rows that the graph missed."""
        everything = np.array(list(self.checksums()), dtype=np.int64) if among is None else among
        missed = np.setdiff1d(everything, found[0])
        with self._lock, _translate_errors():
            rows = self._collection.get(ids=_to_strings(missed), include=["embeddings"])
        ids = np.array([int(id) for id in rows["ids"]], dtype=np.int64)
        cosines = np.asarray(rows["embeddings"], dtype=np.float32).reshape(len(ids), len(query)) @ query
        ids, cosines = np.concatenate([found[0], ids]), np.concatenate([found[1], cosines])
        best = np.argsort(-cosines, kind="stable")[:limit]
        return ids[best], cosines[best]


def _open_client(host: str | None, port: int | None, path: str | None) -> Any:
    try:
        chromadb = import_module("chromadb")
    except ModuleNotFoundError as error:
        raise MissingExtra("the vector store 'chroma'", "chroma") from error
    settings = chromadb.Settings(anonymized_telemetry=False)
    if host is not None:
        return chromadb.HttpClient(host=host, port=port or 8000, settings=settings)
    return chromadb.PersistentClient(path, settings=settings) if path else chromadb.EphemeralClient(settings=settings)


def _to_strings(ids: IntArray) -> list[str]:
    return [str(id) for id in ids.tolist()]


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise Chroma's errors as `Unavailable`."""
    try:
        yield
    except MissingExtra:
        raise
    except Exception as error:  # Chroma's errors share no base class; the caller gets them
        raise Unavailable(f"Chroma cannot be used now: {error}") from error
