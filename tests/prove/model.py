"""Random steps on a store and on the exact reference: after any step, both give the same results.

Worlds of some hundred steps each: changes, reads, close and reopen, handles that are never closed, clock jumps, a
second process that writes, and one that is killed while it writes. The same worlds run over every kind of store.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Protocol

from memoranda import MemoryManager
from memoranda.embedding.vectors import start_generation
from memoranda.storage import open_store
from memoranda.storage.base import Store
from memoranda.storage.changes import Change
from memoranda.storage.write import MemoryWrite
from memoranda.testing.differential import StoreOperations, StorePair, apply_random_changes, compare_reads
from memoranda.testing.fakes import HashEmbedder, Samples, VectorSpace
from memoranda.types import ANY, Scope
from tests.fake_clock import FakeClock
from tests.postgres.server import PostgresServer, run_server
from tests.prove.children import Child
from tests.prove.regime import Plan, Result, result

STEPS = 250
"""Steps of one world: the reference is exact and slow, so a world stays small."""
DIMENSION = 8
START = datetime(2026, 3, 1, tzinfo=UTC)


def make_folder() -> str:
    """Return a new folder: in memory where there is one, as a sync takes longer than the step that it ends."""
    memory = Path("/dev/shm")
    return tempfile.mkdtemp(prefix="memoranda-model-", dir=memory if memory.is_dir() else None)


class World(Protocol):
    """A system beside its reference."""

    def step(self) -> None:
        """Take one random step and compare what it shows; an `AssertionError` is a violation."""
        ...

    def close(self) -> None: ...


class StoreWorld:
    """A store with two handles where its URL allows that, beside the reference."""

    def __init__(self, url: str, seed: str, *, shared: bool) -> None:
        self.folder = make_folder()
        self.url = url.format(folder=self.folder)
        self.shared = shared
        self.clock = FakeClock(START)
        self.handles = [self.open() for _ in range(2 if shared else 1)]
        self.abandoned: list[Store] = []
        identity = HashEmbedder(DIMENSION).identity
        generation = self.handles[0].write(lambda tx: start_generation(tx, identity, activate=True))
        self.samples = Samples(0, VectorSpace(generation.id, DIMENSION))
        self.samples.random.seed(seed)
        self.random = self.samples.random
        self.pair = StorePair(StoreOperations(self.handles[0]))

    def open(self) -> Store:
        return open_store(self.url, clock=self.clock, durability="normal")

    def step(self) -> None:
        self.pair.store = StoreOperations(self.random.choice(self.handles))
        chosen = self.random.random()
        rare: list[tuple[float, Callable[[], None]]] = [
            (0.004, self.kill_writer),
            (0.008, self.write_elsewhere),
            (0.014, self.reopen),
            (0.018, self.abandon),
            (0.05, self.jump),
            (0.06, self.add_many),
            (0.07, self.check_all),
        ]
        for below, take in rare:
            if chosen < below and (self.shared or take in (self.jump, self.add_many, self.check_all)):
                take()
                return
        if chosen < 0.55:
            apply_random_changes(self.pair, self.samples)
        else:
            compare_reads(self.pair, self.samples)

    def jump(self) -> None:
        self.clock.now = START + timedelta(days=self.random.randint(-366, 366), seconds=self.random.randint(0, 86_400))

    def add_many(self) -> None:
        self.pair.apply([self.samples.new_memory() for _ in range(self.random.randint(2, 12))])

    def reopen(self) -> None:
        place = self.random.randrange(len(self.handles))
        self.handles[place].close()
        self.handles[place] = self.open()

    def abandon(self) -> None:
        place = self.random.randrange(len(self.handles))
        self.abandoned.append(self.handles[place])
        self.handles[place] = self.open()

    def write_elsewhere(self) -> None:
        self._write_in_child(None)

    def kill_writer(self) -> None:
        self._write_in_child(self.random.uniform(0, 0.03))

    def _write_in_child(self, delay: float | None) -> None:
        self.pair.store = StoreOperations(self.handles[0])
        changes: list[Change] = [self.samples.new_memory() for _ in range(self.random.randint(1, 6))]
        before = self.handles[0].head()
        child = Child(lambda _: self._write(changes))
        if delay is None:
            failures = list(child.messages(time.monotonic() + 60))
            assert failures == [], failures
        else:
            time.sleep(delay)
        assert list(child.kill()) == []
        written = self.handles[0].head() != before
        assert written or delay is not None, "a process ended without an error and its write is not there"
        if written:
            self.pair.adopt(changes, before)

    def _write(self, changes: list[Change]) -> None:
        self.open().write(MemoryWrite(changes))

    def check_all(self) -> None:
        for handle in self.handles:
            self.pair.store = StoreOperations(handle)
            self.pair.compare_memories([Scope("default", user=ANY)])
        assert self.handles[0].check() == []
        for memory in self.pair.reference.find(Scope("default", user=ANY), limit=3):
            self.pair.compare_related(Scope("default", user=ANY), memory.id, depth=self.random.randint(1, 3))

    def close(self) -> None:
        try:
            self.check_all()
        finally:
            for handle in (*self.handles, *self.abandoned):
                handle.close()
            shutil.rmtree(self.folder)


class ManagerWorld:
    """Two managers on one file: whatever happens, both recall exactly what is stored."""

    USERS = (None, "ann", "anna", "Ann")
    WORDS = ("river", "stone", "lamp", "it's", "猫")

    def __init__(self, seed: str) -> None:
        self.folder = make_folder()
        self.random = Plan(1).rng(seed)
        self.clock = FakeClock(START)
        self.managers = [self.open(), self.open()]
        self.abandoned: list[MemoryManager] = []
        self.known: dict[int, tuple[str | None, str]] = {}

    def open(self) -> MemoryManager:
        url = f"sqlite:///{Path(self.folder) / 'memories.db'}"
        return MemoryManager(db_url=url, embedder=HashEmbedder(16), clock=self.clock).__enter__()

    def step(self) -> None:
        place, chosen = self.random.randrange(2), self.random.random()
        manager, user = self.managers[place], self.random.choice(self.USERS)
        known = self.random.choice(sorted(self.known)) if self.known else None
        if chosen < 0.02:
            self.reopen(place)
        elif chosen < 0.04:
            self.clock.advance(days=self.random.randint(-400, 400))
        elif chosen < 0.1:
            texts = [self.text() for _ in range(self.random.randint(2, 6))]
            for memory in manager.add_memories(texts, user=user):
                self.known[memory.id] = (user, memory.content)
        elif chosen < 0.4 or known is None:
            memory = manager.add_memory(self.text(), user=user)
            self.known[memory.id] = (user, memory.content)
        elif chosen < 0.5:
            self.known[known] = (owner := self.known[known][0], self.text())
            manager.update(known, self.known[known][1], user=owner)
        elif chosen < 0.7:
            manager.delete(known, user=self.known.pop(known)[0])
        self.compare(self.managers[self.random.randrange(2)], user)

    def text(self) -> str:
        return "note " + " ".join(self.random.choices(self.WORDS, k=self.random.randint(1, 4)))

    def reopen(self, place: int) -> None:
        if self.random.random() < 0.5:
            self.managers[place].close()
        else:
            self.abandoned.append(self.managers[place])
        self.managers[place] = self.open()

    def compare(self, manager: MemoryManager, user: str | None) -> None:
        expected = {memory_id: text for memory_id, (owner, text) in self.known.items() if owner == user}
        # At the end of time, whatever the clock said when it was stored.
        found = manager.recall("note", user=user, limit=1000, now="2040-01-01T00:00:00Z")
        assert {hit.id: hit.content for hit in found} == expected
        assert not found.degraded

    def close(self) -> None:
        try:
            for manager in self.managers:
                for user in self.USERS:
                    self.compare(manager, user)
        finally:
            for manager in (*self.managers, *self.abandoned):
                manager.close()
            shutil.rmtree(self.folder)


WORLDS: dict[str, Callable[[str], World]] = {
    "sqlite file": lambda seed: StoreWorld("sqlite:///{folder}/memories.db", seed, shared=True),
    "in memory": lambda seed: StoreWorld("sqlite://", seed, shared=False),
    "manager": ManagerWorld,
    "postgresql": lambda seed: StoreWorld(_postgres().new_database(), seed, shared=True),
}
"""Every store there is. A new one needs one line here."""
TURNS = (*WORLDS, *[kind for kind in WORLDS if kind != "postgresql"] * 2)
"""The worlds of one round: a step on a server takes longer than on a file."""
_servers = ExitStack()


@cache
def _postgres() -> PostgresServer:
    """Return the server of all worlds of this run, which is started with the first of them."""
    return _servers.enter_context(run_server())


def model_steps(plan: Plan) -> Result:
    """Run worlds over every store in turn, until there were enough steps."""
    done, violations, by_world = 0, list[str](), dict.fromkeys(WORLDS, 0)
    number, steps = 0, max(15, min(STEPS, plan.runs // len(WORLDS)))
    try:
        while plan.goes_on(done):
            kind = TURNS[number % len(TURNS)]
            seed = f"{plan.seed}/{kind}/{number}"
            taken, problem = run_world(WORLDS[kind](seed), min(steps, plan.runs - done))
            done += taken
            by_world[kind] += taken
            if problem is not None:
                violations.append(f"world {seed}: {problem}")
            number += 1
    finally:
        _postgres.cache_clear()
        _servers.close()
    return result("model", plan, done, violations, {"worlds": number, "steps by store": by_world})


def run_world(world: World, steps: int) -> tuple[int, str | None]:
    """Take some steps; return how many, and what was wrong after the last one."""
    taken = 0
    try:
        try:
            for _ in range(steps):
                taken += 1
                world.step()
        finally:
            world.close()
    except Exception as error:  # noqa: BLE001 - any error is a violation, which the result shows
        return taken, f"step {taken}: {type(error).__name__}: {str(error)[:500]}"
    return taken, None
