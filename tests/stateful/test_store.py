"""The SQLite store as a state machine: after any step, it gives the same results as the reference.

A longer run: MEMORANDA_STATEFUL_EXAMPLES=2000 pytest tests/stateful
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from memoranda.embedding.vectors import start_generation
from memoranda.storage.changes import Change
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.storage.write import MemoryWrite
from memoranda.testing.differential import StoreOperations, StorePair, apply_random_changes, compare_reads
from memoranda.testing.fakes import HashEmbedder, Samples, VectorSpace
from memoranda.types import ANY, Scope
from tests.prove.children import Child

DIMENSION = 8
EXAMPLES = os.environ.get("MEMORANDA_STATEFUL_EXAMPLES")
STEPS = 25
seeds = st.integers(0, 2**32 - 1)


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="memoranda-stateful-")
        self.path = Path(self.folder) / "memories.db"
        self.handles = [self.open(), self.open()]
        self.abandoned: list[SQLiteStore] = []

    def open(self) -> SQLiteStore:
        return open_sqlite(self.path)

    @initialize(seed=seeds)
    def start(self, seed: int) -> None:
        generation = self.handles[0].write(
            lambda tx: start_generation(tx, HashEmbedder(DIMENSION).identity, activate=True)
        )
        self.samples = Samples(seed, VectorSpace(generation.id, DIMENSION))
        self.pair = StorePair(StoreOperations(self.handles[0]))

    def use(self, handle: int, seed: int) -> None:
        # Each rule has its own seed, so that leaving out a step does not change the steps after it.
        self.samples.random.seed(seed)
        self.pair.store = StoreOperations(self.handles[handle])

    @rule(handle=st.integers(0, 1), seed=seeds)
    def change(self, handle: int, seed: int) -> None:
        self.use(handle, seed)
        apply_random_changes(self.pair, self.samples)

    @rule(handle=st.integers(0, 1), seed=seeds, count=st.integers(2, 40))
    def add_in_bulk(self, handle: int, seed: int, count: int) -> None:
        self.use(handle, seed)
        self.pair.apply([self.samples.new_memory() for _ in range(count)])

    @rule(handle=st.integers(0, 1), seed=seeds)
    def compare(self, handle: int, seed: int) -> None:
        self.use(handle, seed)
        for _ in range(3):
            compare_reads(self.pair, self.samples)

    @precondition(lambda self: self.pair.known_ids())
    @rule(handle=st.integers(0, 1), seed=seeds, depth=st.integers(1, 3))
    def follow_links(self, handle: int, seed: int, depth: int) -> None:
        self.use(handle, seed)
        for tenant in {"default", self.samples.write_scope().tenant}:
            scope = Scope(tenant, user=ANY)
            for memory in self.pair.reference.find(scope, limit=5):
                self.pair.compare_related(scope, memory.id, depth=depth)

    @rule(handle=st.integers(0, 1))
    def close_and_reopen(self, handle: int) -> None:
        self.handles[handle].close()
        self.handles[handle] = self.open()

    @rule(handle=st.integers(0, 1))
    def abandon(self, handle: int) -> None:
        self.abandoned.append(self.handles[handle])
        self.handles[handle] = self.open()

    @rule(seed=seeds, delay=st.floats(0, 0.03))
    def kill_writer(self, seed: int, delay: float) -> None:
        self.use(0, seed)
        changes: list[Change] = [self.samples.new_memory() for _ in range(self.samples.random.randint(1, 6))]
        before = self.handles[0].head()
        writer = Child(lambda _: self.write_in_child(changes))
        time.sleep(delay)
        assert list(writer.kill()) == []
        if self.handles[0].head() != before:
            self.pair.adopt(changes, before)

    def write_in_child(self, changes: list[Change]) -> None:
        self.open().write(MemoryWrite(changes))

    @invariant()
    def every_handle_sees_all_memories(self) -> None:
        if not hasattr(self, "pair"):
            return
        for handle in self.handles:
            self.pair.store = StoreOperations(handle)
            self.pair.compare_memories([Scope("default", user=ANY)])
        assert self.handles[0].check() == []

    def teardown(self) -> None:
        for handle in (*self.handles, *self.abandoned):
            handle.close()
        shutil.rmtree(self.folder)


TestStore = StoreMachine.TestCase
TestStore.settings = settings(
    max_examples=int(EXAMPLES or 8),
    stateful_step_count=STEPS,
    deadline=None,
    database=None,
    derandomize=EXAMPLES is None,
    # Shrinking a failure takes minutes, so only the longer run does it.
    phases=list(Phase) if EXAMPLES else [Phase.generate],
    suppress_health_check=list(HealthCheck),
)
