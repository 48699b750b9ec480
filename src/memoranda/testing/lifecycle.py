"""The part of the store contract about archived, superseded, pinned, derived and edited memories."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoranda.errors import NotFound
from memoranda.storage.base import PartitionKey
from memoranda.storage.changes import KEPT_REVISIONS, Archive, Derive, Edit, Pin, Remove, Supersede
from memoranda.testing.differential import UNKNOWN_ID, StorePair
from memoranda.testing.fakes import Samples
from memoranda.types import ANY, Memory, Scope

ADA = Scope(user="ada")
BOB = Scope(user="bob")
ADA_PARTITION = PartitionKey("default", "ada")


class LifecycleContract:
    """Part of `StoreContract`, which defines the fixtures."""

    def test_archived_memory_is_read_but_not_indexed(self, pair: StorePair, samples: Samples) -> None:
        first, second = _add(pair, samples, 2)
        pair.apply([Archive(ADA, (first.id, UNKNOWN_ID), samples.moment())])
        pair.compare_memories([ADA])
        pair.compare_rows(ADA_PARTITION, None, None)
        assert len(list(pair.store.rows(ADA_PARTITION, None, None))) == 1
        pair.apply([Archive(ADA, (first.id, second.id), None)])
        assert len(list(pair.store.rows(ADA_PARTITION, None, None))) == 2
        pair.compare_memories([ADA])

    def test_archiving_twice_keeps_first_time(self, pair: StorePair, samples: Samples) -> None:
        (memory,) = _add(pair, samples, 1)
        pair.apply([Archive(ADA, (memory.id,), samples.moment())])
        head = pair.store.head()
        outcome = pair.apply([Archive(ADA, (memory.id,), samples.moment())])[0]
        assert outcome.reason.startswith("0 ")
        assert pair.store.head() == head
        pair.compare_memories([ADA])

    def test_changes_apply_only_to_memories_of_the_scope(self, pair: StorePair, samples: Samples) -> None:
        (first,), (other,) = _add(pair, samples, 1), _add(pair, samples, 1, BOB)
        ids = (first.id, other.id)
        pair.apply([Archive(ADA, ids, samples.moment()), Pin(ADA, ids)])
        with pytest.raises(NotFound):
            pair.apply([Supersede(ADA, (first.id,), other.id, samples.moment())])
        with pytest.raises(NotFound):
            pair.apply([Derive(samples.new_memory(ADA), (other.id,), "consolidated")])
        pair.compare_memories([ADA, BOB, Scope(user=ANY)])
        assert [memory.pinned for memory in pair.store.find(Scope(user=ANY), limit=10)] == [True, False]

    def test_superseded_memory_has_end_and_successor(self, pair: StorePair, samples: Samples) -> None:
        old, new = _add(pair, samples, 2)
        moment = samples.moment()
        pair.apply([Supersede(ADA, (old.id, new.id), new.id, moment)])
        found = pair.store.get(ADA, [pair.store_id(old.id), pair.store_id(new.id)])
        assert [memory and memory.valid_to for memory in found] == [moment, None]
        pair.compare_memories([ADA])
        pair.compare_rows(ADA_PARTITION, None, None)
        pair.compare_lineage(ADA, [old.id, new.id])

    def test_text_of_merged_memory_is_a_duplicate(self, pair: StorePair, samples: Samples) -> None:
        new = [replace(samples.new_memory(ADA, text), deduplicate=True, message=None) for text in ("it is", "it's")]
        kept, repeated = (outcome.memory for outcome in pair.apply(list(new)))
        assert kept is not None
        assert repeated is not None
        pair.apply([Supersede(ADA, (repeated.id,), kept.id, samples.moment(), merged=True)])
        pair.compare_lineage(ADA, [kept.id])
        assert [line.kind for line in pair.store.lineage(ADA, [pair.store_id(repeated.id)])] == ["merged"]
        assert pair.apply([new[1]])[0].status == "duplicate"
        pair.apply([Remove(ADA, (kept.id,))])
        assert pair.apply([new[1]])[0].status == "stored"

    def test_text_of_archived_memory_is_stored_again(self, pair: StorePair, samples: Samples) -> None:
        new = replace(samples.new_memory(ADA, "I live in Bern"), deduplicate=True, message=None)
        first = pair.apply([new])[0].memory
        assert first is not None
        pair.apply([Archive(ADA, (first.id,), samples.moment())])
        second = pair.apply([new])[0]
        assert (second.status, pair.apply([new])[0].status) == ("stored", "duplicate")

    def test_archived_value_is_restored_when_saved_again(self, pair: StorePair, samples: Samples) -> None:
        new = replace(samples.new_memory(ADA), key="k", value=1)
        memory = pair.apply([new])[0].memory
        assert memory is not None
        pair.apply([Archive(ADA, (memory.id,), samples.moment())])
        pair.apply([replace(new, value=2)])
        pair.compare_by_key(ADA, "k")
        assert len(list(pair.store.rows(ADA_PARTITION, None, None))) == 1

    def test_lineage_is_kept_when_sources_are_deleted(self, pair: StorePair, samples: Samples) -> None:
        first, second = _add(pair, samples, 2)
        new = replace(samples.new_memory(ADA), message=None, idempotency_key="once")
        made = pair.apply([Derive(new, (first.id, second.id), "summary")])[0]
        assert pair.apply([Derive(new, (first.id,), "summary")])[0].status == "duplicate"
        assert made.memory is not None
        pair.compare_lineage(ADA, [made.memory.id, first.id])
        pair.apply([Remove(ADA, (first.id,))])
        assert len(pair.store.lineage(ADA, [pair.store_id(made.memory.id)])) == 2
        assert pair.store.lineage(BOB, [pair.store_id(made.memory.id)]) == []
        pair.apply([Remove(ADA, (made.memory.id,))])
        pair.compare_lineage(ADA, [second.id])
        assert pair.store.lineage(ADA, [pair.store_id(second.id)]) == []

    def test_consolidated_memory_is_indexed_when_a_source_is_not(self, pair: StorePair, samples: Samples) -> None:
        first, second = _add(pair, samples, 2)
        new = replace(samples.new_memory(ADA), message=None)
        made = pair.apply([Derive(new, (first.id, second.id), "consolidated")])[0].memory
        assert made is not None

        def is_indexed() -> bool:
            pair.compare_rows(ADA_PARTITION, None, None)
            return pair.store_id(made.id) in [row.id for row in pair.store.rows(ADA_PARTITION, None, None)]

        assert not is_indexed()
        for change, expected in (
            (Archive(ADA, (first.id,), samples.moment()), True),
            (Archive(ADA, (first.id,), None), False),
            (Remove(ADA, (second.id,)), True),
        ):
            before = pair.reference.head(), pair.store.head()
            pair.apply([change])
            assert is_indexed() is expected
            pair.compare_changed(ADA_PARTITION, *before)
            assert pair.store_id(made.id) in pair.store.changed(ADA_PARTITION, before[1])

    def test_revisions_are_kept_oldest_first(self, pair: StorePair, samples: Samples) -> None:
        (memory,) = _add(pair, samples, 1)
        for version in range(1, 4):
            pair.apply([Edit(memory.id, version, samples.new_memory(ADA))])
        pair.compare_revisions(ADA, memory.id)
        assert [one.version for one in pair.store.revisions(ADA, pair.store_id(memory.id))] == [1, 2, 3]
        for scope, number in ((BOB, pair.store_id(memory.id)), (ADA, UNKNOWN_ID)):
            with pytest.raises(NotFound):
                pair.store.revisions(scope, number)

    def test_revisions_are_bounded_and_saved_values_have_none(self, pair: StorePair, samples: Samples) -> None:
        (memory,) = _add(pair, samples, 1)
        edits = [Edit(memory.id, version, samples.new_memory(ADA)) for version in range(1, KEPT_REVISIONS + 6)]
        pair.apply(edits)
        pair.compare_revisions(ADA, memory.id)
        assert len(pair.store.revisions(ADA, pair.store_id(memory.id))) == KEPT_REVISIONS
        saved = [pair.apply([replace(samples.new_memory(ADA), key="k", value=n)])[0].memory for n in range(3)]
        assert saved[0] is not None
        assert pair.store.revisions(ADA, pair.store_id(saved[0].id)) == []

    def test_edit_keeps_archived_and_pinned(self, pair: StorePair, samples: Samples) -> None:
        (memory,) = _add(pair, samples, 1)
        pair.apply([Archive(ADA, (memory.id,), samples.moment()), Pin(ADA, (memory.id,))])
        pair.apply([Edit(memory.id, 3, samples.new_memory(ADA))])
        pair.compare_memories([ADA])
        found = pair.store.get(ADA, [pair.store_id(memory.id)])[0]
        assert found is not None
        assert (found.pinned, found.archived_at is None) == (True, False)


def _add(pair: StorePair, samples: Samples, count: int, scope: Scope = ADA) -> list[Memory]:
    new = [replace(samples.new_memory(scope), key=None, message=None) for _ in range(count)]
    return [outcome.memory for outcome in pair.apply(list(new)) if outcome.memory]
