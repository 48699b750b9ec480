"""How the server and a tenant's memory are doing."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.requests import Request
from starlette.responses import Response

from memoranda.results import Health, Stats
from memoranda.server.access import Operator, Reader, router
from memoranda.server.observability import CONTENT_TYPE, Metrics
from memoranda.server.responses import Alive, AnswerRoute

routes = router("status")
open_routes = APIRouter(tags=["status"], route_class=AnswerRoute)


@open_routes.get("/healthz")
async def alive() -> Alive:
    """That the server answers; needs no key and tells nothing else."""
    return Alive("ok")


@routes.get("/stats")
async def stats(caller: Reader) -> Stats:
    """Counts of what the tenant has."""
    return await caller.memory.get_stats()


@routes.get("/health")
async def health(caller: Operator) -> Health:
    """Whether everything works, and on what it runs."""
    return await caller.memory.health()


@routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def metrics(_: Operator, request: Request) -> Response:
    """Figures for Prometheus."""
    figures: Metrics = request.app.state.metrics
    return Response(figures.text(), media_type=CONTENT_TYPE)
