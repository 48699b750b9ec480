from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest

from memoranda import Incompatible, Unavailable
from memoranda.manager.manager import MemoryManager, create_session
from memoranda.settings import MemoryConfig
from memoranda.storage.base import PartitionKey
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import DEFAULT_TENANT, JSON, MemoryType
from tests.driver import sqlite3


def test_stats_count_every_kind_of_entry(manager: MemoryManager) -> None:
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


def test_agent_was_last_active_at_its_newest_record(manager: MemoryManager) -> None:
    times = []
    for _ in range(3):
        manager.save_execution_record("writer", {"status": "done"})
        times.append(manager.get_stats().agents["writer"].last_active)
    assert times[0] < times[1] < times[2]


def test_index_that_takes_more_than_it_may_is_a_problem(tmp_path: Path) -> None:
    for limit, status in ((100, "degraded"), (10_000_000, "ok")):
        config = MemoryConfig(db_url=f"sqlite:///{tmp_path}/{limit}.db", index_bytes=limit)
        with MemoryManager(config, embedder=HashEmbedder(64)) as manager:
            manager.add_memory("The boat is blue", user="ada")
            manager.recall("boat", user="ada")
            health = manager.health()
            assert (health.status, health.index_bytes > health.index_limit) == (status, status == "degraded")
            assert any("MEMORY_INDEX_BYTES" in problem for problem in health.problems) == (status == "degraded")


def test_stats_follow_every_change(manager: MemoryManager) -> None:
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
        assert stats.by_type[kind] == sum(other == kind for _, other in known.values())
    for agent in ("a", "b"):
        assert stats.agents[agent].memories == sum(other == agent for other, _ in known.values())
    assert manager._components.open().store.check() == []


def test_stats_are_per_tenant(manager: MemoryManager) -> None:
    other = manager.for_tenant("other")
    other.remember("one", agent="writer")
    other.save_execution_record("writer", {})
    with create_session("w", other):
        stats = manager.get_stats()
        assert (stats.long_term_entries, stats.executions, stats.active_sessions, stats.agents) == (0, 0, 0, {})
        assert other.get_stats().active_sessions == 1


def test_stats_take_constant_time(tmp_path: Path) -> None:
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


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(32)) as manager:
        manager.add_memories([f"Ann drinks tea number {n}" for n in range(20)], user="ann")
        manager.remember({"role": "user", "content": "Bob drinks milk"}, user="bob")
        yield manager


def _damage(tmp_path: Path, *statements: str) -> None:
    connection = sqlite3.connect(tmp_path / "m.db", isolation_level=None)
    for statement in statements:
        connection.execute(statement)
    connection.close()


def test_check_of_sound_store_finds_nothing_and_repair_does_nothing(filled: MemoryManager) -> None:
    report = filled.check()
    assert (report.ok, report.memories, report.partitions) == (True, 21, 2)
    assert filled.repair().done == ()


@pytest.mark.parametrize(
    ("damage", "problem"),
    [
        ("UPDATE memories SET terms = '' WHERE id = 3", "1 memories without terms: 3"),
        ("DELETE FROM vectors WHERE memory_id IN (1, 2)", "2 memories without a vector: 1, 2"),
        ("UPDATE vectors SET data = x'00000000' WHERE memory_id = 4", "vectors of the wrong size: 4"),
        ("DELETE FROM changes WHERE memory_id = 5", "missing from the change log: 5"),
        ("UPDATE counters SET entries = 7 WHERE kind = 'type'", "wrong count"),
        ("UPDATE memories SET message_seq = 77 WHERE id = 6", "message is gone: 6"),
        ("DELETE FROM claims", "with wrong claims: "),
        ("DELETE FROM claims WHERE memory_id = 21", "1 memory with wrong claims: 21"),
        ("UPDATE claims SET slot = x'00' WHERE memory_id = 21", "1 memory with wrong claims: 21"),
    ],
)
def test_check_finds_damage_and_repair_fixes_it(
    filled: MemoryManager, tmp_path: Path, damage: str, problem: str
) -> None:
    _damage(tmp_path, damage)
    assert any(problem in found for found in filled.check().problems)
    report = filled.repair()
    assert report.ok, report
    assert report.done
    assert filled.check().ok
    assert filled.get_stats().long_term_entries == 21
    assert [hit.content for hit in filled.recall("tea number 3", user="ann", limit=1)] == ["Ann drinks tea number 3"]


