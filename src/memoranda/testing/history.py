"""Random histories: changes to make, and questions to ask after each."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from memoranda.errors import Conflict, NotFound
from memoranda.storage.base import PartitionKey
from memoranda.storage.changes import Archive, Change, Derive, Edit, Link, NewMemory, Pin, Remove, Supersede
from memoranda.testing.differential import Pair
from memoranda.testing.samples import KINDS, ODD_VALUES, Samples
from memoranda.types import ANY, Association, Scope


def random_step(pair: Pair, samples: Samples) -> None:
    """One random change or batch of changes, right or wrong, applied to both."""
    changes = [random_change(pair, samples) for _ in range(samples.random.choice([1, 1, 2, 5]))]
    # Both sides having refused in the same way is an equal answer too.
    with suppress(Conflict, NotFound):
        pair.apply(changes)


def random_change(pair: Pair, samples: Samples) -> Change:
    """An addition most of the time; else an edit, a removal, upkeep or a link of what may or may not be there."""
    choice = samples.random.random()
    numbers = [*pair.known_ids(), 424_242]
    if choice < 0.5:
        return _once_or_keyed(samples)
    if choice < 0.7:
        return _random_edit(pair, samples, samples.random.choice(numbers))
    scope = samples.view()
    if choice < 0.8:
        return Remove(scope, tuple(samples.random.choices(numbers, k=2)), samples.random.random() < 0.5)
    if choice < 0.92:
        return _random_upkeep(samples, scope, samples.random.choices(numbers, k=2))
    ends = samples.random.choice(numbers), samples.random.choice(numbers)
    return Link(scope, Association(*ends, samples.random.choice(KINDS), samples.random.choice([0.25, 0.5, 1.0])))


def compare_answers(pair: Pair, samples: Samples) -> None:
    """Every reading verb once, through a random scope and filter."""
    scope, where = samples.view(), samples.filter()
    pair.matching(scope, where)
    pair.find(scope, where, limit=5, after=samples.random.choice([0, *pair.known_ids()]))
    pair.get(scope, pair.known_ids())
    pair.by_key(samples.owner(), samples.random.choice(["k1", "k2"]))
    pair.rows(PartitionKey(scope.tenant, scope.user), None, None)
    pair.lineage(scope, pair.known_ids())
    for memory in pair.reference.find(scope, limit=3):
        pair.revisions(scope, memory.id)


def _once_or_keyed(samples: Samples) -> NewMemory:
    draft, pick = samples.draft(), samples.random.choice
    key = pick([None, None, None, "k1", "k2"])
    return replace(
        draft,
        key=key,
        value=None if key is None else pick(ODD_VALUES),
        deduplicate=key is None and pick([True, False]),
        idempotency_key=pick([None, None, f"call-{samples.random.randint(0, 5)}"]) if key is None else None,
    )


def _random_upkeep(samples: Samples, scope: Scope, numbers: list[int]) -> Change:
    ids, pick = tuple(numbers), samples.random.choice
    changes: list[Change] = [
        Archive(scope, ids, samples.moment()),
        Archive(scope, ids, None),
        Supersede(scope, ids, pick(numbers), samples.moment(), merged=pick([True, False])),
        Pin(scope, ids, pick([True, False])),
        Derive(replace(samples.draft(scope_of(scope)), message=None), ids, "consolidated"),
    ]
    return pick(changes)


def scope_of(view: Scope) -> Scope:
    """A scope that a memory can be written to: this one, or its part without a user."""
    return view if view.user is not ANY else replace(view, user=None)


def _random_edit(pair: Pair, samples: Samples, number: int) -> Edit:
    known = pair.reference.get(Scope(samples.owner().tenant, user=ANY), [number])[0]
    if known is None:
        return Edit(number, 1, samples.draft())
    own = Scope(known.tenant, known.agent, known.user, known.session)
    version = known.version - (samples.random.random() < 0.1)
    return Edit(number, version, replace(samples.draft(own), key=known.key, value=known.value))
