from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from memoranda import MemoryManager
from memoranda.dashboard.insight import Insight
from memoranda.dashboard.overview import Overview
from memoranda.storage.read import scan_conditions
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY, Scope
from tests.fake_clock import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 3, 1, 12, tzinfo=UTC))


@pytest.fixture
def manager(tmp_path: Path, clock: FakeClock) -> Iterator[MemoryManager]:
    with MemoryManager(f"sqlite:///{tmp_path}/a.db", embedder=HashEmbedder(16), clock=clock) as manager:
        yield manager


def read_again(manager: MemoryManager) -> Overview:
    """Return what a reader that knows nothing yet reads."""
    return Insight(manager, "default").overview()


def test_overview_after_news_is_the_same_as_read_from_the_beginning(manager: MemoryManager, clock: FakeClock) -> None:
    insight = Insight(manager, "default")
    for day in range(4):
        kept = manager.add_memory(f"Note {day}", user=f"user-{day % 2}")
        gone = manager.add_memory(f"Passing {day}", user="ana")
        manager.recall("Which note?", user="ana")
        manager.delete(gone.id, user="ana")
        found = insight.overview()
        assert found == read_again(manager)
        assert (found.memories, found.growth[-1].total) == (day + 1, day + 1)
        assert sum(each.recalls for each in found.recalls) == day + 1
        assert kept.user in {each.name for each in found.by_user}
        clock.advance(days=2)


def test_overview_is_of_one_tenant(manager: MemoryManager) -> None:
    manager.add_memory("Ours", user="ana")
    other = manager.for_tenant("other")
    other.add_memories(["Theirs", "Theirs as well"], user="bo")
    assert [each.added for each in Insight(manager, "default").overview().growth] == [1]
    assert [each.added for each in Insight(other, "other").overview().growth] == [2]


@pytest.mark.parametrize(
    ("zone", "used", "days"),
    [
        ("Asia/Tokyo", "Asia/Tokyo", ["2026-03-02", "2026-03-03"]),
        ("America/St_Johns", "America/St_Johns", ["2026-03-01", "2026-03-02"]),
        *(
            (name, "UTC", ["2026-03-01", "2026-03-02", "2026-03-03"])
            for name in ("UTC", "Europe", "../UTC", "No/Where")
        ),
    ],
)
def test_overview_counts_days_of_a_zone_up_to_today(
    manager: MemoryManager, clock: FakeClock, zone: str, used: str, days: list[str]
) -> None:
    clock.now = datetime(2026, 3, 1, 15, 10, tzinfo=UTC)  # after midnight in Tokyo
    manager.add_memory("Tea", user="ana")
    manager.recall("Tea?", user="ana")
    clock.now = datetime(2026, 3, 3, 3, 20, tzinfo=UTC)  # before midnight in Newfoundland, at UTC-3:30
    found = Insight(manager, "default").overview(zone=zone)
    assert [each.day for each in found.growth] == days
    assert [each.day for each in found.recalls] == days[:1]
    assert [each.total for each in found.growth] == [1] * len(days)
    assert found.zone == used


def test_overview_counts_days_of_different_length_where_the_clock_changes(
    manager: MemoryManager, clock: FakeClock
) -> None:
    # In Berlin 29 March 2026 has 23 hours: it ends at 22:00 UTC.
    for minute in (0, 29 * 60 + 59, 23 * 60 - 1, 23 * 60):
        clock.now = datetime(2026, 3, 28, 23, tzinfo=UTC) + timedelta(minutes=minute)
        manager.add_memory(f"Note {minute}", user="ana")
    found = Insight(manager, "default").overview(zone="Europe/Berlin")
    assert [(each.day, each.added) for each in found.growth] == [("2026-03-29", 2), ("2026-03-30", 2)]


def test_what_was_stored_on_one_day_is_counted_by_when_it_was_said(manager: MemoryManager, clock: FakeClock) -> None:
    for at in ("0001-01-01T00Z", "2024-05-01T23:30Z", "2024-05-02T09:00Z", "2025-01-01T00Z", "9999-12-31T00Z"):
        manager.add_memory(f"Note of {at}", user="ana", at=at)
    found = Insight(manager, "default").overview(zone="Asia/Tokyo")
    assert [(each.day, each.total) for each in found.said] == [("2024-05-02", 2), ("2025-01-01", 3)]
    clock.now += timedelta(days=1)
    manager.add_memory("Note of the next day", user="ana")
    assert Insight(manager, "default").overview().said == ()


@pytest.mark.parametrize("share", [1, 40])
def test_memories_of_everybody_are_listed_whatever_share_of_the_store_they_are(
    manager: MemoryManager, share: int
) -> None:
    manager.for_tenant("other").add_memories([f"Theirs {number}" for number in range(share)], user="bo")
    ours = manager.add_memories([f"Ours {number}" for number in range(3)], user="ana")
    newest = Insight(manager, "default").list_memories(Scope("default", user=ANY), limit=2)
    oldest = Insight(manager, "default").list_memories(Scope("default", user=ANY), limit=2, order="oldest")
    assert [memory.id for memory in newest] == [ours[2].id, ours[1].id]
    assert [memory.id for memory in oldest] == [ours[0].id, ours[1].id]
    states = Insight(manager, "default").states(Scope("default", user=ANY))
    assert (states.archived, states.low_trust) == (0, 0)


def test_index_of_the_tenant_is_hidden_only_where_the_tenant_has_many_memories(manager: MemoryManager) -> None:
    manager.add_memory("Ours", user="ana")
    store = manager._components.open().store
    everybody = Scope("default", user=ANY)

    def conditions() -> str:
        return str(store.read(lambda tx: [str(each) for each in scan_conditions(tx, everybody)]))

    assert "coalesce" in conditions()
    manager.for_tenant("other").add_memories([f"Theirs {number}" for number in range(20)], user="bo")
    assert "coalesce" not in conditions()
