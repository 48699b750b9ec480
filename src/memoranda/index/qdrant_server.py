"""Vectors on a Qdrant server; `open_qdrant` chooses between a server and the embedded engine.

The embedded engine is imported only when it is chosen.
"""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from memoranda.errors import InvalidInput, MissingExtra, Unavailable
from memoranda.index.base import VectorEngine
from memoranda.index.collection import CollectionIndex, digest
from memoranda.types import FloatArray, IntArray

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.http.exceptions import ApiException
except ModuleNotFoundError as error:
    raise MissingExtra("a Qdrant server", "qdrant") from error

_BATCH_SIZE = 512


class QdrantServer:
    """A `VectorEngine` on a Qdrant server.

    All partitions with one vector size share a collection, separated by an indexed field, as Qdrant recommends for
    many small tenants.
    """

    def __init__(
        self,
        *,
        url: str | None = None,
        host: str | None = None,
        port: int | None = None,
        api_key: str | None = None,
        collection_name: str = "memoranda",
        client: QdrantClient | None = None,
    ) -> None:
        """Connect to a server.

        Args:
            url: The address of the server.
            host: Its host name, in place of `url`.
            port: Its port; 6333 when None.
            api_key: The key for the server.
            collection_name: The prefix of all collections.
            client: A ready client, used in place of all of these. It stays open.
        """
        self._name = collection_name
        self._lock = threading.RLock()
        self._created: set[str] = set()
        self._owns_client = client is None
        with _translate_errors():
            self._client = client or QdrantClient(
                url=url, host=host, port=port or 6333, api_key=api_key, check_compatibility=False
            )

    def open(self, store_id: str, partition: str, dimension: int) -> CollectionIndex:
        """Return the vectors of one partition, with those of earlier runs."""
        name = f"{self._name}_{dimension}"
        with self._lock, _translate_errors():
            self._create_collection(name, dimension)
        store, key = digest(store_id), digest(store_id, partition)
        return CollectionIndex(_ServerCollection(self._client, name, store=store, partition=key), dimension)

    def clear(self, store_id: str) -> None:
        """Remove all vectors of a store."""
        selector = models.FilterSelector(filter=_filter("store", digest(store_id)))
        with self._lock, _translate_errors():
            for found in self._client.get_collections().collections:
                if found.name.startswith(f"{self._name}_"):
                    self._client.delete(found.name, selector, wait=True)

    def close(self) -> None:
        if self._owns_client:
            self._client.close()

    def _create_collection(self, name: str, dimension: int) -> None:
        if name in self._created:
            return
        if not self._client.collection_exists(name):
            size = models.VectorParams(size=dimension, distance=models.Distance.COSINE)
            self._client.create_collection(name, vectors_config=size)
            tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            self._client.create_payload_index(name, "partition", field_schema=tenant)
            self._client.create_payload_index(name, "store", field_schema=models.PayloadSchemaType.KEYWORD)
        self._created.add(name)


class _ServerCollection:
    """The points of one partition. Their ids combine partition and memory, as partitions share a collection."""

    def __init__(self, client: QdrantClient, name: str, *, store: str, partition: str) -> None:
        self._client = client
        self._name = name
        self._store = store
        self._partition = partition

    def checksums(self) -> dict[int, int]:
        found: dict[int, int] = {}
        condition, offset = _filter("partition", self._partition), None
        while True:
            with _translate_errors():
                page, offset = self._client.scroll(
                    self._name, scroll_filter=condition, limit=_BATCH_SIZE, offset=offset
                )
            found |= {point.payload["id"]: point.payload["mark"] for point in page if point.payload}
            if offset is None:
                return found

    def put(self, ids: IntArray, vectors: FloatArray, checksums: list[int]) -> None:
        for start in range(0, len(ids), _BATCH_SIZE):
            part = slice(start, start + _BATCH_SIZE)
            payloads: list[dict[str, Any]] = [
                {"partition": self._partition, "store": self._store, "id": id, "mark": checksum}
                for id, checksum in zip(ids[part].tolist(), checksums[part], strict=True)
            ]
            batch = models.Batch(ids=self._point_ids(ids[part]), vectors=vectors[part].tolist(), payloads=payloads)
            with _translate_errors():
                self._client.upsert(self._name, points=batch, wait=True)

    def delete(self, ids: IntArray) -> None:
        with _translate_errors():
            self._client.delete(self._name, models.PointIdsList(points=self._point_ids(ids)), wait=True)

    def nearest(
        self, query: FloatArray, limit: int, *, among: IntArray | None, exact: bool
    ) -> tuple[IntArray, FloatArray]:
        restriction = [] if among is None else [models.HasIdCondition(has_id=self._point_ids(among))]
        with _translate_errors():
            found = self._client.query_points(
                self._name,
                query=query.tolist(),
                query_filter=_filter("partition", self._partition, *restriction),
                limit=limit,
                search_params=models.SearchParams(exact=exact),
                with_payload=["id"],
            ).points
        ids = np.array([point.payload["id"] for point in found if point.payload], dtype=np.int64)
        return ids, np.array([point.score for point in found], dtype=np.float32)

    def _point_ids(self, ids: IntArray) -> list[Any]:
        salt = bytes.fromhex(self._partition)
        return [str(uuid.UUID(bytes=hashlib.blake2b(id.tobytes(), key=salt, digest_size=16).digest())) for id in ids]


def _filter(key: str, value: str, *others: models.HasIdCondition) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=key, match=models.MatchValue(value=value)), *others])


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise Qdrant's errors as `Unavailable`."""
    try:
        yield
    except (ApiException, OSError) as error:
        raise Unavailable(f"Qdrant cannot be used now: {error}") from error


def open_qdrant(
    *,
    url: str | None = None,
    host: str | None = None,
    port: int | None = None,
    api_key: str | None = None,
    path: str | None = None,
    on_disk: bool = True,
    collection_name: str = "memoranda",
    client: QdrantClient | None = None,
) -> VectorEngine:
    """Open a server with `url`, `host` or `client`; else the embedded engine in a folder, for one process at a time.

    Args:
        url: The address of a server.
        host: The host name of a server.
        port: The port of the server; 6333 when None.
        api_key: The key for the server.
        path: The folder of the embedded engine; a temporary one when None.
        on_disk: Whether to use `path`; when False, the embedded engine uses a temporary folder.
        collection_name: The name of the collection, or the folder inside `path`.
        client: A ready client of a server, which several memories may share; it stays open.
    """
    if client is not None:
        return QdrantServer(collection_name=collection_name, client=client)
    if url is None and host is None:
        from memoranda.index.qdrant_edge import QdrantEdge

        return QdrantEdge(path if on_disk else None, collection_name=collection_name)
    if path is not None:
        raise InvalidInput("a Qdrant server takes no path: give url or host, or path, not both")
    return QdrantServer(url=url, host=host, port=port, api_key=api_key, collection_name=collection_name)
