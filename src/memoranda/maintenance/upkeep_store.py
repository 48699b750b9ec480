"""Store access of an upkeep run: reads its items and applies its decisions under a lease."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Final, Self

from memoranda.maintenance.consolidation import DerivedMemory
from memoranda.maintenance.policies import UpkeepItem
from memoranda.results.maintenance import UpkeepDecision, UpkeepReport
from memoranda.storage import lifecycle
from memoranda.storage.base import PartitionKey, ReadTransaction, Store, Transaction
from memoranda.storage.changes import Archive, Change, Derive, Remove, Supersede
from memoranda.storage.meta import LEASE_TIME, Lease, release_lease, renew_lease, set_meta, take_lease
from memoranda.storage.read import get_memories
from memoranda.storage.rows import from_micros
from memoranda.storage.write import apply_changes
from memoranda.types import ANY, Clock, FloatArray, Memory, Scope
from memoranda.validation import SHARED_USER

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class PlannedChange:
    """A decision and the memories it is based on, which must be unchanged when it is applied."""

    decision: UpkeepDecision
    required: tuple[Memory, ...]
    derived: DerivedMemory | None = None
    archive_sources: bool = False
    """Whether the sources of the derived memory are archived."""

    @property
    def archived_ids(self) -> tuple[int, ...]:
        """The ids of the sources to archive."""
        return tuple(memory.id for memory in self.required) if self.archive_sources else ()


@dataclass(frozen=True, slots=True)
class AppliedChange:
    """A planned change that was applied."""

    plan: PlannedChange
    memory: Memory | None = None
    """The stored derived memory."""

    @property
    def decision(self) -> UpkeepDecision:
        return self.plan.decision if self.memory is None else replace(self.plan.decision, id=self.memory.id)


def last_run_key(tenant: str) -> str:
    """Return the key of `meta` that holds the numbers of a tenant's latest run."""
    return f"upkeep:last of {tenant}"


class UpkeepStore:
    """Store access for one run.

    A context manager that holds the lease. After entering, `held_until` is set when another process holds it.
    """

    def __init__(self, store: Store, tenant: str, clock: Clock) -> None:
        self.held_until: datetime | None = None
        self._store = store
        self._all_users = Scope(tenant, user=ANY)
        self._lease = Lease(f"upkeep of {tenant}", uuid.uuid4().hex)
        self._clock = clock
        self._renewed_at = clock()

    def __enter__(self) -> Self:
        until = self._store.write(lambda tx: take_lease(tx, self._lease))
        self.held_until = None if until is None else from_micros(until)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.write(lambda tx: release_lease(tx, self._lease))

    def record_run(self, report: UpkeepReport) -> None:
        """Write down when a run ended and what it did, in numbers."""
        at, changes = self._clock().isoformat(), len(report.decisions)
        summary = {"at": at, "examined": report.examined, "changes": changes, "problems": len(report.problems)}
        self._store.write(lambda tx: set_meta(tx, last_run_key(self._all_users.tenant), json.dumps(summary)))

    def renew_lease(self) -> None:
        """Renew the lease when a quarter of its time has passed, so that slow model calls do not lose it."""
        if self._clock() - self._renewed_at > LEASE_TIME / 4:
            self._store.write(lambda tx: renew_lease(tx, self._lease))
            self._renewed_at = self._clock()

    def list_users(self, scope: Scope) -> list[str | None]:
        """Return the users in a scope, without the owner of shared knowledge."""
        if not isinstance(scope.user, str | None):
            users = self._store.read(lambda tx: lifecycle.read_users(tx, scope), tenant=scope.tenant)
            return [user for user in users if user != SHARED_USER]
        return [scope.user]

    def read_items(self, scope: Scope) -> list[UpkeepItem]:
        """Return every memory in the scope, ordered by id."""
        return self._store.read(lambda tx: _read_items(tx, scope), tenant=scope.tenant)

    def read_vectors(self, scope: Scope, generation: int) -> dict[int, FloatArray]:
        """Return the vectors of one user's memories that are not archived, by memory id."""
        import numpy as np

        rows = self._store.rows(PartitionKey(scope.tenant, scope.user), None, generation)
        return {row.id: np.frombuffer(row.vector, "<f4") for row in rows if row.vector is not None}

    def apply(self, plans: Sequence[PlannedChange], now: datetime) -> list[AppliedChange]:
        """Apply the changes and return those applied.

        A change whose memories were modified since it was planned is left for the next run.
        """
        applied: list[AppliedChange] = []
        for start in range(0, len(plans), _BATCH):
            batch = plans[start : start + _BATCH]
            applied += self._store.write(partial(self._apply_batch, batch, now), tenant=self._all_users.tenant)
            self._renewed_at = self._clock()
        return applied

    def _apply_batch(self, plans: Sequence[PlannedChange], now: datetime, tx: Transaction) -> list[AppliedChange]:
        renew_lease(tx, self._lease)
        ids = sorted({memory.id for plan in plans for memory in plan.required})
        current = dict(zip(ids, get_memories(tx, self._all_users, ids), strict=True))
        ready = [plan for plan in plans if all(current[memory.id] == memory for memory in plan.required)]
        apply_changes(tx, list(self._changes(ready, now)))
        applied: list[AppliedChange] = []
        for plan in ready:
            memory = None if plan.derived is None else self._store_derived(tx, plan, plan.derived, now)
            if plan.derived is None or memory is not None:
                applied.append(AppliedChange(plan, memory))
        return applied

    def _changes(self, plans: Iterable[PlannedChange], now: datetime) -> Iterator[Change]:
        removed = tuple(plan.required[0].id for plan in plans if plan.decision.action == "removed")
        archived = {
            plan.required[0].id: f"{plan.decision.policy}: {plan.decision.reason}"
            for plan in plans
            if plan.decision.action == "archived"
        }
        if removed:
            yield Remove(self._all_users, removed)
        if archived:
            yield Archive(self._all_users, tuple(archived), now, tuple(archived.values()))
        for plan in plans:
            if plan.decision.action == "merged":
                repeated, kept = plan.required
                yield Supersede(self._all_users, (repeated.id,), kept.id, now, merged=True)

    def _store_derived(
        self, tx: Transaction, plan: PlannedChange, derived: DerivedMemory, now: datetime
    ) -> Memory | None:
        """Store a derived memory and return it; None when it was stored before."""
        source_ids = tuple(memory.id for memory in derived.sources)
        outcome = apply_changes(tx, [Derive(derived.new, source_ids, derived.kind)])[0]
        if outcome.status != "stored" or outcome.memory is None:
            return None
        changes: list[Change] = []
        if plan.archive_sources:
            reason = f"{plan.decision.policy}: memory {outcome.memory.id} was made from it"
            changes.append(Archive(self._all_users, plan.archived_ids, now, (reason,) * len(plan.archived_ids)))
        if derived.replaces:
            changes.append(Supersede(self._all_users, derived.replaces, outcome.memory.id, now, merged=True))
        apply_changes(tx, changes)
        return outcome.memory


