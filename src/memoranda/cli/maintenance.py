"""`memoranda stats`, `reembed`, `check`, `repair`, `upkeep`: maintain a database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from memoranda.cli.options import WHOLE_TENANT, CommandOptions, command
from memoranda.cli.output import DAMAGED, fields_table, message, print_result, problem_list, progress_bar, table

if TYPE_CHECKING:
    from memoranda.results import PolicyName


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    for name, function in (("stats", stats), ("reembed", reembed), ("check", check), ("repair", repair)):
        command(app, name)(function)
    command(app, "upkeep", shared=WHOLE_TENANT)(upkeep)


def stats(options: CommandOptions) -> None:
    """Show how much is stored and the status of the database."""
    with options.open_manager() as manager:
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
    print_result({"stats": counts, "health": health}, options.as_json, lambda: fields_table(rows))


def upkeep(
    options: CommandOptions,
    policies: Annotated[
        list[str] | None,
        typer.Option("--policy", help="Run only this policy, for example merge or fade; can be repeated."),
    ] = None,
    delete: Annotated[
        bool, typer.Option("--delete", help="Also delete small talk and expired memories archived for 30 days.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")] = False,
) -> None:
    """Run the upkeep policies. They merge, summarize, archive and expire memories."""
    names = [cast("PolicyName", policy) for policy in policies or ()] or None
    with options.open_manager() as manager, progress_bar("Upkeep", options.as_json) as progress:
        report = manager.upkeep(
            policies=names, delete=delete, dry_run=dry_run, progress=progress, **options.tenant_scope
        )
    columns = ("policy", "action", "id", "why", "content")
    rows = ((item.policy, item.action, item.id, item.reason, item.content) for item in report.decisions)
    summary = f"{report.examined} examined, {len(report.decisions)} {'to do' if dry_run else 'done'}"
    views = [lambda: table(columns, rows, wide="content"), message(summary)]
    print_result(report, options.as_json, *views, *([problem_list(report.problems)] if report.problems else []))


def reembed(options: CommandOptions) -> None:
    """Embed every memory again with the configured embedding model."""
    with options.open_manager() as manager, progress_bar("Embedding", options.as_json) as progress:
        count = manager.reembed(progress)
    print_result({"embedded": count}, options.as_json, message(f"{count} memories embedded"))


def check(options: CommandOptions) -> None:
    """Check that rows, full text, vectors and search index agree."""
    with options.open_manager() as manager:
        report = manager.check()
    summary = message(f"no problems: {report.memories} memories in {report.partitions} partitions")
    print_result(report, options.as_json, summary if report.ok else problem_list(report.problems))
    if not report.ok:
        raise typer.Exit(DAMAGED)


def repair(options: CommandOptions) -> None:
    """Rebuild everything that is derived from the memory rows. No memory is deleted."""
    with options.open_manager() as manager, progress_bar("Embedding", options.as_json) as progress:
        report = manager.repair(progress)
    done = message("\n".join(report.done) or "nothing to repair")
    if report.ok:
        print_result(report, options.as_json, done)
        return
    print_result(report, options.as_json, done, problem_list([*report.remaining, "restore a backup to fix these"]))
    raise typer.Exit(DAMAGED)
