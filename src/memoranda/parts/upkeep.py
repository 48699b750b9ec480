"""A memory that keeps itself: when asked, or again and again in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING

from memoranda.errors import InvalidInput, InvalidType
from memoranda.lifecycle.base import DEFAULT_POLICIES, POLICIES, Action, Decision, PolicyName, UpkeepSettings
from memoranda.llm.base import LLM, Usage
from memoranda.llm.metered import Metered
from memoranda.parts.schedule import Schedule, check_interval
from memoranda.types import Progress, Record, Scope

if TYPE_CHECKING:
    from memoranda.parts.foundation import Foundation
    from memoranda.parts.tending import Tending


@dataclass(frozen=True, slots=True)
class UpkeepReport(Record):
    """What upkeep did, or with `dry_run` would do: one decision a memory, with its reason."""

    examined: int
    decisions: tuple[Decision, ...]
    dry_run: bool
    problems: tuple[str, ...] = ()
    """What could not be done this time, one sentence each; it is tried again at the next run."""
    skipped: str | None = None
    """Why nothing was looked at; None when it was."""
    usage: Usage = field(default_factory=Usage)
    """What a model was asked for it."""

    def count(self, action: Action) -> int:
        """How many memories were removed, archived, merged or derived."""
        return sum(decision.action == action for decision in self.decisions)


@dataclass(frozen=True, slots=True)
class UpkeepOrder:
    """What one call asks for."""

    scope: Scope
    policies: tuple[PolicyName, ...]
    settings: UpkeepSettings
    llm: LLM | None = None
    dry_run: bool = False


class Upkeep:
    """Upkeep of one tenant's memories; only one process does it at a time."""

    def __init__(self, tenant: str, parts: Foundation) -> None:
        self._tenant = tenant
        self._parts = parts
        self._schedule = Schedule()

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong in the background, one sentence each."""
        return self._schedule.problems

    def order(
        self, scope: Scope, policies: object, settings: UpkeepSettings | None, llm: LLM | None, dry_run: bool
    ) -> UpkeepOrder:
        """The arguments of a call, checked. Without settings, the manager's own session timeout holds."""
        timeout = timedelta(seconds=self._parts.config.session_timeout)
        chosen = settings or UpkeepSettings(session_timeout=timeout)
        return UpkeepOrder(scope, _check_policies(policies), chosen, llm or self._parts.llm, dry_run)

    def run(
        self, order: UpkeepOrder, every: timedelta | float | None = None, progress: Progress | None = None
    ) -> UpkeepReport:
        """One run now; with `every`, and again after each such time, until the manager is closed."""
        if every is None:
            return self._once(order, progress)
        seconds = check_interval(every)
        self._parts.before_close(self.stop)
        self._schedule.start(seconds, lambda: self._in_background(order))
        return self._once(order, progress)

    def stop(self) -> None:
        """Ends what runs in the background."""
        self._schedule.stop()

    def _in_background(self, order: UpkeepOrder) -> tuple[str, ...]:
        return self._once(order, None).problems

    def _once(self, order: UpkeepOrder, progress: Progress | None) -> UpkeepReport:
        # SQLAlchemy comes with these; a program that only imports the package never waits for it.
        from memoranda.parts.keeping import Keeper
        from memoranda.parts.tending import Tending, Tools

        engine = self._parts.open()
        engine.accesses.write()
        keeper = Keeper(engine.store, self._tenant, self._parts.now)
        meter = None if order.llm is None else Metered(order.llm)
        tools = Tools(
            keeper,
            engine.vectors,
            order.settings,
            self._parts.now,
            meter,
            order.dry_run,
            engine.learning,
            self._parts.short_term_ttl,
        )
        tending = Tending(tools)
        if order.dry_run:
            return self._tended(tending, keeper.users(order.scope), order, progress)
        with keeper:
            if keeper.held_until is not None:
                reason = f"another upkeep of these memories is under way (its lease ends {keeper.held_until:%H:%M:%S})"
                return UpkeepReport(0, (), order.dry_run, skipped=reason)
            if engine.store.erasure_pending():
                engine.clean()
            return self._tended(tending, keeper.users(order.scope), order, progress)

    def _tended(
        self, tending: Tending, users: Sequence[str | None], order: UpkeepOrder, progress: Progress | None
    ) -> UpkeepReport:
        for done, user in enumerate(users, 1):
            tending.tend(replace(order.scope, user=user), order.policies)
            if progress is not None:
                progress(done, len(users))
        return UpkeepReport(
            tending.examined, tuple(tending.decisions), order.dry_run, tuple(tending.problems), usage=tending.usage
        )


def _check_policies(names: object) -> tuple[PolicyName, ...]:
    """The policies by name; when None, those that cost no recall."""
    if names is None:
        return DEFAULT_POLICIES
    known = ", ".join(POLICIES)
    if isinstance(names, str) or not isinstance(names, Sequence):
        raise InvalidType(f"policies must be a list of names: {known}")
    unknown = [name for name in names if name not in POLICIES]
    if unknown:
        raise InvalidInput(f"unknown policy {unknown[0]!r}: use some of {known}")
    return tuple(name for name in POLICIES if name in names)
