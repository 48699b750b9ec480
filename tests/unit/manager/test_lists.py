"""Lists in pages, times to live, times of changes, and the deletion of values."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from memoranda import ANY, InvalidInput, InvalidType, MemoryManager, Message, NotFound
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


class Reply(BaseModel):
    """A message of a vendor's SDK."""

    type: str = "message"
    role: str | None = None
    content: str | list[dict[str, str]]


class TestLists:
    def test_agents_and_sessions_are_listed_in_pages_within_the_scope(self, manager: MemoryManager) -> None:
        for agent, session, user in (("a", "s", None), ("a", "t", None), ("b", "s", None), ("c", "u", "ann")):
            manager.add_memory(f"tea {agent} {session}", agent=agent, session=session, user=user)
        assert [(each.name, each.memories) for each in manager.agents()] == [("a", 2), ("b", 1)]
        assert [each.name for each in manager.agents(user="ann")] == ["c"]
        assert [each.name for each in manager.agents(user=ANY)] == ["a", "b", "c"]
        assert [each.name for each in manager.agents(1, 1)] == ["b"]
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
        assert [each.content for each in manager.list_memories()] == ["red tea"]
        for bad in (0, -1, "60", float("nan")):
            with pytest.raises((InvalidInput, InvalidType)):
                manager.add_memory("green tea", ttl=bad)  # type: ignore[arg-type]

    def test_what_has_expired_is_no_fact_and_the_value_before_it_is_recalled_again(
        self, manager: MemoryManager, clock: FakeClock
    ) -> None:
        manager.remember("My locker code is zebra nine", user="z", ttl=60)
        manager.remember("I live in Oslo.", user="z")
        manager.remember("I live in Bergen now.", user="z", ttl=60)
        manager.remember("Tea is at four", user="gone", ttl=60)
        assert (manager.facts(user="z")[0].attribute, manager.facts(user="z")[0].value) == ("city", "Bergen")
        assert manager.recall("Where do I live?", user="z")[0].content == "I live in Bergen now."
        clock.advance(seconds=61)
        for _ in range(2):
            assert [(fact.attribute, fact.value) for fact in manager.facts(user="z")] == [("city", "Oslo")]
            assert [value.value for value in manager.history("z/city", user="z").values] == ["Oslo"]
            with pytest.raises(NotFound):
                manager.history("z/locker code", user="z")
            (hit,) = manager.recall("Where do I live?", user="z")
            assert (hit.content, hit.later) == ("I live in Oslo.", ())
            assert [(each.user, each.memories) for each in manager.users()] == [("z", 1)]
            manager.upkeep()
        known = START + timedelta(seconds=30)
        assert [fact.value for fact in manager.facts(user="z", known_at=known)][:1] == ["Oslo"]

    def test_an_expired_memory_can_be_opened_restored_and_forgotten(
        self, manager: MemoryManager, clock: FakeClock
    ) -> None:
        manager.remember("I live in Oslo.", user="z")
        memory = manager.remember("I moved to Bergen.", user="z", ttl=60)[0].memory
        assert memory is not None
        other = manager.add_memory("The key is under the mat", user="z")
        manager.add_memory_association(other.id, memory.id, user="z")
        clock.advance(seconds=61)
        for archived in (False, True):
            assert manager.get(memory.id, user="z") == manager.history(memory.id, user="z").memory
            assert manager.get_related_memories(other.id, user="z") == []
            if archived:
                manager.upkeep()
            assert manager.restore(memory.id, user="z").expires_at is None
            assert [fact.value for fact in manager.facts(user="z")] == ["Bergen"]
            assert manager.recall("Have I moved to Bergen?", user="z")[0].id == memory.id
            assert manager.forget(memory.id, user="z", dry_run=archived).ids == (memory.id,)
            if not archived:
                memory = manager.remember("I moved to Bergen.", user="z", ttl=60)[0].memory
                assert memory is not None
                manager.add_memory_association(other.id, memory.id, user="z")
                clock.advance(seconds=61)

    def test_what_lasts_is_no_duplicate_of_what_expires(self, manager: MemoryManager, clock: FakeClock) -> None:
        for said in ("The tea is in the blue tin", {"role": "user", "content": "The soup is in the red pot"}):
            manager.remember(said, user="z", ttl=60)
            assert [each.status for each in manager.remember(said, user="z", ttl=30)] == ["duplicate"]
            assert [each.status for each in manager.remember(said, user="z")] == ["stored"]
            assert [each.status for each in manager.remember(said, user="z", ttl=30)] == ["duplicate"]
        manager.upkeep()
        clock.advance(seconds=61)
        assert len(manager.recall("Where are the tea and the soup?", user="z")) == 2

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

    @pytest.mark.parametrize(
        "message",
        [
            Reply(type="human", content="What tea does Ann drink?"),
            Reply(role="user", content=[{"type": "text", "text": "What tea does Ann drink?"}]),
            Message("user", "What tea does Ann drink?"),
            {"role": "user", "content": "What tea does Ann drink?"},
        ],
    )
    def test_a_message_stands_for_its_text(self, manager: MemoryManager, message: Any) -> None:
        text = "What tea does Ann drink?"
        memory = manager.add_memory("Ann drinks green tea", agent="a")
        assert str(manager.context(message)).count("green tea") == 1
        for found in (
            manager.recall(message),
            manager.search_memories(message),
            manager.search_memory(message),
            manager.search_similar("a", message),
        ):
            assert [hit.id for hit in found] == [memory.id]
        assert manager.why_not(message, memory.id).step == "found"
        manager.put(("drinks",), "ann", "green tea for Ann")
        assert [item.key for item in manager.search_items(query=message)] == ["ann"]
        assert manager.update(memory.id, message).content == text
        assert manager.add_memory(message, user="bo").content == text
        assert [each.content for each in manager.add_memories([message, "milk"], user="cy")] == [text, "milk"]

    def test_a_dict_in_the_place_of_the_source_is_the_metadata(self, manager: MemoryManager) -> None:
        kept = [manager.add_memory("tea", "long_term", {"source": "doc-1", "page": 2})]
        kept += manager.add_memories(["milk"], "long_term", {"source": "doc-1", "page": 2})
        assert [(each.source, each.metadata["page"]) for each in kept] == [("doc-1", 2)] * 2
        with pytest.raises(InvalidType):
            manager.add_memory("tea", "long_term", {"page": 2}, {"page": 3})

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
        for number in range(3):
            manager.add_memory(f"tea {number}", agent=f"a{number}", session=f"s{number}", user=f"u{number}")
            manager.save_execution_record("a", {"status": f"s{number}"})
        memories = manager.list_memories(user=ANY)
        manager.add_memory_association(memories[-3].id, memories[-2].id, user=ANY)
        manager.add_memory_association(memories[-3].id, memories[-1].id, user=ANY)
        related = manager.get_related_memories(memories[-3].id, user=ANY)
        assert manager.get_related_memories(memories[-3].id, user=ANY, limit=1, offset=1) == related[1:]
        for newest_first in (False, True):
            listed = manager.list_memories(user=ANY, newest_first=newest_first)
            for offset in range(len(listed) + 1):
                page = manager.list_memories(2, user=ANY, newest_first=newest_first, offset=offset)
                assert page == listed[offset : offset + 2]
        assert [each.status for each in manager.get_execution_records(limit=1, offset=1)] == ["s1"]
        assert [each.name for each in manager.agents(user=ANY, limit=2, offset=1)] == ["a1", "a2"]
        assert [each.name for each in manager.sessions(user=ANY, offset=2)] == ["s2"]
        assert [each.user for each in manager.users(2, 1)] == ["u0", "u1"]
        for call in (
            *(manager.receipts, manager.facts, manager.conflicts, manager.get_knowledge_sources, manager.users),
            *(manager.agents, manager.sessions, manager.list_memories, manager.get_execution_records),
        ):
            with pytest.raises(InvalidInput):
                call(offset=-1)
            with pytest.raises(InvalidType):
                call(offset="1")  # type: ignore[arg-type]
