"""Run one truth case on a fresh store, through the public API only, and score what is expected of it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from evaluation.truth_cases import Case, Expectation, Step
from memoranda import MemoryManager, Message
from memoranda.embedding.base import Embedder
from memoranda.types import Hit, Memory, Outcomes, Recall

USER = "user-1"
_START = datetime(2026, 3, 2, 9, tzinfo=UTC)
_LIMIT = 100


class CaseClock:
    """A clock that the steps of a case move forward."""

    def __init__(self) -> None:
        self.now = _START

    def __call__(self) -> datetime:
        return self.now

    def advance(self, step: Step) -> None:
        self.now = step.at or self.now + timedelta(minutes=step.gap)


@dataclass(frozen=True, slots=True)
class Scored:
    """Whether one expectation holds."""

    kind: str
    passed: bool
    detail: str


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The scores of one case, the steps that were hidden, and those that were lost."""

    case: Case
    scored: tuple[Scored, ...]
    right_endings: int
    wrong_endings: tuple[int, ...]
    lost: tuple[int, ...]
    """True statements that are no longer found: never stored, hidden without an update, or merged."""

    def passed(self, kind: str) -> bool:
        return all(item.passed for item in self.scored if item.kind == kind)


@contextmanager
def fresh_manager(embedder: Embedder, clock: CaseClock | None = None) -> Iterator[tuple[MemoryManager, Path]]:
    """Open a manager with default settings on an empty file, and give its folder."""
    with _temporary_folder() as folder:
        file = folder / "memories.db"
        file.write_bytes(_empty_database())
        with MemoryManager(db_url=f"sqlite:///{file}", embedder=embedder, clock=clock) as manager:
            yield manager, folder


@cache
def _empty_database() -> bytes:
    """Return the file of an empty store: to create its tables takes longer than to run a case."""
    with _temporary_folder() as folder:
        file = folder / "memories.db"
        with MemoryManager(db_url=f"sqlite:///{file}"):
            pass
        return file.read_bytes()


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    # The files live for milliseconds: memory-backed storage saves the sync time.
    fast = "/dev/shm" if Path("/dev/shm").is_dir() else None
    with tempfile.TemporaryDirectory(dir=fast) as folder:
        yield Path(folder)


def run_case(case: Case, embedder: Embedder) -> CaseResult:
    """Remember the steps of a case in a fresh store and score its expectations."""
    clock = CaseClock()
    with fresh_manager(embedder, clock) as (manager, _):
        run = CaseRun(manager, clock, case)
        return run.score()


