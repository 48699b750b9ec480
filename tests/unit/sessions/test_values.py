from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from memoranda.errors import InvalidInput
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
