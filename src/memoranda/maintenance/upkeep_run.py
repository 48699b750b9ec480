"""One upkeep run: the policies in their order, for one user at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from memoranda.llm.base import MeteredLLM
from memoranda.llm.failures import CallPause, describe_failure
from memoranda.maintenance import consolidation, policies
from memoranda.maintenance.base import POLICIES, UpkeepItem, UpkeepSettings
from memoranda.maintenance.consolidation import DerivationSpec, DerivedMemory, SourceGroup
from memoranda.maintenance.upkeep_store import AppliedChange, PlannedChange, UpkeepStore, plan_changes, update_items
from memoranda.remember.new_memory import check_options
from memoranda.results.maintenance import PolicyName, UpkeepDecision
from memoranda.types import JSON, Clock, FloatArray, Scope, Usage

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.remember.pipeline import RememberPipeline

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
