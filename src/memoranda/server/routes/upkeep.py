"""What keeps memory small and true: clean-up, upkeep, forgetting."""

from __future__ import annotations

from dataclasses import fields
from datetime import timedelta

from memoranda.errors import InvalidInput
from memoranda.maintenance.base import UpkeepSettings
from memoranda.results import CleanupReport, ForgetReceipt, UpkeepReport
from memoranda.server.access import Writer, router
from memoranda.server.requests import Cleanup, Forget, Upkeep

routes = router("upkeep")


@routes.post("/upkeep")
async def upkeep(request: Upkeep, caller: Writer) -> UpkeepReport:
    """Tidies, merges and puts away; with `dry_run`, says what would become of which memory and why."""
    settings = None if request.settings is None else settings_of(request.settings)
    given = request.given("settings")
    return await caller.memory.upkeep(**given, settings=settings, **caller.named(request))


@routes.post("/upkeep/cleanup")
async def cleanup(request: Cleanup, caller: Writer) -> CleanupReport:
    """Removes old memories of little importance; with `dry_run`, says which would go and why."""
    return await caller.memory.cleanup_old_memories(**request.given(), agent=request.agent, user=caller.user(request))


@routes.post("/forget")
async def forget(request: Forget, caller: Writer) -> ForgetReceipt:
    """Erases memories and all that tells of them; with `dry_run`, says what would go."""
    return await caller.memory.forget(**request.given(), **caller.named(request))


def settings_of(given: dict[str, float | bool]) -> UpkeepSettings:
    """The settings by their names in Python; a time is given in seconds."""
    known = {each.name: each.default for each in fields(UpkeepSettings)}
    if unknown := sorted(set(given) - set(known)):
        raise InvalidInput(f"unknown setting {unknown[0]!r}: use {', '.join(known)}")
    values = {
        name: timedelta(seconds=value) if isinstance(known[name], timedelta) and not isinstance(value, bool) else value
        for name, value in given.items()
    }
    return UpkeepSettings(**values)  # type: ignore[arg-type]  # it checks every field
