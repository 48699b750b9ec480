"""Upkeep of a tenant's memories: once on request, or regularly in a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from memoranda import uninterrupted
from memoranda.errors import Closed, InvalidInput, InvalidType, MemorandaError
from memoranda.llm.base import LLM, MeteredLLM
from memoranda.maintenance.base import DEFAULT_POLICIES, POLICIES, UpkeepSettings
from memoranda.maintenance.upkeep_run import UpkeepRun
from memoranda.maintenance.upkeep_store import UpkeepStore
from memoranda.results.maintenance import PolicyName, UpkeepReport
from memoranda.storage.base import ScrubState, ScrubStore
from memoranda.types import Clock, Progress, Scope
from memoranda.uninterrupted import Flag
from memoranda.validation import check_component, shown

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.recall.ledger import AccessCounter
    from memoranda.remember.pipeline import RememberPipeline
    from memoranda.storage.base import Store


CHECKED_ROWS: Final = 10_000
"""Rows that one run checks for damage, which takes some milliseconds."""


@dataclass(frozen=True, slots=True)
class UpkeepOptions:
    """The checked arguments of one call."""

    scope: Scope
    policies: tuple[PolicyName, ...]
    settings: UpkeepSettings
    llm: LLM | None = None
    dry_run: bool = False


class Upkeep:
    """Upkeep of one tenant's memories. A lease ensures that only one process runs it at a time."""

    def __init__(
        self,
        tenant: str,
        store: Store,
        vectors: Vectors,
        remember: RememberPipeline,
        accesses: AccessCounter,
        finish_erasures: Callable[[], None],
        *,
        clock: Clock,
        session_timeout: timedelta,
        short_term_ttl: timedelta,
        llm: LLM | None,
    ) -> None:
        self._tenant = tenant
        self._store = store
        self._vectors = vectors
        self._remember = remember
        self._accesses = accesses
        self._finish_erasures = finish_erasures
        self._clock = clock
        self._session_timeout = session_timeout
        self._short_term_ttl = short_term_ttl
        self._llm = llm
        self._schedule = Schedule()

    @property
    def problems(self) -> tuple[str, ...]:
        """What went wrong in the latest scheduled run, one sentence each."""
        return self._schedule.problems

    def make_options(
        self,
        scope: Scope,
        policies: object,
        settings: UpkeepSettings | None,
        llm: LLM | None,
        *,
        delete: bool,
        dry_run: bool,
    ) -> UpkeepOptions:
        """Return the checked arguments of a call.

        Args:
            scope: The memories to maintain.
            policies: Names of policies; the default ones when None.
            settings: The numbers; the default ones with the configured session timeout when None.
            llm: A model for this call instead of the configured one.
            delete: Also run the policy `delete`.
            dry_run: Decide, but change nothing.
        """
        if not isinstance(settings, UpkeepSettings | None):
            raise InvalidType(f"settings must be UpkeepSettings, not {type(settings).__name__}")
        if llm is not None:
            check_component(llm, "llm", "complete")
        chosen = settings or UpkeepSettings(session_timeout=self._session_timeout)
        return UpkeepOptions(scope, _check_policies(policies, delete), chosen, llm or self._llm, dry_run)

    def run(
        self, options: UpkeepOptions, every: timedelta | float | None = None, progress: Progress | None = None
    ) -> UpkeepReport:
        """Run once and return the report. With `every`, also run again at that interval until `stop()`."""
        if every is not None:
            self._schedule.start(_to_seconds(every), lambda: self._run_once(options, None).problems)
        return self._run_once(options, progress)

    def stop(self) -> None:
        """End the schedule; wait for a run in progress."""
        self._schedule.stop()

    def _run_once(self, options: UpkeepOptions, progress: Progress | None) -> UpkeepReport:
        self._accesses.write()
        store = UpkeepStore(self._store, self._tenant, self._clock)
        if options.dry_run:
            return self._run_users(store, options, progress)
        with store:
            if store.held_until is not None:
                reason = f"another upkeep of these memories is under way (its lease ends {store.held_until:%H:%M:%S})"
                return UpkeepReport(0, (), options.dry_run, skipped=reason)
            self._finish_erasures()
            # First, so that damage is known also when a policy then fails on it.
            state = self._check_rows()
            report = _add_damage(self._run_users(store, options, progress), state)
            store.record_run(report)
            return report

    def _check_rows(self) -> ScrubState | None:
        """Check the next part of the store for damage; None for a store whose database does that itself."""
        return self._store.scrub(CHECKED_ROWS) if isinstance(self._store, ScrubStore) else None

    def _run_users(self, store: UpkeepStore, options: UpkeepOptions, progress: Progress | None) -> UpkeepReport:
        run = UpkeepRun(
            store,
            self._vectors,
            self._remember,
            options.settings,
            self._clock,
            self._short_term_ttl,
            None if options.llm is None else MeteredLLM(options.llm),
            options.dry_run,
        )
        users = store.list_users(options.scope)
        for done, user in enumerate(users, 1):
            run.run_policies(replace(options.scope, user=user), options.policies)
            if progress is not None:
                progress(done, len(users))
        return UpkeepReport(run.examined, tuple(run.decisions), options.dry_run, tuple(run.problems), usage=run.usage)


