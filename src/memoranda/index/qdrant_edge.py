"""Vectors in Qdrant's embedded engine: no server, a folder for each partition."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from memoranda.errors import Closed, MissingExtra, Unavailable
from memoranda.index.collection import CollectionIndex
from memoranda.types import FloatArray, IntArray

try:
    import qdrant_edge as edge
except ModuleNotFoundError as error:
    raise MissingExtra("Qdrant's embedded engine", "qdrant") from error

if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: int) -> None:
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _try_lock(file: int) -> None:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


_AT_ONCE = 1024
_OPEN_AT_ONCE = 256
"""Partitions whose files are open; one more closes the one that was not used for longest."""


class QdrantEdge:
    """A `VectorEngine` in this process. Without a path it keeps a private folder until it is closed."""

    def __init__(self, path: str | Path | None = None, *, collection_name: str = "memoranda") -> None:
        self._private = None if path is not None else tempfile.mkdtemp(prefix="memoranda-qdrant-")
        self._root = Path(path or self._private or "") / collection_name
        self._lock = threading.RLock()
        self._shards: OrderedDict[Path, Any] = OrderedDict()
        self._closed = False
        # Also run when the engine is dropped without a close.
        self._abandon = weakref.finalize(self, _abandon, _held(self._root), self._private)

    def open(self, store_id: str, partition: str, dimension: int) -> CollectionIndex:
        """The vectors of one partition; what an earlier run left is still there."""
        return CollectionIndex(_Place(self, self._store(store_id) / f"{dimension}-{_digest(partition)}"), dimension)

    def clear(self, store_id: str) -> None:
        """Removes everything that is kept for a store."""
        with self._lock:
            for place in [each for each in self._shards if each.parent == self._store(store_id)]:
                self._shards.pop(place).close()
            shutil.rmtree(self._store(store_id), ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            while self._shards:
                _let_go(self._shards.popitem()[1])
            self._abandon()

    @contextmanager
    def shard(self, place: Path) -> Iterator[Any]:
        """The open files of one partition, for one caller at a time."""
        with self._lock, _translated():
            if self._closed:
                raise Closed("this vector engine is closed: make a new one")
            if place not in self._shards:
                self._shards[place] = _opened(place)
            self._shards.move_to_end(place)
            if len(self._shards) > _OPEN_AT_ONCE:
                _let_go(self._shards.popitem(last=False)[1])
            yield self._shards[place]

    def _store(self, store_id: str) -> Path:
        return self._root / _digest(store_id)


class _Place:
    """One partition's vectors, under the ids of their memories."""

    def __init__(self, engine: QdrantEdge, place: Path) -> None:
        self._engine = engine
        self._place = place

    def marks(self) -> dict[int, int]:
        found: dict[int, int] = {}
        offset = None
        while True:
            request = edge.ScrollRequest(offset=offset, limit=_AT_ONCE, with_payload=True)
            with self._engine.shard(self._place) as shard:
                page, offset = shard.scroll(request)
            found |= {int(point.id): int(point.payload["mark"]) for point in page}
            if offset is None:
                return found

    def put(self, ids: IntArray, vectors: FloatArray, marks: list[int]) -> None:
        rows = list(zip(ids.tolist(), vectors.tolist(), marks, strict=True))
        for start in range(0, len(rows), _AT_ONCE):
            points = [edge.Point(id, row, {"mark": mark}) for id, row, mark in rows[start : start + _AT_ONCE]]
            with self._engine.shard(self._place) as shard:
                shard.update(edge.UpdateOperation.upsert_points(points))

    def delete(self, ids: IntArray) -> None:
        with self._engine.shard(self._place) as shard:
            shard.update(edge.UpdateOperation.delete_points(ids.tolist()))

    def nearest(
        self, query: FloatArray, limit: int, *, among: IntArray | None, exact: bool
    ) -> tuple[IntArray, FloatArray]:
        where = None if among is None else edge.Filter(must=[edge.HasIdCondition(set(among.tolist()))])
        request = edge.SearchRequest(
            query=edge.Query.Nearest(query.tolist()),
            limit=limit,
            filter=where,
            params=edge.SearchParams(exact=exact),
            with_payload=False,
        )
        with self._engine.shard(self._place) as shard:
            found = shard.search(request)
        ids = np.array([point.id for point in found], dtype=np.int64)
        return ids, np.array([point.score for point in found], dtype=np.float32)


def _opened(place: Path) -> Any:
    dimension = int(place.name.partition("-")[0])
    vectors = edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)
    # No log of its own: what a crash takes is put back from the store when the partition loads.
    config = edge.EdgeConfig(vectors=vectors, max_search_threads=1, wal_enabled=False)
    if (place / "edge_config.json").exists():
        try:
            return edge.EdgeShard.load(str(place), config)
        except Exception:  # noqa: BLE001 - damaged by a crash, or of another version: derived, so made anew
            shutil.rmtree(place)
    place.mkdir(parents=True, exist_ok=True)
    return edge.EdgeShard.create(str(place), config)


def _let_go(shard: Any) -> None:
    with _translated():
        shard.flush()
        shard.close()


def _held(root: Path) -> int:
    """The folder's lock, held while the file is open: two processes in one folder would damage it."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        file = os.open(root / ".lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise Unavailable(f"Qdrant's folder {root} cannot be used: {error.strerror}") from error
    try:
        _try_lock(file)
    except OSError as error:
        os.close(file)
        raise Unavailable(
            f"Qdrant's folder {root} is in use: give each program its own path, or use a Qdrant server"
        ) from error
    return file


def _abandon(file: int, private: str | None) -> None:
    os.close(file)
    if private is not None:
        shutil.rmtree(private, ignore_errors=True)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=10).hexdigest()


@contextmanager
def _translated() -> Iterator[None]:
    """Qdrant's errors as ours."""
    try:
        yield
    except (Closed, Unavailable):
        raise
    except Exception as error:  # the engine raises nothing more special; the caller is told
        raise Unavailable(f"Qdrant cannot be used now: {error}") from error
