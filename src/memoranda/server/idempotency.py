"""Idempotency keys: a request sent twice under one key runs once, and both callers get the same response.

The database holds a mark for each request, so that this is true in every process of every server on it, and the
response for ten minutes. Erasing memories removes all responses of the tenant; their marks stay.

The mark need not be on disk before the request continues: what the request writes comes after it, and is never there
without it. The response is stored after it was sent.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import secrets
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import Final, TypeAlias
from uuid import UUID

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoranda.aio.threads import in_thread
from memoranda.errors import Conflict, InvalidInput, MemorandaError
from memoranda.items.base import encode_key
from memoranda.server.auth import Principal
from memoranda.server.observability import LOGGER
from memoranda.storage.base import OwnedWork, Store, Transaction
from memoranda.storage.meta import (
    RESPONSE_BODY,
    decode,
    delete_values,
    drop_expired,
    get_meta,
    get_values,
    lock_value,
    put_values,
)
from memoranda.storage.schema import LAST_ERASURE
from memoranda.types import ANY

_MAX_AGE: Final = 600_000_000
"""Microseconds that a response is kept."""
_MAX_BODY: Final = 8_000_000
"""A longer response is not kept: only that the request was done."""
_CLAIM: Final = 15_000_000
"""Microseconds that a request counts as running after its process was last heard of."""
_RENEW_SECONDS: Final = 5.0
_POLL_SECONDS: Final = (0.01, 0.02, 0.05, 0.1, 0.25)
_MAX_KEY_LENGTH: Final = 200
_DROP_EVERY: Final = 256
_ITEM: Final = {"namespace", "key", "value", "created_at", "updated_at", "user"}
"""The fields by which an item is known in a response."""
AreStored: TypeAlias = Callable[[Principal, set[int], set[tuple[str, str]]], Awaitable[bool]]
"""Whether the tenant of a caller still has all memories with these ids, and items of these users and stored keys."""


@dataclass(frozen=True, slots=True)
class _Mark:
    """What the database holds about a request under an idempotency key."""

    request: str
    """A hash of the request."""
    holder: str
    """Who runs it; another holder may take over after `until`."""
    until: int
    started_at: int
    erasure: str | None
    """The latest erasure when it was started: a response that an erasure overtook is not kept."""
    status: int | None = None
    """The status of the response; None while the request runs."""
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Request:
    """One request under an idempotency key."""

    tenant: str
    name: str
    """The hash of who sent it, where to, and its key."""
    hash: str
    holder: str


class IdempotentRequests:
    """Runs each request under an idempotency key once. `remember` also stores its key, which never expires."""

    def __init__(self, store: Callable[[], Store], are_stored: AreStored) -> None:
        self._store = store
        self._are_stored = are_stored
        self._saved = count(1)

    async def run(self, app: ASGIApp, scope: Scope, body: bytes, receive: Receive, send: Send, key: str | None) -> None:
        """Run the app, or send the stored response of the same request under the same key.

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
        request = _identify(scope, principal, body, key)
        mark = await self._claim(request)
        if mark.status is not None:
            await self._send_stored(request, mark, principal, send)
            return
        await self._run(request, app, scope, receive_body, send)

    async def _claim(self, request: _Request) -> _Mark:
        """Return the mark of the request: ours, to run it, or that of the one that was done before."""
        attempt = 0
        while True:
            mark = await in_thread(self._write, request, _claim, durable=False)
            if mark.request != request.hash:
                raise Conflict("this idempotency key was used for another request: use a new one")
            if mark.status is not None or mark.holder == request.holder:
                return mark
            await asyncio.sleep(_POLL_SECONDS[min(attempt, len(_POLL_SECONDS) - 1)])
            attempt += 1

    async def _run(self, request: _Request, app: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Run the app and send its response, then store that: who sends the request again meanwhile waits for it."""
        messages: list[Message] = []

        async def record(message: Message) -> None:
            messages.append(message)

        try:
            async with self._renewing(request):
                await app(scope, receive, record)
        except BaseException:
            await self._finish(request, [])
            raise
        try:
            for message in messages:
                await send(message)
        finally:
            # A read runs again: a kept response would show what was deleted since.
            await self._finish(request, [] if scope["state"].get("only_reads") else messages)

    @asynccontextmanager
    async def _renewing(self, request: _Request) -> AsyncIterator[None]:
        """Keep others from taking over the request while it runs."""

        async def renew() -> None:
            while True:
                await asyncio.sleep(_RENEW_SECONDS)
                await in_thread(self._write, request, _claim, durable=False)

        task = asyncio.create_task(renew())
        try:
            yield
        finally:
            task.cancel()

    async def _finish(self, request: _Request, messages: list[Message]) -> None:
        """Store the response; without one, or after a failure, nothing is kept, and the request may be sent again."""
        failed = not messages or int(messages[0]["status"]) >= 500
        try:
            if failed:
                await in_thread(self._write, request, _release)
            else:
                await in_thread(self._write, request, lambda tx, of: _save(tx, of, messages))
            if next(self._saved) % _DROP_EVERY == 0:
                await in_thread(lambda: self._store().write(OwnedWork(drop_expired), tenant=ANY))
        except MemorandaError as error:  # what was asked for is done: the caller must learn that
            LOGGER.warning("a response could not be kept for its idempotency key: %s", error)

    async def _send_stored(self, request: _Request, mark: _Mark, principal: Principal, send: Send) -> None:
        stored = await in_thread(self._read_body, request)
        body = None if stored is None else stored.encode()
        ids, items = (set(), set()) if body is None else await asyncio.to_thread(_named, body)
        if body is None or not await self._are_stored(principal, ids, items):
            await in_thread(self._write, request, _forget_body)
            raise Conflict(
                "this request was done; its response is not kept, or memories in it were erased since: read what is "
                "there now"
            )
        headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in mark.headers]
        headers.append((b"idempotency-replayed", b"true"))
        await send({"type": "http.response.start", "status": mark.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def _write(
        self, request: _Request, work: Callable[[Transaction, _Request], _Mark], *, durable: bool = True
    ) -> _Mark:
        return self._store().write(OwnedWork(lambda tx: work(tx, request), durable=durable), tenant=request.tenant)

    def _read_body(self, request: _Request) -> str | None:
        name = RESPONSE_BODY + request.name
        found = self._store().read(lambda tx: get_values(tx, request.tenant, [name], 0), tenant=request.tenant)
        return found.get(name)


def _identify(scope: Scope, principal: Principal, body: bytes, key: str) -> _Request:
    sent = (principal.key_id, f"{scope['method']} {scope['path']}", key)
    if_match = dict(scope.get("headers", ())).get(b"if-match", b"")
    request = hashlib.sha256(b"\0".join([scope.get("query_string", b""), if_match, body])).hexdigest()
    name = hashlib.sha256(json.dumps(sent).encode()).hexdigest()
    return _Request(principal.tenant, name, request, secrets.token_hex(8))


def _claim(tx: Transaction, request: _Request) -> _Mark:
    """Return the mark that is there, or ours where there is none, or where its holder is gone; renew ours."""
    mark = _locked_mark(tx, request)
    if mark is None or (mark.status is None and (mark.holder == request.holder or mark.until <= tx.at)):
        if mark is None:
            mark = _Mark(request.hash, request.holder, 0, tx.at, get_meta(tx, LAST_ERASURE))
        elif mark.request != request.hash:
            return mark
        mark = replace(mark, holder=request.holder, until=tx.at + _CLAIM)
        _put_mark(tx, request, mark)
    return mark


def _release(tx: Transaction, request: _Request) -> _Mark:
    mark = _own_mark(tx, request)
    if mark is not None:
        delete_values(tx, request.tenant, [_mark_name(request)], 0)
    return mark or _lost(request)


def _save(tx: Transaction, request: _Request, messages: list[Message]) -> _Mark:
    mark = _own_mark(tx, request)
    if mark is None:
        return _lost(request)
    headers = tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in messages[0]["headers"])
    done = replace(mark, status=int(messages[0]["status"]), headers=headers)
    _put_mark(tx, request, done)
    body = b"".join(message.get("body", b"") for message in messages)
    if len(body) <= _MAX_BODY and get_meta(tx, LAST_ERASURE) == mark.erasure:
        text = body.decode()
        put_values(tx, request.tenant, {RESPONSE_BODY + request.name: text}, mark.started_at + _MAX_AGE)
    return done


def _forget_body(tx: Transaction, request: _Request) -> _Mark:
    delete_values(tx, request.tenant, [RESPONSE_BODY + request.name], 0)
    return _lost(request)


def _own_mark(tx: Transaction, request: _Request) -> _Mark | None:
    """Return the mark, unless another process has taken over the request."""
    mark = _locked_mark(tx, request)
    return mark if mark is not None and mark.holder == request.holder else None


def _lost(request: _Request) -> _Mark:
    return _Mark(request.hash, "", 0, 0, None)


def _locked_mark(tx: Transaction, request: _Request) -> _Mark | None:
    stored = lock_value(tx, request.tenant, _mark_name(request))
    return None if stored is None else decode(stored, _to_mark)


def _to_mark(stored: str) -> _Mark:
    values = json.loads(stored)
    return _Mark(**values | {"headers": tuple((name, value) for name, value in values["headers"])})


def _put_mark(tx: Transaction, request: _Request, mark: _Mark) -> None:
    put_values(tx, request.tenant, {_mark_name(request): json.dumps(asdict(mark))}, mark.started_at + _MAX_AGE)


def _mark_name(request: _Request) -> str:
    return f"request:{request.name}"


def _named(body: bytes) -> tuple[set[int], set[tuple[str, str]]]:
    """Return the ids of all memories whose text is in a response, and the users and stored keys of all items in it."""
    ids, items = set[int](), set[tuple[str, str]]()
    try:
        waiting = [json.loads(body)]
    except ValueError:
        return ids, items
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            if isinstance(value.get("content", value.get("memory")), str) and "id" in value:
                ids.update(_parse_id(value["id"]))
            if value.keys() >= _ITEM and isinstance(value["namespace"], list):
                items.add((value["user"] or "", encode_key(tuple(map(str, value["namespace"])), str(value["key"]))))
            waiting += value.values()
        elif isinstance(value, list):
            waiting += value
    return ids, items


def _parse_id(shown: object) -> set[int]:
    """Return the id of a memory; the routes for mem0's client show it as a UUID."""
    if isinstance(shown, int):
        return {shown}
    try:
        return {UUID(shown).int} if isinstance(shown, str) else set()
    except ValueError:
        return set()


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
