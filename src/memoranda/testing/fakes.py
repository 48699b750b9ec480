"""Small real parts for tests: they do what the port says, in memory."""

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
from memoranda.types import ANY, JSON, Condition, Filter, FloatArray, IntArray, Memory, Scope

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


class HashEmbedder:
    """Unit vectors from hashed words: the more words two texts share, the higher their cosine.

    It knows no meaning, only words; a test that needs synonyms needs a real model.
    """

    def __init__(self, dimension: int = 128) -> None:
        self._identity = EmbedderIdentity("memoranda.testing", "hash", dimension)

    @property
    def identity(self) -> EmbedderIdentity:
        return self._identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        import numpy as np

        rows = np.empty((len(texts), self._identity.dimension), dtype=np.float32)
        for position, text in enumerate(texts):
            rows[position] = _text_vector(clean_text(text, f"{kind} text"), self._identity.dimension)
        return rows


def _text_vector(text: str, dimension: int) -> FloatArray:
    import numpy as np

    # Sorted, because floating-point sums depend on their order and word order should not matter.
    words = sorted(set(terms(text))) or [text]
    total = np.sum([_word_vector(word, dimension) for word in words], axis=0)
    return np.asarray(total / np.linalg.norm(total), dtype=np.float32)


@lru_cache(maxsize=65_536)
def _word_vector(word: str, dimension: int) -> FloatArray:
    import numpy as np

    digest = hashlib.shake_128(word.encode("utf-8")).digest(dimension)
    # Odd numbers only: no component is zero, so no single word can give the zero vector.
    vector = np.frombuffer(digest, dtype=np.int8).astype(np.float32) * 2 + 1
    return np.asarray(vector / np.linalg.norm(vector), dtype=np.float32)


def in_scope(memory: Memory, scope: Scope) -> bool:
    """Whether a scope sees a memory."""
    return (
        memory.tenant == scope.tenant
        and scope.agent in (None, memory.agent)
        and (scope.user is ANY or memory.user == scope.user)
        and scope.session in (None, memory.session)
    )


def matches(memory: Memory, where: Filter) -> bool:
    """Whether a memory passes a filter."""
    return (
        (not where.types or memory.type in where.types)
        and (not where.sources or memory.source in where.sources)
        and (not where.speakers or memory.speaker in where.speakers)
        and (where.after is None or memory.valid_from >= where.after)
        and (where.before is None or memory.valid_from < where.before)
        and (where.min_importance is None or memory.importance >= where.min_importance)
        and (where.max_importance is None or memory.importance <= where.max_importance)
        and all(_holds(memory.metadata, condition) for condition in where.metadata)
    )


def _holds(metadata: dict[str, JSON], condition: Condition) -> bool:
    present = condition.key in metadata
    if condition.op == "exists":
        return present == bool(condition.value)
    if not present:
        return condition.op == "ne"
    found = metadata[condition.key]
    items = found if isinstance(found, list) else [found]
    if condition.op == "ne":
        return not any(_same(item, condition.value) for item in items)
    return any(_passes(item, condition) for item in items)


def _passes(item: JSON, condition: Condition) -> bool:
    if condition.op == "eq":
        return _same(item, condition.value)
    if condition.op == "in":
        choices = condition.value if isinstance(condition.value, list) else [condition.value]
        return any(_same(item, choice) for choice in choices)
    return _ordered(item, condition)


def _kind(value: JSON) -> str:
    if isinstance(value, bool):
        return "boolean"
    return "number" if isinstance(value, int | float) else type(value).__name__


def _same(left: JSON, right: JSON) -> bool:
    return _kind(left) == _kind(right) and left == right


def _ordered(item: JSON, condition: Condition) -> bool:
    wanted = condition.value
    if isinstance(item, str) and isinstance(wanted, str):
        # Code points, as UTF-8 bytes order them too.
        return _compare((item > wanted) - (item < wanted), condition)
    if _kind(item) == _kind(wanted) == "number":
        return _compare((item > wanted) - (item < wanted), condition)  # type: ignore[operator]
    return False


def _compare(sign: int, condition: Condition) -> bool:
    return {"gt": sign > 0, "gte": sign >= 0, "lt": sign < 0, "lte": sign <= 0}[condition.op]
