"""What stands in front of every route: who may call, how much they may send, and what is noted of it."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from typing import Final
from urllib.parse import urlsplit

import h11
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from memoranda.errors import MemorandaError
from memoranda.server import limits, observability
from memoranda.server.config import ServerConfig
from memoranda.server.errors import Refusal, answer_to, unexpected
from memoranda.server.idempotency import Replays
from memoranda.server.observability import Metrics, RequestLog
from memoranda.server.services import Services

PUBLIC: Final = frozenset({"/healthz", "/openapi.json"})
STREAMED: Final = frozenset({"/v1/import"})
_PREFLIGHT: Final = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, X-Request-Id, "
    "Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id",
    "Access-Control-Max-Age": "600",
}
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_SECURITY: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Guard:
    """ASGI middleware: the checks in their order, before anything of a request is parsed."""

    def __init__(
        self,
        app: ASGIApp,
        config: ServerConfig,
        services: Services,
        metrics: Metrics,
        log: RequestLog,
        idempotency: bool = True,
    ) -> None:
        self._app = app
        self._config = config
        self._services = services
        self._metrics = metrics
        self._log = log
        self._idempotency = idempotency
        self._replays = Replays()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._answer(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, headers = time.perf_counter(), Headers(scope=scope)
        reply = _Reply(send, _request_id(headers.get("x-request-id")), self._allowed_origin(headers))
        reply.unread = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        scope.setdefault("state", {})["request_id"] = reply.request_id
        with self._metrics.in_flight(), observability.continued(headers):
            try:
                await self._admit(scope, receive, reply, headers)
            except MemorandaError as error:
                await reply.instead(answer_to(error, reply.request_id), scope, receive)
            except Exception as error:  # noqa: BLE001 - logged whole; the caller is told only that it happened
                self._log.failure(reply.request_id, error)
                await reply.instead(unexpected(), scope, receive)
        seconds = time.perf_counter() - started
        self._metrics.note(scope, reply.status, seconds)
        self._log.request(scope, reply.request_id, reply.status, seconds)

    async def _admit(self, scope: Scope, receive: Receive, reply: _Reply, headers: Headers) -> None:
        self._check_addresses(headers)
        if scope["method"] == "OPTIONS" and self._allowed_origin(headers) is not None:
            await Response(status_code=204, headers=_PREFLIGHT)(scope, receive, reply.send)
            return
        path: str = scope["path"]
        if path in PUBLIC:
            await self._app(scope, _empty, reply.send)
            return
        principal = await self._services.authenticator.authenticate(
            headers.get("authorization"), local=self._config.is_local
        )
        scope["state"]["principal"] = principal
        if path in STREAMED:
            await self._app(scope, receive, reply.send)
            return
        limits.declared_length(scope, self._config.max_body)
        body = await limits.read_body(receive, self._config)
        reply.unread = False
        if body:
            _check_content_type(headers)
            scope["state"]["json"] = await limits.parse(body, self._config)
        key = headers.get("idempotency-key") if self._idempotency else None
        await self._replays.run(self._app, scope, body, receive, reply.send, key)

    def _check_addresses(self, headers: Headers) -> None:
        host = headers.get("host", "")
        if not self._config.answers_to(host):
            raise Refusal(421, "this server does not go by the name in the Host header: see allowed_hosts")
        if headers.get("origin") is not None and self._allowed_origin(headers) is None and not _same(headers):
            raise Refusal(403, "web pages of that origin may not call this server: see allowed_origins")

    def _allowed_origin(self, headers: Headers) -> str | None:
        origin = headers.get("origin")
        return origin if origin in self._config.allowed_origins else None


class _Reply:
    """The way back: notes the status and adds the headers that every answer has."""

    def __init__(self, send: Send, request_id: str, origin: str | None) -> None:
        self._send = send
        self._origin = origin
        self.request_id = request_id
        self.status = 0
        self.unread = False
        """Whether the client may still be sending what nobody will read."""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers.update(_SECURITY)
            headers["X-Request-Id"] = self.request_id
            if self.unread:
                headers["Connection"] = "close"
            if self._origin is not None:
                headers["Access-Control-Allow-Origin"] = self._origin
                headers["Access-Control-Expose-Headers"] = "Mcp-Session-Id, X-Request-Id"
                headers.add_vary_header("Origin")
        await self._send(message)

    async def instead(self, answer: ASGIApp, scope: Scope, receive: Receive) -> None:
        """The error as the answer; an answer that has begun cannot be taken back, only cut off."""
        if not self.status:
            await answer(scope, receive, self.send)


async def _empty() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _request_id(given: str | None) -> str:
    return given if given is not None and _REQUEST_ID.fullmatch(given) else secrets.token_hex(8)


def _check_content_type(headers: Headers) -> None:
    # A web page can send any other kind to a server on this machine without asking it first.
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise Refusal(415, "send the body as application/json")


def _same(headers: Headers) -> bool:
    return urlsplit(headers.get("origin", "")).netloc == headers.get("host")


_TOO_LATE = b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def punctual(seconds: float) -> type[asyncio.Protocol]:
    """A protocol for uvicorn. A head may take between one and two times so many seconds, whatever drips in."""

    class Punctual(H11Protocol):
        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._was_waiting = False
            self._next_look = self.loop.call_later(seconds, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            self._next_look.cancel()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.their_state is not h11.IDLE:
                self._was_waiting = False

        def _look(self) -> None:
            # Between two requests uvicorn's own timer runs; with the first byte of the next one it is stopped.
            waiting = self.conn.their_state is h11.IDLE and self.timeout_keep_alive_task is None
            if waiting and self._was_waiting:
                self.transport.write(_TOO_LATE)
                self.transport.close()
                return
            self._was_waiting = waiting
            self._next_look = self.loop.call_later(seconds, self._look)

    return Punctual
