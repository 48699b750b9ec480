"""Small working components for tests, and random scopes, memories and filters that a wrong store would mix up."""

from __future__ import annotations

import hashlib
import random
import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import get_args

import numpy as np

from memoranda.embedding.base import EmbedderIdentity, InputKind
from memoranda.storage.base import IndexRow, PartitionKey
from memoranda.storage.changes import NewMemory, StoredMessage
from memoranda.text.checks import storable_text
from memoranda.text.terms import content_hash, terms
from memoranda.types import ANY, JSON, AnyUser, Condition, Filter, FloatArray, IntArray, MemoryType, Operator, Scope

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

    def head(self, key: PartitionKey | None = None) -> int:  # noqa: ARG002 - one number for all
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
            rows[position] = _text_vector(storable_text(text, f"{kind} text"), self._identity.dimension)
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


EPOCH = datetime(2024, 2, 29, 12, 0, 0, 1, tzinfo=UTC)

CONFUSABLE_NAMES = (
    "ann", "anna", "Ann", "ann ", " ann", "a%", "an_", "café", "cafe\u0301", "ann'; DROP TABLE memories; --",
    "../ann", "ann/anna", "аnn", "ann\u200b", "None", "null", "*", "0",
)  # fmt: skip
"""Names that differ only by prefix, case, spaces, wildcards, Unicode form, similar letters or markup."""

ODD_KEYS = (
    "topic", "Topic", "top ic", "a.b", "$", "$.topic", "topic[0]", 'quo"te', "quo'te", "back\\slash", "ключ",
    "cle\u0301", "clé", "x') OR 1=1 --", "%", "", "🙂",
)  # fmt: skip
"""Metadata keys that a store must neither interpret nor mix up."""

ODD_VALUES: tuple[JSON, ...] = (
    "red", "Red", "red'; --", "", "1", "true", 0, 1, -1, 1.0, 0.5, 1e300, 2**53, True, False, None, "é", "e\u0301",
    [], ["red", 1], [True, "1"], [[1], {"red": 1}], {"red": 1}, {},
)  # fmt: skip

WORDS = ("apple", "river", "stone", "lamp", "green", "quiet", "train", "paper", "cloud", "seven", "bridge", "coffee")
PLAIN_VALUES: tuple[JSON, ...] = tuple(value for value in ODD_VALUES if not isinstance(value, list | dict))
"""The values that a condition can compare with."""
ORDERED_VALUES: tuple[JSON, ...] = (0, 1, 0.5, -1, 1e300, "red", "Red", "", "é")
SOURCES = (None, "chat", "Chat", "import")
SPEAKERS = (None, "Ann", "Ben")
KINDS = ("about", "causes", "follows")
OPERATORS: tuple[Operator, ...] = get_args(Operator)


@dataclass(frozen=True, slots=True)
class VectorSpace:
    """The embedding generation whose vectors a store under test accepts."""

    generation: int
    dimension: int


class Samples:
    """A generator of random values; the same seed gives the same values."""

    def __init__(self, seed: int, space: VectorSpace | None = None) -> None:
        self.random = random.Random(seed)
        self._numpy_random = np.random.default_rng(seed)
        self._space = space
        self._message_count = 0
        self._names: Sequence[str] = self.random.sample(CONFUSABLE_NAMES, 3)

    def write_scope(self) -> Scope:
        """Return a scope that a memory can be written to."""
        pick = self.random.choice
        names: list[str | None] = [None, *self._names]
        return Scope(pick(["default", *self._names[:1]]), pick(names), pick(names), pick(names))

    def read_scope(self) -> Scope:
        """Return a scope to read with: one that can be written to, or one across users."""
        scope = self.write_scope()
        user: str | AnyUser | None = ANY if self.random.random() < 0.2 else scope.user
        return Scope(scope.tenant, scope.agent, user, scope.session)

    def content(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(1, 8)))

    def new_memory(self, scope: Scope | None = None, content: str | None = None) -> NewMemory:
        """Return a memory with some of its optional fields set."""
        pick = self.random.choice
        text = self.content() if content is None else content
        said_at = self.moment()
        return NewMemory(
            content=text,
            type=pick(list(MemoryType)),
            scope=scope or self.write_scope(),
            importance=pick([0.0, 0.1, 0.25, 0.5, 1.0]),
            recorded_at=self.moment(),
            valid_from=said_at,
            content_hash=content_hash(text),
            terms=" ".join(terms(text)),
            vector=self.vector(),
            generation=self._space.generation if self._space else None,
            source=pick(SOURCES),
            trust=pick(["user", "tool"]),
            metadata=self.metadata(),
            expires_at=pick([None, EPOCH + timedelta(days=40_000)]),
            message=self.message(text, said_at) if self.random.random() < 0.4 else None,
            notes=pick([{}, {"events": [], "features": {"words": 0.25}}]),
        )

    def message(self, text: str, said_at: datetime) -> StoredMessage:
        self._message_count += 1
        return StoredMessage(
            message_id=f"m{self._message_count}",
            role="user",
            content=text,
            said_at=said_at,
            speaker=self.random.choice(SPEAKERS),
            payload={"role": "user", "content": text},
        )

    def vector(self) -> FloatArray | None:
        if self._space is None:
            return None
        raw = self._numpy_random.standard_normal(self._space.dimension).astype(np.float32)
        return np.asarray(raw / np.linalg.norm(raw), dtype=np.float32)

    def moment(self) -> datetime:
        return EPOCH + timedelta(days=self.random.randint(0, 5), microseconds=self.random.randint(0, 3))

    def metadata(self) -> dict[str, JSON]:
        keys = self.random.sample(ODD_KEYS, self.random.randint(0, 6))
        return {key: self.random.choice(ODD_VALUES) for key in keys}

    def condition(self) -> Condition:
        key, op, value = self.random.choice(ODD_KEYS), self.random.choice(OPERATORS), self.random.choice(PLAIN_VALUES)
        if op == "exists":
            return Condition(key, op, self.random.random() < 0.5)
        if op == "in":
            return Condition(key, op, self.random.sample(PLAIN_VALUES, 3))
        if op not in ("eq", "ne"):
            value = self.random.choice(ORDERED_VALUES)
        return Condition(key, op, value)

    def filter(self) -> Filter:
        """Return a filter with a few of its fields set."""
        pick = self.random.choice
        return Filter(
            types=tuple(self.random.sample(list(MemoryType), 3)) if self._sometimes() else (),
            sources=("chat", "import") if self._sometimes() else (),
            speakers=("Ann",) if self._sometimes() else (),
            after=self.moment() if self._sometimes() else None,
            before=self.moment() if self._sometimes() else None,
            min_importance=pick([0.1, 0.25]) if self._sometimes() else None,
            max_importance=pick([0.25, 0.5]) if self._sometimes() else None,
            metadata=tuple(self.condition() for _ in range(pick([0, 0, 1, 1, 2]))),
        )

    def _sometimes(self) -> bool:
        return self.random.random() < 0.3
