"""A request sent twice under one key is done once: the second gets the first one's answer."""

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

_KEPT_SECONDS: Final = 600.0
_KEPT_BYTES: Final = 64_000_000
_OVERHEAD: Final = 2_000
"""What an answer takes beside its body: many short ones fill the memory just as well."""
_LONGEST_KEY: Final = 200
_Name = tuple[str, str, str, str]


@dataclass(slots=True)
class _Replay:
    request: bytes
    """A hash of what was asked."""
    started_at: float
    finished: asyncio.Event = field(default_factory=asyncio.Event)
    answer: list[Message] = field(default_factory=list)

    @property
    def size(self) -> int:
        return _OVERHEAD + sum(len(message.get("body", b"")) for message in self.answer)

    @property
    def status(self) -> int:
        return int(self.answer[0]["status"]) if self.answer else 500


class Replays:
    """Answers kept for ten minutes. What must be done once for good has its own key in the store: see `remember`."""

    def __init__(self, tick: Callable[[], float] = time.monotonic) -> None:
        self._tick = tick
        self._kept: OrderedDict[_Name, _Replay] = OrderedDict()
        self._bytes = 0

    async def run(self, app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send, key: str | None) -> None:
        """Runs the app on a body that was read already; `receive` tells it when the client is gone."""
        again = _replaying(body, receive)
        if key is None or scope["method"] in ("GET", "HEAD"):
            await app(scope, again, send)
            return
        if not 0 < len(key) <= _LONGEST_KEY:
            raise InvalidInput(f"an idempotency key has 1 to {_LONGEST_KEY} characters")
        scope["state"]["idempotency_key"] = key
        principal: Principal = scope["state"]["principal"]
        name = (principal.tenant, principal.key_id, f"{scope['method']} {scope['path']}", key)
        asked = hashlib.sha256(scope.get("query_string", b"") + b"\0" + body).digest()
        known = self._known(name)
        if known is None:
            await self._do(name, _Replay(asked, self._tick()), app, scope, again, send)
        else:
            await _repeat(known, asked, send)

    def _known(self, name: _Name) -> _Replay | None:
        while self._kept:
            oldest, replay = next(iter(self._kept.items()))
            if self._tick() - replay.started_at < _KEPT_SECONDS and self._bytes <= _KEPT_BYTES:
                break
            self._forget(oldest)
        return self._kept.get(name)

    async def _do(self, name: _Name, replay: _Replay, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        self._kept[name] = replay

        async def note(message: Message) -> None:
            replay.answer.append(message)

        try:
            await app(scope, receive, note)
        finally:
            if self._kept.get(name) is replay:
                self._bytes += replay.size
            replay.finished.set()
            if replay.status >= 500:
                self._forget(name)
        for message in replay.answer:
            await send(dict(message, headers=list(message["headers"])) if "headers" in message else message)

    def _forget(self, name: _Name) -> None:
        replay = self._kept.pop(name, None)
        if replay is not None and replay.finished.is_set():
            self._bytes -= replay.size


async def _repeat(known: _Replay, asked: bytes, send: Send) -> None:
    if known.request != asked:
        raise Conflict("this idempotency key was used for another request: take a new one")
    await known.finished.wait()
    if known.status >= 500:
        raise Conflict("the first request of this idempotency key failed: send it again")
    for message in known.answer:
        if message["type"] == "http.response.start":
            message = dict(message, headers=[*message["headers"], (b"idempotency-replayed", b"true")])
        await send(message)


def _replaying(body: bytes, receive: Receive) -> Receive:
    sent = False

    async def again() -> Message:
        nonlocal sent
        if sent:
            return await receive()
        sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
