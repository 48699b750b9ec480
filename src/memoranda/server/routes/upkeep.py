"""Upkeep: cleaning up, consolidating and forgetting."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

from memoranda.errors import InvalidInput
from memoranda.maintenance.base import UpkeepSettings
from memoranda.results import CleanupReport, ForgetReceipt, UpkeepReport
from memoranda.server.access import Writer, create_router
from memoranda.server.requests import CleanupRequest, ForgetRequest, UpkeepRequest

routes = create_router("upkeep")


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
