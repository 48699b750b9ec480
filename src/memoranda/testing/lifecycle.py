"""What any memory store must do for upkeep: put away, supersede, pin, derive, and remember what was before."""

from __future__ import annotations

from dataclasses import replace

import pytest

from memoranda.errors import NotFound
from memoranda.storage.base import PartitionKey
from memoranda.storage.changes import KEPT_REVISIONS, Archive, Derive, Edit, Pin, Remove, Supersede
from memoranda.testing.differential import Pair
from memoranda.testing.samples import Samples
from memoranda.types import ANY, Memory, Scope

ADA = Scope(user="ada")
BOB = Scope(user="bob")
ADAS = PartitionKey("default", "ada")


class LifecycleContract:
    """Part of `StoreContract`, which gives the fixtures."""

    def test_an_archived_memory_is_read_but_not_indexed(self, pair: Pair, samples: Samples) -> None:
        first, second = _added(pair, samples, 2)
        pair.apply([Archive(ADA, (first.id, 424_242), samples.moment())])
        pair.everything([ADA])
        pair.rows(ADAS, None, None)
        assert len(list(pair.store.rows(ADAS, None, None))) == 1
        pair.apply([Archive(ADA, (first.id, second.id), None)])
        assert len(list(pair.store.rows(ADAS, None, None))) == 2
        pair.everything([ADA])

    def test_archiving_twice_keeps_the_first_time(self, pair: Pair, samples: Samples) -> None:
        (memory,) = _added(pair, samples, 1)
        pair.apply([Archive(ADA, (memory.id,), samples.moment())])
        head = pair.store.head()
        outcome = pair.apply([Archive(ADA, (memory.id,), samples.moment())])[0]
        assert outcome.reason.startswith("0 ")
        assert pair.store.head() == head
        pair.everything([ADA])

    def test_only_what_the_scope_owns_is_touched(self, pair: Pair, samples: Samples) -> None:
        (mine,), (other,) = _added(pair, samples, 1), _added(pair, samples, 1, BOB)
        ids = (mine.id, other.id)
        pair.apply([Archive(ADA, ids, samples.moment()), Pin(ADA, ids)])
        with pytest.raises(NotFound):
            pair.apply([Supersede(ADA, (mine.id,), other.id, samples.moment())])
        with pytest.raises(NotFound):
            pair.apply([Derive(samples.draft(ADA), (other.id,), "consolidated")])
        pair.everything([ADA, BOB, Scope(user=ANY)])
        assert [memory.pinned for memory in pair.store.find(Scope(user=ANY), limit=10)] == [True, False]

    def test_a_superseded_memory_has_ended_and_says_by_what(self, pair: Pair, samples: Samples) -> None:
        old, new = _added(pair, samples, 2)
        moment = samples.moment()
        pair.apply([Supersede(ADA, (old.id, new.id), new.id, moment)])
        found = pair.store.get(ADA, [pair.store_id(old.id), pair.store_id(new.id)])
        assert [memory and memory.valid_to for memory in found] == [moment, None]
        pair.everything([ADA])
        pair.rows(ADAS, None, None)
        pair.lineage(ADA, [old.id, new.id])

    def test_a_text_that_was_merged_away_is_no_news(self, pair: Pair, samples: Samples) -> None:
        drafts = [replace(samples.draft(ADA, text), deduplicate=True, message=None) for text in ("it is", "it's")]
        kept, repeated = (outcome.memory for outcome in pair.apply(list(drafts)))
        assert kept is not None
        assert repeated is not None
        pair.apply([Supersede(ADA, (repeated.id,), kept.id, samples.moment(), merged=True)])
        pair.lineage(ADA, [kept.id])
        assert [line.kind for line in pair.store.lineage(ADA, [pair.store_id(repeated.id)])] == ["merged"]
        assert pair.apply([(drafts[1])])[0].status == "duplicate"
        pair.apply([Remove(ADA, (kept.id,))])
        assert pair.apply([(drafts[1])])[0].status == "stored"

    def test_an_archived_or_superseded_text_is_news(self, pair: Pair, samples: Samples) -> None:
        draft = replace(samples.draft(ADA, "I live in Bern"), deduplicate=True, message=None)
        first = pair.apply([draft])[0].memory
        assert first is not None
        pair.apply([Archive(ADA, (first.id,), samples.moment())])
        second = pair.apply([draft])[0]
        assert (second.status, pair.apply([draft])[0].status) == ("stored", "duplicate")

    def test_a_saved_value_is_back_when_it_is_saved_again(self, pair: Pair, samples: Samples) -> None:
        draft = replace(samples.draft(ADA), key="k", value=1)
        memory = pair.apply([draft])[0].memory
        assert memory is not None
        pair.apply([Archive(ADA, (memory.id,), samples.moment())])
        pair.apply([replace(draft, value=2)])
        pair.by_key(ADA, "k")
        assert len(list(pair.store.rows(ADAS, None, None))) == 1

    def test_a_derived_memory_knows_its_sources_when_they_are_gone(self, pair: Pair, samples: Samples) -> None:
        first, second = _added(pair, samples, 2)
        draft = replace(samples.draft(ADA), message=None, idempotency_key="once")
        made = pair.apply([Derive(draft, (first.id, second.id), "summary")])[0]
        assert pair.apply([Derive(draft, (first.id,), "summary")])[0].status == "duplicate"
        assert made.memory is not None
        pair.lineage(ADA, [made.memory.id, first.id])
        pair.apply([Remove(ADA, (first.id,))])
        assert len(pair.store.lineage(ADA, [pair.store_id(made.memory.id)])) == 2
        assert pair.store.lineage(BOB, [pair.store_id(made.memory.id)]) == []
        pair.apply([Remove(ADA, (made.memory.id,))])
        pair.lineage(ADA, [second.id])
        assert pair.store.lineage(ADA, [pair.store_id(second.id)]) == []

    def test_a_consolidated_memory_speaks_when_its_sources_no_longer_do(self, pair: Pair, samples: Samples) -> None:
        first, second = _added(pair, samples, 2)
        draft = replace(samples.draft(ADA), message=None)
        made = pair.apply([Derive(draft, (first.id, second.id), "consolidated")])[0].memory
        assert made is not None

        def speaks() -> bool:
            pair.rows(ADAS, None, None)
            return pair.store_id(made.id) in [row.id for row in pair.store.rows(ADAS, None, None)]

        assert not speaks()
        for change, expected in (
            (Archive(ADA, (first.id,), samples.moment()), True),
            (Archive(ADA, (first.id,), None), False),
            (Remove(ADA, (second.id,)), True),
        ):
            before = pair.reference.head(), pair.store.head()
            pair.apply([change])
            assert speaks() is expected
            pair.changed(ADAS, *before)
            assert pair.store_id(made.id) in pair.store.changed(ADAS, before[1])

    def test_former_versions_are_kept_oldest_first(self, pair: Pair, samples: Samples) -> None:
        (memory,) = _added(pair, samples, 1)
        for version in range(1, 4):
            pair.apply([Edit(memory.id, version, samples.draft(ADA))])
        pair.revisions(ADA, memory.id)
        assert [one.version for one in pair.store.revisions(ADA, pair.store_id(memory.id))] == [1, 2, 3]
        for scope, number in ((BOB, pair.store_id(memory.id)), (ADA, 424_242)):
            with pytest.raises(NotFound):
                pair.store.revisions(scope, number)

    def test_former_versions_are_bounded_and_values_have_none(self, pair: Pair, samples: Samples) -> None:
        (memory,) = _added(pair, samples, 1)
        edits = [Edit(memory.id, version, samples.draft(ADA)) for version in range(1, KEPT_REVISIONS + 6)]
        pair.apply(edits)
        pair.revisions(ADA, memory.id)
        assert len(pair.store.revisions(ADA, pair.store_id(memory.id))) == KEPT_REVISIONS
        saved = [pair.apply([replace(samples.draft(ADA), key="k", value=n)])[0].memory for n in range(3)]
        assert saved[0] is not None
        assert pair.store.revisions(ADA, pair.store_id(saved[0].id)) == []

    def test_an_edit_leaves_archived_and_pinned_as_they_are(self, pair: Pair, samples: Samples) -> None:
        (memory,) = _added(pair, samples, 1)
        pair.apply([Archive(ADA, (memory.id,), samples.moment()), Pin(ADA, (memory.id,))])
        pair.apply([Edit(memory.id, 1, samples.draft(ADA))])
        pair.everything([ADA])
        found = pair.store.get(ADA, [pair.store_id(memory.id)])[0]
        assert found is not None
        assert (found.pinned, found.archived_at is None) == (True, False)


def _added(pair: Pair, samples: Samples, count: int, scope: Scope = ADA) -> list[Memory]:
    drafts = [replace(samples.draft(scope), key=None, message=None) for _ in range(count)]
    return [outcome.memory for outcome in pair.apply(list(drafts)) if outcome.memory]
