"""Upkeep's hands: what it reads from the store, and how its decisions are written, under a lease."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self

from sqlalchemy import Connection

from memoranda.errors import Conflict
from memoranda.maintenance.base import Decision, Subject
from memoranda.maintenance.derivation import Derived
from memoranda.memories import lifecycle
from memoranda.memories.changes import Archive, Change, DerivationKind, Derive, PartitionKey, Remove, Supersede
from memoranda.memories.claim_resolution import apply_and_revise
from memoranda.memories.read import get_memories
from memoranda.memories.rows import from_micros
from memoranda.memories.write import apply_changes
from memoranda.storage.meta import note, noted, strike
from memoranda.storage.sqlite.connections import fetch_on
from memoranda.types import ANY, Clock, FloatArray, Memory, Scope
from memoranda.validation import SHARED_USER

if TYPE_CHECKING:
    from memoranda.storage.sqlite.store import SQLiteStore


_BATCH: Final = 500


@dataclass(frozen=True, slots=True)
class Plan:
    """A decision, and the memories that must still be as they were when it was made."""

    decision: Decision
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
    def decision(self) -> Decision:
        return self.plan.decision if self.memory is None else replace(self.plan.decision, id=self.memory.id)


class Keeper:
    """One run's access to the store. For `with`, to hold the lease; `held_until` is set when another one has it."""

    def __init__(self, store: SQLiteStore, tenant: str, clock: Clock) -> None:
        self.held_until: datetime | None = None
        self._store = store
        self._everyone = Scope(tenant, user=ANY)
        self._lease = Lease(f"upkeep of {tenant}", uuid.uuid4().hex)
        self._clock = clock
        self._renewed_at = clock()

    def __enter__(self) -> Self:
        until = self._store.write(lambda connection, at: take(connection, self._lease, at))
        self.held_until = None if until is None else from_micros(until)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._store.write(lambda connection, _: give_back(connection, self._lease))

    def renew(self) -> None:
        """Keeps the lease while long work goes on."""
        if self._clock() - self._renewed_at > LASTS / 4:
            self._store.write(lambda connection, at: keep(connection, self._lease, at))
            self._renewed_at = self._clock()

    def users(self, scope: Scope) -> list[str | None]:
        """Whose memories a scope reaches, the shared knowledge aside."""
        if not isinstance(scope.user, str | None):
            found = self._store.read(lambda connection: lifecycle.users(connection, scope))
            return [user for user in found if user != SHARED_USER]
        return [scope.user]

    def subjects(self, scope: Scope) -> list[Subject]:
        """Every memory of the scope, by id."""
        return self._store.read(lambda connection: _subjects(connection, scope))

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

    def _commit(self, plans: Sequence[Plan], now: datetime, connection: Connection, at: int) -> list[Done]:
        keep(connection, self._lease, at)
        needed = sorted({memory.id for plan in plans for memory in plan.needs})
        current = dict(zip(needed, get_memories(fetch_on(connection), self._everyone, needed), strict=True))
        ready = [plan for plan in plans if all(current[memory.id] == memory for memory in plan.needs)]
        apply_and_revise(connection, list(self._changes(ready, now)), at)
        made = {id(plan): self._derive(connection, plan, now, at) for plan in ready if plan.made is not None}
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

    def _derive(self, connection: Connection, plan: Plan, now: datetime, at: int) -> Memory | None:
        """The memory that was made; None when it had been made before."""
        assert plan.made is not None
        assert plan.kind is not None
        outcome = apply_changes(connection, [Derive(plan.made.draft, plan.made.sources, plan.kind)], at)[0]
        if outcome.status != "stored" or outcome.memory is None:
            return None
        after: list[Change] = [Archive(self._everyone, plan.put_away, now)] if plan.put_away else []
        if plan.replaces:
            after.append(Supersede(self._everyone, plan.replaces, outcome.memory.id, now, merged=True))
        apply_changes(connection, after, at)
        return outcome.memory


def plans_for(decisions: Sequence[Decision], known: Mapping[int, Memory]) -> list[Plan]:
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


def _subjects(connection: Connection, scope: Scope) -> list[Subject]:
    lines = lifecycle.all_lineage(connection, scope)
    made = {line.derived_id: line.kind for line in lines if line.kind != "merged"}
    used = {line.source_id for line in lines if line.kind == "consolidated"}
    return [
        Subject(memory, count, None if at is None else from_micros(at), made.get(memory.id), memory.id in used)
        for memory, count, at in lifecycle.read_stock(connection, scope)
    ]


LASTS: Final = timedelta(minutes=5)
"""How long a lease holds after its last sign of life: a process that died keeps others waiting no longer."""
_MICROS: Final = int(LASTS.total_seconds() * 1_000_000)


@dataclass(frozen=True, slots=True)
class Lease:
    """Who wants to do what."""

    work: str
    holder: str

    @property
    def key(self) -> str:
        return f"lease:{self.work}"


def take(connection: Connection, lease: Lease, at: int) -> int | None:
    """None when it is now held by this holder; else the microsecond until which somebody else has it."""
    holder, until = _held(connection, lease)
    # One that ends later than any lease can was written by a clock that was wrong.
    if holder != lease.holder and at < until <= at + _MICROS:
        return until
    note(connection, lease.key, json.dumps([lease.holder, at + _MICROS]))
    return None


def keep(connection: Connection, lease: Lease, at: int) -> None:
    """Holds on to it; `Conflict` when it was lost: what was decided under it must not be written."""
    if _held(connection, lease)[0] != lease.holder:
        raise Conflict(f"another process has taken over {lease.work}: nothing more was written here")
    take(connection, lease, at)


def give_back(connection: Connection, lease: Lease) -> None:
    if _held(connection, lease)[0] == lease.holder:
        strike(connection, lease.key)


def _held(connection: Connection, lease: Lease) -> tuple[str, int]:
    """Who has it, and until which microsecond; nobody when it is free."""
    row = noted(connection, lease.key)
    holder, until = ("", 0) if row is None else json.loads(row)
    return holder, until
