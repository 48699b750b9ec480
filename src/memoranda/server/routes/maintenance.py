"""Upkeep and forgetting, and the status of the server and of a tenant's memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query
from starlette.requests import Request
from starlette.responses import Response

from memoranda.errors import InvalidInput
from memoranda.maintenance.policies import UpkeepSettings
from memoranda.records import build
from memoranda.results.maintenance import CleanupReport, Health, NameActivity, Stats, UpkeepReport, UserActivity
from memoranda.results.receipts import ForgetReceipt
from memoranda.server.access import Admin, Reader, ServerAdmin, Writer, create_router
from memoranda.server.observability import METRICS_CONTENT_TYPE, Metrics
from memoranda.server.requests import (
    CleanupRequest,
    ForgetRequest,
    Name,
    NamesQuery,
    UpkeepRequest,
    UsersQuery,
    VerifyReceiptRequest,
)
from memoranda.server.responses import JsonRoute, ServerStatus, Verified

routes = create_router("upkeep")
status_routes = create_router("status")
open_routes = APIRouter(tags=["status"], route_class=JsonRoute)


@routes.post("/upkeep")
async def upkeep(request: UpkeepRequest, caller: Writer) -> UpkeepReport:
    """Tidy, merge and archive memories; with `dry_run`, only report what would happen to which memory and why."""
    settings = None if request.settings is None else _parse_settings(request.settings)
    return await caller.memory.upkeep(**request.arguments("settings"), settings=settings, **caller.read_scope(request))


@routes.post("/upkeep/cleanup")
async def cleanup(request: CleanupRequest, caller: Writer) -> CleanupReport:
    """Remove old memories of low importance; with `dry_run`, only report which and why."""
    return await caller.memory.cleanup_old_memories(
        **request.arguments(), agent=request.agent, user=caller.read_user(request)
    )


@routes.post("/forget")
async def forget(request: ForgetRequest, caller: Writer) -> ForgetReceipt:
    """Erase memories and everything derived from them; with `dry_run`, only report what would be erased."""
    return await caller.memory.forget(**request.arguments(), **caller.read_scope(request))


@routes.get("/receipts")
async def receipts(query: Annotated[NamesQuery, Query()], caller: Reader) -> list[ForgetReceipt]:
    """Return the receipts of what was forgotten, newest first; names in them are pseudonyms."""
    return await caller.memory.receipts(user=caller.read_user(query), limit=query.limit, offset=query.offset)


@routes.get("/receipts/{receipt_id}")
async def receipt(receipt_id: Name, caller: Reader) -> ForgetReceipt:
    """Return one receipt."""
    return await caller.memory.receipt(receipt_id)


@routes.post("/receipts/verify")
async def verify_receipt(request: VerifyReceiptRequest, caller: Reader) -> Verified:
    """Check that this store signed a receipt, given itself or by its id, exactly as it is."""
    given = request.receipt
    chosen = given if isinstance(given, str) else _read_receipt(given)
    return Verified(await caller.memory.verify_receipt(chosen))


def _read_receipt(values: Mapping[str, object]) -> ForgetReceipt:
    try:
        return build(ForgetReceipt, dict(values))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InvalidInput(f"this is no receipt ({error}): send it as it was returned") from error


def _parse_settings(values: dict[str, float | bool]) -> UpkeepSettings:
    """Return the settings by their names in Python; durations are in seconds."""
    defaults = {field.name: field.default for field in fields(UpkeepSettings)}
    if unknown := sorted(set(values) - set(defaults)):
        raise InvalidInput(f"unknown setting {unknown[0]!r}: use {', '.join(defaults)}")
    parsed = {
        name: timedelta(seconds=value)
        if isinstance(defaults[name], timedelta) and not isinstance(value, bool)
        else value
        for name, value in values.items()
    }
    return UpkeepSettings(**parsed)  # type: ignore[arg-type]  # it validates every field


@open_routes.get("/healthz")
async def get_status() -> ServerStatus:
    """Return that the server answers; needs no key."""
    return ServerStatus("ok")


@status_routes.get("/stats")
async def get_stats(caller: Reader) -> Stats:
    """Return counts of what the tenant has stored."""
    stats = await caller.memory.get_stats()
    # The folders of the server are no business of its callers.
    return replace(stats, storage_dir=None, embeddings_dir=None)


@status_routes.get("/users")
async def list_users(query: Annotated[UsersQuery, Query()], caller: Admin) -> list[UserActivity]:
    """Return who has memories and how many, in the order of their names."""
    return await caller.memory.users(query.limit, query.offset)


@status_routes.get("/agents")
async def list_agents(query: Annotated[NamesQuery, Query()], caller: Reader) -> list[NameActivity]:
    """Return the agents that have memories and how many, in the order of their names."""
    return await caller.memory.agents(query.limit, query.offset, user=caller.read_user(query))


@status_routes.get("/health")
async def get_health(caller: ServerAdmin) -> Health:
    """Return whether every component works, and which ones are in use."""
    return await caller.memory.health()


@status_routes.get("/metrics", response_class=Response, responses={200: {"content": {"text/plain": {}}}})
async def get_metrics(_: ServerAdmin, request: Request) -> Response:
    """Return metrics for Prometheus."""
    metrics: Metrics = request.app.state.metrics
    return Response(metrics.to_text(), media_type=METRICS_CONTENT_TYPE)
