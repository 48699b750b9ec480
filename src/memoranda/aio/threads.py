"""Run blocking calls off the event loop."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from memoranda.errors import Closed

P = ParamSpec("P")
R = TypeVar("R")
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
        await asyncio.wait([work])
        raise


async def in_thread(work: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run the work in a thread and return its result. A cancelled call still waits for the end of the work."""
    return await wait_for_end(asyncio.ensure_future(asyncio.to_thread(work, *args, **kwargs)))


class Threads:
    """Threads for blocking calls. Calls that wait for a model have their own, so others never queue behind them."""

    def __init__(self) -> None:
        self._store = ThreadPoolExecutor(8, thread_name_prefix="memoranda-store")
        self._model = ThreadPoolExecutor(4, thread_name_prefix="memoranda-model")
        self.closed = False

    async def run(self, call: Callable[[], R], *, model: bool) -> R:
        """Run the call in a thread and return its result."""
        if self.closed:
            raise Closed("this MemoryManager is closed: make a new one")
        executor = self._model if model else self._store
        return await wait_for_end(asyncio.get_running_loop().run_in_executor(executor, call))

    def close(self) -> None:
        self.closed = True
        self._store.shutdown(wait=True)
        self._model.shutdown(wait=True)


def off_loop(
    method: Callable[Concatenate[Inner, P], R], *, model: bool = False
) -> Callable[Concatenate[Facade[Inner], P], Coroutine[Any, Any, R]]:
    """Return the async version of a blocking method: same name, same signature, same result."""

    @functools.wraps(method)
    async def call(self: Facade[Inner], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._threads.run(functools.partial(method, self._inner, *args, **kwargs), model=model)

    return call
