"""The status of the server and of a tenant's memory."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from memoranda.results.maintenance import Health, NameActivity, Stats, UserActivity
from memoranda.server.access import Admin, Reader, ServerAdmin, create_router
from memoranda.server.observability import METRICS_CONTENT_TYPE, Metrics
from memoranda.server.requests import NamesQuery, UsersQuery
from memoranda.server.responses import JsonRoute, ServerStatus

routes = create_router("status")
open_routes = APIRouter(tags=["status"], route_class=JsonRoute)


@open_routes.get("/healthz")
async def get_status() -> ServerStatus:
    """Return that the server answers; needs no key."""
    return ServerStatus("ok")


@routes.get("/stats")
async def get_stats(caller: Reader) -> Stats:
    """Return counts of what the tenant has stored."""
    return await caller.memory.get_stats()


@routes.get("/users")
async def list_users(query: Annotated[UsersQuery, Query()], caller: Admin) -> list[UserActivity]:
    """Return who has memories and how many, in the order of their names."""
    return await caller.memory.users(query.limit, query.offset)


@routes.get("/agents")
async def list_agents(query: Annotated[NamesQuery, Query()], caller: Reader) -> list[NameActivity]:
    """Return the agents that have memories and how many, in the order of their names."""
    return await caller.memory.agents(query.limit, query.offset, user=caller.read_user(query))


@routes.get("/health")
async def get_health(caller: ServerAdmin) -> Health:
    """Return whether every component works, and which ones are in use."""
    return await caller.memory.health()


@routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def get_metrics(_: ServerAdmin, request: Request) -> Response:
    """Return metrics for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.to_text(), media_type=METRICS_CONTENT_TYPE)
