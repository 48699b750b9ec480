"""Idempotency keys: a request sent twice under one key runs once, and both callers get the same response."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoranda.errors import Conflict, InvalidInput
from memoranda.server.auth import Principal

_MAX_AGE: Final = 600.0
_MAX_BYTES: Final = 64_000_000
_OVERHEAD: Final = 2_000
"""Bytes that a response takes in addition to its body, so that many short ones count as well."""
_MAX_KEY_LENGTH: Final = 200
AreStored: TypeAlias = Callable[[Principal, set[int]], Awaitable[bool]]
"""Whether the tenant of a caller still has all memories with these ids."""
_CacheKey = tuple[str, str, str, str]


@dataclass(slots=True)
class _CachedResponse:
    request_hash: bytes
    started_at: float
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    messages: list[Message] = field(default_factory=list)
    dropped: bool = False
    """Whether the body is no longer kept, because a memory in it was erased."""

    @property
    def size(self) -> int:
        return _OVERHEAD + sum(len(message.get("body", b"")) for message in self.messages)

    @property
    def body(self) -> bytes:
        return b"".join(message.get("body", b"") for message in self.messages)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"]) if self.messages else 500


class IdempotencyCache:
    """Responses kept for ten minutes. `remember` also stores its key, so that it holds after a restart."""

    def __init__(self, are_stored: AreStored, timer: Callable[[], float] = time.monotonic) -> None:
        self._are_stored = are_stored
        self._timer = timer
        self._cache: OrderedDict[_CacheKey, _CachedResponse] = OrderedDict()
        self._bytes = 0

    async def run(self, app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send, key: str | None) -> None:
        """Run the app, or send the cached response of the same request under the same key.

        Args:
            app: The application to run.
            scope: The ASGI scope of the request.
            body: The body, which has been read already.
            receive: Receives what follows the body: that the client has disconnected.
            send: Sends the response.
            key: The idempotency key; None to always run the app.
        """
        receive_body = _receive_again(body, receive)
        if key is None or scope["method"] in ("GET", "HEAD"):
            await app(scope, receive_body, send)
            return
        if not 0 < len(key) <= _MAX_KEY_LENGTH:
            raise InvalidInput(f"an idempotency key has 1 to {_MAX_KEY_LENGTH} characters")
        scope["state"]["idempotency_key"] = key
        principal: Principal = scope["state"]["principal"]
        cache_key = (principal.tenant, principal.key_id, f"{scope['method']} {scope['path']}", key)
        if_match = dict(scope.get("headers", ())).get(b"if-match", b"")
        request_hash = hashlib.sha256(b"\0".join([scope.get("query_string", b""), if_match, body])).digest()
        self._remove_old()
        cached = self._cache.get(cache_key)
        if cached is not None:
            await self._send_cached(cached, principal, request_hash, send)
            return
        cached = self._cache[cache_key] = _CachedResponse(request_hash, self._timer())
        await self._run_and_cache(cache_key, cached, app, scope, receive_body, send)

    def _remove_old(self) -> None:
        while self._cache:
            key, oldest = next(iter(self._cache.items()))
            if self._timer() - oldest.started_at < _MAX_AGE and self._bytes <= _MAX_BYTES:
                break
            self._remove(key)

    async def _run_and_cache(
        self, key: _CacheKey, response: _CachedResponse, app: ASGIApp, scope: Scope, receive: Receive, send: Send
    ) -> None:
        async def record(message: Message) -> None:
            response.messages.append(message)

        try:
            await app(scope, receive, record)
        finally:
            if self._cache.get(key) is response:
                self._bytes += response.size
            response.finished.set()
            if response.status >= 500:
                self._remove(key)
        for message in response.messages:
            # The guard adds headers to what is sent: the cached message must keep its own list.
            await send(dict(message, headers=list(message["headers"])) if "headers" in message else message)

    async def _send_cached(
        self, cached: _CachedResponse, principal: Principal, request_hash: bytes, send: Send
    ) -> None:
        if cached.request_hash != request_hash:
            raise Conflict("this idempotency key was used for another request: use a new one")
        await cached.finished.wait()
        if cached.status >= 500:
            raise Conflict("the first request with this idempotency key failed: send it again")
        if not cached.dropped:
            ids = await asyncio.to_thread(_memory_ids, cached.body)
            cached.dropped = not await self._are_stored(principal, ids)
        if cached.dropped:
            cached.messages = cached.messages[:1]
            raise Conflict("this request was done; memories in its response were erased since: read what is there now")
        for message in cached.messages:
            if message["type"] == "http.response.start":
                message = dict(message, headers=[*message["headers"], (b"idempotency-replayed", b"true")])
            await send(message)

    def _remove(self, key: _CacheKey) -> None:
        response = self._cache.pop(key, None)
        if response is not None and response.finished.is_set():
            self._bytes -= response.size


def _memory_ids(body: bytes) -> set[int]:
    """Return the ids of all memories whose text is in a response."""
    try:
        waiting = [json.loads(body)]
    except ValueError:
        return set()
    ids: set[int] = set()
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("id"), int) and isinstance(value.get("content"), str):
                ids.add(value["id"])
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return ids


def _receive_again(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that gives the body once more, then what the client sends after it."""
    body_sent = False

    async def receive_again() -> Message:
        nonlocal body_sent
        if body_sent:
            return await receive()
        body_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
