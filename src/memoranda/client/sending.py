"""A request builder → the method that sends it, with the builder's own signature."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from memoranda.client.call import Call
from memoranda.client.transport import AsyncTransport, Transport

P = ParamSpec("P")
R = TypeVar("R")


class Remote(Protocol):
    """Whoever has a transport."""

    @property
    def _transport(self) -> Transport: ...


class AsyncRemote(Protocol):
    @property
    def _transport(self) -> AsyncTransport: ...


def sent(build: Callable[P, Call[R]]) -> Callable[Concatenate[Remote, P], R]:
    """The blocking method."""

    @functools.wraps(build)
    def method(self: Remote, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self._transport.send(build(*args, **kwargs))

    return method


def awaited(build: Callable[P, Call[R]]) -> Callable[Concatenate[AsyncRemote, P], Coroutine[Any, Any, R]]:
    """The awaited method."""

    @functools.wraps(build)
    async def method(self: AsyncRemote, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await self._transport.send(build(*args, **kwargs))

    return method
