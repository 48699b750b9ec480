"""Small real parts for tests: they do what the port says, in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.testing.hash_embedder import HashEmbedder
from memoranda.types import ANY, IntArray

__all__ = ["HashEmbedder", "MemoryIndexSource"]

_Place = tuple[str, str | None]


class MemoryIndexSource:
    """An `IndexSource` over a dict: what an index reads from a store, without a store. Safe for threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[int, tuple[_Place, IndexRow]] = {}
        self._changes: list[tuple[int, _Place]] = []

    def put(self, key: PartitionKey, rows: Iterable[IndexRow]) -> None:
        """Commits these rows as one change each; an id already there is replaced."""
        with self._lock:
            for row in rows:
                place = self._rows.get(row.id, (_place(key), row))[0]
                self._rows[row.id] = (_place(key), row)
                self._changes += [(row.id, each) for each in {place, _place(key)}]

    def delete(self, ids: Iterable[int]) -> None:
        """Commits the removal of these ids."""
        with self._lock:
            for number in ids:
                place, _ = self._rows.pop(number)
                self._changes.append((number, place))

    def head(self) -> int:
        return len(self._changes)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        with self._lock:
            touched = {number for number, place in self._changes[since:] if _inside(place, key)}
        return np.array(sorted(touched), dtype=np.int64)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        with self._lock:
            wanted = sorted(self._rows if ids is None else self._rows.keys() & set(ids.tolist()))
            found = [self._rows[number][1] for number in wanted if _inside(self._rows[number][0], key)]
        return iter([replace(row, vector=None) for row in found] if generation is None else found)


def _place(key: PartitionKey) -> _Place:
    if key.user is ANY:
        raise ValueError("rows belong to one user or to none: name the user, or None")
    return key.tenant, key.user


def _inside(place: _Place, key: PartitionKey) -> bool:
    return place[0] == key.tenant and (key.user is ANY or place[1] == key.user)