def test_what_is_not_searched_on_purpose_is_no_damage(manager: MemoryManager) -> None:
    manager.add_memory("The boat is blue", user="ada")
    manager.add_memory("?!", user="ada")
    values: list[JSON] = [1, None, True, "", "?", "red", [], {}, {"a": "x"}, "Z" * 2000, "中"]
    for number, value in enumerate(values):
        manager.put(("seen",), f"k{number}", value)
        manager.put(("unseen",), f"k{number}", value, index=False)
        manager.put(("no longer",), f"k{number}", value)
        manager.put(("no longer",), f"k{number}", value, index=False)
        manager.put(("now",), f"k{number}", value, index=False)
        manager.put(("now",), f"k{number}", value)
    assert manager.check().problems == ()
    assert manager.repair().done == ()
    assert manager.upkeep().problems == ()


def test_repair_reports_changed_text_and_leaves_it(filled: MemoryManager, tmp_path: Path) -> None:
    _damage(tmp_path, "UPDATE memories SET content = 'Ann drinks poison' WHERE id = 3")
    report = filled.repair()
    assert not report.ok
    assert "memory 3 is damaged" in report.remaining[0]
    assert filled.get_stats().long_term_entries == 21
    with pytest.raises(Incompatible, match="damaged"):
        filled.get(3, user="ann")


def test_check_finds_vector_of_wrong_length(filled: MemoryManager, tmp_path: Path) -> None:
    _damage(tmp_path, "UPDATE vectors SET data = zeroblob(128) WHERE memory_id = 4")
    assert any("not of length 1" in problem and ": 4" in problem for problem in filled.check().problems)


@pytest.mark.parametrize("part", ["memories", "vectors"])
def test_check_finds_an_index_that_lacks_a_memory(filled: MemoryManager, part: str) -> None:
    opened = filled._components.open()
    partition = opened.partitions.get(PartitionKey(DEFAULT_TENANT, "ann"), opened.vectors.generation())
    assert partition.index is not None
    (partition if part == "memories" else partition.index).remove(np.array([3]))
    [problem] = filled.check().problems
    assert f"{19 if part == 'memories' else 20} memories and 19 vectors, the store 20 and 20" in problem


def test_check_and_health_find_nothing_while_another_thread_writes(tmp_path: Path) -> None:
    ended = Event()

    def write() -> None:
        with MemoryManager(db_url=f"sqlite:///{tmp_path / 'a.db'}", embedder=HashEmbedder(16)) as writer:
            while not ended.is_set():
                added = writer.add_memories(["one", "two", "three"], user="nora")
                writer.delete([memory.id for memory in added[1:]], user="nora")

    with MemoryManager(db_url=f"sqlite:///{tmp_path / 'a.db'}", embedder=HashEmbedder(16)) as manager:
        manager.add_memory("the first", user="nora")
        thread = Thread(target=write)
        thread.start()
        try:
            found = [problem for _ in range(30) for problem in manager.check().problems]
            for _ in range(10):
                with MemoryManager(db_url=f"sqlite:///{tmp_path / 'a.db'}", embedder=HashEmbedder(16)) as opened:
                    found += opened.health().problems
        finally:
            ended.set()
            thread.join()
    assert found == []


def test_check_counts_the_memories_that_recall_leaves_out(filled: MemoryManager) -> None:
    filled.archive(filled.add_memory("Bob had a cold", user="bob").id, user="bob")
    assert filled.check().memories == 22


def test_vectors_of_another_model_are_a_problem_of_health_that_says_what_to_do(tmp_path: Path) -> None:
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(16)) as manager:
        manager.add_memory("Ana drinks tea", user="ana")
    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as manager:
        health = manager.health()
        assert (health.status, health.generation) == ("degraded", None)
        assert any("memoranda reembed" in problem for problem in health.problems)
        manager.reembed()
        assert manager.health().status == "ok"


def test_write_that_the_disk_refuses_is_a_problem_until_one_succeeds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    with MemoryManager(f"sqlite:///{tmp_path}/m.db", embedder=HashEmbedder(64)) as manager:
        manager.add_memory("one")
        assert manager.health().status == "ok"
        with monkeypatch.context() as disk:
            disk.setattr("memoranda.storage.sqlite.connections.commit", fail)
            with pytest.raises(Unavailable):
                manager.add_memory("two")
        health = manager.health()
        assert (health.status, "the disk is full" in health.problems[0]) == ("degraded", True)
        manager.add_memory("three")
        assert manager.health().status == "ok"
