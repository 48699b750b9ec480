"""`memoranda stats`, `upkeep`, `reembed`, `check`, `repair`: keeping a memory well."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from memoranda.cli.calls import STORE, WRITE, Call, command
from memoranda.cli.errors import DAMAGED
from memoranda.cli.output import pairs, progress_bar, said, said_problems, show, table
from memoranda.types import ANY

if TYPE_CHECKING:
    from memoranda.results import PolicyName


def register(app: typer.Typer) -> None:
    """Adds these commands."""
    for name, function in (("stats", stats), ("reembed", reembed), ("check", check), ("repair", repair)):
        command(app, name, options=STORE)(function)
    command(app, "upkeep", options=WRITE)(upkeep)


def stats(call: Call) -> None:
    """Count what there is, and say how the store is doing."""
    with call.manager() as manager:
        counts, health = manager.get_stats(), manager.health()
    rows: list[tuple[str, object]] = [
        ("database", health.database),
        ("size", f"{health.size_bytes / 1e6:.1f} MB"),
        ("memories", counts.long_term_entries),
        *((f"  {kind}", count) for kind, count in counts.by_type.items() if count),
        ("executions", counts.executions),
        ("embedder", health.embedder or "none"),
        ("status", health.status),
        *(("problem", problem) for problem in health.problems),
    ]
    show({"stats": counts, "health": health}, call.as_json, lambda: pairs(rows))


def upkeep(
    call: Call,
    policies: Annotated[
        list[str] | None, typer.Option("--policy", help="Only this policy, as merge or fade; may be repeated.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and change nothing.")] = False,
) -> None:
    """Tidy, merge and put away; summarise when asked to. All of the tenant's memories, unless a scope is named."""
    user = ANY if call.user is None else call.user
    chosen = [cast("PolicyName", policy) for policy in policies or ()] or None
    with call.manager() as manager, progress_bar("Tidying", call.as_json) as progress:
        report = manager.upkeep(
            policies=chosen, agent=call.agent, user=user, session=call.session, dry_run=dry_run, progress=progress
        )
    rows = ((each.policy, each.action, each.id, each.reason, each.content) for each in report.decisions)
    columns = ("policy", "action", "id", "why", "content")
    show(report, call.as_json, lambda: table(columns, rows, wide="content"))
    if not call.as_json:
        show(None, False, said(f"{report.examined} examined, {len(report.decisions)} {'to do' if dry_run else 'done'}"))
        show(None, False, lambda: said_problems(report.problems) if report.problems else None)


def reembed(call: Call) -> None:
    """Move every memory to the embedding model that is set."""
    with call.manager() as manager, progress_bar("Embedding", call.as_json) as report:
        made = manager.reembed(report)
    show({"embedded": made}, call.as_json, said(f"{made} memories embedded"))


def check(call: Call) -> None:
    """Look whether file, rows, full text, vectors and index agree."""
    with call.manager() as manager:
        report = manager.check()
    sound = said(f"sound: {report.memories} memories in {report.partitions} partitions")
    show(report, call.as_json, sound if report.ok else lambda: said_problems(report.problems))
    if not report.ok:
        raise typer.Exit(DAMAGED)


def repair(call: Call) -> None:
    """Make again what derives from the rows; no memory is deleted."""
    with call.manager() as manager, progress_bar("Embedding", call.as_json) as progress:
        report = manager.repair(progress)
    show(report, call.as_json, said("\n".join(report.done) or "nothing to repair"))
    if not report.ok:
        if not call.as_json:
            show(None, False, lambda: said_problems([*report.remaining, "restore a backup for these"]))
        raise typer.Exit(DAMAGED)
