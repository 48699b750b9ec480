"""Let the n-th write, sync, truncation, rename, unlink or open fail, once or for good.

What must hold: the caller gets one of our errors; what it says is so; nothing is acknowledged after a sync that failed
unless it is on disk; the store goes on once the disk works again, opens cleanly, and has everything acknowledged.
"""

from __future__ import annotations

import errno
import json
import random
import shutil
import time
from collections import Counter
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any, Final

from memoranda import MemoryManager
from memoranda.errors import MemorandaError, OutcomeUnknown
from tests.prove.children import Child, send
from tests.prove.disk import Disk, Progress
from tests.prove.kill import stored_dimension, warm_up
from tests.prove.ledger import Ledger, Operation, State
from tests.prove.operations import (
    DIMENSION,
    KINDS,
    Planner,
    Writer,
    find_problems,
    observe,
    open_manager,
    perform,
    plan_each,
)
from tests.prove.power import check_image
from tests.prove.regime import Plan, Result, keep_copy, result, scratch_folder
from tests.prove.shim import arm, disarm, note, read_log, watch

NAME: Final = "w0"
OPERATIONS: Final = 3
FOR_GOOD: Final = 10**9
TIMEOUT_S: Final = 60.0
_CALLS: Final = {
    "W": (errno.EIO, errno.ENOSPC, errno.EINTR, 0),
    "S": (errno.EIO, errno.ENOSPC),
    "T": (errno.EIO, errno.EINTR),
    "R": (errno.EIO, errno.ENOSPC),
    "U": (errno.EIO,),
    "L": (errno.EIO, errno.ENOSPC),
    "O": (errno.EIO, errno.ENOSPC, errno.EMFILE),
    "WSTRULO": (errno.EIO, errno.ENOSPC),
}
"""Which errors each kind of call can have; 0 for a write that is done in part."""
_WITH_FILES: Final = ("backup", "restore", "restore", "forget", "execution", "key")
"""Operations that also write files of our own."""
_PASSING: Final = (errno.EINTR, 0)
"""What a caller must simply go on after: it is never for good."""


@dataclass(frozen=True, slots=True)
class Fault:
    """Which calls fail, and how."""

    calls: str
    first: int
    times: int
    error: int
    at_open: bool
    """Whether it is there before the store is opened; otherwise from the first operation on."""
    only: tuple[str, ...] = ()
    """The operations that are done; those that make such calls when empty."""

    @classmethod
    def random(cls, rng: random.Random) -> Fault:
        calls = rng.choice(list(_CALLS))
        error = rng.choice(_CALLS[calls])
        times = rng.randint(1, 3) if error in _PASSING else rng.choice([1, 1, 2, FOR_GOOD])
        most = 40 if calls in ("W", "WSTRULO") else 10
        return cls(calls, rng.randint(1, rng.randint(1, most)), times, error, rng.random() < 0.3)

    @property
    def kinds(self) -> tuple[str, ...]:
        """Return which operations make such calls; all of them write and sync."""
        return self.only or (_WITH_FILES if self.calls in ("R", "L", "U") else ())

    def arm(self) -> None:
        arm(self.calls, self.first, self.times, self.error or errno.EIO, short=self.error == 0)


_FIRST: Final = (
    *(Fault("S", first, 1, errno.EIO, at_open=False, only=("add", "bulk")) for first in range(1, 7)),
    *(Fault("W", first, 1, errno.ENOSPC, at_open=False, only=("bulk",)) for first in (1, 2)),
    *(Fault(calls, 1, 1, errno.EIO, at_open=False, only=("restore",)) for calls in "RLOS"),
    *(Fault("R", first, FOR_GOOD, errno.EIO, at_open=False, only=("restore",)) for first in (2, 3)),
    Fault("O", 1, 1, errno.EMFILE, at_open=False, only=("backup", "restore")),
)
"""Faults that every run of the regime begins with: each is at the worst moment, where chance seldom leads."""


def work(path: Path, log: Path, state: State, fault: Fault, seed: str, pipe: int) -> None:
    """Write until the disk fails; when it works again, write once more, and send what the store holds at the end."""
    planner = Planner(random.Random(seed), NAME, dict(state), "1", fault.kinds)
    watch(path.parent, log)
    if fault.at_open:
        fault.arm()
    try:
        with open_manager(path) as manager:
            if not fault.at_open:
                fault.arm()
            _write(manager, path, planner, pipe, OPERATIONS)
            send(pipe, hits=disarm())
            _go_on(manager, path, seed, pipe)
    except MemorandaError as error:
        if not (hits := disarm()):
            raise
        send(pipe, hits=hits, refused=type(error).__name__)
    with open_manager(path, dimension=stored_dimension(path)) as manager:
        _check_and_write(manager, path, seed + "/reopened", pipe)
    send(pipe, finished=True)


def _write(manager: MemoryManager, path: Path, planner: Planner, pipe: int, count: int) -> None:
    for operation, _ in zip(planner.operations(), range(count), strict=False):
        send(pipe, begin=asdict(operation))
        note(json.dumps(asdict(operation)))
        try:
            perform(Writer(manager, NAME, path.parent), operation)
        except MemorandaError as error:
            # An error that does not say that the outcome is unknown says that nothing was written.
            unknown = isinstance(error, OutcomeUnknown) or not operation.atomic or operation.kind in STEPWISE
            note("unknown" if unknown else "refused")
            send(pipe, failed=type(error).__name__, unknown=unknown, says=str(error))
            return
        note("done")
        send(pipe, done=True)
        if not KINDS[operation.kind].shared:
            return


