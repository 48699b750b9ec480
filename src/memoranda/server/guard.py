"""What is checked before a request is parsed: its sender, headers and size, and how long its body takes."""

from __future__ import annotations

import re
import secrets
import time
from functools import partial
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memoranda.aio.threads import in_thread, large
from memoranda.errors import Denied, MemorandaError
from memoranda.server import observability
from memoranda.server.auth import COOKIE, CSRF_HEADER, UNATTENDED_HEADER, Principal
from memoranda.server.bodies import LARGE, check_declared_length, parse_json, read_body
from memoranda.server.config import ServerConfig, is_loopback, strip_port
from memoranda.server.idempotency import IdempotentRequests
from memoranda.server.observability import Metrics
from memoranda.server.paths import PUBLIC, SIGN_IN, STATIC, STREAMED
from memoranda.server.responses import RequestRejected, error_response, internal_error_response
from memoranda.server.services import Services
from memoranda.server.streams import run_while_valid

_SINGLE: Final = (
    "authorization", "content-type", "host", "idempotency-key", "if-match", "origin", "x-api-key", CSRF_HEADER.lower()
)  # fmt: skip
"""Headers that decide about a request. Of two, a proxy in front could have checked the other one."""
_PRECONDITIONS: Final = ("if-match", "if-none-match", "if-unmodified-since")
_VERSIONED: Final = re.compile(r"/v1/memories/[^/]+")
_REQUEST_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_OWN_HEADERS: Final = re.compile(
    r"accept(-(charset|encoding|language))?|anthropic-(beta|dangerous-direct-browser-access|version)|authorization|baggage"
    r"|cache-control|connection|content-(encoding|language|length|type)|cookie|dnt|expect|host|idempotency-key"
    r"|if-(match|modified-since|none-match|range|unmodified-since)|keep-alive|last-event-id"
    r"|mcp-(method|name|param-[a-z0-9-]+|protocol-version|session-id)|mem0-.*|origin|pragma|priority|range|referer"
    r"|sec-ch-ua(-[a-z-]+)?|sec-fetch-(dest|mode|site|storage-access|user)|sec-gpc|sec-purpose|te"
    r"|traceparent|tracestate|transfer-encoding|upgrade-insecure-requests|user-agent|x-api-key|x-request-id"
    rf"|x-requested-with|x-stainless-.*|{CSRF_HEADER}|{UNATTENDED_HEADER}"
)
"""What clients send by themselves. Proxies add many other headers, whose names nobody can list."""
_PREFLIGHT_HEADERS: Final = {
    "Access-Control-Allow-Methods": "GET, POST, PUT, PATCH, DELETE",
    "Access-Control-Allow-Headers": "Authorization, Content-Type, Idempotency-Key, If-Match, X-Request-Id, "
    "Last-Event-ID, Mcp-Method, Mcp-Name, MCP-Protocol-Version, Mcp-Session-Id",
    "Access-Control-Max-Age": "600",
}
_SECURITY_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_MAX_SIGN_IN: Final = 4_000
"""Bytes of a body from somebody who has no key."""


