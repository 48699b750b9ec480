"""Vectors in Qdrant's embedded engine: no server, one folder per partition."""

from __future__ import annotations

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
from memoranda.index.collection import CollectionIndex, digest
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


_BATCH_SIZE = 1024
_MAX_OPEN_SHARDS = 256
"""Partitions with open files; opening one more closes the least recently used one."""


class QdrantEdge:
    """A `VectorEngine` in this process. Without a path it uses a temporary folder, deleted when it is closed."""

    def __init__(self, path: str | Path | None = None, *, collection_name: str = "memoranda") -> None:
        self._temporary = None if path is not None else tempfile.mkdtemp(prefix="memoranda-qdrant-")
        self._root = Path(path or self._temporary or "") / collection_name
        self._lock = threading.RLock()
        self._shards: OrderedDict[Path, Any] = OrderedDict()
        self._closed = False
        # Also called when the engine is garbage collected without a close.
        self._release = weakref.finalize(self, _release, _lock_folder(self._root), self._temporary)

    def open(self, store_id: str, partition: str, dimension: int) -> CollectionIndex:
        """Return the vectors of one partition, with those of earlier runs."""
        folder = self._store_folder(store_id) / f"{dimension}-{digest(partition)}"
        return CollectionIndex(_EdgeCollection(self, folder), dimension)

    def clear(self, store_id: str) -> None:
        """Remove all vectors of a store."""
        with self._lock:
            for folder in [each for each in self._shards if each.parent == self._store_folder(store_id)]:
                self._shards.pop(folder).close()
            shutil.rmtree(self._store_folder(store_id), ignore_errors=True)

    def close(self) -> None:
        with self._lock:
            if self._closed:
                return
            self._closed = True
            while self._shards:
                _close_shard(self._shards.popitem()[1])
            self._release()

    @contextmanager
    def shard(self, folder: Path) -> Iterator[Any]:
        """Open the files of one partition, for one caller at a time."""
        with self._lock, _translate_errors():
            if self._closed:
                raise Closed("this vector engine is closed: open a new one")
            if folder not in self._shards:
                self._shards[folder] = _open_shard(folder)
            self._shards.move_to_end(folder)
            if len(self._shards) > _MAX_OPEN_SHARDS:
                _close_shard(self._shards.popitem(last=False)[1])
            yield self._shards[folder]

    def _store_folder(self, store_id: str) -> Path:
        return self._root / digest(store_id)


class _EdgeCollection:
    """The vectors of one partition, under the ids of their memories."""

    def __init__(self, engine: QdrantEdge, folder: Path) -> None:
        self._engine = engine
        self._folder = folder

    def checksums(self) -> dict[int, int]:
        found: dict[int, int] = {}
        offset = None
        while True:
            request = edge.ScrollRequest(offset=offset, limit=_BATCH_SIZE, with_payload=True)
            with self._engine.shard(self._folder) as shard:
                page, offset = shard.scroll(request)
            found |= {int(point.id): int(point.payload["mark"]) for point in page}
            if offset is None:
                return found

    def put(self, ids: IntArray, vectors: FloatArray, checksums: list[int]) -> None:
        rows = list(zip(ids.tolist(), vectors.tolist(), checksums, strict=True))
        for start in range(0, len(rows), _BATCH_SIZE):
            points = [
                edge.Point(id, row, {"mark": checksum}) for id, row, checksum in rows[start : start + _BATCH_SIZE]
            ]
            with self._engine.shard(self._folder) as shard:
                shard.update(edge.UpdateOperation.upsert_points(points))

    def delete(self, ids: IntArray) -> None:
        with self._engine.shard(self._folder) as shard:
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
        with self._engine.shard(self._folder) as shard:
            found = shard.search(request)
        ids = np.array([point.id for point in found], dtype=np.int64)
        return ids, np.array([point.score for point in found], dtype=np.float32)


def _open_shard(folder: Path) -> Any:
    dimension = int(folder.name.partition("-")[0])
    vectors = edge.EdgeVectorParams(size=dimension, distance=edge.Distance.Cosine)
    # No write-ahead log: what a crash loses is restored from the store when the partition loads.
    config = edge.EdgeConfig(vectors=vectors, max_search_threads=1, wal_enabled=False)
    if (folder / "edge_config.json").exists():
        try:
            return edge.EdgeShard.load(str(folder), config)
        except Exception:  # noqa: BLE001 - damaged, or of another version: the data is derived, so it is rebuilt
            shutil.rmtree(folder)
    folder.mkdir(parents=True, exist_ok=True)
    return edge.EdgeShard.create(str(folder), config)


def _close_shard(shard: Any) -> None:
    with _translate_errors():
        shard.flush()
        shard.close()


def _lock_folder(root: Path) -> int:
    """Lock the folder while the returned file is open: two processes in one folder would damage it."""
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


def _release(lock_file: int, temporary: str | None) -> None:
    os.close(lock_file)
    if temporary is not None:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise Qdrant's errors as `Unavailable`."""
    try:
        yield
    except (Closed, Unavailable):
        raise
    except Exception as error:  # the engine raises no narrower class; the caller gets it
        raise Unavailable(f"Qdrant cannot be used now: {error}") from error
