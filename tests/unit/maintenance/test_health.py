from __future__ import annotations

import random
import time
from pathlib import Path

from memoranda.manager.manager import MemoryManager, create_session
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import MemoryType


def test_everything_is_counted(manager: MemoryManager) -> None:
    empty = manager.get_stats()
    assert (empty.short_term_entries, empty.long_term_entries, empty.active_sessions, empty.executions) == (0, 0, 0, 0)
    assert (empty.agents, empty.degraded) == ({}, ())
    manager.save("writer", "draft", 1)
    manager.remember(["one", "two"], agent="writer")
    manager.remember("three", agent="editor", user="ann")
    manager.save_execution_record("editor", {})
    manager.add_knowledge("A fact.", source="facts")
    with create_session("w", manager):
        stats = manager.get_stats()
    assert (stats["short_term_entries"], stats["long_term_entries"], stats["active_sessions"]) == (3, 4, 1)
    assert (stats.by_type["semantic"], stats.by_type["shared"], stats.executions) == (3, 1, 1)
    assert list(stats.agents) == ["editor", "writer"]
    assert (stats.agents["editor"].memories, stats.agents["editor"].executions) == (1, 1)
    assert stats.agents["editor"].last_active > stats.agents["writer"].last_active
    assert set(stats.agents) == {"editor", "writer"}


def test_counts_follow_every_change(manager: MemoryManager) -> None:
    generator = random.Random(7)
    kinds = [kind for kind in MemoryType if kind is not MemoryType.SHARED]
    known: dict[int, tuple[str, str]] = {}
    for step in range(120):
        agent, kind = generator.choice(["a", "b"]), generator.choice(kinds)
        if known and generator.random() < 0.3:
            memory_id = generator.choice(list(known))
            manager.delete(memory_id)
            del known[memory_id]
        elif known and generator.random() < 0.3:
            memory_id = generator.choice(list(known))
            manager.update(memory_id, memory_type=kind, content=f"changed {step}")
            known[memory_id] = (known[memory_id][0], kind)
        else:
            known[manager.add_memory(f"fact {step}", kind, agent=agent).id] = (agent, kind)
    stats = manager.get_stats()
    assert stats.long_term_entries == len(known)
    for kind in kinds:
        assert stats.by_type[kind] == sum(each == kind for _, each in known.values())
    for agent in ("a", "b"):
        assert stats.agents[agent].memories == sum(each == agent for each, _ in known.values())
    assert manager._components.open().store.check() == []


def test_a_tenant_counts_its_own(manager: MemoryManager) -> None:
    other = manager.for_tenant("other")
    other.remember("one", agent="writer")
    other.save_execution_record("writer", {})
    with create_session("w", other):
        stats = manager.get_stats()
        assert (stats.long_term_entries, stats.executions, stats.active_sessions, stats.agents) == (0, 0, 0, {})
        assert other.get_stats().active_sessions == 1


def test_counting_costs_the_same_however_many_there_are(tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/b.db", embedder=HashEmbedder(8)) as manager:
        manager.add_memories([f"fact {number}" for number in range(4000)], agent="writer")
        plan = manager._components.open().store.read(
            lambda tx: [
                str(row)
                for row in tx.driver_sql(
                    "EXPLAIN QUERY PLAN SELECT name, entries FROM counters WHERE tenant = 'default' AND kind = 'type'"
                )
            ]
        )
        assert all("SCAN" not in step for step in plan)
        manager.get_stats()
        started = time.perf_counter()
        for _ in range(20):
            manager.get_stats()
        assert (time.perf_counter() - started) / 20 < 0.05
