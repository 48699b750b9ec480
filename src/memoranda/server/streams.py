"""How much of a process one key and one tenant may hold at a time, and the end of answers whose key is revoked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers
from starlette.types import Message, Send

from memoranda.errors import Unavailable
from memoranda.server.auth import Principal

MAX_STREAMS: Final = 50
"""Streams of events that a key may have open in one process: some of them ask the database every second."""
MAX_TENANT_STREAMS: Final = 200
"""The same for a tenant."""
_WITHOUT_LIMIT: Final = 10_000
_RESERVED: Final = 192
"""Files that stay free for the database, whatever strangers do."""
_CHECK_SECONDS: Final = 1.0


@dataclass(slots=True)
class Shares:
    """What of something limited each key and each tenant holds."""

    what: str
    per_key: int
    per_tenant: int
    _keys: Counter[str] = field(default_factory=Counter)
    _tenants: Counter[str] = field(default_factory=Counter)

    def take(self, principal: Principal | None) -> None:
        """Take one for a key; raise `Unavailable` when it, or its tenant, holds all that it may."""
        key, tenant = _names(principal)
        for who, held, most in (
            ("key", self._keys[key], self.per_key),
            ("tenant", self._tenants[tenant], self.per_tenant),
        ):
            if held >= most:
                message = f"this {who} has {most:,} {self.what} in one process: end one, or wait for it"
                raise Unavailable(message, retry_after=_CHECK_SECONDS, status=429)
        self._keys[key] += 1
        self._tenants[tenant] += 1

    def give_back(self, principal: Principal | None) -> None:
        for counter, name in zip((self._keys, self._tenants), _names(principal), strict=True):
            counter[name] -= 1
            if not counter[name]:
                del counter[name]

    @contextmanager
    def hold(self, principal: Principal | None) -> Iterator[None]:
        """Hold one for the time of the block."""
        self.take(principal)
        try:
            yield
        finally:
            self.give_back(principal)


def _names(principal: Principal | None) -> tuple[str, str]:
    return ("", "") if principal is None else (principal.key_id, principal.tenant)


def max_connections() -> int:
    """Return how many connections leave enough of the files that this process may have open."""
    try:
        import resource
    except ModuleNotFoundError:  # Windows
        return _WITHOUT_LIMIT
    files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if files in (-1, resource.RLIM_INFINITY):
        return _WITHOUT_LIMIT
    return min(_WITHOUT_LIMIT, max(32, files - max(_RESERVED, files // 4)))


async def run_while_valid(
    app: Callable[[Send], Awaitable[None]], send: Send, is_valid: Callable[[], Awaitable[bool]]
) -> None:
    """Run an application; end what it streams soon after its caller is no longer valid.

    A stream of events ends like any other. Of a download the rest is missing, and the client must not take it for
    whole: its connection is closed.
    """
    watch: asyncio.Task[None] | None = None
    is_events = False
    try:
        async with asyncio.timeout(None) as deadline:

            async def send_watched(message: Message) -> None:
                nonlocal watch, is_events
                if message["type"] == "http.response.start":
                    kind = Headers(raw=message.get("headers", [])).get("content-type", "")
                    is_events = kind.startswith("text/event-stream")
                if watch is None and (is_events or message.get("more_body")):
                    watch = asyncio.create_task(_end_when_invalid(deadline, is_valid))
                await send(message)

            await app(send_watched)
    except TimeoutError:
        if not deadline.expired():
            raise
        if is_events:
            await send({"type": "http.response.body", "body": b"", "more_body": False})
    finally:
        if watch is not None:
            watch.cancel()


async def _end_when_invalid(deadline: asyncio.Timeout, is_valid: Callable[[], Awaitable[bool]]) -> None:
    while await is_valid():
        await asyncio.sleep(_CHECK_SECONDS)
    deadline.reschedule(asyncio.get_running_loop().time())
