"""The MCP door over streamable HTTP, behind the same guard and the same keys as the REST door.

Each tenant has a server of its own: its sessions, its subscriptions and its tools know no other.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TypeAlias

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.mcpserver import MCPServer
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from memoranda.aio.manager import MemoryManager
from memoranda.embedding.base import Embedder
from memoranda.mcp.access import ScopeCheck
from memoranda.mcp.run import Whose
from memoranda.mcp.server import build_server
from memoranda.server.auth import LOCAL, Principal
from memoranda.server.config import ServerConfig
from memoranda.server.guard import Guard
from memoranda.server.observability import Metrics, RequestLog
from memoranda.server.services import Services
from memoranda.settings import MemoryConfig
from memoranda.types import Clock

PATH = "/mcp"
MakeServer: TypeAlias = Callable[[MemoryManager, Whose], MCPServer]


def build_http(
    config: ServerConfig,
    memory: MemoryConfig,
    whose: Whose,
    *,
    embedder: Embedder | None = None,
    clock: Clock | None = None,
    make: MakeServer = build_server,
) -> Starlette:
    """The door as an ASGI application; its lifespan opens and closes the store."""
    services, metrics = Services(config, memory, embedder=embedder, clock=clock), Metrics()
    doors = TenantDoors(services, whose, make, config.max_body)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await services.open()
        try:
            yield
        finally:
            await doors.close()
            await services.close()

    guard = Middleware(Guard, config=config, services=services, metrics=metrics, log=RequestLog(), idempotency=False)
    routes = [Route("/healthz", _alive), Route(PATH, doors)]
    return Starlette(routes=routes, lifespan=lifespan, middleware=[guard])


class TenantDoors:
    """Hands a request to the server of its key's tenant, which is made when the first one comes."""

    def __init__(self, services: Services, whose: Whose, make: MakeServer, max_body: int) -> None:
        self._services = services
        self._whose = whose
        self._make = make
        self._max_body = max_body
        self._doors: dict[str, _Door] = {}
        self._one_maker = asyncio.Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        principal: Principal = scope["state"]["principal"]
        # A session belongs to the key that opened it: the SDK answers any other as if there were none.
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=principal.key_id, scopes=[]))
        door = await self._door(self._whose.tenant if principal is LOCAL else principal.tenant)
        await door.answer(scope, receive, send)

    async def close(self) -> None:
        for door in self._doors.values():
            await door.close()

    async def _door(self, tenant: str) -> _Door:
        async with self._one_maker:
            if tenant not in self._doors:
                server = self._make(await self._services.manager(tenant), self._whose)
                server.middleware.append(ScopeCheck(await server.list_tools()))
                self._doors[tenant] = _Door(server, self._max_body)
            return self._doors[tenant]


class _Door:
    """One tenant's server. It runs in a task of its own, as a task group must be left where it was entered."""

    def __init__(self, server: MCPServer, max_body: int) -> None:
        # The guard has looked at the request's Host and Origin.
        checked = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        server.streamable_http_app(transport_security=checked, max_request_body_size=max_body)
        self._sessions = server.session_manager
        self._ready, self._end = asyncio.Event(), asyncio.Event()
        self._task = asyncio.create_task(self._run())

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._ready.wait()
        await self._sessions.handle_request(scope, receive, send)

    async def close(self) -> None:
        self._end.set()
        await self._task

    async def _run(self) -> None:
        async with self._sessions.run():
            self._ready.set()
            await self._end.wait()


async def _alive(_: Request) -> Response:
    return JSONResponse({"status": "ok"})
