"""Upkeep's hands: what it reads from the store, and how its decisions are written, under a lease."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from types import TracebackType
from typing import Final, Self

from memoranda.maintenance.base import Subject
from memoranda.maintenance.derivation import Derived
from memoranda.results import DerivationKind, UpkeepDecision
from memoranda.storage import lifecycle
from memoranda.storage.base import PartitionKey, ReadTransaction, Store, Transaction
from memoranda.storage.changes import Archive, Change, Derive, Remove, Supersede
from memoranda.storage.meta import LEASE_TIME, Lease, release_lease, renew_lease, take_lease
from memoranda.storage.read import get_memories
from memoranda.storage.rows import from_micros
from memoranda.storage.write import apply_changes
from memoranda.types import ANY, Clock, FloatArray, Memory, Scope
from memoranda.validation import SHARED_USER

_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """A decision, and the memories that must still be as they were when it was made."""

    decision: UpkeepDecision
    needs: tuple[Memory, ...]
    made: Derived | None = None
    kind: DerivationKind | None = None
    replaces: tuple[int, ...] = ()
    """Former memories of the same kind, which the new one takes the place of."""
    put_away: tuple[int, ...] = ()
    """Sources that leave recall."""


@dataclass(frozen=True, slots=True)
class Done:
    """A plan that was carried out."""

    plan: Plan
    memory: Memory | None = None
    """The one that was made."""

    @property
    def decision(self) -> UpkeepDecision:
        return self.plan.decision if self.memory is None else replace(self.plan.decision, id=self.memory.id)


class Keeper:
    """One run's access to the store. For `with`, to hold the lease; `held_until` is set when another one has it."""

    def __init__(self, store: Store, tenant: str, clock: Clock) -> None:
        self.held_until: datetime | None = None
        self._store = store
        self._everyone = Scope(tenant, user=ANY)
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

    def renew(self) -> None:
        """Keeps the lease while long work goes on."""
        if self._clock() - self._renewed_at > LEASE_TIME / 4:
            self._store.write(lambda tx: renew_lease(tx, self._lease))
            self._renewed_at = self._clock()

    def users(self, scope: Scope) -> list[str | None]:
        """Whose memories a scope reaches, the shared knowledge aside."""
        if not isinstance(scope.user, str | None):
            found = self._store.read(lambda tx: lifecycle.read_users(tx, scope))
            return [user for user in found if user != SHARED_USER]
        return [scope.user]

    def subjects(self, scope: Scope) -> list[Subject]:
        """Every memory of the scope, by id."""
        return self._store.read(lambda tx: _subjects(tx, scope))

    def vectors(self, scope: Scope, generation: int) -> dict[int, FloatArray]:
        """The vectors of one user's memories that are not archived."""
        import numpy as np

        rows = self._store.rows(PartitionKey(scope.tenant, scope.user), None, generation)
        return {row.id: np.frombuffer(row.vector, "<f4") for row in rows if row.vector is not None}

    def carry_out(self, plans: Sequence[Plan], now: datetime) -> list[Done]:
        """What could be done: a plan whose memories were changed meanwhile is left for the next run."""
        done: list[Done] = []
        for start in range(0, len(plans), _BATCH):
            part = plans[start : start + _BATCH]
            done += self._store.write(partial(self._commit, part, now))
            self._renewed_at = self._clock()
        return done

    def _commit(self, plans: Sequence[Plan], now: datetime, tx: Transaction) -> list[Done]:
        renew_lease(tx, self._lease)
        needed = sorted({memory.id for plan in plans for memory in plan.needs})
        current = dict(zip(needed, get_memories(tx, self._everyone, needed), strict=True))
        ready = [plan for plan in plans if all(current[memory.id] == memory for memory in plan.needs)]
        apply_changes(tx, list(self._changes(ready, now)))
        made = {id(plan): self._derive(tx, plan, now) for plan in ready if plan.made is not None}
        done = [Done(plan, made.get(id(plan))) for plan in ready]
        return [each for each in done if each.plan.made is None or each.memory is not None]

    def _changes(self, plans: Iterable[Plan], now: datetime) -> Iterator[Change]:
        removed = tuple(plan.needs[0].id for plan in plans if plan.decision.action == "removed")
        archived = tuple(plan.needs[0].id for plan in plans if plan.decision.action == "archived")
        if removed:
            yield Remove(self._everyone, removed)
        if archived:
            yield Archive(self._everyone, archived, now)
        for plan in plans:
            if plan.decision.action == "merged":
                repeated, kept = plan.needs
                yield Supersede(self._everyone, (repeated.id,), kept.id, now, merged=True)

    def _derive(self, tx: Transaction, plan: Plan, now: datetime) -> Memory | None:
        """The memory that was made; None when it had been made before."""
        assert plan.made is not None
        assert plan.kind is not None
        outcome = apply_changes(tx, [Derive(plan.made.new, plan.made.sources, plan.kind)])[0]
        if outcome.status != "stored" or outcome.memory is None:
            return None
        after: list[Change] = [Archive(self._everyone, plan.put_away, now)] if plan.put_away else []
        if plan.replaces:
            after.append(Supersede(self._everyone, plan.replaces, outcome.memory.id, now, merged=True))
        apply_changes(tx, after)
        return outcome.memory


def plans_for(decisions: Sequence[UpkeepDecision], known: Mapping[int, Memory]) -> list[Plan]:
    """Decisions about single memories, each with the rows that it was made on."""
    plans: list[Plan] = []
    for decision in decisions:
        assert decision.id is not None
        kept = [known[decision.into]] if decision.action == "merged" and decision.into is not None else []
        plans.append(Plan(decision, (known[decision.id], *kept)))
    return plans


def left_after(subjects: Sequence[Subject], done: Sequence[Done]) -> list[Subject]:
    """The memories as the next policy finds them."""
    gone = {key for each in done for key in (each.decision.id, *each.plan.replaces, *each.plan.put_away)}
    used = {
        key for each in done if each.plan.kind == "consolidated" and each.plan.made for key in each.plan.made.sources
    }
    left = [
        replace(subject, consolidated=True) if subject.memory.id in used else subject
        for subject in subjects
        if subject.memory.id not in gone
    ]
    return left + [Subject(each.memory, derived=each.plan.kind) for each in done if each.memory is not None]


def _subjects(tx: ReadTransaction, scope: Scope) -> list[Subject]:
    lines = lifecycle.read_lineage(tx, scope)
    made = {line.derived_id: line.kind for line in lines if line.kind != "merged"}
    used = {line.source_id for line in lines if line.kind == "consolidated"}
    return [
        Subject(memory, count, None if at is None else from_micros(at), made.get(memory.id), memory.id in used)
        for memory, count, at in lifecycle.read_all(tx, scope)
    ]
