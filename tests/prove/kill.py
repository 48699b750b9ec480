"""Kill writing processes with SIGKILL, over every kind of writing operation, several of them on one file.

What must hold after each kill: every acknowledged operation is there, nothing else is there except the operation that
was under way, rows, terms, vectors and index agree, and every chain is valid.
"""

from __future__ import annotations

import os
import random
import shutil
import time
import traceback
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

from memoranda.errors import Conflict
from memoranda.storage.sqlite.connections import load_driver
from memoranda.types import utc_now
from tests.prove.children import Child, send
from tests.prove.ledger import Ledger, Operation
from tests.prove.operations import (
    DIMENSION,
    KINDS,
    Planner,
    Writer,
    find_problems,
    observe,
    open_manager,
    perform,
)
from tests.prove.regime import Plan, Result, keep_copy, result, scratch_folder

KILLS_PER_STORE = 100
TIMEOUT_S = 60.0
MAX_OPERATIONS = 4
"""A writer finishes at most this many, and is killed during the next."""
SHARE_CHECKED = 0.2
"""After how many operations the writer checks the store that it has open."""
READER_PAUSE_S = 0.03
STEP = timedelta(minutes=6)
"""Each writer's clock is ahead of the one before by more than a lease lasts: the dead hold no lease for long."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a writing process is to do."""

    path: Path
    name: str
    seed: str
    number: int
    kinds: tuple[str, ...]


def write_until_killed(job: Job, pipe: int) -> None:
    """Open the store, send what it holds, then write until killed."""
    rng, ahead = random.Random(job.seed), STEP * job.number
    for part in range(10**9):
        with open_manager(job.path, dimension=stored_dimension(job.path), clock=lambda: utc_now() + ahead) as manager:
            writer = Writer(manager, job.name, job.path.parent)
            state = observe(writer)
            send(pipe, state=state, problems=find_problems(writer))
            planner = Planner(rng, job.name, state, f"{job.number}-{part}", job.kinds)
            _write(writer, planner, pipe)


def _write(writer: Writer, planner: Planner, pipe: int) -> None:
    """Write until the store must be opened again: another process does the same work, or the embedder changed."""
    for operation in planner.operations():
        send(pipe, begin=asdict(operation))
        try:
            done = perform(writer, operation)
        except Conflict:
            done = False
        if not done:
            send(pipe, refused=operation.kind)
            return
        send(pipe, done=operation.kind)
        if planner.rng.random() < SHARE_CHECKED:  # the index of this process has followed every change so far
            send(pipe, problems=find_problems(writer))
        if not KINDS[operation.kind].shared:
            return


def read_until_killed(path: Path, pipe: int, seed: str) -> None:
    """Read until killed, and send each content the first time it is seen."""
    rng = random.Random(seed)
    seen: set[str] = set()
    try:
        while True:
            with open_manager(path) as manager:
                for _ in range(rng.randint(1, 40)):
                    for hit in manager.recall(rng.choice(["note river", "stone lamp"]), user="w0", limit=20):
                        if hit.content not in seen and hit.content.startswith("note "):
                            seen.add(hit.content)
                            send(pipe, seen=hit.content)
                    time.sleep(READER_PAUSE_S)
            # Without a reader the shared memory of the file is gone: the next process to open it must recover.
            time.sleep(rng.uniform(0, 0.3))
    except Exception:  # noqa: BLE001 - the parent reports it
        send(pipe, error=traceback.format_exc())


def stored_dimension(path: Path) -> int:
    """Return the size of the vectors in the store, which `reembed` changes. Not while this process has it open."""
    connection = load_driver()[0].connect(str(path))
    try:
        row = connection.execute("SELECT dimension FROM generations WHERE active").fetchone()
    finally:
        connection.close()
    return DIMENSION if row is None else int(row[0])


@dataclass(slots=True)
class Slot:
    """One writer after another under one name, and what they must have written."""

    name: str
    ledger: Ledger = field(default_factory=Ledger)
    child: Child | None = None


