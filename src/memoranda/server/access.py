"""What a route is given of its caller: the tenant's own manager, if the key has the scope that is needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, TypedDict

from fastapi import APIRouter, Depends
from starlette.requests import Request

from memoranda.aio.manager import MemoryManager
from memoranda.errors import Denied, InvalidInput
from memoranda.server.auth import Principal
from memoranda.server.requests import Owner
from memoranda.server.responses import AnswerRoute
from memoranda.server.services import Services
from memoranda.types import ANY, DEFAULT_TENANT, AnyUser


class Named(TypedDict):
    """The scope arguments of a manager's method."""

    agent: str | None
    user: str | AnyUser | None
    session: str | None


class Owned(TypedDict):
    """The same, of a method that writes."""

    agent: str | None
    user: str | None
    session: str | None


@dataclass(frozen=True, slots=True)
class Caller:
    """Who calls, and the memory that is theirs."""

    principal: Principal
    memory: MemoryManager
    services: Services
    idempotency_key: str | None

    def named(self, owner: Owner) -> Named:
        """Whose memories are meant. Reading across users takes the admin scope."""
        return {"agent": owner.agent, "user": self.user(owner), "session": owner.session}

    def owner(self, owner: Owner) -> Owned:
        """Whose memories are written: one user's, or nobody's."""
        if owner.all_users:
            raise InvalidInput("a memory belongs to one user, or to none: leave out all_users")
        return {"agent": owner.agent, "user": owner.user, "session": owner.session}

    def user(self, owner: Owner) -> str | AnyUser | None:
        if not owner.all_users:
            return owner.user
        if owner.user is not None:
            raise InvalidInput("give a user, or all_users, not both")
        self.principal.require("admin")
        return ANY


def _caller(scope: str) -> Callable[[Request], Awaitable[Caller]]:
    async def caller(request: Request) -> Caller:
        principal: Principal = request.state.principal
        principal.require(scope)
        services: Services = request.app.state.services
        manager = await services.manager(principal.tenant)
        return Caller(principal, manager, services, getattr(request.state, "idempotency_key", None))

    return caller


async def _operator(request: Request) -> Caller:
    """Whoever runs the server: what is told of the whole of it is no other tenant's business."""
    caller = await _caller("admin")(request)
    if caller.principal.tenant != DEFAULT_TENANT:
        raise Denied(f"this tells of the whole server: use an admin key of the tenant {DEFAULT_TENANT!r}")
    return caller


Reader = Annotated[Caller, Depends(_caller("read"))]
Writer = Annotated[Caller, Depends(_caller("write"))]
Admin = Annotated[Caller, Depends(_caller("admin"))]
Operator = Annotated[Caller, Depends(_operator)]


def router(tag: str) -> APIRouter:
    """A router for the routes of one resource."""
    return APIRouter(prefix="/v1", tags=[tag], route_class=AnswerRoute)