class CaseRun:
    """A case whose steps have been remembered, ready to be asked."""

    def __init__(self, manager: MemoryManager, clock: CaseClock, case: Case) -> None:
        self._manager, self._clock, self._case = manager, clock, case
        self._outcomes = [self._remember(step) for step in case.steps]
        self._clock.now += timedelta(minutes=1)

    def score(self) -> CaseResult:
        case, hidden = self._case, self._missing()
        scored = [self._score(item, hidden) for item in case.expect if item.kind not in ("keep", "distinct")]
        ended = [step for step in sorted(hidden) if self._ids(step)]
        allowed = case.olds("hidden", "noticed") - case.kept
        right = [step for step in ended if step in allowed]
        wrong = [step for step in ended if step not in allowed and step not in case.olds("distinct") - case.kept]
        self._manager.upkeep(policies=["merge"])
        gone = self._missing()
        scored += [self._score_stay(item, gone) for item in case.expect if item.kind in ("keep", "distinct")]
        lost = {*wrong, *(step for step in case.kept if step in gone), *self._failed_distinct()}
        return CaseResult(case, tuple(scored), len(right), tuple(wrong), tuple(sorted(lost)))

    def _remember(self, step: Step) -> Outcomes:
        self._clock.advance(step)
        said_at = step.stamp or self._clock.now
        if step.role is None:
            return self._manager.remember(step.text, user=USER, source=step.source, session=step.session, at=said_at)
        call_id = "call-1" if step.role == "tool" else None
        message = Message(step.role, step.text, name=step.name, timestamp=said_at, tool_call_id=call_id)
        return self._manager.remember(message, user=USER, source=step.source, session=step.session)

    def _ids(self, step: int) -> set[int]:
        """Return the ids of the memories that the step itself made."""
        made = (item.memory for item in self._outcomes[step] if item.status not in ("duplicate", "rejected"))
        return {memory.id for memory in made if memory is not None}

    def _missing(self) -> set[int]:
        """Return the steps of which a memory is found neither by its own words nor by those of the case."""
        asks = {item.ask for item in self._case.expect if item.ask}
        texts = [step.text for step in self._case.steps]
        found = {hit.id for query in (*texts, *sorted(asks)) for hit in self._recall(query)}
        steps = range(len(self._case.steps))
        return {step for step in steps if not self._ids(step) or not self._ids(step) <= found}

    def _recall(self, query: str, **when: datetime) -> Recall:
        return self._manager.recall(query, user=USER, limit=_LIMIT, now=self._clock.now, **when)  # type: ignore[arg-type]

    def _score(self, item: Expectation, hidden: set[int]) -> Scored:
        if item.kind == "hidden":
            passed = item.old in hidden and bool(self._ids(_given(item.old))) and bool(self._ids(_given(item.new)))
            return Scored("hidden", passed, "hidden" if passed else "still in recall")
        if item.kind == "noticed":
            return self._score_noticed(item)
        if item.kind == "apart":
            return self._score_apart(item)
        if item.kind == "same":
            statuses = [outcome.status for outcome in self._outcomes[_given(item.new)]]
            return Scored("same", bool(statuses) and set(statuses) == {"duplicate"}, f"statuses {statuses}")
        if item.kind == "fact":
            return self._score_fact(item)
        return self._score_answer(item)

    def _score_noticed(self, item: Expectation) -> Scored:
        old, new = self._ids(_given(item.old)), self._ids(_given(item.new))
        if not old or not new:
            return Scored("noticed", False, "not stored")
        hits = list(self._recall(item.ask))
        ranks = {hit.id: rank for rank, hit in enumerate(hits)}
        found_old, found_new = old & set(ranks), new & set(ranks)
        if not found_new:
            return Scored("noticed", False, "the newer one is not found")
        if not found_old:
            return Scored("noticed", True, "the older one is hidden")
        if min(ranks[id] for id in found_old) < min(ranks[id] for id in found_new):
            return Scored("noticed", False, "the older one ranks above")
        unmarked = [hit for hit in hits if hit.id in found_old and not _is_marked(hit)]
        return Scored("noticed", not unmarked, "the older one is not marked" if unmarked else "marked")

    def _score_apart(self, item: Expectation) -> Scored:
        old, new = self._ids(_given(item.old)), self._ids(_given(item.new))
        hits = [hit for hit in self._recall(self._case.steps[_given(item.old)].text) if hit.id in old]
        linked = any(hit.superseded_by in new or new & {later.id for later in hit.later} for hit in hits)
        return Scored("apart", bool(hits) and not linked, "the older one is marked" if linked else "")

    def _score_answer(self, item: Expectation) -> Scored:
        when = {key: value for key, value in (("as_of", item.as_of), ("known_at", item.known_at)) if value}
        try:
            hits = self._recall(item.ask, **when)
        except TypeError as error:  # an axis of time that this version does not have
            return Scored("answer", False, str(error))
        first = next(iter(hits), None)
        if item.answer is None:
            return Scored("answer", first is None, f"found {first.content!r}" if first else "nothing found")
        passed = first is not None and first.id in self._ids(item.answer)
        return Scored("answer", passed, f"first is {first.content!r}" if first else "nothing found")

    def _score_fact(self, item: Expectation) -> Scored:
        facts = self._manager.facts(user=USER, as_of=item.as_of, known_at=item.known_at)
        values = [fact.value for fact in facts if fact.attribute == item.attribute and fact.holds]
        return Scored("fact", values == ([] if item.value is None else [item.value]), f"facts are {values}")

    def _score_stay(self, item: Expectation, gone: set[int]) -> Scored:
        if item.kind == "keep":
            missing = [step for step in item.steps if step in gone]
            return Scored("keep", not missing, f"missing: {[self._why_missing(step) for step in missing]}")
        failed = _given(item.new) in self._failed_distinct()
        return Scored("distinct", not failed, self._why_missing(_given(item.new)) if failed else "")

    def _failed_distinct(self) -> set[int]:
        """Return the newer steps of `distinct` pairs that were called a duplicate, or were merged."""
        pairs = [(_given(item.old), _given(item.new)) for item in self._case.expect if item.kind == "distinct"]
        return {new for old, new in pairs if not self._stored(old) or not self._stored(new)}

    def _stored(self, step: int) -> bool:
        ids = self._ids(step)
        return bool(ids) and all(_is_active(self._manager.get(id, user=USER)) for id in ids)

    def _why_missing(self, step: int) -> str:
        statuses = [f"{item.status}: {item.reason or item.rule}" for item in self._outcomes[step]]
        return f"step {step} ({'; '.join(statuses) or 'no outcome'})"


def _is_active(memory: Memory) -> bool:
    return memory.archived_at is None or memory.superseded_by is not None


def _is_marked(hit: Hit) -> bool:
    marks = (getattr(hit, "superseded_by", None), getattr(hit, "later", None), hit.memory.superseded_by)
    return any(marks)


def _given(step: int | None) -> int:
    if step is None:
        raise ValueError("an expectation names no step")
    return step
