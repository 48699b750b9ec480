"""One run of upkeep: the policies in their order, over one user's memories after the other's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from memoranda.errors import ExtractionFailed, Unavailable
from memoranda.llm.base import MeteredLLM
from memoranda.maintenance import consolidation, derivation, policies
from memoranda.maintenance.base import POLICIES, Subject, UpkeepSettings
from memoranda.maintenance.consolidation import Work
from memoranda.maintenance.derivation import Derived, Recipe
from memoranda.maintenance.upkeep_store import Done, Keeper, Plan, left_after, plans_for
from memoranda.remember.duplicates import Fingerprint, fingerprint, says_the_same
from memoranda.remember.new_memory import check_options
from memoranda.results import PolicyName, UpkeepDecision
from memoranda.types import JSON, Clock, FloatArray, Memory, Scope, Usage

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.remember.pipeline import RememberPipeline

_MOST_UNREAD: Final = 1000
_RECIPES: Final[dict[PolicyName, Recipe]] = {
    "summarize": derivation.SUMMARY,
    "consolidate": derivation.CONSOLIDATION,
    "reflect": derivation.REFLECTION,
}


@dataclass(frozen=True, slots=True)
class Tools:
    """What a run works with."""

    keeper: Keeper
    vectors: Vectors
    settings: UpkeepSettings
    clock: Clock
    llm: MeteredLLM | None
    dry_run: bool
    learning: RememberPipeline
    short_term_ttl: timedelta


class Tending:
    """One run, and what it has decided so far."""

    def __init__(self, tools: Tools) -> None:
        self.examined = 0
        self.decisions: list[UpkeepDecision] = []
        self.problems: list[str] = []
        self._tools = tools
        self._subjects: list[Subject] = []

    @property
    def usage(self) -> Usage:
        """What a model was asked so far."""
        return Usage() if self._tools.llm is None else self._tools.llm.usage

    def tend(self, scope: Scope, policies: Sequence[PolicyName]) -> None:
        """Every policy over one user's memories, each on what the one before has left."""
        self._subjects = self._tools.keeper.subjects(scope)
        self.examined += len(self._subjects)
        for name in POLICIES:
            if name not in policies:
                continue
            if name == "extract":
                self._read_again(scope)
            elif name not in _RECIPES:
                self._settle(self._plans(name))
            elif name != "reflect" or scope.session is None:  # a period is more than one session
                for plan in self._derivations(name, scope):
                    self._settle([plan])

    def _read_again(self, scope: Scope) -> None:
        """What a model failed to read when it was said."""
        tools = self._tools
        if tools.llm is None:
            return
        if tools.dry_run:
            self.decisions += [
                _to_be_read(turn[1].content or "") for turn in tools.learning.unextracted(scope, _MOST_UNREAD)
            ]
            return
        call = check_options(scope, tools.clock(), tools.short_term_ttl)
        try:
            while (ended := tools.learning.retry_extraction(scope, call, tools.llm)) is not None:
                self.decisions += [_read(end.memory) for end in ended if end.status == "stored" and end.memory]
        except ExtractionFailed as error:
            self.problems.append(f"extract: {error}")

    def _plans(self, name: PolicyName) -> list[Plan]:
        now, settings = self._tools.clock(), self._tools.settings
        known = {subject.memory.id: subject.memory for subject in self._subjects}
        return plans_for(_decided(name, self._subjects, now, settings), known)

    def _derivations(self, name: PolicyName, scope: Scope) -> Iterator[Plan]:
        for work in self._works(name, scope):
            try:
                made = self._made(name, work)
            except (ExtractionFailed, Unavailable) as error:
                self.problems.append(f"{name} of {work.about}: {error}")
                continue
            kind = _RECIPES[name].kind
            reason = f"{kind} of {work.about}, from {len(made.sources)} memories"
            quoted = tuple(memory for memory in work.sources if memory.id in set(made.sources))
            put_away = made.sources if name == "consolidate" and self._tools.settings.archive_sources else ()
            decision = UpkeepDecision(name, "derived", None, made.new.content, reason)
            yield Plan(decision, quoted, made, kind, work.replaces, put_away)

    def _works(self, name: PolicyName, scope: Scope) -> list[Work]:
        now, settings = self._tools.clock(), self._tools.settings
        if name == "summarize":
            return consolidation.finished_sessions(self._subjects, now, settings)
        if name == "reflect":
            return consolidation.finished_periods(self._subjects, now, settings)
        vectors, baseline = self._vectors(scope)
        return consolidation.clusters(self._subjects, vectors, baseline, now, settings)

    def _vectors(self, scope: Scope) -> tuple[dict[int, FloatArray], float]:
        embedder, generation = self._tools.vectors.embedder, self._tools.vectors.generation()
        if embedder is None or generation is None:
            return consolidation.word_vectors(subject.memory for subject in self._subjects), 0.0
        return self._tools.keeper.vectors(scope, generation), embedder.identity.baseline

    def _made(self, name: PolicyName, work: Work) -> Derived:
        tools = self._tools
        extra: dict[str, JSON] = {}
        if name == "reflect":
            extra[consolidation.PERIOD] = consolidation.period_of(work.sources[0].valid_from, tools.settings)
        if tools.dry_run:
            return derivation.derive(work, _RECIPES[name], tools.clock, extra=extra)
        tools.keeper.renew()
        made = derivation.derive(work, _RECIPES[name], tools.clock, tools.llm, extra)
        # Before the transaction opens: a model never runs inside one.
        return replace(made, new=tools.vectors.attach([made.new])[0])

    def _settle(self, plans: list[Plan]) -> None:
        tools = self._tools
        done = [Done(plan) for plan in plans] if tools.dry_run else tools.keeper.carry_out(plans, tools.clock())
        self.decisions += [each.decision for each in done]
        self._subjects = left_after(self._subjects, done)


def _to_be_read(content: str) -> UpkeepDecision:
    return UpkeepDecision("extract", "derived", None, content, "a model failed to read it, and is to read it again")


def _read(memory: Memory) -> UpkeepDecision:
    return UpkeepDecision("extract", "derived", memory.id, memory.content, f"read by a model from {memory.message_id}")


def _decided(
    name: PolicyName, subjects: Sequence[Subject], now: datetime, settings: UpkeepSettings
) -> list[UpkeepDecision]:
    if name == "expire":
        return policies.expired(subjects, now)
    if name == "merge":
        return policies.repeats(subjects, now, settings, _same_saying())
    if name == "window":
        return policies.beyond_window(subjects, now, settings)
    return policies.faded(subjects, now, settings) if name == "fade" else policies.outlived(subjects, now, settings)


def _same_saying() -> policies.Same:
    """Whether two memories say the same, each read once."""
    read: dict[int, Fingerprint] = {}

    def of(memory: Memory) -> Fingerprint:
        if memory.id not in read:
            read[memory.id] = fingerprint(memory.content, memory.valid_from)
        return read[memory.id]

    return lambda one, other: says_the_same(of(one), of(other))
