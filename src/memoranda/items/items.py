"""Puts, reads, searches and removes items. An item is a memory with a key: recall finds it, `forget` erases it.

The memory of an item was stored when the item was created, and is valid from when it was put last. What is not searched
has no text, and is in no index.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Any, Final

import numpy as np
from sqlalchemy import ColumnElement, func, select, update

from memoranda.embedding.base import normalize
from memoranda.embedding.vectors import Vectors
from memoranda.errors import InvalidInput
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.items.base import (
    WHOLE,
    Item,
    ItemFilter,
    ItemOrder,
    NamespaceActivity,
    NamespacePath,
    decode_key,
    encode_key,
    fixed_part,
    key_range,
    matches,
    own_range,
    passes,
    values_at,
)
from memoranda.items.write import ExpectingWrite, ItemName, ItemPut, PutOptions
from memoranda.remember.new_memory import DEFAULT_IMPORTANCE, value_to_text, value_to_words
from memoranda.remember.screening.screen import screen
from memoranda.security.redaction import redact_secrets
from memoranda.storage.add import insert_changes
from memoranda.storage.base import PartitionKey, ReadTransaction, Row, Store, Transaction, chunked
from memoranda.storage.changes import NewMemory, Remove
from memoranda.storage.read import get_memories, memory_by_key
from memoranda.storage.rows import from_micros, not_expired, owner_conditions, stored_json, stored_name, to_micros
from memoranda.storage.schema import memories, vectors
from memoranda.storage.write import MemoryWrite, apply_changes
from memoranda.text.cache import clear_text_caches
from memoranda.text.checks import replace_unstorable
from memoranda.text.terms import content_hash, lexical_keys, query_terms
from memoranda.types import ANY, JSON, Clock, FloatArray, IntArray, Memory, MemoryType, Scope

SOURCE: Final = "item"
_M = memories.c
_TTL: Final = "ttl"
_PATHS: Final = "index"
_VECTORS: Final = "vectors"
_ORDERS: Final[dict[ItemOrder, tuple[ColumnElement[Any], ...]]] = {
    "updated": (_M.valid_from.asc(), _M.id.asc()),
    "-updated": (_M.valid_from.desc(), _M.id.desc()),
    "key": (_M.key.asc(),),
    "-key": (_M.key.desc(),),
}
_NO_VECTOR: Final = -1.0
_DENSE_WEIGHT: Final = 0.7
"""What the meaning counts in a score with a model whose cosines are known; the words of the query count the rest."""


class Items:
    """Values by namespace and key, each in exactly one scope."""

    def __init__(self, store: Store, vectors: Vectors, partitions: Partitions, clock: Clock) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions
        self._clock = clock

    def put(
        self,
        scope: Scope,
        namespace: NamespacePath,
        values: Mapping[str, JSON],
        options: PutOptions,
        expected: Mapping[str, datetime | None],
    ) -> list[Item]:
        """Store the values by key in one commit; a key that exists gets the new value.

        When an item was not last put at its `expected` time, raise `Conflict` and store nothing.
        """
        puts = [ItemPut(namespace, key, value, options) for key, value in values.items()]
        return self.put_all(scope, puts, {(namespace, key): time for key, time in expected.items()})

    def put_all(
        self,
        scope: Scope,
        puts: Sequence[ItemPut],
        expected: Mapping[ItemName, datetime | None],
        removed: Collection[ItemName] = (),
    ) -> list[Item]:
        """Store values of any namespaces, and delete items that are expected, in one commit.

        When an item was not last put at its `expected` time, raise `Conflict` and change nothing.
        """
        new = [self._new_item(scope, each) for each in puts]
        searched = [(each, put.options.index) for each, put in zip(new, puts, strict=True) if each.content]
        screen([each for each, _ in searched])
        try:
            self._vectors.attach([each for each, _ in searched])
            for paths in {index for _, index in searched if isinstance(index, tuple)}:
                self._attach_field_vectors([each for each, index in searched if index == paths], paths)
            write = MemoryWrite(new)
            known = {encode_key(*name): time for name, time in expected.items()}
            gone = {encode_key(*name) for name in removed}
            work = ExpectingWrite(write, scope, known, self._clock(), gone) if known else write
            outcomes = self._store.write(work, tenant=scope.tenant) if new else []
        finally:
            clear_text_caches()
        return [_to_item(outcome.memory) for outcome in outcomes if outcome.memory is not None]

    def get(self, scope: Scope, namespace: NamespacePath, key: str, *, refresh: bool = False) -> Item | None:
        """Return an item; None when there is none. With `refresh`, its time to live starts again."""
        stored = encode_key(namespace, key)
        memory = self._store.read(lambda tx: memory_by_key(tx, scope, stored), tenant=scope.tenant)
        if memory is None or memory.has_expired(self._clock()):
            return None
        return self._refresh([_to_item(memory)], [memory])[0] if refresh else _to_item(memory)

    def delete(self, scope: Scope, namespace: NamespacePath, keys: Sequence[str]) -> int:
        """Delete those that exist in one commit; return how many there were."""
        stored, now = [encode_key(namespace, key) for key in keys], to_micros(self._clock())

        def work(tx: Transaction) -> int:
            known = select(_M.id, _M.expires_at).where(*owner_conditions(scope))
            rows = [row for part in chunked(stored) for row in tx.execute(known.where(_M.key.in_(part)))]
            if rows:
                apply_changes(tx, [Remove(scope, tuple(row[0] for row in rows))])
            return sum(row[1] is None or row[1] > now for row in rows)

        return self._store.write(work, tenant=scope.tenant)

    def page(
        self,
        scope: Scope,
        namespace: NamespacePath,
        *,
        limit: int,
        start: str = "",
        end: str | None = None,
        backwards: bool = False,
    ) -> list[Item]:
        """Return items of exactly this namespace by key: from `start` on, and those before `end`."""
        order = _M.key.desc() if backwards else _M.key.asc()
        query = select(_M.id).where(*self._in_namespace(scope, namespace, start, end)).order_by(order).limit(limit)

        def work(tx: ReadTransaction) -> list[Memory | None]:
            return get_memories(tx, scope, list(tx.scalars(query)))

        return [_to_item(memory) for memory in self._store.read(work, tenant=scope.tenant) if memory]

    def delete_some(self, scope: Scope, namespace: NamespacePath, limit: int) -> int:
        """Delete so many items of exactly this namespace in one commit; return how many there were."""
        query = select(_M.id).where(*owner_conditions(scope), *_between(own_range(namespace))).limit(limit)

        def work(tx: Transaction) -> int:
            ids = tuple(tx.scalars(query))
            if ids:
                apply_changes(tx, [Remove(scope, ids)])
            return len(ids)

        return self._store.write(work, tenant=scope.tenant)

    def search(
        self,
        scope: Scope,
        prefix: NamespacePath,
        query: str | tuple[float, ...] | None,
        conditions: ItemFilter,
        order: ItemOrder,
        limit: int,
        offset: int,
        *,
        refresh: bool = False,
    ) -> list[Item]:
        """Return items below a prefix that pass: by score with a query, else in the order asked for."""
        if query == "":
            return []
        if query is None:
            ids = self._store.read(
                lambda tx: self._in_order(tx, scope, prefix, conditions, order, limit, offset), tenant=scope.tenant
            )
            scores: dict[int, float | None] = {}
        else:
            scores = self._scores(scope, prefix, query, conditions)
            ids = list(islice(scores, offset, offset + limit))
        read = self._store.read(lambda tx: get_memories(tx, scope, ids), tenant=scope.tenant)
        found = [memory for memory in read if memory]
        items = [replace(_to_item(memory), score=scores.get(memory.id)) for memory in found]
        return self._refresh(items, found) if refresh else items

    def namespaces(
        self, scope: Scope, prefix: NamespacePath, suffix: NamespacePath, max_depth: int | None, limit: int, offset: int
    ) -> list[NamespaceActivity]:
        """Return the namespaces with items, sorted; those deeper than `max_depth` are shortened to it and merged."""

        def work(tx: ReadTransaction) -> list[NamespaceActivity]:
            merged: dict[NamespacePath, list[NamespacePath]] = {}
            for namespace in self._walk(tx, scope, fixed_part(prefix)):
                if matches(namespace, prefix, suffix):
                    merged.setdefault(namespace[:max_depth], []).append(namespace)
            page = sorted(merged)[offset : offset + limit]
            return [self._count(tx, scope, name, merged[name]) for name in page]

        return self._store.read(work, tenant=scope.tenant)

    def _new_item(self, scope: Scope, put: ItemPut) -> NewMemory:
        value, options = put.value, put.options
        now = self._clock()
        text = replace_unstorable(redact_secrets(_to_text(put.key, value, options.index)))
        notes: dict[str, JSON] = {} if options.ttl is None else {_TTL: options.ttl}
        if isinstance(options.index, tuple):
            notes[_PATHS] = list(options.index)
        return NewMemory(
            content=text,
            type=MemoryType.SEMANTIC,
            scope=scope,
            importance=DEFAULT_IMPORTANCE,
            recorded_at=now,
            valid_from=now,
            content_hash=content_hash(text),
            terms=lexical_keys(text) if text else "",
            source=SOURCE,
            trust="assistant",
            # As metadata, so that filters of `recall` select by it.
            metadata={"namespace": list(put.namespace), "key": put.key},
            key=encode_key(put.namespace, put.key),
            value=value,
            expires_at=None if options.ttl is None else now + timedelta(seconds=options.ttl),
            notes=notes,
        )

    def _attach_field_vectors(self, new: Sequence[NewMemory], paths: tuple[str, ...]) -> None:
        """Give items with several searched texts a vector for each: the text that fits a query best decides."""
        with_texts = [(each, _texts_at(each.value, paths)) for each in new if each.vector is not None]
        several = [(each, texts) for each, texts in with_texts if len(texts) > 1]
        if not several:
            return
        distinct = list(dict.fromkeys(text for _, texts in several for text in texts))
        readable = [replace_unstorable(text) for text in distinct]
        made = self._vectors.embed_passages(several[0][0].scope.tenant, readable)
        data = {text: _encode(vector) for text, vector in zip(distinct, made, strict=True)}
        for each, texts in several:
            own: list[JSON] = [data[text] for text in texts]
            each.notes = {**each.notes, _VECTORS: {"generation": each.generation, "data": own}}

    def _alive(self, scope: Scope, prefix: NamespacePath) -> list[ColumnElement[bool]]:
        return [*_owned(scope), *_between(key_range(prefix)), *self._not_expired()]

    def _in_namespace(
        self, scope: Scope, namespace: NamespacePath, start: str, end: str | None
    ) -> list[ColumnElement[bool]]:
        last = own_range(namespace)[1]
        bounds = encode_key(namespace, start), last if end is None else encode_key(namespace, end)
        return [*owner_conditions(scope), *_between(bounds), *self._not_expired()]

    def _not_expired(self) -> list[ColumnElement[bool]]:
        return [not_expired(self._clock())]

    def _in_order(
        self,
        tx: ReadTransaction,
        scope: Scope,
        prefix: NamespacePath,
        conditions: ItemFilter,
        order: ItemOrder,
        limit: int,
        offset: int,
    ) -> list[int]:
        columns = [_M.id, _M.value] if conditions else [_M.id]
        query = select(*columns).where(*self._alive(scope, prefix)).order_by(*_ORDERS[order])
        if not conditions:
            return list(tx.scalars(query.limit(limit).offset(offset)))
        passing = (row[0] for row in tx.execute(query) if passes(stored_json(row[1]), conditions))
        return list(islice(passing, offset, offset + limit))

    def _scores(
        self, scope: Scope, prefix: NamespacePath, query: str | tuple[float, ...], conditions: ItemFilter
    ) -> dict[int, float | None]:
        """Return the score of each item that passes, the best first; at the end those that are not searched."""
        rows = self._store.read(lambda tx: self._candidates(tx, scope, prefix, conditions), tenant=scope.tenant)
        searched = [row for row in rows if row[3]]
        scores: dict[int, float | None] = {}
        if searched:
            ids = np.array([row[0] for row in searched], dtype=np.int64)
            found = self._score(scope, query, ids, searched)
            order = np.lexsort((-ids, -found))
            scores.update(zip(ids[order].tolist(), found[order].tolist(), strict=True))
        return scores | {row[0]: None for row in rows if not row[3]}

    def _candidates(
        self, tx: ReadTransaction, scope: Scope, prefix: NamespacePath, conditions: ItemFilter
    ) -> list[Row]:
        """Return id, value, notes, and whether it is searched, of each item that passes, the newest first."""
        columns = (_M.id, _M.value, _M.notes, _M.content != "")
        query = select(*columns).where(*self._alive(scope, prefix)).order_by(_M.id.desc())
        rows = tx.execute(query).all()
        return [row for row in rows if passes(stored_json(row[1]), conditions)] if conditions else list(rows)

    def _score(self, scope: Scope, query: str | tuple[float, ...], ids: IntArray, rows: Sequence[Row]) -> FloatArray:
        text = query if isinstance(query, str) else None
        vector = self._check_vector(query) if text is None else self._vectors.embed_query(scope.tenant, text)
        generation = self._vectors.generation()
        partition = self._partitions.get(PartitionKey(scope.tenant, scope.user), generation)
        with partition.lock:
            words = partition.postings.coverage(query_terms(text or ""), ids)
            cosines = _cosines(partition, vector, ids)
        if vector is None:
            return words
        self._add_stored_cosines(cosines, ids, vector, generation, scope.tenant)
        self._raise_by_fields(cosines, rows, vector, scope.tenant)
        assert self._vectors.embedder is not None
        baseline = self._vectors.embedder.identity.baseline
        # Rounded, so that equal texts have equal scores, whatever else was multiplied with them.
        if not baseline or text is None:  # cosines of a model that was not measured cannot be weighed against words
            return np.round(cosines, 5)
        meaning = np.round(np.clip((cosines - baseline) / (1.0 - baseline), 0.0, 1.0), 5)
        mixed: FloatArray = _DENSE_WEIGHT * meaning + (1 - _DENSE_WEIGHT) * words
        return mixed

    def _check_vector(self, query: object) -> FloatArray:
        embedder = self._vectors.embedder
        if embedder is None:
            raise InvalidInput("vector search is off: give a text as the query")
        vector = np.asarray(query, dtype=np.float64)
        largest = float(np.max(np.abs(vector), initial=0.0))
        if len(vector) != embedder.identity.dimension or not largest or not np.isfinite(largest):
            raise InvalidInput(
                f"the query is a vector of {len(vector)} numbers, the largest {largest:.3g}: {embedder.identity.model} "
                f"has {embedder.identity.dimension}, which must be finite and not all zero"
            )
        return normalize(
            (vector / largest).astype(np.float32)
        )  # divided first, so that no square is too large or too small

    def _add_stored_cosines(
        self, cosines: FloatArray, ids: IntArray, vector: FloatArray, generation: int | None, tenant: str
    ) -> None:
        """Score items that take no part in recall, archived or quarantined, by their vectors in the store."""
        absent = ids[cosines == _NO_VECTOR].tolist()
        if not absent:
            return
        stored = self._store.read(lambda tx: _read_vectors(tx, absent, generation), tenant=tenant)
        for position, memory_id in enumerate(ids.tolist()):
            if memory_id in stored:
                cosines[position] = float(stored[memory_id] @ vector)

    def _raise_by_fields(self, cosines: FloatArray, rows: Sequence[Row], vector: FloatArray, tenant: str) -> None:
        """Score items with a vector for each field by the best of them alone."""
        generation = self._vectors.generation()
        for position, (_, value, notes, _) in enumerate(rows):
            found = stored_json(notes, dict).get(_VECTORS) if _VECTORS in notes else None
            if found is None:
                continue
            if found["generation"] == generation:
                fields = np.stack([_decode(each) for each in found["data"]])
            else:  # another model has embedded the store since
                fields = self._vectors.embed_passages(
                    tenant, _texts_at(stored_json(value), stored_json(notes, dict)[_PATHS])
                )
            cosines[position] = float(np.max(fields @ vector))

    def _refresh(self, items: Sequence[Item], found: Sequence[Memory]) -> list[Item]:
        """Start the time to live of those that have one again."""
        now = self._clock()
        renewed = {
            memory.id: now + timedelta(seconds=memory.notes[_TTL])
            for memory in found
            if memory.expires_at is not None and _TTL in memory.notes
        }
        if renewed:
            self._store.write(lambda tx: _set_expiry(tx, found, renewed), tenant=found[0].tenant)
        return [
            replace(item, expires_at=renewed.get(memory.id, item.expires_at))
            for item, memory in zip(items, found, strict=True)
        ]

    def _walk(self, tx: ReadTransaction, scope: Scope, prefix: NamespacePath) -> Iterator[NamespacePath]:
        """Yield each namespace below a prefix once, by one look-up each."""
        position, end = key_range(prefix)
        alive = [*_owned(scope), *self._not_expired()]
        while True:
            query = select(_M.key).where(*alive, _M.key >= position, _M.key < end).order_by(_M.key).limit(1)
            key = tx.execute(query).scalar()
            if key is None:
                return
            namespace = decode_key(key)[0]
            yield namespace
            position = own_range(namespace)[1]

    def _count(
        self, tx: ReadTransaction, scope: Scope, name: NamespacePath, parts: Sequence[NamespacePath]
    ) -> NamespaceActivity:
        count, last = 0, 0
        for namespace in parts:
            conditions = [*_owned(scope), *_between(own_range(namespace)), *self._not_expired()]
            row = tx.execute(select(func.count(), func.max(_M.valid_from)).where(*conditions)).one()
            count, last = count + row[0], max(last, row[1] or 0)
        return NamespaceActivity(name, count, from_micros(last))


def _owned(scope: Scope) -> list[ColumnElement[bool]]:
    """Return the conditions on items of exactly this agent, user and session, or with ANY of every user."""
    if scope.user is not ANY:
        return owner_conditions(scope)
    return [_M.tenant == scope.tenant, _M.agent == (scope.agent or ""), _M.session == (scope.session or "")]


def _between(bounds: tuple[str, str]) -> list[ColumnElement[bool]]:
    return [_M.key >= bounds[0], _M.key < bounds[1]]


def _to_item(memory: Memory) -> Item:
    assert memory.key is not None
    namespace, key = decode_key(memory.key)
    return Item(
        namespace, key, memory.value, memory.recorded_at, memory.valid_from, memory.expires_at, user=memory.user
    )


def _to_text(key: str, value: JSON, index: tuple[str, ...] | bool) -> str:
    """Return the text of an item; empty when nothing of it is searched."""
    if index is False:
        return ""
    if index is True:
        return (value_to_words(value) if isinstance(value, dict | list) else value_to_text(key, value)).strip()
    return "\n".join(_texts_at(value, index))


def _texts_at(value: JSON, paths: Sequence[str]) -> list[str]:
    """Return the texts at the paths, each once."""
    found = (each for path in paths for each in values_at(value, path or WHOLE))
    return [text for text in dict.fromkeys(redact_secrets(value_to_words(each)) for each in found) if text.strip()]


def _cosines(partition: Partition, vector: FloatArray | None, ids: IntArray) -> FloatArray:
    """Return the cosine of each id; `_NO_VECTOR` for an item without a vector."""
    if vector is None or partition.index is None:
        return np.full(len(ids), _NO_VECTOR, dtype=np.float32)
    return np.array(partition.index.scores(vector, ids), dtype=np.float32)


def _read_vectors(tx: ReadTransaction, ids: Sequence[int], generation: int | None) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for part in chunked(ids):
        columns = (vectors.c.memory_id, vectors.c.data)
        query = select(*columns).where(vectors.c.memory_id.in_(part), vectors.c.generation == generation)
        found.update((row[0], np.frombuffer(row[1], dtype="<f4")) for row in tx.execute(query))
    return found


def _set_expiry(tx: Transaction, found: Sequence[Memory], renewed: Mapping[int, datetime]) -> None:
    for memory in found:
        if memory.id in renewed:
            # Unless it was put again meanwhile, with another time to live.
            same = (_M.id == memory.id, _M.version == memory.version)
            tx.execute(update(memories).where(*same).values(expires_at=to_micros(renewed[memory.id])))
    owners = [(each.id, each.tenant, stored_name(each.user)) for each in found if each.id in renewed]
    insert_changes(tx, "edit", owners)


def _encode(vector: FloatArray) -> str:
    return b64encode(vector.astype("<f4").tobytes()).decode("ascii")


def _decode(data: str) -> Any:
    return np.frombuffer(b64decode(data), dtype="<f4")
