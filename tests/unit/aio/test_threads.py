from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import wait

import pytest

from memoranda.aio.threads import FairPool, Threads, large
from memoranda.errors import Closed


class Blocked:
    """Calls that run until they are let go, and the order in which they began."""

    def __init__(self) -> None:
        self.proceed = threading.Event()
        self.began: list[str] = []

    def call(self, name: str) -> Callable[[], str]:
        def run() -> str:
            self.began.append(name)
            self.proceed.wait(30)
            return name

        return run

    def wait_until(self, count: int) -> None:
        for _ in range(3000):
            if len(self.began) >= count:
                return
            time.sleep(0.01)
        raise TimeoutError(self.began)


def test_calls_of_one_tenant_leave_threads_for_another() -> None:
    pool, blocked = FairPool(4, "test"), Blocked()
    pool.submit("quiet", lambda: None).result(30)
    busy = [pool.submit("busy", blocked.call("busy")) for _ in range(20)]
    blocked.wait_until(2)
    assert pool.submit("quiet", lambda: "answered").result(30) == "answered"
    assert blocked.began == ["busy", "busy"]
    blocked.proceed.set()
    assert [call.result(30) for call in busy] == ["busy"] * 20
    pool.shutdown()


def test_single_tenant_has_all_threads() -> None:
    pool, blocked = FairPool(4, "test"), Blocked()
    calls = [pool.submit("only", blocked.call("only")) for _ in range(6)]
    blocked.wait_until(4)
    blocked.proceed.set()
    assert [call.result(30) for call in calls] == ["only"] * 6
    pool.shutdown()


def test_waiting_tenants_are_served_in_turn() -> None:
    pool, gate, order = FairPool(1, "test"), threading.Event(), list[str]()
    first = pool.submit("a", lambda: gate.wait(30))
    names = ["a", "a", "a", "b", "c", "b"]
    calls = [pool.submit(name, lambda name=name: order.append(name)) for name in names]  # type: ignore[misc]
    gate.set()
    wait([first, *calls], 30)
    pool.shutdown()
    assert order == ["a", "b", "c", "a", "b", "a"]


def test_error_of_a_call_reaches_its_caller_and_frees_its_thread() -> None:
    pool = FairPool(1, "test")
    with pytest.raises(ZeroDivisionError):
        pool.submit("a", lambda: 1 / 0).result(30)
    assert pool.submit("b", lambda: 1).result(30) == 1
    pool.shutdown()


async def test_background_work_does_not_take_the_threads_of_other_calls() -> None:
    threads, blocked = Threads(), Blocked()
    pool = threads._pools["background"]
    long = [pool.submit("", blocked.call("erase")) for _ in range(10)]
    blocked.wait_until(1)
    assert await threads.run(lambda: "read", model=False) == "read"
    assert await threads.run(lambda: "embedded", model=True) == "embedded"
    blocked.proceed.set()
    assert [call.result(30) for call in long] == ["erase"] * 10
    other = threads.for_tenant("b")
    threads.close()
    with pytest.raises(Closed):
        await other.run(lambda: None, model=False)


async def test_call_for_a_large_request_runs_with_long_work() -> None:
    def name() -> str:
        return threading.current_thread().name

    threads = Threads()
    for is_large, model, lane in ((False, False, "store"), (False, True, "model"), (True, False, "background")):
        token = large.set(is_large)
        assert (await threads.run(name, model=model)).startswith(f"memoranda-{lane}")
        large.reset(token)
    threads.close()