def plan_changes(decisions: Sequence[UpkeepDecision], memories: Mapping[int, Memory]) -> list[PlannedChange]:
    """Return a change for each decision about a single memory, with the memories the decision is based on."""
    plans: list[PlannedChange] = []
    for decision in decisions:
        assert decision.id is not None
        kept = [memories[decision.into]] if decision.action == "merged" and decision.into is not None else []
        plans.append(PlannedChange(decision, (memories[decision.id], *kept)))
    return plans


def update_items(items: Sequence[UpkeepItem], applied: Sequence[AppliedChange]) -> list[UpkeepItem]:
    """Return the items as the next policy finds them."""
    removed: set[int | None] = set()
    consolidated: set[int] = set()
    added: list[UpkeepItem] = []
    for change in applied:
        derived = change.plan.derived
        removed.update((change.decision.id, *change.plan.archived_ids))
        if derived is not None:
            removed.update(derived.replaces)
            if derived.kind == "consolidated":
                consolidated.update(memory.id for memory in derived.sources)
            if change.memory is not None:
                added.append(UpkeepItem(change.memory, derived=derived.kind))
    left = [
        replace(item, consolidated=True) if item.memory.id in consolidated else item
        for item in items
        if item.memory.id not in removed
    ]
    return left + added


def _read_items(tx: ReadTransaction, scope: Scope) -> list[UpkeepItem]:
    lineage = lifecycle.read_lineage(tx, scope)
    kinds = {line.derived_id: line.kind for line in lineage if line.kind != "merged"}
    consolidated = {line.source_id for line in lineage if line.kind == "consolidated"}
    merged = {line.source_id for line in lineage if line.kind == "merged"}
    return [
        UpkeepItem(
            memory,
            count,
            None if at is None else from_micros(at),
            kinds.get(memory.id),
            consolidated=memory.id in consolidated,
            merged=memory.id in merged,
        )
        for memory, count, at in lifecycle.read_all(tx, scope)
    ]
