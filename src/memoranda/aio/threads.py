"""Run blocking calls off the event loop."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from contextvars import ContextVar, copy_context
from copy import copy
from typing import Any, Concatenate, ParamSpec, Protocol, TypeAlias, TypeVar

from memoranda.errors import Closed
from memoranda.threads import Flag

P = ParamSpec("P")
R = TypeVar("R")
_Job: TypeAlias = Callable[[], None]
large: ContextVar[bool] = ContextVar("large", default=False)
"""Whether the call that is made is for a request so long that it is work for the processor."""
Inner = TypeVar("Inner")
Inner_co = TypeVar("Inner_co", covariant=True)


class Facade(Protocol[Inner_co]):
    """An async class in front of a blocking one."""

    @property
    def _inner(self) -> Inner_co: ...

    @property
    def _threads(self) -> Threads: ...


async def wait_for_end(work: asyncio.Future[R]) -> R:
    """Return the result. If cancelled, wait for the end of the work first: a write is done or not, never unknown."""
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():  # a caller may cancel more than once
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run the work in a thread and return its result. A cancelled call still waits for the end of the work."""
    return await wait_for_end(asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs)))


class FairPool:
    """Threads that serve tenants in turn: the calls of one wait for each other, not for those of another.

    As soon as a second tenant calls, none has more than half of the threads.
    """

    def __init__(self, threads: int, name: str) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._threads = threads
        self._lock = threading.Lock()
        self._waiting: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._running: Counter[str] = Counter()
        self._first: str | None = None
        self._share = threads

    def submit(self, tenant: str, call: Callable[[], R]) -> Future[R]:
        """Run the call as soon as it is the tenant's turn."""
        result: Future[R] = Future()

        def job() -> None:
            if result.set_running_or_notify_cancel():
                try:
                    result.set_result(call())
                except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
                    result.set_exception(error)

        with self._lock:
            self._first = tenant if self._first is None else self._first
            if tenant != self._first:
                self._share = max(1, self._threads // 2)
            self._waiting.setdefault(tenant, deque()).append(job)
        self._executor.submit(self._work)
        return result

    def shutdown(self) -> None:
        """Wait for all calls."""
        self._executor.shutdown(wait=True)

    def _work(self) -> None:
        while (taken := self._take()) is not None:
            tenant, job = taken
            try:
                job()
            finally:
                with self._lock:
                    self._running[tenant] -= 1
                    self._running += Counter()  # drops tenants at zero

    def _take(self) -> tuple[str, _Job] | None:
        """Return the next call of the tenant that was served longest ago; None when all that wait have their share."""
        with self._lock:
            tenant = next((name for name in self._waiting if self._running[name] < self._share), None)
            if tenant is None:
                return None
            self._running[tenant] += 1
            jobs = self._waiting.pop(tenant)
            job = jobs.popleft()
            if jobs:
                self._waiting[tenant] = jobs  # at the end of the line
            return tenant, job


class Threads:
    """Threads for blocking calls of one tenant or, through `for_tenant`, of several.

    Calls that wait for a model have their own, and long work such as erasing too, so that others never queue behind
    them.
    """

    def __init__(self) -> None:
        self._pools = {
            lane: FairPool(count, f"memoranda-{lane}")
            for lane, count in (("store", 8), ("model", 4), ("background", 2))
        }
        self._tenant = ""
        self._ended = Flag()

    def for_tenant(self, tenant: str) -> Threads:
        """Return the same threads for another tenant."""
        other = copy(self)
        other._tenant = tenant
        return other

    @property
    def closed(self) -> bool:
        return self._ended.is_set()

    async def run(self, call: Callable[[], R], *, model: bool, background: bool = False) -> R:
        """Run the call in a thread and return its result; a large one with long work, one at a time for each tenant."""
        if self.closed:
            raise Closed("this MemoryManager is closed: make a new one")
        pool = self._pools["background" if background or large.get() else "model" if model else "store"]
        context = copy_context()  # what was set for this call counts in the thread, too
        return await wait_for_end(asyncio.wrap_future(pool.submit(self._tenant, lambda: context.run(call))))

    def close(self) -> None:
        self._ended.set()
        for pool in self._pools.values():
            pool.shutdown()


def off_loop(
    method: Callable[Concatenate[Inner, P], R], *, model: bool = False, background: bool = False
) -> Callable[Concatenate[Facade[Inner], P], Coroutine[Any, Any, R]]:
    """Return the async version of a blocking method: same name, same signature, same result."""

    @functools.wraps(method)
    async def call(self: Facade[Inner], /, *args: P.args, **kwargs: P.kwargs) -> R:
        # By its name, so that an object in front of the blocking one can change what goes in and out.
        bound = functools.partial(getattr(self._inner, method.__name__), *args, **kwargs)
        return await self._threads.run(bound, model=model, background=background)

    return call


def takes_arguments_of(
    constructor: Callable[Concatenate[Any, P], None],
) -> Callable[[Callable[..., None]], Callable[Concatenate[Any, P], None]]:
    """Give an async class the constructor arguments of the blocking one, with their types and documentation."""

    def decorate(own: Callable[..., None]) -> Callable[Concatenate[Any, P], None]:
        return functools.wraps(constructor)(own)

    return decorate
