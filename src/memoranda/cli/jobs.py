"""`memoranda jobs`: long work in pieces, done by any number of processes."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli.options import STORE, CommandOptions, command
from memoranda.cli.output import make_group, message, print_result, table
from memoranda.display import plural

jobs = make_group("Do long work in pieces, in several processes.")


def add_job(
    options: CommandOptions,
    kind: Annotated[str, typer.Argument(help="reembed, index of large users, upkeep of all tenants, or import.")],
    files: Annotated[
        list[str] | None, typer.Argument(help="Exports to import, where the workers can read them.")
    ] = None,
) -> None:
    """Add a job to the queue of the database. `jobs run` does it."""
    from memoranda.jobs.worker import order

    with options.open_manager() as manager:
        batch, pieces = order(manager, kind, files or ())
    print_result({"batch": batch, "pieces": pieces}, options.as_json, message(f"{batch}: {plural(pieces, 'piece')}"))


def run_jobs(
    options: CommandOptions,
    workers: Annotated[int, typer.Option(help="Processes that work at the same time.", min=1, max=1000)] = 1,
    ray: Annotated[
        str | None, typer.Option(help="Address of a Ray cluster to work on, such as ray://head:10001.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Also try again what has failed.")] = False,
) -> None:
    """Work off the queue until it is empty. Any number of machines may do that at once.

    After an interruption run it again: a piece that was begun is done by another worker a minute later.
    """
    from memoranda.jobs.worker import find_jobs, retry_failed, run_local, run_on_ray

    options.require_database()
    if failed:
        with options.open_manager() as manager:
            retry_failed(manager)
    done = run_local(options.config, workers) if ray is None else run_on_ray(options.config, ray, workers)
    with options.open_manager() as manager:
        left = sum(job.state == "failed" for job in find_jobs(manager, 10_000))
    summary = f"{plural(done, 'piece')} done" + (f", {left:,} failed: see `memoranda jobs list`" if left else "")
    print_result({"done": done, "failed": left}, options.as_json, message(summary, "yellow" if left else "green"))
    if left:
        raise typer.Exit(1)


def list_jobs(
    options: CommandOptions,
    limit: Annotated[int, typer.Option(help="Maximum number of pieces.", min=1)] = 100,
) -> None:
    """List the pieces in the queue.

    Those that wait, run, were done within a week, or failed and why.
    """
    from memoranda.jobs.worker import find_jobs

    with options.open_manager() as manager:
        found = find_jobs(manager, limit)
    columns = ("id", "job", "state", "tries", "note")
    rows = [(job.id, job.kind, job.state, job.tries, job.note) for job in found]
    shown = (lambda: table(columns, rows, wide="note")) if rows else message("no jobs", "yellow")
    print_result(found, options.as_json, shown)


for _name, _function in (("add", add_job), ("run", run_jobs), ("list", list_jobs)):
    command(jobs, _name, shared=STORE)(_function)
