"""The contract of a store as a pytest suite: subclass `StoreContract` and define the fixture `store`."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from memoranda.embedding.vectors import start_generation
from memoranda.errors import Closed, Conflict, NotFound
from memoranda.storage.base import PartitionKey, ReadTransaction, Store, Transaction
from memoranda.storage.changes import AppendMessage, Change, Edit, Link, NewMemory, Remove
from memoranda.storage.meta import get_meta, set_meta
from memoranda.storage.read import find_memories, read_sentences
from memoranda.storage.write import MemoryWrite
from memoranda.testing.differential import (
    UNKNOWN_ID,
    MemoryOperations,
    StoreOperations,
    StorePair,
    apply_random_changes,
    compare_reads,
)
from memoranda.testing.fakes import (
    CONFUSABLE_NAMES,
    KINDS,
    ODD_KEYS,
    ODD_VALUES,
    OPERATORS,
    PLAIN_VALUES,
    HashEmbedder,
    Samples,
    VectorSpace,
)
from memoranda.testing.lifecycle import LifecycleContract
from memoranda.types import ANY, EVERYTHING, JSON, Association, Condition, Filter, Memory, Operator, Scope

ADA = Scope(user="ada")
BOB = Scope(user="bob")
DIMENSION = 8


class MemoryContract(LifecycleContract):
    """The part of `StoreContract` that compares every result with the reference."""

    steps: ClassVar[int] = 25
    """How many random changes each history has."""

    @pytest.fixture
    def operations(self) -> Iterator[MemoryOperations]:
        raise NotImplementedError("define a fixture named `operations`, or subclass StoreContract")

    @pytest.fixture
    def space(self) -> VectorSpace:
        return VectorSpace(generation=1, dimension=DIMENSION)

    @pytest.fixture
    def pair(self, operations: MemoryOperations) -> StorePair:
        return StorePair(operations)

    @pytest.fixture
    def samples(self, space: VectorSpace) -> Samples:
        return Samples(0, space)

    @pytest.mark.parametrize("seed", range(6))
    def test_random_changes_give_same_results_as_reference(
        self, pair: StorePair, space: VectorSpace, seed: int
    ) -> None:
        samples = Samples(seed, space)
        for _ in range(self.steps):
            apply_random_changes(pair, samples)
            compare_reads(pair, samples)

    def test_random_filters_give_same_results_as_reference(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(ADA) for _ in range(120)])
        for _ in range(250):
            where = samples.filter()
            pair.compare_matching(ADA, where)
        for where in [samples.filter() for _ in range(20)]:
            pair.compare_find(ADA, where, limit=3)

    def test_every_field_is_returned_as_written(self, pair: StorePair, samples: Samples) -> None:
        new = [samples.new_memory(ADA) for _ in range(30)]
        outcomes = pair.apply(list(new))
        assert [outcome.memory and outcome.memory.content for outcome in outcomes] == [each.content for each in new]
        pair.compare_get(ADA, pair.known_ids())

    def test_store_copies_values_in_and_out(self, operations: MemoryOperations, samples: Samples) -> None:
        new = replace(samples.new_memory(ADA), metadata={"tags": ["a"]}, key="k", value={"list": [1]})
        written = _add(operations, new)
        written.metadata["tags"].append("changed")
        new.metadata["tags"] = "changed"
        read = operations.get(ADA, [written.id])[0]
        assert read is not None
        read.value["list"].append(2)
        again = operations.get(ADA, [written.id])[0]
        assert again is not None
        assert (again.metadata, again.value) == ({"tags": ["a"]}, {"list": [1]})

    @pytest.mark.parametrize("text", ['O\'Hara said "no"; --', "猫 🙂 é e\u0301", "%_\\", "a\r\nb\tc", "x" * 100_000])
    def test_text_is_returned_exactly(self, operations: MemoryOperations, samples: Samples, text: str) -> None:
        written = _add(operations, samples.new_memory(ADA, text))
        assert [each and each.content for each in operations.get(ADA, [written.id])] == [text]

    @pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
    def test_value_is_returned_with_its_type(self, pair: StorePair, samples: Samples, value: JSON) -> None:
        keyed = replace(samples.new_memory(ADA), key="k", value=value, metadata={"m": value})
        pair.apply([keyed])
        pair.compare_by_key(ADA, "k")

    def test_error_in_a_batch_undoes_the_whole_batch(self, pair: StorePair, samples: Samples) -> None:
        first = pair.apply([samples.new_memory(ADA)])[0].memory
        assert first is not None
        head = pair.store.head()
        bad = Edit(first.id, first.version + 7, samples.new_memory(ADA))
        changes: list[Change] = [
            replace(samples.new_memory(ADA), idempotency_key="once"),
            Remove(ADA, (first.id,)),
            bad,
            samples.new_memory(ADA),
            samples.new_memory(BOB),
        ]
        with pytest.raises((Conflict, NotFound)):
            pair.apply(changes)
        assert pair.store.head() == head
        pair.compare_memories([ADA, BOB, Scope(user=ANY)])
        assert pair.apply(changes[:1])[0].status == "stored"

    def test_change_sees_earlier_changes_of_its_batch(self, pair: StorePair, samples: Samples) -> None:
        first = pair.apply([samples.new_memory(ADA)])[0].memory
        assert first is not None
        edited = samples.new_memory(ADA)
        pair.apply([Edit(first.id, 1, edited), Edit(first.id, 2, samples.new_memory(ADA)), Remove(ADA, (first.id,))])
        pair.compare_memories([ADA])
        with pytest.raises(NotFound):
            pair.apply([Edit(first.id, 3, edited)])

    def test_empty_batch_makes_no_commit(self, operations: MemoryOperations) -> None:
        head = operations.head()
        assert operations.apply([]) == []
        assert operations.head() == head

    def test_ids_are_never_reused(self, pair: StorePair, samples: Samples) -> None:
        for _ in range(3):
            memory = pair.apply([samples.new_memory(ADA)])[0].memory
            assert memory is not None
            pair.apply([Remove(ADA, (memory.id,))])
        assert len(pair.known_ids()) == 3

    def test_edit_of_stale_version_raises_conflict(self, pair: StorePair, samples: Samples) -> None:
        memory = pair.apply([samples.new_memory(ADA)])[0].memory
        assert memory is not None
        pair.apply([Edit(memory.id, 1, samples.new_memory(ADA))])
        for stale in (0, 1, 3):
            with pytest.raises(Conflict):
                pair.apply([Edit(memory.id, stale, samples.new_memory(ADA))])
        pair.compare_get(ADA, [memory.id])

    def test_edit_or_link_of_unknown_or_foreign_id_raises_not_found(self, pair: StorePair, samples: Samples) -> None:
        first, other = (pair.apply([samples.new_memory(scope)])[0].memory for scope in (ADA, BOB))
        assert first is not None
        assert other is not None
        for memory_id in (other.id, UNKNOWN_ID):
            with pytest.raises(NotFound):
                pair.apply([Edit(memory_id, 1, samples.new_memory(ADA))])
            with pytest.raises(NotFound):
                pair.apply([Link(ADA, Association(first.id, memory_id, "about", 1.0))])
            with pytest.raises(NotFound):
                pair.apply([Link(ADA, Association(memory_id, first.id, "about", 1.0))])
        pair.compare_memories([ADA, BOB])

    def test_remove_deletes_only_memories_of_the_scope(self, pair: StorePair, samples: Samples) -> None:
        first, other = (pair.apply([samples.new_memory(scope)])[0].memory for scope in (ADA, BOB))
        assert first is not None
        assert other is not None
        outcome = pair.store.apply([Remove(ADA, tuple(map(pair.store_id, (first.id, other.id, UNKNOWN_ID))))])[0]
        assert (outcome.status, outcome.memory) == ("stored", None)
        assert "1" in outcome.reason
        pair.reference.apply([Remove(ADA, (first.id, other.id))])
        pair.compare_memories([ADA, BOB])

    def test_message_can_have_several_memories_each_stored_once(self, pair: StorePair, samples: Samples) -> None:
        message = samples.message("We moved. The lease runs until 2031.", samples.moment())
        new = [replace(samples.new_memory(ADA, text), message=message) for text in ("We moved.", "The lease runs.")]
        assert [outcome.status for outcome in pair.apply(list(new))] == ["stored", "stored"]
        assert [outcome.status for outcome in pair.apply(list(new))] == ["duplicate", "duplicate"]
        pair.compare_memories([ADA, BOB])

    def test_message_never_changes_its_words(self, pair: StorePair, samples: Samples) -> None:
        first = samples.message("We moved.", samples.moment())
        pair.apply([AppendMessage(ADA, first, samples.moment()), AppendMessage(ADA, first, samples.moment())])
        other = replace(first, content="We stayed.")
        (outcome,) = pair.apply([replace(samples.new_memory(ADA, "We stayed."), message=other)])
        assert (outcome.status, outcome.memory) == ("duplicate", None)
        (outcome,) = pair.apply([replace(samples.new_memory(BOB, "We stayed."), message=other)])
        assert outcome.status == "stored"
        (outcome,) = pair.apply([replace(samples.new_memory(ADA, "We moved."), message=first)])
        assert outcome.memory is not None
        pair.apply([Remove(ADA, (outcome.memory.id,))])
        (outcome,) = pair.apply([replace(samples.new_memory(ADA, "We stayed."), message=other)])
        assert outcome.status == "stored"
        pair.compare_memories([ADA, BOB])

    def test_same_text_is_a_duplicate_only_with_deduplicate_and_in_same_scope(
        self, pair: StorePair, samples: Samples
    ) -> None:
        text = "the same words"
        scopes = (ADA, ADA, BOB, Scope(agent="ada"))
        new = [replace(samples.new_memory(scope, text), deduplicate=True, message=None) for scope in scopes]
        statuses = [outcome.status for outcome in pair.apply(list(new))]
        assert statuses == ["stored", "duplicate", "stored", "stored"]
        no_check = replace(new[0], deduplicate=False)
        other_case = replace(samples.new_memory(ADA, "The same words"), deduplicate=True, message=None)
        assert [outcome.status for outcome in pair.apply([no_check, other_case])] == ["stored"] * 2

    def test_same_message_is_stored_once_per_scope(self, pair: StorePair, samples: Samples) -> None:
        new = replace(samples.new_memory(ADA), message=samples.message("hello", samples.moment()))
        elsewhere = replace(new, scope=BOB)
        statuses = [outcome.status for outcome in pair.apply([new, new, elsewhere])]
        assert statuses == ["stored", "duplicate", "stored"]
        assert pair.apply([new])[0].status == "duplicate"

    def test_removed_text_is_stored_again(self, pair: StorePair, samples: Samples) -> None:
        new = replace(samples.new_memory(ADA, "said once"), deduplicate=True, message=None)
        memory = pair.apply([new])[0].memory
        assert memory is not None
        pair.apply([Remove(ADA, (memory.id,))])
        assert pair.apply([new])[0].status == "stored"

    def test_idempotency_key_writes_once_per_scope(self, pair: StorePair, samples: Samples) -> None:
        new = replace(samples.new_memory(ADA), idempotency_key="call-1")
        first, again = pair.apply([new])[0], pair.apply([new])[0]
        assert (first.status, again.status) == ("stored", "duplicate")
        assert again.memory == first.memory
        elsewhere = replace(samples.new_memory(BOB), idempotency_key="call-1")
        assert pair.apply([elsewhere])[0].status == "stored"

    def test_key_has_one_value_per_agent_and_user(self, pair: StorePair, samples: Samples) -> None:
        owners = [Scope(), Scope(agent="a"), Scope(user="u"), Scope(agent="a", user="u"), Scope("other", agent="a")]
        for round_number in range(3):
            for owner in owners:
                pair.apply([replace(samples.new_memory(owner), key="k", value=f"{owner} {round_number}")])
        for owner in owners:
            pair.compare_by_key(owner, "k")
            pair.compare_by_key(owner, "K")
        pair.compare_memories([*owners, Scope(user=ANY)])

    @pytest.mark.parametrize("field", ["tenant", "agent", "user", "session"])
    def test_similar_names_are_kept_apart(self, pair: StorePair, samples: Samples, field: str) -> None:
        scopes = [replace(Scope(), **{field: name}) for name in CONFUSABLE_NAMES]
        pair.apply([replace(samples.new_memory(scope), key="k", value=str(scope)) for scope in scopes])
        for scope in scopes:
            pair.compare_find(scope)
            pair.compare_matching(scope)
            pair.compare_by_key(scope, "k")
            pair.compare_get(scope, pair.known_ids())
            pair.compare_rows(PartitionKey(scope.tenant, scope.user), None, None)

    def test_scope_without_user_has_memories_of_no_user(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(scope) for scope in (ADA, BOB, Scope(), Scope(agent="x"))])
        assert len(pair.store.find(Scope(), limit=10)) == 2
        assert len(pair.store.find(Scope(user=ANY), limit=10)) == 4
        assert len(pair.store.find(Scope("elsewhere", user=ANY), limit=10)) == 0

    def test_get_keeps_order_and_repetitions_of_ids(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(ADA) for _ in range(5)])
        pair.compare_get(ADA, [3, 1, 99, 3, 5])
        assert pair.store.get(ADA, []) == []

    def test_get_takes_more_ids_than_a_statement_has_parameters(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(ADA) for _ in range(10)])
        pair.compare_get(ADA, list(range(1, 40_000)))

    def test_find_returns_each_memory_on_exactly_one_page(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(ADA) for _ in range(23)])
        seen: list[int] = []
        while page := pair.store.find(ADA, limit=5, after=seen[-1] if seen else 0):
            seen += [memory.id for memory in page]
        assert seen == sorted(set(seen))
        assert len(seen) == 23

    @pytest.mark.parametrize("key", ODD_KEYS, ids=repr)
    def test_metadata_key_is_not_interpreted(self, pair: StorePair, samples: Samples, key: str) -> None:
        only: dict[str, JSON] = {key: 1}
        others: dict[str, JSON] = {other: 1 for other in ODD_KEYS if other != key}
        pair.apply([replace(samples.new_memory(ADA), metadata=each) for each in (only, others, {})])
        assert len(pair.store.matching(ADA, Filter(metadata=(Condition(key, "eq", 1),)))) == 1
        for op in OPERATORS:
            pair.compare_matching(ADA, Filter(metadata=(Condition(key, op, [1, "x"] if op == "in" else 1),)))

    @pytest.mark.parametrize("op", OPERATORS)
    def test_operator_compares_values_of_same_type(self, pair: StorePair, samples: Samples, op: Operator) -> None:
        pair.apply([replace(samples.new_memory(ADA), metadata={"v": value}) for value in ODD_VALUES])
        for value in PLAIN_VALUES:
            if op in ("gt", "gte", "lt", "lte") and (value is None or isinstance(value, bool)):
                continue
            pair.compare_matching(ADA, Filter(metadata=(Condition("v", op, [value] if op == "in" else value),)))

    def test_related_memories_equal_reference(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(ADA) for _ in range(12)])
        for _ in range(25):
            left, right = samples.random.sample(range(1, 13), 2)
            # Powers of two, so that products along different paths are exact.
            strength = samples.random.choice([1.0, 0.5, 0.25])
            metadata: dict[str, JSON] = samples.random.choice([{}, {"n": 1}, {"n": 2}])
            pair.apply([Link(ADA, Association(left, right, samples.random.choice(KINDS), strength, metadata))])
        for memory_id in range(1, 13):
            for depth in (1, 2, 3):
                pair.compare_related(ADA, memory_id, depth=depth)
                pair.compare_related(ADA, memory_id, kind="about", depth=depth)

    def test_links_are_removed_with_their_memories(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(ADA) for _ in range(3)])
        pair.apply([Link(ADA, Association(1, 2, "about", 0.5)), Link(ADA, Association(2, 3, "about", 0.5))])
        pair.apply([Link(ADA, Association(1, 2, "about", 0.75))])
        pair.compare_related(ADA, 1, depth=3)
        pair.apply([Remove(ADA, (2,))])
        pair.compare_related(ADA, 1, depth=3)
        assert pair.store.related(ADA, pair.store_id(3), kind=None, depth=3) == []

    def test_related_memories_of_unknown_or_foreign_id_raise_not_found(self, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(BOB)])
        for memory_id in (pair.store_id(1), UNKNOWN_ID):
            with pytest.raises(NotFound):
                pair.store.related(ADA, memory_id, kind=None, depth=1)

    def test_change_log_lists_changed_memories(self, pair: StorePair, samples: Samples) -> None:
        partitions = [PartitionKey("default", user) for user in ("ada", "bob", None, ANY)]
        heads: list[tuple[int, int]] = [(0, 0)]
        for scope in (ADA, BOB, Scope(), ADA):
            memory = pair.apply([samples.new_memory(scope), samples.new_memory(scope)])[0].memory
            assert memory is not None
            heads.append((pair.reference.head(), pair.store.head()))
            pair.apply([Edit(memory.id, 1, samples.new_memory(scope)), Remove(scope, (memory.id,))])
            heads.append((pair.reference.head(), pair.store.head()))
        for since, store_since in heads:
            for key in partitions:
                pair.compare_changed(key, since, store_since)
        store_heads = [store_head for _, store_head in heads]
        assert store_heads == sorted(set(store_heads))

    def test_index_rows_equal_reference(self, pair: StorePair, samples: Samples, space: VectorSpace) -> None:
        pair.apply([(samples.new_memory(samples.random.choice([ADA, BOB, Scope()]))) for _ in range(30)])
        for user in ("ada", "bob", None, ANY):
            key = PartitionKey("default", user)
            pair.compare_rows(key, None, None)
            pair.compare_rows(key, None, space.generation)
            pair.compare_rows(key, np.array([1, 5, 9, 77], dtype=np.int64), None)

    def test_vector_is_kept_exactly_and_replaced_with_its_memory(
        self, pair: StorePair, samples: Samples, space: VectorSpace
    ) -> None:
        key = PartitionKey("default", "ada")
        pair.apply([samples.new_memory(ADA) for _ in range(3)])
        pair.compare_rows(key, None, space.generation)
        pair.apply([Edit(2, 1, samples.new_memory(ADA)), Remove(ADA, (1,))])
        pair.compare_rows(key, None, space.generation)
        pair.apply([Edit(3, 1, replace(samples.new_memory(ADA, "other words"), vector=None, generation=None))])
        assert [row.vector is None for row in pair.store.rows(key, None, space.generation)] == [False, True]
        pair.apply([Edit(3, 2, samples.new_memory(ADA))])
        pair.compare_rows(key, None, space.generation)
        assert all(row.vector is None for row in pair.store.rows(key, None, space.generation + 1))


class StoreContract(MemoryContract):
    """The contract of a `Store`. Name the subclass `Test…`, and define one fixture, `store`.

    The fixture yields a new, empty `memoranda.storage.base.Store` for each test, and closes it afterwards:

        class TestMyStore(StoreContract):
            @pytest.fixture
            def store(self, tmp_path):
                store = MyStore(tmp_path / "memories.db")
                yield store
                store.close()
    """

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("define a fixture named `store` that yields a new, empty store")

    @pytest.fixture
    def space(self, store: Store) -> VectorSpace:
        identity = HashEmbedder(DIMENSION).identity
        return VectorSpace(store.write(lambda tx: start_generation(tx, identity, activate=True)).id, DIMENSION)

    @pytest.fixture
    def operations(self, store: Store) -> Iterator[MemoryOperations]:
        yield StoreOperations(store)
        assert store.check() == []

    def test_failed_write_is_undone(self, store: Store) -> None:
        def fail(tx: Transaction) -> None:
            set_meta(tx, "colour", "green")
            raise LookupError("colour")

        with pytest.raises(LookupError):
            store.write(fail)
        assert store.get_meta("colour") is None

    def test_meta_value_is_read_by_store_and_by_transaction(self, store: Store) -> None:
        store.write(lambda tx: set_meta(tx, "colour", "green"))
        assert store.get_meta("colour") == store.read(lambda tx: get_meta(tx, "colour")) == "green"

    def test_concurrent_writes_are_all_stored(self, store: Store) -> None:
        def add(seed: int) -> str:
            new = replace(Samples(seed).new_memory(ADA, f"note {seed}"), message=None)
            return store.write(MemoryWrite([new]))[0].status

        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(add, range(40))) == ["stored"] * 40
        found = store.read(lambda tx: find_memories(tx, ADA, EVERYTHING, 100), tenant=ADA.tenant)
        assert sorted(memory.content for memory in found) == sorted(f"note {seed}" for seed in range(40))

    def test_stream_yields_one_commit_while_another_is_written(self, store: Store) -> None:
        def read(tx: ReadTransaction) -> Iterator[int]:
            yield len(find_memories(tx, ADA, EVERYTHING, 100))
            yield len(find_memories(tx, ADA, EVERYTHING, 100))

        counts = store.stream(read, tenant=ADA.tenant)
        assert next(counts) == 0
        store.write(MemoryWrite([Samples(0).new_memory(ADA)]))
        assert list(counts) == [0]
        assert list(store.stream(read, tenant=ADA.tenant)) == [1, 1]

    def test_known_vectors_are_those_of_the_generation(
        self, store: Store, samples: Samples, space: VectorSpace
    ) -> None:
        new, other = samples.new_memory(ADA), samples.new_memory(ADA)
        assert new.vector is not None
        assert other.vector is not None
        new.sentences = bytes(range(32))
        store.write(MemoryWrite([new, other]))
        hashes = [new.content_hash, other.content_hash, b"unknown"]
        expected = {
            new.content_hash: (new.vector.astype("<f4").tobytes(), new.sentences),
            other.content_hash: (other.vector.astype("<f4").tobytes(), None),
        }
        assert store.known_vectors(ADA.tenant, space.generation, hashes) == expected
        assert store.known_vectors(ADA.tenant, space.generation + 1, hashes) == {}

    def test_known_vectors_are_those_of_the_tenant(self, store: Store, samples: Samples, space: VectorSpace) -> None:
        new = samples.new_memory(ADA)
        store.write(MemoryWrite([new]))
        assert store.known_vectors(f"{ADA.tenant}2", space.generation, [new.content_hash]) == {}

    def test_sentences_are_read_inside_the_scope_and_go_with_their_memory(
        self, store: Store, samples: Samples, space: VectorSpace
    ) -> None:
        new = [samples.new_memory(ADA), samples.new_memory(ADA), samples.new_memory(BOB)]
        for each, sentences in zip(new, (b"12345678", b"", b"abcdefgh"), strict=True):
            each.sentences = sentences
        ids = [outcome.memory.id for outcome in store.write(MemoryWrite(new)) if outcome.memory]

        def read(scope: Scope, generation: int) -> dict[int, bytes]:
            return store.read(lambda tx: read_sentences(tx, scope, ids, generation), tenant=scope.tenant)

        assert read(ADA, space.generation) == {ids[0]: b"12345678"}
        assert read(BOB, space.generation) == {ids[2]: b"abcdefgh"}
        assert read(ADA, space.generation + 1) == {}
        store.write(MemoryWrite([Remove(ADA, (ids[0],))]))
        assert read(ADA, space.generation) == {}

    def test_active_generation_is_the_activated_one(self, store: Store) -> None:
        assert store.active_generation() is None
        identity = HashEmbedder(DIMENSION).identity
        started = store.write(lambda tx: start_generation(tx, identity, activate=True))
        assert store.active_generation() == started

    def test_compact_and_repair_keep_all_memories(self, store: Store, pair: StorePair, samples: Samples) -> None:
        pair.apply([samples.new_memory(ADA) for _ in range(5)])
        pair.apply([Remove(ADA, (2,))])
        assert store.compact()
        store.repair()
        pair.compare_memories([ADA])

    def test_closed_store_raises_closed(self, store: Store) -> None:
        store.close()
        store.close()
        for use in (store.head, lambda: store.get(ADA, [1]), lambda: store.write(lambda tx: set_meta(tx, "k", "v"))):
            with pytest.raises(Closed):
                use()


def _add(operations: MemoryOperations, new: NewMemory) -> Memory:
    memory = operations.apply([new])[0].memory
    assert memory is not None
    return memory
