"""The manager as a state machine: after any step, two managers on one file recall exactly what is stored."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from memoranda import MemoryManager
from memoranda.testing.fakes import HashEmbedder

EXAMPLES = os.environ.get("MEMORANDA_STATEFUL_EXAMPLES")
users = st.sampled_from([None, "ann", "anna", "Ann"])
handles = st.integers(0, 1)
words = st.lists(st.sampled_from(["river", "stone", "lamp", "it's", "猫"]), min_size=1, max_size=4)
choices = st.integers(0, 2**16)


class ManagerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp(prefix="memoranda-stateful-")
        self.managers = [self.open(), self.open()]
        self.abandoned: list[MemoryManager] = []
        self.known: dict[int, tuple[str | None, str]] = {}

    def open(self) -> MemoryManager:
        url = f"sqlite:///{Path(self.folder) / 'memories.db'}"
        return MemoryManager(db_url=url, embedder=HashEmbedder(16)).__enter__()

    def pick_id(self, choice: int) -> int:
        return sorted(self.known)[choice % len(self.known)]

    @rule(handle=handles, user=users, text=words)
    def add(self, handle: int, user: str | None, text: list[str]) -> None:
        memory = self.managers[handle].add_memory("note " + " ".join(text), user=user)
        self.known[memory.id] = (user, memory.content)

    @rule(handle=handles, user=users, texts=st.lists(words, min_size=2, max_size=12))
    def add_in_bulk(self, handle: int, user: str | None, texts: list[list[str]]) -> None:
        contents = ["note " + " ".join(text) for text in texts]
        memories = self.managers[handle].add_memories(contents, user=user)
        assert [memory.content for memory in memories] == contents
        self.known |= {memory.id: (user, memory.content) for memory in memories}

    @precondition(lambda self: self.known)
    @rule(handle=handles, choice=choices, text=words)
    def update(self, handle: int, choice: int, text: list[str]) -> None:
        memory_id = self.pick_id(choice)
        user = self.known[memory_id][0]
        memory = self.managers[handle].update(memory_id, "note again " + " ".join(text), user=user)
        self.known[memory_id] = (user, memory.content)

    @precondition(lambda self: self.known)
    @rule(handle=handles, choice=choices)
    def delete(self, handle: int, choice: int) -> None:
        memory_id = self.pick_id(choice)
        self.managers[handle].delete(memory_id, user=self.known.pop(memory_id)[0])

    @rule(handle=handles)
    def close_and_reopen(self, handle: int) -> None:
        self.managers[handle].close()
        self.managers[handle] = self.open()

    @rule(handle=handles)
    def abandon(self, handle: int) -> None:
        self.abandoned.append(self.managers[handle])
        self.managers[handle] = self.open()

    @invariant()
    def recall_returns_exactly_what_is_stored(self) -> None:
        for manager in self.managers:
            for user in (None, "ann", "anna", "Ann"):
                expected = {memory_id: text for memory_id, (owner, text) in self.known.items() if owner == user}
                found = manager.recall("note", user=user, limit=1000)
                assert {hit.id: hit.content for hit in found} == expected
                assert not found.degraded

    def teardown(self) -> None:
        for manager in (*self.managers, *self.abandoned):
            manager.close()
        shutil.rmtree(self.folder)


TestManager = ManagerMachine.TestCase
TestManager.settings = settings(
    max_examples=int(EXAMPLES or 8),
    stateful_step_count=15,
    deadline=None,
    database=None,
    derandomize=EXAMPLES is None,
    phases=list(Phase) if EXAMPLES else [Phase.generate],
    suppress_health_check=list(HealthCheck),
)
