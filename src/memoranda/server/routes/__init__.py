"""What routes share: the caller, with the manager of its tenant and the scope it may use, and the router."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypedDict

from fastapi import APIRouter, Depends
from starlette.requests import Request

from memoranda.aio.manager import MemoryManager
from memoranda.errors import Denied, InvalidInput
from memoranda.server.auth import Principal
from memoranda.server.requests import ScopedRequest
from memoranda.server.responses import JsonRoute
from memoranda.server.services import Services
from memoranda.types import ANY, DEFAULT_TENANT, AnyUser


class ReadScope(TypedDict):
    """The scope arguments of a manager method that reads."""

    agent: str | None
    user: str | AnyUser | None
    session: str | None


class WriteScope(TypedDict):
    """The scope arguments of a manager method that writes."""

    agent: str | None
    user: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Caller:
    """The principal of a request and the manager of its tenant."""

    principal: Principal
    memory: MemoryManager
    services: Services
    idempotency_key: str | None
    only_reads: bool

    def read_scope(self, request: ScopedRequest) -> ReadScope:
        """Return the scope to read. Reading across users needs the admin scope."""
        return {"agent": request.agent, "user": self.read_user(request), "session": request.session}

    def write_scope(self, request: ScopedRequest) -> WriteScope:
        """Return the scope to write: one user, or no user."""
        if request.all_users:
            raise InvalidInput("a memory belongs to one user, or to none: leave out all_users")
        return {"agent": request.agent, "user": request.user, "session": request.session}

    def read_user(self, request: ScopedRequest) -> str | AnyUser | None:
        """Return the user to read, or ANY for a caller with the admin scope."""
        if not request.all_users:
            return request.user
        if request.user is not None:
            raise InvalidInput("give a user, or all_users, not both")
        self.principal.require("admin")
        return ANY


def _require(scope: str) -> Callable[[Request], Awaitable[Caller]]:
    async def find_caller(request: Request) -> Caller:
        principal: Principal = request.state.principal
        principal.require(scope)
        request.state.only_reads = scope == "read"
        services: Services = request.app.state.services
        manager = await services.get_manager_for(principal)
        return Caller(principal, manager, services, getattr(request.state, "idempotency_key", None), scope == "read")

    return find_caller


async def _require_server_admin(request: Request) -> Caller:
    # Health and metrics describe the whole server, so other tenants must not see them.
    caller = await _require("admin")(request)
    if caller.principal.tenant != DEFAULT_TENANT:
        raise Denied(f"this describes the whole server: use an admin key of the tenant {DEFAULT_TENANT!r}")
    return caller


Reader = Annotated[Caller, Depends(_require("read"))]
Writer = Annotated[Caller, Depends(_require("write"))]
Admin = Annotated[Caller, Depends(_require("admin"))]
ServerAdmin = Annotated[Caller, Depends(_require_server_admin)]


def create_router(tag: str) -> APIRouter:
    """Return a router for the routes of one resource."""
    return APIRouter(prefix="/v1", tags=[tag], route_class=JsonRoute)