class Guard:
    """ASGI middleware that runs all checks before any part of a request is parsed."""

    def __init__(
        self, app: ASGIApp, config: ServerConfig, services: Services, metrics: Metrics, *, idempotency: bool = True
    ) -> None:
        self._app = app
        self._config = config
        self._services = services
        self._metrics = metrics
        self._idempotency = idempotency
        self._requests = IdempotentRequests(lambda: services.state, services.are_stored)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            await self._handle(scope, receive, send)
        elif scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        started, headers = time.perf_counter(), Headers(scope=scope)
        given_id = headers.get("x-request-id", "")
        request_id = given_id if _REQUEST_ID.fullmatch(given_id) else secrets.token_hex(8)
        reply = _Reply(send, request_id, self._allowed_origin(headers))
        reply.body_unread = headers.get("content-length", "0") != "0" or "transfer-encoding" in headers
        scope.setdefault("state", {})["request_id"] = request_id
        with self._metrics.in_flight(), observability.continue_trace(headers):
            try:
                await self._check_and_forward(scope, receive, reply, headers)
            except MemorandaError as error:
                await reply.send_error(error_response(error, request_id), scope, receive)
            except Exception as error:  # noqa: BLE001 - logged in full; the caller learns only that it happened
                observability.log_failure(request_id, error)
                await reply.send_error(internal_error_response(), scope, receive)
        seconds = time.perf_counter() - started
        self._metrics.record(scope, reply.status, seconds)
        observability.log_request(scope, request_id, reply.status, seconds)

    async def _check_and_forward(self, scope: Scope, receive: Receive, reply: _Reply, headers: Headers) -> None:
        _check_headers(headers, scope.get("http_version", ""))
        self._check_host_and_origin(headers)
        if scope["method"] == "OPTIONS" and self._allowed_origin(headers) is not None:
            await Response(status_code=204, headers=_PREFLIGHT_HEADERS)(scope, receive, reply.send)
            return
        path = get_route_path(scope)
        _check_preconditions(scope["method"], path, headers)
        if path in PUBLIC or path.startswith(STATIC):
            await self._app(scope, _receive_empty_body, reply.send)
            return
        try:
            scope["state"]["principal"] = principal = await self._authenticate(scope, headers)
        except Denied:
            if path not in SIGN_IN:
                raise
            scope["state"]["principal"], principal = None, None
        with self._services.requests.hold(principal):
            await run_while_valid(
                lambda send: self._read_and_forward(scope, receive, reply, send, headers),
                reply.send,
                lambda: self._is_valid(scope),
            )

    async def _read_and_forward(
        self, scope: Scope, receive: Receive, reply: _Reply, send: Send, headers: Headers
    ) -> None:
        principal: Principal | None = scope["state"]["principal"]
        if get_route_path(scope) in STREAMED:
            await self._app(scope, receive, send)
            return
        limit = self._config.max_body if principal is not None else _MAX_SIGN_IN
        check_declared_length(scope, limit)
        body = await read_body(receive, limit, self._config.body_timeout)
        reply.body_unread = False
        _check_content_encoding(headers)
        if body:
            _check_content_type(headers)
            tenant = "" if principal is None else principal.tenant
            scope["state"]["json"] = await parse_json(body, self._config, self._services.parsers, tenant)
            large.set(len(body) >= LARGE)
        key = headers.get("idempotency-key") if self._idempotency and principal is not None else None
        await self._requests.run(self._app, scope, body, receive, send, key)

    async def _is_valid(self, scope: Scope) -> bool:
        """Return whether the caller of a long answer may still have it: its key, and the session of its browser."""
        state, services = scope["state"], self._services
        if state["browser"] is not None and not await in_thread(services.browsers.is_open, state["cookie"]):
            return False
        return state["principal"] is None or await services.authenticator.is_valid(state["principal"])

    async def _authenticate(self, scope: Scope, headers: Headers) -> Principal:
        """Return who calls: by the key, or by the cookie of a browser that has given one."""
        authorization = headers.get("authorization")
        if authorization is None and headers.get("x-api-key"):  # as Anthropic's client sends it
            authorization = f"Bearer {headers['x-api-key']}"
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE) if authorization is None else None
        find = partial(self._services.browsers.find, is_use=UNATTENDED_HEADER not in headers)
        session = None if cookie is None else await in_thread(find, cookie)
        scope["state"]["cookie"], scope["state"]["browser"] = cookie, session
        if session is not None:
            if not session.allows(scope["method"], headers.get(CSRF_HEADER)):
                raise Denied("this page is not signed in: reload it", status=403)
            return await self._services.authenticator.authenticate_browser(session.key_id)
        local = self._needs_no_key(scope, headers)
        return await self._services.authenticator.authenticate(authorization, local=local)

    def _needs_no_key(self, scope: Scope, headers: Headers) -> bool:
        return bool(self._config.allow_unauthenticated) and _is_direct_local_caller(scope, headers)

    def _check_host_and_origin(self, headers: Headers) -> None:
        if not self._config.answers_to(headers.get("host", "")):
            raise RequestRejected(421, "the Host header does not name this server: see allowed_hosts")
        origin = headers.get("origin")
        if origin is None:
            _check_fetch(headers)
        if origin is None or self._allowed_origin(headers) is not None:
            return
        if _address_of(origin) != headers.get("host"):
            raise RequestRejected(403, "web pages of that origin may not call this server: see allowed_origins")

    def _allowed_origin(self, headers: Headers) -> str | None:
        origin = headers.get("origin")
        return origin if origin in self._config.allowed_origins else None


