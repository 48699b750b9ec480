"""What any memory store must do, as a pytest suite: inherit it and define `open_store`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from memoranda.errors import Conflict, NotFound
from memoranda.storage.base import PartitionKey, Store
from memoranda.storage.changes import AppendMessage, Change, Edit, Link, NewMemory, Remove
from memoranda.testing.differential import Pair
from memoranda.testing.history import compare_answers, random_step
from memoranda.testing.lifecycle import LifecycleContract
from memoranda.testing.operations import MemoryOperations, StoreOperations
from memoranda.testing.samples import (
    CONFUSABLE_NAMES,
    KINDS,
    ODD_KEYS,
    ODD_VALUES,
    OPERATORS,
    PLAIN_VALUES,
    Samples,
    VectorSpace,
)
from memoranda.types import ANY, JSON, Association, Condition, Filter, Memory, Operator, Scope

ADA = Scope(user="ada")
BOB = Scope(user="bob")


class StoreContract(LifecycleContract):
    """Subclass it, name the class `Test…`, and define a fixture `store`.

    Define a fixture `space` as well, to say which embedding generation the store takes vectors of;
    without one, the test of vectors skips and says so. `steps` is the length of a random history.
    """

    steps: ClassVar[int] = 25

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        raise NotImplementedError("define a fixture named `store` that gives a new, empty store")

    @pytest.fixture
    def space(self) -> VectorSpace | None:
        return None

    @pytest.fixture
    def operations(self, store: Store) -> MemoryOperations:
        return StoreOperations(store)

    @pytest.fixture
    def pair(self, operations: MemoryOperations) -> Pair:
        return Pair(operations)

    @pytest.fixture
    def samples(self, space: VectorSpace | None) -> Samples:
        return Samples(0, space)

    # Random histories

    @pytest.mark.parametrize("seed", range(6))
    def test_random_histories_give_the_answers_of_the_reference(
        self, pair: Pair, space: VectorSpace | None, seed: int
    ) -> None:
        samples = Samples(seed, space)
        for _ in range(self.steps):
            random_step(pair, samples)
            compare_answers(pair, samples)

    def test_every_kind_of_filter_gives_the_answers_of_the_reference(self, pair: Pair, samples: Samples) -> None:
        pair.apply([samples.draft(ADA) for _ in range(120)])
        for _ in range(250):
            where = samples.filter()
            pair.matching(ADA, where)
        for where in [samples.filter() for _ in range(20)]:
            pair.find(ADA, where, limit=3)

    # Writing

    def test_what_was_written_comes_back_whole(self, pair: Pair, samples: Samples) -> None:
        drafts = [samples.draft(ADA) for _ in range(30)]
        outcomes = pair.apply(list(drafts))
        assert [outcome.memory and outcome.memory.content for outcome in outcomes] == [one.content for one in drafts]
        pair.get(ADA, pair.known_ids())

    def test_what_comes_back_is_the_callers_own(self, operations: MemoryOperations, samples: Samples) -> None:
        draft = replace(samples.draft(ADA), metadata={"tags": ["a"]}, key="k", value={"list": [1]})
        written = _stored(operations, draft)
        written.metadata["tags"].append("changed")
        draft.metadata["tags"] = "changed"
        read = operations.get(ADA, [written.id])[0]
        assert read is not None
        read.value["list"].append(2)
        again = operations.get(ADA, [written.id])[0]
        assert again is not None
        assert (again.metadata, again.value) == ({"tags": ["a"]}, {"list": [1]})

    @pytest.mark.parametrize("text", ['O\'Hara said "no"; --', "猫 🙂 é e\u0301", "%_\\", "a\r\nb\tc", "x" * 100_000])
    def test_text_comes_back_letter_for_letter(self, operations: MemoryOperations, samples: Samples, text: str) -> None:
        written = _stored(operations, samples.draft(ADA, text))
        assert [one and one.content for one in operations.get(ADA, [written.id])] == [text]

    @pytest.mark.parametrize("value", ODD_VALUES, ids=repr)
    def test_a_value_comes_back_with_its_type(self, pair: Pair, samples: Samples, value: JSON) -> None:
        keyed = replace(samples.draft(ADA), key="k", value=value, metadata={"m": value})
        pair.apply([keyed])
        pair.by_key(ADA, "k")

    def test_an_error_in_the_middle_leaves_nothing_behind(self, pair: Pair, samples: Samples) -> None:
        first = pair.apply([(samples.draft(ADA))])[0].memory
        assert first is not None
        head = pair.store.head()
        bad = Edit(first.id, first.version + 7, samples.draft(ADA))
        changes: list[Change] = [
            replace(samples.draft(ADA), idempotency_key="once"),
            Remove(ADA, (first.id,)),
            bad,
            (samples.draft(ADA)),
            (samples.draft(BOB)),
        ]
        with pytest.raises((Conflict, NotFound)):
            pair.apply(changes)
        assert pair.store.head() == head
        pair.everything([ADA, BOB, Scope(user=ANY)])
        assert pair.apply(changes[:1])[0].status == "stored"

    def test_a_batch_sees_its_own_earlier_changes(self, pair: Pair, samples: Samples) -> None:
        first = pair.apply([(samples.draft(ADA))])[0].memory
        assert first is not None
        edited = samples.draft(ADA)
        pair.apply([Edit(first.id, 1, edited), Edit(first.id, 2, samples.draft(ADA)), Remove(ADA, (first.id,))])
        pair.everything([ADA])
        with pytest.raises(NotFound):
            pair.apply([Edit(first.id, 3, edited)])

    def test_no_changes_are_no_commit(self, operations: MemoryOperations) -> None:
        head = operations.head()
        assert operations.apply([]) == []
        assert operations.head() == head

    def test_ids_are_never_used_again(self, pair: Pair, samples: Samples) -> None:
        for _ in range(3):
            memory = pair.apply([(samples.draft(ADA))])[0].memory
            assert memory is not None
            pair.apply([Remove(ADA, (memory.id,))])
        assert len(pair.known_ids()) == 3

    # Editing, removing

    def test_a_stale_version_is_a_conflict(self, pair: Pair, samples: Samples) -> None:
        memory = pair.apply([(samples.draft(ADA))])[0].memory
        assert memory is not None
        pair.apply([Edit(memory.id, 1, samples.draft(ADA))])
        for stale in (0, 1, 3):
            with pytest.raises(Conflict):
                pair.apply([Edit(memory.id, stale, samples.draft(ADA))])
        pair.get(ADA, [memory.id])

    def test_an_unknown_or_foreign_id_is_not_found(self, pair: Pair, samples: Samples) -> None:
        mine, other = (pair.apply([(samples.draft(scope))])[0].memory for scope in (ADA, BOB))
        assert mine is not None
        assert other is not None
        for number in (other.id, 424_242):
            with pytest.raises(NotFound):
                pair.apply([Edit(number, 1, samples.draft(ADA))])
            with pytest.raises(NotFound):
                pair.apply([Link(ADA, Association(mine.id, number, "about", 1.0))])
            with pytest.raises(NotFound):
                pair.apply([Link(ADA, Association(number, mine.id, "about", 1.0))])
        pair.everything([ADA, BOB])

    def test_removing_takes_only_what_the_scope_owns(self, pair: Pair, samples: Samples) -> None:
        mine, other = (pair.apply([(samples.draft(scope))])[0].memory for scope in (ADA, BOB))
        assert mine is not None
        assert other is not None
        outcome = pair.store.apply([Remove(ADA, tuple(map(pair.store_id, (mine.id, other.id, 424_242))))])[0]
        assert (outcome.status, outcome.memory) == ("stored", None)
        assert "1" in outcome.reason
        pair.reference.apply([Remove(ADA, (mine.id, other.id))])
        pair.everything([ADA, BOB])

    # What was said

    def test_several_memories_may_come_of_one_message_each_once(self, pair: Pair, samples: Samples) -> None:
        message = samples.message("We moved. The lease runs until 2031.", samples.moment())
        drafts = [replace(samples.draft(ADA, text), message=message) for text in ("We moved.", "The lease runs.")]
        assert [end.status for end in pair.apply(list(drafts))] == ["stored", "stored"]
        assert [end.status for end in pair.apply(list(drafts))] == ["duplicate", "duplicate"]
        pair.everything([ADA, BOB])

    def test_what_was_said_is_never_said_otherwise(self, pair: Pair, samples: Samples) -> None:
        first = samples.message("We moved.", samples.moment())
        pair.apply([AppendMessage(ADA, first, samples.moment()), AppendMessage(ADA, first, samples.moment())])
        other = replace(first, content="We stayed.")
        (end,) = pair.apply([replace(samples.draft(ADA, "We stayed."), message=other)])
        assert (end.status, end.memory) == ("duplicate", None)
        (end,) = pair.apply([replace(samples.draft(BOB, "We stayed."), message=other)])
        assert end.status == "stored"
        (end,) = pair.apply([replace(samples.draft(ADA, "We moved."), message=first)])
        assert end.memory is not None
        pair.apply([Remove(ADA, (end.memory.id,))])
        (end,) = pair.apply([replace(samples.draft(ADA, "We stayed."), message=other)])
        assert end.status == "stored"
        pair.everything([ADA, BOB])

    # Once only

    def test_the_same_text_is_a_duplicate_only_where_asked_and_in_its_own_scope(
        self, pair: Pair, samples: Samples
    ) -> None:
        text = "the same words"
        scopes = (ADA, ADA, BOB, Scope(agent="ada"))
        drafts = [replace(samples.draft(scope, text), deduplicate=True, message=None) for scope in scopes]
        statuses = [outcome.status for outcome in pair.apply(list(drafts))]
        assert statuses == ["stored", "duplicate", "stored", "stored"]
        not_asked = replace(drafts[0], deduplicate=False)
        other_case = replace(samples.draft(ADA, "The same words"), deduplicate=True, message=None)
        assert [outcome.status for outcome in pair.apply([not_asked, other_case])] == ["stored"] * 2

    def test_the_same_message_is_remembered_once(self, pair: Pair, samples: Samples) -> None:
        said = replace(samples.draft(ADA), message=samples.message("hello", samples.moment()))
        elsewhere = replace(said, scope=BOB)
        statuses = [outcome.status for outcome in pair.apply([said, said, elsewhere])]
        assert statuses == ["stored", "duplicate", "stored"]
        assert pair.apply([said])[0].status == "duplicate"

    def test_a_removed_text_is_no_duplicate(self, pair: Pair, samples: Samples) -> None:
        draft = replace(samples.draft(ADA, "said once"), deduplicate=True, message=None)
        memory = pair.apply([draft])[0].memory
        assert memory is not None
        pair.apply([Remove(ADA, (memory.id,))])
        assert pair.apply([draft])[0].status == "stored"

    def test_an_idempotency_key_writes_once_in_its_scope(self, pair: Pair, samples: Samples) -> None:
        draft = replace(samples.draft(ADA), idempotency_key="call-1")
        first, again = pair.apply([draft])[0], pair.apply([draft])[0]
        assert (first.status, again.status) == ("stored", "duplicate")
        assert again.memory == first.memory
        elsewhere = replace(samples.draft(BOB), idempotency_key="call-1")
        assert pair.apply([elsewhere])[0].status == "stored"

    def test_a_key_holds_one_value_per_agent_and_user(self, pair: Pair, samples: Samples) -> None:
        owners = [Scope(), Scope(agent="a"), Scope(user="u"), Scope(agent="a", user="u"), Scope("other", agent="a")]
        for round_number in range(3):
            for owner in owners:
                pair.apply([replace(samples.draft(owner), key="k", value=f"{owner} {round_number}")])
        for owner in owners:
            pair.by_key(owner, "k")
            pair.by_key(owner, "K")
        pair.everything([*owners, Scope(user=ANY)])

    # Whose

    @pytest.mark.parametrize("field", ["tenant", "agent", "user", "session"])
    def test_names_that_look_alike_stay_apart(self, pair: Pair, samples: Samples, field: str) -> None:
        scopes = [replace(Scope(), **{field: name}) for name in CONFUSABLE_NAMES]
        pair.apply([replace(samples.draft(scope), key="k", value=str(scope)) for scope in scopes])
        for scope in scopes:
            pair.find(scope)
            pair.matching(scope)
            pair.by_key(scope, "k")
            pair.get(scope, pair.known_ids())
            pair.rows(PartitionKey(scope.tenant, scope.user), None, None)

    def test_no_user_means_memories_of_no_user(self, pair: Pair, samples: Samples) -> None:
        pair.apply([(samples.draft(scope)) for scope in (ADA, BOB, Scope(), Scope(agent="x"))])
        assert len(pair.store.find(Scope(), limit=10)) == 2
        assert len(pair.store.find(Scope(user=ANY), limit=10)) == 4
        assert len(pair.store.find(Scope("elsewhere", user=ANY), limit=10)) == 0

    # Reading

    def test_get_keeps_the_order_asked_and_repeats(self, pair: Pair, samples: Samples) -> None:
        pair.apply([samples.draft(ADA) for _ in range(5)])
        pair.get(ADA, [3, 1, 99, 3, 5])
        assert pair.store.get(ADA, []) == []

    def test_get_takes_more_ids_than_a_statement_takes_parameters(self, pair: Pair, samples: Samples) -> None:
        pair.apply([samples.draft(ADA) for _ in range(10)])
        pair.get(ADA, list(range(1, 40_000)))

    def test_find_pages_through_everything_once(self, pair: Pair, samples: Samples) -> None:
        pair.apply([samples.draft(ADA) for _ in range(23)])
        seen: list[int] = []
        while page := pair.store.find(ADA, limit=5, after=seen[-1] if seen else 0):
            seen += [memory.id for memory in page]
        assert seen == sorted(set(seen))
        assert len(seen) == 23

    @pytest.mark.parametrize("key", ODD_KEYS, ids=repr)
    def test_an_odd_metadata_key_is_only_a_key(self, pair: Pair, samples: Samples, key: str) -> None:
        only: dict[str, JSON] = {key: 1}
        others: dict[str, JSON] = {other: 1 for other in ODD_KEYS if other != key}
        pair.apply([replace(samples.draft(ADA), metadata=one) for one in (only, others, {})])
        assert len(pair.store.matching(ADA, Filter(metadata=(Condition(key, "eq", 1),)))) == 1
        for op in OPERATORS:
            pair.matching(ADA, Filter(metadata=(Condition(key, op, [1, "x"] if op == "in" else 1),)))

    @pytest.mark.parametrize("op", OPERATORS)
    def test_an_operator_compares_like_with_like(self, pair: Pair, samples: Samples, op: Operator) -> None:
        pair.apply([replace(samples.draft(ADA), metadata={"v": value}) for value in ODD_VALUES])
        for value in PLAIN_VALUES:
            if op in ("gt", "gte", "lt", "lte") and (value is None or isinstance(value, bool)):
                continue
            pair.matching(ADA, Filter(metadata=(Condition("v", op, [value] if op == "in" else value),)))

    # Links

    def test_related_memories_are_those_of_the_reference(self, pair: Pair, samples: Samples) -> None:
        pair.apply([samples.draft(ADA) for _ in range(12)])
        for _ in range(25):
            left, right = samples.random.sample(range(1, 13), 2)
            # Powers of two, so that products along different ways are exact.
            strength = samples.random.choice([1.0, 0.5, 0.25])
            pair.apply([Link(ADA, Association(left, right, samples.random.choice(KINDS), strength))])
        for number in range(1, 13):
            for depth in (1, 2, 3):
                pair.related(ADA, number, depth=depth)
                pair.related(ADA, number, kind="about", depth=depth)

    def test_links_go_with_their_memories(self, pair: Pair, samples: Samples) -> None:
        pair.apply([samples.draft(ADA) for _ in range(3)])
        pair.apply([Link(ADA, Association(1, 2, "about", 0.5)), Link(ADA, Association(2, 3, "about", 0.5))])
        pair.apply([Link(ADA, Association(1, 2, "about", 0.75))])
        pair.related(ADA, 1, depth=3)
        pair.apply([Remove(ADA, (2,))])
        pair.related(ADA, 1, depth=3)
        assert pair.store.related(ADA, pair.store_id(3), kind=None, depth=3) == []

    def test_relations_of_an_unknown_or_foreign_memory_are_not_found(self, pair: Pair, samples: Samples) -> None:
        pair.apply([(samples.draft(BOB))])
        for number in (pair.store_id(1), 424_242):
            with pytest.raises(NotFound):
                pair.store.related(ADA, number, kind=None, depth=1)

    # What the index reads

    def test_the_change_log_names_what_was_touched(self, pair: Pair, samples: Samples) -> None:
        partitions = [PartitionKey("default", user) for user in ("ada", "bob", None, ANY)]
        marks: list[tuple[int, int]] = [(0, 0)]
        for scope in (ADA, BOB, Scope(), ADA):
            memory = pair.apply([(samples.draft(scope)), (samples.draft(scope))])[0].memory
            assert memory is not None
            marks.append((pair.reference.head(), pair.store.head()))
            pair.apply([Edit(memory.id, 1, samples.draft(scope)), Remove(scope, (memory.id,))])
            marks.append((pair.reference.head(), pair.store.head()))
        for since, store_since in marks:
            for key in partitions:
                pair.changed(key, since, store_since)
        heads = [store_head for _, store_head in marks]
        assert heads == sorted(set(heads))

    def test_rows_for_the_index_are_those_of_the_reference(
        self, pair: Pair, samples: Samples, space: VectorSpace | None
    ) -> None:
        pair.apply([(samples.draft(samples.random.choice([ADA, BOB, Scope()]))) for _ in range(30)])
        generation = None if space is None else space.generation
        for user in ("ada", "bob", None, ANY):
            key = PartitionKey("default", user)
            pair.rows(key, None, None)
            pair.rows(key, None, generation)
            pair.rows(key, np.array([1, 5, 9, 77], dtype=np.int64), None)

    def test_a_vector_is_kept_bit_for_bit_and_follows_its_memory(
        self, pair: Pair, samples: Samples, space: VectorSpace | None
    ) -> None:
        if space is None:
            pytest.skip("this store was given no vector space")
        key = PartitionKey("default", "ada")
        pair.apply([samples.draft(ADA) for _ in range(3)])
        pair.rows(key, None, space.generation)
        pair.apply([Edit(2, 1, samples.draft(ADA)), Remove(ADA, (1,))])
        pair.rows(key, None, space.generation)
        pair.apply([Edit(3, 1, replace(samples.draft(ADA, "other words"), vector=None, generation=None))])
        assert [row.vector is None for row in pair.store.rows(key, None, space.generation)] == [False, True]
        pair.apply([Edit(3, 2, samples.draft(ADA))])
        pair.rows(key, None, space.generation)
        assert all(row.vector is None for row in pair.store.rows(key, None, space.generation + 1))


def _stored(operations: MemoryOperations, draft: NewMemory) -> Memory:
    memory = operations.apply([draft])[0].memory
    assert memory is not None
    return memory
