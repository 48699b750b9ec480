from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from memoranda.server.auth import Buckets, DatabaseBuckets, Grant, RateLimits
from memoranda.server.keys import ApiKey
from memoranda.storage import open_store
from memoranda.storage.base import Store
from tests.fake_clock import FakeClock

START = datetime(2030, 1, 1, tzinfo=UTC)


def key(rate: float, key_id: str = "a") -> ApiKey:
    return ApiKey(key_id, "test", "acme", ("read",), rate, START, None, None, None)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(START)


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    store = open_store(tmp_path / "a.db", clock=clock)
    yield store
    store.close()


def timer(clock: FakeClock) -> float:
    return clock().timestamp()


async def test_bucket_never_holds_more_than_one_second_of_requests(store: Store, clock: FakeClock) -> None:
    limits = RateLimits(DatabaseBuckets(store), lambda: timer(clock))
    slow = key(0.5)
    assert await limits.acquire(slow) == 0
    clock.advance(seconds=1)
    assert await limits.acquire(slow) == pytest.approx(1.0)
    clock.advance(seconds=100)
    assert await limits.acquire(slow) == 0
    assert await limits.acquire(slow) > 0


async def test_two_processes_together_get_the_rate_of_the_key(store: Store, clock: FakeClock) -> None:
    processes = [RateLimits(DatabaseBuckets(store), lambda: timer(clock)) for _ in range(2)]
    allowed = 0
    for step in range(1000):
        clock.advance(seconds=0.005)
        allowed += await processes[step % 2].acquire(key(50.0)) == 0
    assert 225 < allowed <= 50 + 5 * 50


async def test_process_with_many_requests_does_not_ask_for_each(store: Store, clock: FakeClock) -> None:
    buckets, asked = DatabaseBuckets(store), 0

    class Counted:
        def take(self, of: ApiKey, rate: float, most: int) -> Grant:
            nonlocal asked
            asked += 1
            return buckets.take(of, rate, most)

    limits = RateLimits(Counted(), lambda: timer(clock))
    for _ in range(2000):
        clock.advance(seconds=0.005)
        assert await limits.acquire(key(1000.0)) == 0
    assert asked < 500


async def test_keys_do_not_share_a_bucket_and_a_key_without_rate_has_none(store: Store, clock: FakeClock) -> None:
    limits = RateLimits(DatabaseBuckets(store), lambda: timer(clock))
    assert [await limits.acquire(key(1.0, name)) for name in ("a", "b")] == [0, 0]
    assert await limits.acquire(key(1.0)) > 0
    assert [await limits.acquire(replace(key(1.0), rate=None)) for _ in range(5)] == [0] * 5


def test_clock_of_another_machine_that_is_behind_gives_no_extra_tokens(store: Store, clock: FakeClock) -> None:
    buckets: Buckets = DatabaseBuckets(store)
    assert buckets.take(key(2.0), 2.0, 2).tokens == 2
    clock.advance(seconds=-30)
    assert buckets.take(key(2.0), 2.0, 1).tokens == 0
    clock.advance(seconds=30)
    assert buckets.take(key(2.0), 2.0, 1).tokens == 0