def _add_damage(report: UpkeepReport, state: ScrubState | None) -> UpkeepReport:
    if state is None:
        return report
    # What is damaged may belong to another tenant, so only `health` names it.
    damage = ("the store is damaged: health() says where",) if state.problems else ()
    return replace(report, problems=(*report.problems, *damage), checked_rows=CHECKED_ROWS)


def _check_policies(names: object, delete: bool) -> tuple[PolicyName, ...]:
    known = ", ".join(POLICIES)
    chosen = DEFAULT_POLICIES if names is None else names
    if isinstance(chosen, str) or not isinstance(chosen, Sequence):
        raise InvalidType(f"policies must be a list of names: {known}")
    unknown = [name for name in chosen if not isinstance(name, str) or name not in POLICIES]
    if unknown:
        raise InvalidInput(f"unknown policy {shown(unknown[0])}: use some of {known}")
    return tuple(name for name in POLICIES if name in chosen or (delete and name == "delete"))


def _to_seconds(every: timedelta | float) -> float:
    seconds = every.total_seconds() if isinstance(every, timedelta) else every
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < threading.TIMEOUT_MAX:
        raise InvalidInput(f"every must be a timedelta or a number of seconds above 0, not {shown(every)}")
    return float(seconds)


class Schedule:
    """At most one thread that calls a function at an interval. The function returns the problems it met."""

    def __init__(self) -> None:
        self.problems: tuple[str, ...] = ()
        """The problems of the latest run, one sentence each."""
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped = Flag()

    def start(self, seconds: float, function: Callable[[], tuple[str, ...]]) -> None:
        """Start the thread; its first call comes after `seconds`. A running schedule is stopped first."""
        self.stop()
        with self._lock:
            self._stopped = Flag()
            # A daemon, so that a program that forgets to close still ends. The next run repeats what was interrupted.
            self._thread = threading.Thread(
                target=self._repeat, args=(seconds, function, self._stopped), name="memoranda-upkeep", daemon=True
            )
            uninterrupted.start(self._thread)

    def stop(self) -> None:
        """End the thread; return when no call is in progress any more."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._stopped.set()
        if thread is not None and thread.is_alive() and thread is not threading.current_thread():
            thread.join()

    def _repeat(self, seconds: float, function: Callable[[], tuple[str, ...]], stopped: Flag) -> None:
        while not stopped.wait(seconds):
            try:
                self.problems = function()
            except Closed:
                return
            except MemorandaError as error:
                self.problems = (f"upkeep in the background: {error}",)