def _go_on(manager: MemoryManager, path: Path, seed: str, pipe: int) -> None:
    """Check the store and write once more with the manager that met the fault, unless its embedder was replaced."""
    generation = manager._components.open().store.active_generation()
    if generation is None or generation.dimension == DIMENSION:
        _check_and_write(manager, path, seed, pipe)


def _check_and_write(manager: MemoryManager, path: Path, seed: str, pipe: int) -> None:
    writer = Writer(manager, NAME, path.parent)
    found = observe(writer)
    send(pipe, state=found, problems=find_problems(writer))
    kinds = ("add", "bulk", "conversation", "execution", "value", "key")
    planner = Planner(random.Random(seed), NAME, found, f"2-{len(seed)}", kinds)
    _write(manager, path, planner, pipe, 1)


@dataclass(slots=True)
class Verdict:
    """What one run showed, from the messages of its process."""

    ledger: Ledger
    violations: list[str]
    armed: bool = True
    hits: int = 0
    error: str = ""
    finished: bool = False
    failed_kind: str = ""

    def hear(self, message: dict[str, Any]) -> None:
        match message:
            case {"state": state, "problems": problems}:
                self.violations += self.ledger.check(list(state.items())) + problems
            case {"begin": operation}:
                self.ledger.begin(Operation(**operation | {"drop": tuple(operation["drop"])}))
            case {"done": _}:
                self.ledger.acknowledge()
            case {"failed": name, "unknown": unknown, "says": says}:
                self._fail(name, unknown, says)
            case {"hits": hits}:
                self.hits, self.armed = hits, False
                self.error = message.get("refused", self.error)
            case {"error": trace}:
                self.violations.append(trace)
            case {"finished": _}:
                self.finished = True

    def _fail(self, name: str, unknown: bool, says: str) -> None:
        self.error = name
        operation = self.ledger.in_flight
        assert operation is not None
        self.failed_kind = operation.kind
        if not self.armed:
            self.violations.append(f"{operation.kind} failed although the disk works again: {name}: {says}")
        if unknown:
            self.ledger.interrupt()
        else:
            self.ledger.in_flight = None


STEPWISE: Final = ("backup", "restore", "forget", "execution", "key", "session", "conversation", "reembed")
"""Operations that write more than the one commit: files, a key, a receipt. After an error they may be done."""


def run(plan: Plan) -> Result:
    """Run one process after another, each on a copy of the same store, each with a fault of its own."""
    runs, violations, errors, met = 0, list[str](), Counter[str](), 0
    with scratch_folder() as folder:
        warm_up(folder / "warm-up")
        template = folder / "template"
        state = _make_template(template, plan.rng("template"))
        while plan.goes_on(runs, violations):
            rng = plan.rng("fault", runs)
            fault = _FIRST[runs] if runs < len(_FIRST) else Fault.random(rng)
            place, log = folder / "store", folder / "log"
            shutil.copytree(template, place)
            disk = Disk.with_files_of(place)
            verdict = _run_one(place, log, state, fault, str(rng.random()))
            if not verdict.violations and verdict.hits:
                verdict.violations += _cut_the_power(disk, log, state, folder / "image")
            violations += [f"run {runs}, {fault}: {line}" for line in verdict.violations]
            runs, met = runs + 1, met + (verdict.hits > 0)
            errors[verdict.error or "none"] += verdict.hits > 0
            if verdict.violations:
                keep_copy(folder, f"faults-{plan.seed}-{runs}")
            shutil.rmtree(place)
            log.unlink(missing_ok=True)
    return result("faults", plan, runs, violations, {"runs that met their fault": met, "errors": dict(errors)})


def _make_template(folder: Path, rng: random.Random) -> State:
    folder.mkdir()
    kinds = tuple(name for name, kind in KINDS.items() if kind.shared)
    with open_manager(folder / "memories.db") as manager:
        writer, planner = Writer(manager, NAME, folder), Planner(rng, NAME, {}, "0", kinds)
        for operation in chain(islice(planner.operations(), 25), plan_each(planner, ("backup", "restore"))):
            perform(writer, operation)
        return observe(writer)


def _run_one(place: Path, log: Path, state: State, fault: Fault, seed: str) -> Verdict:
    child = Child(partial(work, place / "memories.db", log, state, fault, seed))
    verdict = Verdict(Ledger(dict(state)), [])
    for message in child.messages(time.monotonic() + TIMEOUT_S):
        verdict.hear(message)
    for message in child.kill():
        verdict.hear(message)
    if not verdict.finished and not verdict.violations:
        verdict.violations.append(f"the process did not end within {TIMEOUT_S:.0f} seconds, or died")
    return verdict


def _cut_the_power(disk: Disk, log: Path, state: State, target: Path) -> list[str]:
    """Cut the power right after each error and at the end of a run.

    What was refused is not on disk, though all of its writes may be; what was acknowledged is, whatever sync failed.
    """
    progress, problems = Progress([dict(state)]), list[str]()
    for event in read_log(log):
        disk.apply(event)
        if event.kind == "N":
            progress.read(event.first)
            if event.first == b"refused":
                problems += _check_cut(disk, progress, target, "all")
    return problems + _check_cut(disk, progress, target, "none")


def _check_cut(disk: Disk, progress: Progress, target: Path, mode: str) -> list[str]:
    target.mkdir()
    for name, content in disk.image(random.Random(0), mode).items():
        (target / name).write_bytes(content)
    try:
        problems = check_image(target, progress, whole=False)
    except MemorandaError as error:
        problems = [f"{type(error).__name__}: {error}"]
    shutil.rmtree(target)
    return [f"after a power cut, mode {mode}: {problem}" for problem in problems]