class _Reply:
    """Sends the response: records its status and adds the headers that every response has."""

    def __init__(self, send: Send, request_id: str, origin: str | None) -> None:
        self._send = send
        self._request_id = request_id
        self._origin = origin
        self.status = 0
        self.body_unread = False
        """Whether the client may still be sending a body that nobody reads; then the connection is closed."""

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            for name, value in _SECURITY_HEADERS.items():
                headers.setdefault(name, value)  # the page of the API has a policy of its own
            headers["X-Request-Id"] = self._request_id
            if self.body_unread:
                headers["Connection"] = "close"
            if self._origin is not None:
                headers["Access-Control-Allow-Origin"] = self._origin
                headers["Access-Control-Expose-Headers"] = "ETag, Mcp-Session-Id, X-Request-Id"
                headers.add_vary_header("Origin")
        await self._send(message)

    async def send_error(self, response: ASGIApp, scope: Scope, receive: Receive) -> None:
        """Send an error response, unless another response has already begun."""
        if not self.status:
            await response(scope, receive, self.send)


def _is_direct_local_caller(scope: Scope, headers: Headers) -> bool:
    """Whether the peer of the connection is this machine, and shows no sign of passing on somebody else's request.

    The Host header alone proves nothing, since the caller chooses it; but one that names another host has come through
    a proxy, and so has a request in HTTP/1.0, which proxies use by default and clients do not.
    """
    client = scope.get("client")
    return (
        client is not None
        and is_loopback(client[0])
        and is_loopback(strip_port(headers.get("host", "")))
        and scope.get("http_version") != "1.0"
        and all(_OWN_HEADERS.fullmatch(name) for name in headers)
    )


def get_route_path(scope: Scope) -> str:
    """Return the path below the one that this application is mounted at."""
    path: str = scope["path"]
    root: str = scope.get("root_path", "").rstrip("/")
    return path[len(root) :] if root and path.startswith(f"{root}/") else path


def _check_fetch(headers: Headers) -> None:
    """Reject what a page of another site loads as an image or a script: browsers send no Origin with that.

    The page could not read it, but it could have an export made, again and again. A link that is followed is allowed.
    """
    elsewhere = headers.get("sec-fetch-site") in ("cross-site", "same-site")
    if elsewhere and headers.get("sec-fetch-mode") != "navigate":
        raise RequestRejected(403, "web pages of another site may not call this server: see allowed_origins")


def _address_of(origin: str) -> str | None:
    """Return the host and port of an origin; None when it is no origin."""
    try:
        return urlsplit(origin).netloc
    except ValueError:  # such as an IPv6 address without its end
        return None


def _check_headers(headers: Headers, http_version: str) -> None:
    """Reject a request that a proxy in front could read in another way: it could hide a second one, or another key."""
    lengths, encodings = headers.getlist("content-length"), headers.getlist("transfer-encoding")
    if len(lengths) + len(encodings) > 1:
        raise RequestRejected(400, "send Content-Length or Transfer-Encoding, once")
    if encodings and http_version == "1.0":
        raise RequestRejected(400, "HTTP/1.0 has no Transfer-Encoding: send Content-Length")
    for name in _SINGLE:
        if len(headers.getlist(name)) > 1:
            raise RequestRejected(400, f"send the header {name} once")


def _check_preconditions(method: str, path: str, headers: Headers) -> None:
    """Reject a write whose condition nobody would check: it would run although the condition may not hold."""
    if method in ("GET", "HEAD", "OPTIONS") or not any(name in headers for name in _PRECONDITIONS):
        return
    checked = {"if-match"} if method == "PATCH" and _VERSIONED.fullmatch(path) else set()
    for name in _PRECONDITIONS:
        if name in headers and name not in checked:
            raise RequestRejected(400, f"{method} {path} does not check {name}, and nothing was changed: leave it out")


async def _receive_empty_body() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _check_content_encoding(headers: Headers) -> None:
    """Reject a body that is not sent as it is: nobody would decode it, and a proxy in front may have."""
    encodings = ",".join(headers.getlist("content-encoding")).lower().split(",")
    if any(encoding.strip() not in ("", "identity") for encoding in encodings):
        raise RequestRejected(415, "send the body without Content-Encoding: it is not decoded")


def _check_content_type(headers: Headers) -> None:
    # A web page can send any other content type to a local server without a preflight request.
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    if content_type != "application/json":
        raise RequestRejected(415, "send the body as application/json")