class Lane:
    """One store with its writers and its reader."""

    def __init__(self, path: Path, rng: random.Random, *, writers: int) -> None:
        self.path = path
        self.violations: list[str] = []
        self.kinds: Counter[str] = Counter()
        self.struck: Counter[str] = Counter()
        self.seen: set[str] = set()
        self._rng = rng
        self._number = 0
        self._usual_time = 0.02
        self._slots = [Slot(f"w{number}") for number in range(writers)]
        self._chosen = tuple(name for name, kind in KINDS.items() if writers == 1 or kind.shared)
        path.parent.mkdir(parents=True)
        with open_manager(path) as manager:  # the schema, so that the reader opens a store in use
            manager.add_memory("the first memory of the store")
        reader = partial(read_until_killed, path, seed=str(rng.random()))
        self._reader = Child(lambda pipe: reader(pipe)) if writers > 1 else None

    def kill_one(self) -> None:
        """Kill one writer in the middle of an operation, while the others go on."""
        for slot in self._slots:
            if slot.child is None:
                self._start(slot)
        slot = self._rng.choice(self._slots)
        assert slot.child is not None
        # One in ten is killed while it opens the store, that is, during the recovery from the kill before.
        if self._rng.random() > 0.1:
            for _ in range(self._rng.randint(1, MAX_OPERATIONS)):
                self._wait_for(slot, "begin")
        self._handle(slot, slot.child.messages(time.monotonic() + self._rng.uniform(0, 2 * self._usual_time)))
        self._kill(slot)

    def finish(self) -> None:
        """Check the store one last time, and what the reader saw."""
        for slot in self._slots:
            if slot.child is not None:
                self._kill(slot)
        for slot in self._slots:
            self._start(slot)
            self._wait_for(slot, "state")
            self._kill(slot)
        for message in self._reader.kill() if self._reader else ():
            self._hear_reader(message)
        self._check_reader()

    def stop(self) -> None:
        """End every process, whatever was found."""
        for child in [*(slot.child for slot in self._slots), self._reader]:
            if child is not None:
                with suppress(ProcessLookupError, ChildProcessError, OSError):
                    list(child.kill())

    @property
    def acknowledged(self) -> int:
        return sum(slot.ledger.acknowledged for slot in self._slots)

    def _start(self, slot: Slot) -> None:
        self._number += 1
        job = Job(self.path, slot.name, str(self._rng.random()), self._number, self._chosen)
        slot.child = Child(partial(write_until_killed, job))

    def _kill(self, slot: Slot) -> None:
        child, slot.child = slot.child, None
        assert child is not None
        self._handle(slot, child.kill())
        if slot.ledger.in_flight is not None:
            self.struck[slot.ledger.in_flight.kind] += 1
        slot.ledger.interrupt()

    def _wait_for(self, slot: Slot, key: str) -> None:
        """Handle the messages of a writer until one has this key."""
        assert slot.child is not None
        started = time.monotonic()
        for message in slot.child.messages(started + TIMEOUT_S):
            self._handle(slot, [message])
            if key in message:
                self._usual_time += 0.1 * (min(time.monotonic() - started, 0.2) - self._usual_time)
                return
            if "error" in message:
                return
        if time.monotonic() - started >= TIMEOUT_S:
            self.violations.append(f"{slot.name} sent no {key} for {TIMEOUT_S:.0f} seconds")

    def _handle(self, slot: Slot, messages: Iterable[dict[str, Any]]) -> None:
        for message in messages:
            match message:
                case {"state": state, "problems": problems}:
                    self.violations += slot.ledger.check(list(state.items())) + problems
                case {"problems": problems}:
                    self.violations += problems
                case {"begin": operation}:
                    slot.ledger.begin(Operation(**operation | {"drop": tuple(operation["drop"])}))
                case {"done": kind}:
                    slot.ledger.acknowledge()
                    self.kinds[kind] += 1
                case {"refused": _}:
                    slot.ledger.interrupt()
                case {"error": trace}:
                    self.violations.append(trace)

    def _hear_reader(self, message: dict[str, Any]) -> None:
        if "seen" in message:
            self.seen.add(message["seen"])
        else:
            self.violations.append(f"the reader failed: {message['error']}")

    def _check_reader(self) -> None:
        ledger = self._slots[0].ledger
        intended = {text.split(" [")[0] for text in ledger.intended}
        undone = {text.split(" [")[0] for text in ledger.undone} - {text.split(" [")[0] for text in ledger.written}
        for what, contents in (("never written", self.seen - intended), ("never committed", self.seen & undone)):
            if contents:
                self.violations.append(f"the reader saw {len(contents)} texts {what}: {min(contents)[:80]}")


def run(plan: Plan) -> Result:
    """Kill as many writers as the plan says, on one store after another; end with the first store that failed."""
    kills, violations, stores = 0, list[str](), 0
    kinds, struck, acknowledged, seen = Counter[str](), Counter[str](), 0, 0
    with scratch_folder() as folder:
        warm_up(folder / "warm-up")
        while plan.goes_on(kills) and not violations:
            lane = Lane(folder / str(stores) / "memories.db", plan.rng("kill", stores), writers=1 + stores % 3)
            end = min(plan.runs, kills + KILLS_PER_STORE)
            try:
                while plan.goes_on(kills) and kills < end and not lane.violations:
                    lane.kill_one()
                    kills += 1
                lane.finish()
            finally:
                lane.stop()
            violations += [f"store {stores}, kill {kills}: {line}" for line in lane.violations]
            kinds, struck = kinds + lane.kinds, struck + lane.struck
            acknowledged, seen, stores = acknowledged + lane.acknowledged, seen + len(lane.seen), stores + 1
            if lane.violations:
                keep_copy(lane.path.parent, f"kill-{plan.seed}-{kills}")
            shutil.rmtree(lane.path.parent)
    detail: dict[str, object] = {
        "acknowledged": acknowledged,
        "struck in an operation": sum(struck.values()),
        "kinds struck": len(struck),
        "stores": stores,
        "texts the reader saw": seen,
        "acknowledged by kind": dict(kinds),
    }
    return result("kill", plan, kills, violations, detail)


def warm_up(folder: Path) -> None:
    """Import everything that a writer needs, so that a fork has it at once."""
    # Threads do not survive a fork, so the numeric libraries must not start any here.
    os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    folder.mkdir()
    with open_manager(folder / "memories.db") as manager:
        writer = Writer(manager, "w0", folder)
        planner = Planner(random.Random(0), "w0", {}, "0")
        for operation, _ in zip(planner.operations(), range(60), strict=False):
            if KINDS[operation.kind].shared:
                perform(writer, operation)
        find_problems(writer)
        manager.recall("river stone", user="w0")
    shutil.rmtree(folder)
