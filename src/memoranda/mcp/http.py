"""MCP over streamable HTTP, behind the same guard and with the same keys as the REST server.

Each tenant has an MCP server of its own, so that sessions, subscriptions and tools are never shared between tenants.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, Final, TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_REQUEST, ListToolsResult, Tool, jsonrpc_message_adapter
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memoranda.aio.manager import MemoryManager
from memoranda.embedding.base import Embedder
from memoranda.errors import Denied
from memoranda.mcp.base import Owner
from memoranda.mcp.server import build_server
from memoranda.mcp.tools import error_result
from memoranda.server.auth import LOCAL, Principal
from memoranda.server.config import ServerConfig
from memoranda.server.guard import Guard
from memoranda.server.observability import Metrics
from memoranda.server.services import Services
from memoranda.settings import MemoryConfig
from memoranda.types import Clock

_Json: TypeAlias = dict[str, Any]
ServerFactory: TypeAlias = Callable[[MemoryManager, Owner], MCPServer]
_OPEN_METHODS: Final = frozenset({"initialize", "ping", "server/discover"})
_MAX_SESSIONS: Final = 1_000
"""Sessions that a tenant may have open in one process: each takes 40 KB, until it was not used for half an hour."""
_LISTEN: Final = "subscriptions/listen"
_STREAM_ID: Final = "_GET_stream"
"""The id under which the SDK keeps the stream of a session: no request may have it meanwhile."""
_READ_AND_WRITE: Final = frozenset({"session_say"})
"""Tools that change something and also return what others have written."""


def build_http(
    config: ServerConfig,
    memory: MemoryConfig,
    owner: Owner,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    create: ServerFactory = build_server,
) -> Starlette:
    """Build the ASGI application; its lifespan opens and closes the store.

    Args:
        config: The settings of the HTTP server.
        memory: The settings of the memory.
        owner: The user, agent and session, and the tenant of callers without a key.
        embedder: An embedder to use instead of the configured one.
        clock: A clock to use instead of the system's.
        create: Creates the MCP server of a tenant.
    """
    services, metrics = Services(config, memory, embedder=embedder, clock=clock), Metrics()
    tenants = TenantServers(services, owner, create, config.max_body)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await services.open()
        try:
            yield
        finally:
            await tenants.close()
            await services.close()

    guard = Middleware(Guard, config=config, services=services, metrics=metrics, idempotency=False)
    routes = [Route("/healthz", _get_status), Route("/mcp", tenants)]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[guard])


async def _get_status(_: Request) -> Response:
    return JSONResponse({"status": "ok"})


class TenantServers:
    """Passes each request to the MCP server of its tenant, which is created on the first request."""

    def __init__(self, services: Services, owner: Owner, create: ServerFactory, max_body: int) -> None:
        self._services = services
        self._owner = owner
        self._create = create
        self._max_body = max_body
        self._servers: dict[tuple[str, bool], _TenantServer] = {}
        """By tenant, and whether callers need no key and see plain ids."""
        self._lock = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: Principal = scope["state"]["principal"]
        # A session belongs to the key that opened it: for any other key the SDK answers that it does not exist.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=principal.key_id, scopes=[]))
        server = await self._get_server(principal)
        try:
            message = _read_message(scope)
            with self._hold(scope, principal, message), server.using_id(scope, message):
                await server.handle(scope, receive, send)
        except MessageRefused as error:
            await error.response(scope, receive, send)

    @contextmanager
    def _hold(self, scope: Scope, principal: Principal, message: _Json | None) -> Iterator[None]:
        """Count a stream that ends only when its client leaves as one of its key."""
        if scope["method"] != "GET" and (message is None or message.get("method") != _LISTEN):
            yield
            return
        scope["state"]["never_ends"] = True
        with self._services.streams.hold(principal):
            yield

    async def close(self) -> None:
        for server in self._servers.values():
            await server.close()

    async def _get_server(self, principal: Principal) -> _TenantServer:
        is_local = principal is LOCAL
        served = (self._owner.tenant if is_local else principal.tenant, is_local)
        async with self._lock:
            if served not in self._servers:
                get = self._services.get_manager(served[0]) if is_local else self._services.get_manager_for(principal)
                server = self._create(await get, self._owner)
                server.middleware.append(ScopeCheck(await server.list_tools()))
                self._servers[served] = _TenantServer(server, self._max_body)
            return self._servers[served]


class _TenantServer:
    """The MCP server of one tenant. It runs in its own task, because a task group must end in the task it began in."""

    def __init__(self, server: MCPServer, max_body: int) -> None:
        # The guard has already checked the Host and Origin headers.
        security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(
            transport_security=security, max_request_body_size=max_body, max_sessions=_MAX_SESSIONS
        )
        self._sessions = server.session_manager
        self._in_use: set[tuple[str, str]] = set()
        """The sessions and ids of the requests in progress."""
        self._ready, self._stop = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._ready.wait()
        await self._sessions.handle_request(scope, receive, send)

    @contextmanager
    def using_id(self, scope: Scope, message: _Json | None) -> Iterator[None]:
        """Refuse a request with an id that is in use: the SDK would lose the answer to one of the two."""
        session = Headers(scope=scope).get("mcp-session-id")
        number = _STREAM_ID if scope["method"] == "GET" else (message or {}).get("id")
        is_answer = message is not None and "method" not in message
        if session is None or number is None or is_answer:
            yield
            return
        used = (session, str(number))
        if used in self._in_use:
            raise MessageRefused("a request with this id is in progress in this session: use another id", number)
        self._in_use.add(used)
        try:
            yield
        finally:
            self._in_use.discard(used)

    async def close(self) -> None:
        self._stop.set()
        await self._task

    async def _run(self) -> None:
        async with self._sessions.run():
            self._ready.set()
            await self._stop.wait()


class MessageRefused(Exception):
    """A message that is not passed to the SDK, with the answer to it."""

    def __init__(self, reason: str, number: object = None) -> None:
        super().__init__(reason)
        known = number if isinstance(number, int | str) and not isinstance(number, bool) else None
        body = {"jsonrpc": "2.0", "id": known, "error": {"code": INVALID_REQUEST, "message": reason}}
        self.response = Response(json.dumps(body), 400, media_type="application/json")


def _read_message(scope: Scope) -> _Json | None:
    """Return the JSON-RPC message of a request, None where it has no body; raise `MessageRefused` when it is none."""
    if "json" not in scope["state"]:
        return None
    message = scope["state"]["json"]
    if isinstance(message, list):
        raise MessageRefused("send one message in a request: batches are not part of this protocol")
    try:
        jsonrpc_message_adapter.validate_python(message, by_name=False)
    except ValidationError:
        number = message.get("id") if isinstance(message, dict) else None
        raise MessageRefused(
            'not a JSON-RPC message: send an object with "jsonrpc": "2.0", a "method" and, for an answer, an "id" that '
            "is a text or a whole number",
            number,
        ) from None
    assert isinstance(message, dict)
    return message


class ScopeCheck:
    """Middleware of the SDK's server: a key sees and calls only the tools that its scopes allow."""

    def __init__(self, tools: list[Tool]) -> None:
        self._required = {tool.name: _required_scopes(tool) for tool in tools}

    async def __call__(self, ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        principal: Principal = ctx.request.state.principal  # type: ignore[union-attr]  # always set over HTTP
        if ctx.method == "tools/list":
            return self._filter_tools(await call_next(ctx), principal)
        try:
            self._check(ctx, principal)
        except Denied as error:
            if ctx.method == "tools/call":
                return error_result(str(error))
            raise MCPError(INVALID_REQUEST, str(error)) from error
        return await call_next(ctx)

    def _check(self, ctx: ServerRequestContext[Any, Any], principal: Principal) -> None:
        if ctx.method == "tools/call":
            tool = str((ctx.params or {}).get("name"))
            for scope in self._required.get(tool, ("write",)):
                principal.require(scope)
        elif not (
            ctx.method in _OPEN_METHODS or ctx.method.startswith("notifications/") or ctx.method.endswith("/list")
        ):
            principal.require("read")

    def _filter_tools(self, result: HandlerResult, principal: Principal) -> HandlerResult:
        if not isinstance(result, ListToolsResult):
            result = ListToolsResult.model_validate(result)
        allowed = [tool for tool in result.tools if principal.scopes.issuperset(self._required[tool.name])]
        return result.model_copy(update={"tools": allowed})


def _required_scopes(tool: Tool) -> tuple[str, ...]:
    if tool.annotations is not None and tool.annotations.read_only_hint:
        return ("read",)
    return ("read", "write") if tool.name in _READ_AND_WRITE else ("write",)
