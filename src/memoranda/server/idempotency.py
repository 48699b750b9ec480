"""Idempotency keys: a request sent twice under one key runs once, and both callers get the same response."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoranda.errors import Conflict, InvalidInput
from memoranda.server.auth import Principal

_MAX_AGE: Final = 600.0
_MAX_BYTES: Final = 64_000_000
_OVERHEAD: Final = 2_000
"""Bytes that a response takes in addition to its body, so that many short ones count as well."""
_MAX_KEY_LENGTH: Final = 200
_CacheKey = tuple[str, str, str, str]


@dataclass(slots=True)
class _CachedResponse:
    request_hash: bytes
    started_at: float
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    messages: list[Message] = field(default_factory=list)

    @property
    def size(self) -> int:
        return _OVERHEAD + sum(len(message.get("body", b"")) for message in self.messages)

    @property
    def status(self) -> int:
        return int(self.messages[0]["status"]) if self.messages else 500


class IdempotencyCache:
    """Responses kept for ten minutes. `remember` also stores its key, so that it holds after a restart."""

    def __init__(self, timer: Callable[[], float] = time.monotonic) -> None:
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
            await _send_cached(cached, request_hash, send)
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

    def _remove(self, key: _CacheKey) -> None:
        response = self._cache.pop(key, None)
        if response is not None and response.finished.is_set():
            self._bytes -= response.size


async def _send_cached(cached: _CachedResponse, request_hash: bytes, send: Send) -> None:
    if cached.request_hash != request_hash:
        raise Conflict("this idempotency key was used for another request: use a new one")
    await cached.finished.wait()
    if cached.status >= 500:
        raise Conflict("the first request with this idempotency key failed: send it again")
    for message in cached.messages:
        if message["type"] == "http.response.start":
            message = dict(message, headers=[*message["headers"], (b"idempotency-replayed", b"true")])
        await send(message)


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
