from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from memoranda import MemoryBackend, MemoryManager, create_session
from memoranda.errors import InvalidInput, InvalidType
from memoranda.sessions.base import Namespace, Tenant
from memoranda.sessions.values import InMemoryBackend
from memoranda.testing.values import ValueStoreContract
from tests.fake_clock import FakeClock

AGENT = Namespace(agent="writer")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2030, 1, 1, tzinfo=UTC))


class TestContract(ValueStoreContract):
    clock: FakeClock

    @pytest.fixture
    def store(self, clock: FakeClock) -> Iterator[InMemoryBackend]:
        self.clock = clock
        with InMemoryBackend(max_entries=5000, clock=clock) as store:
            yield store

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)


def test_least_recently_used_value_is_dropped_first() -> None:
    store = InMemoryBackend(max_entries=3)
    store.set(AGENT, {"a": 1, "b": 2, "c": 3})
    store.get(AGENT, ["a"])
    store.set(AGENT, {"b": 20})
    store.set(AGENT, {"d": 4})
    assert store.keys(AGENT) == ["a", "b", "d"]


def test_expired_values_are_dropped_before_live_ones(clock: FakeClock) -> None:
    store = InMemoryBackend(max_entries=2, clock=clock)
    store.set(AGENT, {"old": 1}, ttl=1000)
    store.set(AGENT, {"brief": 2}, ttl=1)
    clock.advance(seconds=2)
    store.set(AGENT, {"new": 3})
    assert store.get(AGENT, ["old", "new"]) == {"old": 1, "new": 3}


def test_batch_larger_than_the_store_keeps_its_last_values() -> None:
    store = InMemoryBackend(max_entries=2)
    store.set(AGENT, {"a": 1, "b": 2, "c": 3})
    assert store.keys(AGENT) == ["b", "c"]


def test_store_ttl_is_the_default(clock: FakeClock) -> None:
    store = InMemoryBackend(ttl=10, clock=clock)
    store.set(AGENT, {"a": 1})
    clock.advance(seconds=9.9)
    assert store.count(AGENT) == 1
    clock.advance(seconds=0.1)
    assert store.count(AGENT) == 0


def test_renewing_a_value_does_not_grow_the_store(clock: FakeClock) -> None:
    store = InMemoryBackend(clock=clock)
    for number in range(10_000):
        store.set(AGENT, {"key": number, f"brief {number % 5}": 1}, ttl=3600)
        store.delete(AGENT, [f"brief {number % 5}"])
    assert len(store._expiries) < 100
    assert list(store._entries) == ["=default/-/=writer/key"]
    assert store.clear(Tenant()) == 1
    assert not store._names_by_path


@pytest.mark.parametrize("bad", [0, -1, True, 1.5, "10"])
def test_invalid_max_entries_raises(bad: int) -> None:
    with pytest.raises(InvalidInput, match="max_entries"):
        InMemoryBackend(max_entries=bad)


def test_invalid_ttl_raises() -> None:
    with pytest.raises(InvalidInput, match="ttl"):
        InMemoryBackend(ttl=0)


class PlainBackend(MemoryBackend):
    """A store as users of plain keys write it."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.ttls: dict[str, float | None] = {}

    def get(self, key: str) -> Any:  # type: ignore[override]
        return self.values.get(key)

    def set(self, key: str, value: Any, ttl: int | None = None) -> bool:  # type: ignore[override]
        self.values[key], self.ttls[key] = value, ttl
        return True

    def delete(self, key: str) -> bool:  # type: ignore[override]
        return self.values.pop(key, None) is not None

    def keys(self, pattern: str = "*") -> list[str]:  # type: ignore[override]
        return list(self.values)

    def clear(self) -> bool:  # type: ignore[override]
        self.values.clear()
        return True


class OtherNames:
    """Another one: no base class, another name for the time to live, and a default."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}

    def get(self, key: str, default: Any = None) -> Any:
        return self.values.get(key, default)

    def set(self, key: str, value: Any, expire: float | None = None) -> None:
        self.values[key] = value

    def delete(self, key: str) -> None:
        del self.values[key]

    def keys(self) -> list[str]:
        return list(self.values)


@pytest.mark.parametrize("kind", [PlainBackend, OtherNames])
def test_store_with_plain_keys_of_a_caller_is_used(kind: type[Any]) -> None:
    store = kind()
    with MemoryManager("sqlite://", short_term=store) as manager:
        assert manager.save("writer", "draft", {"n": [1]}, ttl=60)
        assert manager.save("editor", "draft", "other")
        assert manager.retrieve("writer", "draft") == {"n": [1]}
        assert manager.retrieve("writer", "none") is None
        with create_session("flow", manager) as session:
            session.add_conversation_message("writer", "user", "Hello")
            assert [each["content"] for each in manager.get_conversation_history("flow")] == ["Hello"]
        manager.clear_session("flow")
        assert manager.get_conversation_history("flow") == []
        assert manager.delete_value("writer", "draft")
        assert not manager.delete_value("writer", "draft")
        assert manager.retrieve("editor", "draft") == "other"
        assert manager.get_stats()["short_term_entries"] == 1
        assert [*store.values.values()] == ["other"]


def test_time_to_live_reaches_a_store_with_plain_keys() -> None:
    store = PlainBackend()
    with MemoryManager("sqlite://", short_term=store) as manager:
        manager.save("writer", "draft", 1, ttl=60)
        with pytest.raises(InvalidInput, match="JSON"):
            manager.save("writer", "draft", {1, 2})
    assert [*store.ttls.values()] == [60.0]


class AsyncBackend(PlainBackend):
    async def get(self, key: str) -> Any:  # type: ignore[override]
        return None


class WithoutTtl(PlainBackend):
    def set(self, key: str, value: Any) -> bool:  # type: ignore[override]
        return True


class WithThree(PlainBackend):
    def get(self, one: str, two: str, three: str) -> Any:  # type: ignore[override]
        return None


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        (AsyncBackend, "must not be async"),
        (WithoutTtl, "its set takes other arguments"),
        (WithThree, r"get\(namespace, keys\), or get\(key\)"),
        (dict, "it has no set"),
    ],
)
def test_store_that_cannot_be_used_is_refused_at_once(kind: type[Any], problem: str) -> None:
    with pytest.raises(InvalidType, match=problem):
        MemoryManager("sqlite://", short_term=kind())
