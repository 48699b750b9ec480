"""Vectors on a Qdrant server."""

from __future__ import annotations

import hashlib
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from memoranda.errors import MissingExtra, Unavailable
from memoranda.index.collection import CollectionIndex
from memoranda.types import FloatArray, IntArray

try:
    from qdrant_client import QdrantClient, models
    from qdrant_client.http.exceptions import ApiException
except ModuleNotFoundError as error:
    raise MissingExtra("a Qdrant server", "qdrant") from error

_AT_ONCE = 512


class QdrantServer:
    """A `VectorEngine` on a server, or over a ready client.

    All partitions share one collection for each vector size, told apart by an indexed field, as Qdrant advises for
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
        self._name = collection_name
        self._lock = threading.RLock()
        self._ready: set[str] = set()
        with _translated():
            self._client = client or QdrantClient(
                url=url, host=host, port=port or 6333, api_key=api_key, check_compatibility=False
            )

    def open(self, store_id: str, partition: str, dimension: int) -> CollectionIndex:
        """The vectors of one partition; what an earlier run left is still there."""
        name = f"{self._name}_{dimension}"
        with self._lock, _translated():
            self._make(name, dimension)
        place = _Place(self._client, name, store=_digest(store_id), partition=_digest(store_id, partition))
        return CollectionIndex(place, dimension)

    def clear(self, store_id: str) -> None:
        """Removes everything that is kept for a store."""
        where = models.FilterSelector(filter=_where("store", _digest(store_id)))
        with self._lock, _translated():
            for found in self._client.get_collections().collections:
                if found.name.startswith(f"{self._name}_"):
                    self._client.delete(found.name, where, wait=True)

    def close(self) -> None:
        self._client.close()

    def _make(self, name: str, dimension: int) -> None:
        if name in self._ready:
            return
        if not self._client.collection_exists(name):
            size = models.VectorParams(size=dimension, distance=models.Distance.COSINE)
            self._client.create_collection(name, vectors_config=size)
            tenant = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
            self._client.create_payload_index(name, "partition", field_schema=tenant)
            self._client.create_payload_index(name, "store", field_schema=models.PayloadSchemaType.KEYWORD)
        self._ready.add(name)


class _Place:
    """One partition's points. Their ids are made of partition and memory, as partitions share a collection."""

    def __init__(self, client: QdrantClient, name: str, *, store: str, partition: str) -> None:
        self._client = client
        self._name = name
        self._store = store
        self._partition = partition

    def marks(self) -> dict[int, int]:
        found: dict[int, int] = {}
        where, offset = _where("partition", self._partition), None
        while True:
            with _translated():
                page, offset = self._client.scroll(self._name, scroll_filter=where, limit=_AT_ONCE, offset=offset)
            found |= {point.payload["id"]: point.payload["mark"] for point in page if point.payload}
            if offset is None:
                return found

    def put(self, ids: IntArray, vectors: FloatArray, marks: list[int]) -> None:
        for start in range(0, len(ids), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            payloads: list[dict[str, Any]] = [
                {"partition": self._partition, "store": self._store, "id": id, "mark": mark}
                for id, mark in zip(ids[part].tolist(), marks[part], strict=True)
            ]
            batch = models.Batch(ids=self._points(ids[part]), vectors=vectors[part].tolist(), payloads=payloads)
            with _translated():
                self._client.upsert(self._name, points=batch, wait=True)

    def delete(self, ids: IntArray) -> None:
        with _translated():
            self._client.delete(self._name, models.PointIdsList(points=self._points(ids)), wait=True)

    def nearest(
        self, query: FloatArray, limit: int, *, among: IntArray | None, exact: bool
    ) -> tuple[IntArray, FloatArray]:
        narrowed = [] if among is None else [models.HasIdCondition(has_id=self._points(among))]
        with _translated():
            found = self._client.query_points(
                self._name,
                query=query.tolist(),
                query_filter=_where("partition", self._partition, *narrowed),
                limit=limit,
                search_params=models.SearchParams(exact=exact),
                with_payload=["id"],
            ).points
        ids = np.array([point.payload["id"] for point in found if point.payload], dtype=np.int64)
        return ids, np.array([point.score for point in found], dtype=np.float32)

    def _points(self, ids: IntArray) -> list[Any]:
        salt = bytes.fromhex(self._partition)
        return [str(uuid.UUID(bytes=hashlib.blake2b(id.tobytes(), key=salt, digest_size=16).digest())) for id in ids]


def _where(key: str, value: str, *others: models.HasIdCondition) -> models.Filter:
    return models.Filter(must=[models.FieldCondition(key=key, match=models.MatchValue(value=value)), *others])


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\0".join(parts).encode(), digest_size=10).hexdigest()


@contextmanager
def _translated() -> Iterator[None]:
    """Qdrant's errors as ours."""
    try:
        yield
    except (ApiException, OSError) as error:
        raise Unavailable(f"Qdrant cannot be used now: {error}") from error
