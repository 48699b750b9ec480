"""Lists in pages, times to live, times of changes, and the deletion of values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import ANY, InvalidInput, InvalidType, MemoryManager, NotFound
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(tmp_path / "a.db", embedder=HashEmbedder(64), clock=clock) as manager:
        yield manager


class TestLists:
    def test_agents_and_sessions_are_listed_in_pages_within_the_scope(self, manager: MemoryManager) -> None:
        for agent, session, user in (("a", "s", None), ("a", "t", None), ("b", "s", None), ("c", "u", "ann")):
            manager.add_memory(f"tea {agent} {session}", agent=agent, session=session, user=user)
        assert [(each.name, each.memories) for each in manager.agents()] == [("a", 2), ("b", 1)]
        assert [each.name for each in manager.agents(user="ann")] == ["c"]
        assert [each.name for each in manager.agents(user=ANY)] == ["a", "b", "c"]
        assert [each.name for each in manager.agents(1, "a")] == ["b"]
        assert [(each.name, each.memories) for each in manager.sessions()] == [("s", 2), ("t", 1)]
        assert [each.name for each in manager.sessions(agent="b")] == ["s"]
        assert [each.name for each in manager.sessions(user="ann")] == ["u"]
        with pytest.raises(InvalidInput):
            manager.agents(0)

    def test_a_memory_expires_after_its_ttl(self, manager: MemoryManager, clock: FakeClock) -> None:
        memory = manager.add_memory("green tea", ttl=60)
        assert memory.expires_at == START + timedelta(seconds=60)
        manager.add_memories(["black tea"], ttl=60)
        manager.remember("white tea", ttl=60)
        manager.add_memory("red tea")
        assert len(manager.recall("tea")) == 4
        clock.advance(seconds=61)
        assert [hit.content for hit in manager.recall("tea")] == ["red tea"]
        with pytest.raises(NotFound):
            manager.get(memory.id)
        for bad in (0, -1, "60", float("nan")):
            with pytest.raises((InvalidInput, InvalidType)):
                manager.add_memory("green tea", ttl=bad)  # type: ignore[arg-type]

    def test_updated_at_is_when_a_memory_was_last_changed(self, manager: MemoryManager, clock: FakeClock) -> None:
        memory = manager.add_memory("green tea")
        assert memory.updated_at == memory.created_at == START
        clock.advance(hours=1)
        assert manager.update(memory.id, "black tea").updated_at == START + timedelta(hours=1)
        clock.advance(hours=1)
        manager.update(memory.id, metadata={"a": 1})
        clock.advance(hours=1)
        manager.pin(memory.id)
        found = manager.get(memory.id)
        assert found.updated_at == found["updated_at"] == START + timedelta(hours=2)
        assert manager.list_memories()[0].updated_at == found.updated_at
        assert manager.recall("tea")[0].memory.updated_at == found.updated_at
        past = manager.list_memories(known_at=START + timedelta(hours=1, minutes=30))[0]
        assert (past.content, past.updated_at) == ("black tea", START + timedelta(hours=1))

    @pytest.mark.parametrize("kind", ["short_term", "long_term"])
    def test_a_value_is_deleted(self, manager: MemoryManager, kind: str) -> None:
        manager.save("a", "k", 1, kind)
        assert manager.delete_value("b", "k", kind) is False
        assert manager.delete_value("a", "k", kind) is True
        assert manager.retrieve("a", "k", kind) is None
        assert manager.delete_value("a", "k", kind) is False

    def test_lists_take_an_offset(self, manager: MemoryManager) -> None:
        for number in range(3):
            memory = manager.add_memory(f"tea number {number}", user="ann")
            manager.forget([memory.id], user="ann")
        receipts = manager.receipts()
        assert manager.receipts(limit=1, offset=1) == receipts[1:2]
        manager.remember(["Ann lives in Ghent.", "Bo lives in Oslo."], user="ann")
        facts = manager.facts(user="ann")
        assert len(facts) == 2
        assert manager.facts(user="ann", limit=1, offset=1) == facts[1:]
        assert manager.conflicts(user="ann", limit=1, offset=1) == []
        assert manager.get_knowledge_sources(limit=1, offset=0) == []
        assert manager.get_sessions(limit=1, offset=1) == []
        for call in (manager.receipts, manager.facts, manager.conflicts, manager.get_knowledge_sources):
            with pytest.raises(InvalidInput):
                call(offset=-1)
