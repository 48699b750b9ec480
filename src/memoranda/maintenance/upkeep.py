"""Upkeep of a tenant's memories: once on request, or regularly in a background thread.

A run applies the policies in their order, for one user at a time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from memoranda.display import shown
from memoranda.errors import Closed, InvalidInput, InvalidType, MemorandaError
from memoranda.llm.base import LLM, MeteredLLM
from memoranda.llm.structured import CallPause, describe_failure
from memoranda.maintenance import consolidation, policies
from memoranda.maintenance.consolidation import DerivationSpec, DerivedMemory, SourceGroup
from memoranda.maintenance.policies import DEFAULT_POLICIES, POLICIES, UpkeepItem, UpkeepSettings
from memoranda.maintenance.upkeep_store import AppliedChange, PlannedChange, UpkeepStore, plan_changes, update_items
from memoranda.remember.new_memory import check_options
from memoranda.results.maintenance import PolicyName, UpkeepDecision, UpkeepReport
from memoranda.storage.base import ScrubState, ScrubStore
from memoranda.threads import Flag, start_thread
from memoranda.types import JSON, Clock, FloatArray, Progress, Scope, Usage
from memoranda.validation import check_component

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
            start_thread(self._thread)

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


_MAX_UNEXTRACTED: Final = 1000
"""How many unextracted messages a dry run reports."""
_MAX_ROUNDS: Final = 5
_SPECS: Final[dict[PolicyName, DerivationSpec]] = {
    "summarize": consolidation.SUMMARY,
    "consolidate": consolidation.CONSOLIDATION,
    "reflect": consolidation.REFLECTION,
}
_DERIVED: Final[dict[PolicyName, str]] = {
    "summarize": "summary of {}, from {} memories",
    "consolidate": "one memory from {}",
    "reflect": "reflection on {}, from {} memories",
}
"""Why a memory was derived: from which group, and how many sources it has."""


@dataclass(slots=True)
class UpkeepRun:
    """One run with its components and the decisions made so far."""

    store: UpkeepStore
    vectors: Vectors
    remember: RememberPipeline
    settings: UpkeepSettings
    clock: Clock
    short_term_ttl: timedelta
    llm: MeteredLLM | None
    dry_run: bool
    examined: int = 0
    decisions: list[UpkeepDecision] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    pause: CallPause = field(default_factory=CallPause)
    """Keeps a model that is out from being asked for every user of the run."""
    _items: list[UpkeepItem] = field(default_factory=list)

    @property
    def usage(self) -> Usage:
        """The model usage so far."""
        return Usage() if self.llm is None else self.llm.usage

    def run_policies(self, scope: Scope, policy_names: Sequence[PolicyName]) -> None:
        """Run the policies on one user's memories, each on what the one before has left.

        A change can bring back what another memory had ended, so the policies run until nothing changes: a second
        call right after the first finds nothing to do.
        """
        for rounds in range(_MAX_ROUNDS):
            self._items = self.store.read_items(scope)
            done, failed = len(self.decisions), len(self.problems)
            self.examined += 0 if rounds else len(self._items)
            self._run_once(scope, [name for name in policy_names if name != "extract" or not rounds])
            if self.dry_run or len(self.problems) > failed or len(self.decisions) == done:
                return

    def _run_once(self, scope: Scope, policy_names: Sequence[PolicyName]) -> None:
        for name in POLICIES:
            if name not in policy_names:
                continue
            if name == "extract":
                self._retry_extraction(scope)
            elif name not in _SPECS:
                memories = {item.memory.id: item.memory for item in self._items}
                self._apply(plan_changes(self._decide(name), memories))
            elif name != "reflect" or scope.session is None:  # a period covers more than one session
                for plan in self._plan_derivations(name, scope):
                    self._apply([plan])

    def _retry_extraction(self, scope: Scope) -> None:
        """Give the model the messages from which it failed to extract facts before."""
        if self.llm is None:
            return
        if self.dry_run:
            reason = "extraction by the model failed and is to be retried"
            self.decisions += [
                UpkeepDecision("extract", "derived", None, turn[1].content or "", reason)
                for turn in self.remember.unextracted(scope, _MAX_UNEXTRACTED)
            ]
            return
        options = check_options(scope, self.clock(), self.short_term_ttl)
        while (outcomes := self.remember.retry_extraction(scope, options, self.llm, self.pause)) is not None:
            stored = [outcome.memory for outcome in outcomes if outcome.status == "stored" and outcome.memory]
            self.decisions += [
                UpkeepDecision(
                    "extract", "derived", memory.id, memory.content, f"extracted from message {memory.message_id}"
                )
                for memory in stored
            ]
            if outcomes.failure is not None:
                self.problems.append(f"extract: {outcomes.failure}")
                return

    def _decide(self, name: PolicyName) -> list[UpkeepDecision]:
        items, now, settings = self._items, self.clock(), self.settings
        if name == "expire":
            return policies.find_expired(items, now)
        if name == "merge":
            return policies.find_repeats(items, now, settings)
        if name == "window":
            return policies.find_beyond_window(items, now, settings)
        find = policies.find_faded if name == "fade" else policies.find_deletable
        return find(items, now, settings)

    def _plan_derivations(self, name: PolicyName, scope: Scope) -> Iterator[PlannedChange]:
        for group in self._find_groups(name, scope):
            derived = self._derive(name, group)
            reason = _DERIVED[name].format(group.description, len(derived.sources))
            decision = UpkeepDecision(name, "derived", None, derived.new.content, reason)
            archive_sources = name == "consolidate" and self.settings.archive_sources
            yield PlannedChange(decision, derived.sources, derived, archive_sources)

    def _find_groups(self, name: PolicyName, scope: Scope) -> list[SourceGroup]:
        items, now, settings = self._items, self.clock(), self.settings
        if name == "summarize":
            return consolidation.find_finished_sessions(items, now, settings)
        if name == "reflect":
            return consolidation.find_finished_periods(items, now, settings)
        vectors, baseline = self._read_vectors(scope)
        return consolidation.find_clusters(items, vectors, baseline, now, settings)

    def _read_vectors(self, scope: Scope) -> tuple[dict[int, FloatArray], float]:
        embedder, generation = self.vectors.embedder, self.vectors.generation()
        if embedder is None or generation is None:
            return consolidation.word_vectors(item.memory for item in self._items), 0.0
        return self.store.read_vectors(scope, generation), embedder.identity.baseline

    def _derive(self, name: PolicyName, group: SourceGroup) -> DerivedMemory:
        metadata: dict[str, JSON] = {}
        if name == "reflect":
            period = consolidation.period_of(group.sources[0].valid_from, self.settings)
            metadata[consolidation.PERIOD_KEY] = period
        if self.dry_run:
            return consolidation.derive_memory(group, _SPECS[name], self.clock, metadata=metadata)
        self.store.renew_lease()
        derived = self._derive_with_model(name, group, metadata)
        if derived is None:
            derived = consolidation.derive_memory(group, _SPECS[name], self.clock, metadata=metadata)
        # Embed before the transaction opens: a model never runs inside one.
        return replace(derived, new=self.vectors.attach([derived.new])[0])

    def _derive_with_model(
        self, name: PolicyName, group: SourceGroup, metadata: dict[str, JSON]
    ) -> DerivedMemory | None:
        """Return what the model writes; None without a model, and when it fails."""
        if self.llm is None:
            return None
        failure = self.pause.reason(self.clock())
        if failure is None:
            try:
                derived = consolidation.derive_memory(group, _SPECS[name], self.clock, self.llm, metadata)
            except Exception as error:  # noqa: BLE001 - the report says so; a program's own model may raise anything
                failure = describe_failure(error)
                self.pause.record_failure(error, self.clock())
            else:
                self.pause.record_success()
                return derived
        self.problems.append(f"{name} of {group.description} was written without the model, which failed: {failure}")
        return None

    def _apply(self, plans: list[PlannedChange]) -> None:
        applied = [AppliedChange(plan) for plan in plans] if self.dry_run else self.store.apply(plans, self.clock())
        self.decisions += [change.decision for change in applied]
        self._items = update_items(self._items, applied)
