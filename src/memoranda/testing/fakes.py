"""Small working components for tests: they implement the protocols in memory."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

import numpy as np

from memoranda.embedding.base import EmbedderIdentity, InputKind
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.text import clean_text, terms
from memoranda.types import ANY, FloatArray, IntArray

__all__ = ["HashEmbedder", "MemoryIndexSource"]

_Owner = tuple[str, str | None]


class MemoryIndexSource:
    """An `IndexSource` over a dict: what an index reads from a store, without a store. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[int, tuple[_Owner, IndexRow]] = {}
        self._changes: list[tuple[int, _Owner]] = []

    def put(self, key: PartitionKey, rows: Iterable[IndexRow]) -> None:
        """Commit these rows as one change each; a row with a known id replaces the old one."""
        with self._lock:
            for row in rows:
                old_owner = self._rows.get(row.id, (_owner(key), row))[0]
                self._rows[row.id] = (_owner(key), row)
                self._changes += [(row.id, owner) for owner in {old_owner, _owner(key)}]

    def delete(self, ids: Iterable[int]) -> None:
        """Commit the removal of these ids."""
        with self._lock:
            for memory_id in ids:
                owner, _ = self._rows.pop(memory_id)
                self._changes.append((memory_id, owner))

    def head(self) -> int:
        return len(self._changes)

    def changed(self, key: PartitionKey, since: int) -> IntArray:
        with self._lock:
            changed = {memory_id for memory_id, owner in self._changes[since:] if _belongs_to(owner, key)}
        return np.array(sorted(changed), dtype=np.int64)

    def rows(self, key: PartitionKey, ids: IntArray | None, generation: int | None) -> Iterator[IndexRow]:
        with self._lock:
            known = sorted(self._rows if ids is None else self._rows.keys() & set(ids.tolist()))
            found = [row for owner, row in map(self._rows.__getitem__, known) if _belongs_to(owner, key)]
        return iter([replace(row, vector=None) for row in found] if generation is None else found)


def _owner(key: PartitionKey) -> _Owner:
    if key.user is ANY:
        raise ValueError("rows belong to one user or to none: name the user, or None")
    return key.tenant, key.user


def _belongs_to(owner: _Owner, key: PartitionKey) -> bool:
    return owner[0] == key.tenant and (key.user is ANY or owner[1] == key.user)


class HashEmbedder:
    """Unit vectors from hashed words: the more words two texts share, the higher their cosine.

    It knows words, not meaning: a test that needs synonyms needs a real model.
    """

    def __init__(self, dimension: int = 128) -> None:
        self._identity = EmbedderIdentity("memoranda.testing", "hash", dimension)

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        rows = np.empty((len(texts), self._identity.dimension), dtype=np.float32)
        for position, text in enumerate(texts):
            rows[position] = _text_vector(clean_text(text, f"{kind} text"), self._identity.dimension)
        return rows


def _text_vector(text: str, dimension: int) -> FloatArray:
    # Sorted, because floating-point sums depend on their order and word order should not matter.
    words = sorted(set(terms(text))) or [text]
    total = np.sum([_word_vector(word, dimension) for word in words], axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


@lru_cache(maxsize=65_536)
def _word_vector(word: str, dimension: int) -> FloatArray:
    digest = hashlib.shake_128(word.encode("utf-8")).digest(dimension)
    # Odd numbers only: no component is zero, so no single word can give the zero vector.
    vector = np.frombuffer(digest, dtype=np.int8).astype(np.float32) * 2 + 1
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)
