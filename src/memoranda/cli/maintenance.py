"""Maintain a database and this machine's models.

`memoranda stats`, `reembed`, `check`, `repair`, `upkeep`, `migrate`, `copy`, `bench`, `models` and `jobs`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Annotated, Final, cast

import typer

from memoranda.cli.options import DATABASE, OUTPUT, WHOLE_TENANT, AsJson, CommandOptions, command
from memoranda.cli.output import (
    DAMAGED,
    cut,
    fields_table,
    make_group,
    message,
    print_result,
    problem_list,
    progress_bar,
    table,
)
from memoranda.display import plural
from memoranda.errors import NotFound
from memoranda.records import Record
from memoranda.validation import check_integer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memoranda.results.maintenance import Health, PolicyName, Stats
    from memoranda.settings import MemoryConfig
    from memoranda.types import Progress


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    for name, function in (("stats", stats), ("reembed", reembed), ("check", check), ("repair", repair)):
        command(app, name)(function)
    command(app, "upkeep", shared=WHOLE_TENANT)(upkeep)
    command(app, "migrate", shared=DATABASE)(migrate)
    command(app, "copy", shared=OUTPUT)(copy)


@dataclass(frozen=True, slots=True)
class Migration(Record):
    """What `memoranda migrate` did."""

    database: str
    done: tuple[str, ...]


def migrate(
    options: CommandOptions,
    service_role: Annotated[
        str | None, typer.Option(help="PostgreSQL: role of the servers. It may read and write rows, nothing else.")
    ] = None,
) -> None:
    """Create or upgrade the tables of a database on a server. A SQLite file is upgraded whenever it is opened."""
    from memoranda.settings import database_url
    from memoranda.storage import migrate_database

    options.require_database()
    database, done = migrate_database(database_url(options.config), service_role=service_role)
    summary = "; ".join(done) if done else "up to date"
    print_result(Migration(database, tuple(done)), options.as_json, message(f"{database}: {summary}"))


def copy(
    options: CommandOptions,
    source: Annotated[str, typer.Argument(help="Database to copy: a file or a URL.")],
    target: Annotated[str, typer.Argument(help="Empty database, or one that an interrupted copy began to fill.")],
) -> None:
    """Copy a whole database, and compare every row.

    For example from a SQLite file to PostgreSQL, or back. After an interruption, run the same command again: it
    continues where it stopped. A copy that is complete is only compared, and never written to again.
    """
    from memoranda.settings import encryption_key
    from memoranda.storage import database_file, open_store
    from memoranda.storage.database_key import copy_key
    from memoranda.transfer.copying import copy_store

    file = database_file(source)
    if file is not None and not file.exists():
        raise NotFound(f"there is no database {file}")
    key = encryption_key(options.config)
    keys = [None if database_file(url) is None else key for url in (source, target)]
    with (
        closing(open_store(source, key=keys[0])) as first,
        closing(open_store(target, key=keys[1], copying=True)) as second,
        progress_bar("Copying", options.as_json) as progress,
    ):
        report = copy_store(first, second, progress)
        has_key = copy_key(first, second, options.config.audit_key)
    summary = f"{plural(sum(report.rows.values()), 'row')} compared, {report.written:,} written: the copy is complete"
    print_result(report, options.as_json, message(f"{summary}{'' if has_key else _describe_key(file)}"))


def _describe_key(source: Path | None) -> str:
    """Return how the copy gets the key of its source; nothing when the source has none yet."""
    if source is None:
        return "; set MEMORY_AUDIT_KEY for it to that of the source"
    from memoranda.storage.base import key_file

    key = key_file(source)
    return f"; use it with MEMORY_AUDIT_KEY=key:$(cat {key})" if key.exists() else ""


def stats(options: CommandOptions) -> None:
    """Show how much is stored and the status of the database."""
    with options.open_manager() as manager:
        counts, health = manager.get_stats(), manager.health()
    print_result({"stats": counts, "health": health}, options.as_json, lambda: status_table(counts, health))


def status_table(counts: Stats, health: Health) -> RenderableType:
    """Return how much a database holds, and whether it works."""
    rows: list[tuple[str, object]] = [
        ("database", health.database),
        ("size", f"{health.size_bytes / 1e6:.1f} MB"),
        ("encrypted", "yes" if health.encrypted else "no"),
        ("memories", f"{counts.long_term_entries:,}"),
        *((f"  {kind}", count) for kind, count in counts.by_type.items() if count),
        ("executions", counts.executions),
        ("embedder", health.embedder or "none"),
        ("status", health.status),
        *(("problem", problem) for problem in health.problems),
    ]
    return fields_table(rows)


def upkeep(
    options: CommandOptions,
    policies: Annotated[
        list[str] | None,
        typer.Option(
            "--policy", metavar="NAME", help="Run only this policy, for example merge or fade; can be repeated."
        ),
    ] = None,
    delete: Annotated[
        bool,
        typer.Option("--delete", help="Also delete small talk and expired memories archived for 30 days."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be done; change nothing.")] = False,
) -> None:
    """Run the upkeep policies. They merge, summarize, archive and expire memories."""
    names = [cast("PolicyName", policy) for policy in policies or ()] or None
    with options.open_manager() as manager, progress_bar("Upkeep", options.as_json) as progress:
        report = manager.upkeep(
            policies=names, delete=delete, dry_run=dry_run, progress=progress, **options.tenant_scope
        )
    columns = ("policy", "action", "id", "content and why")
    rows = [(item.policy, item.action, item.id, f"{cut(item.content)}\n{item.reason}") for item in report.decisions]
    done = "to do" if dry_run else "done"
    summary = message(f"{plural(report.examined, 'memory', 'memories')} examined, {plural(len(rows), 'change')} {done}")
    views = [lambda: table(columns, rows, wide=columns[-1]), summary] if rows else [summary]
    print_result(report, options.as_json, *views, *([problem_list(report.problems)] if report.problems else []))


def reembed(options: CommandOptions) -> None:
    """Embed every memory again with the configured embedding model."""
    with options.open_manager() as manager, progress_bar("Embedding", options.as_json) as progress:
        count = manager.reembed(progress)
    print_result({"embedded": count}, options.as_json, message(f"{plural(count, 'memory', 'memories')} embedded"))


def check(options: CommandOptions) -> None:
    """Check that rows, search terms, vectors and search index agree."""
    with options.open_manager() as manager:
        report = manager.check()
    checked = f"{plural(report.memories, 'memory', 'memories')} in {plural(report.partitions, 'partition')}"
    summary = message(f"no problems: {checked}")
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


_CITIES: Final = ("Lisbon", "Oslo", "Kyoto", "Quito", "Tunis", "Perth", "Riga", "Lima")
_HOBBIES: Final = ("tea", "chess", "jazz", "tennis", "maps", "clay", "orchids", "trains", "film", "bread")
_QUERIES: Final = 50


@dataclass(frozen=True, slots=True)
class Measurement(Record):
    """One measured value."""

    what: str
    value: float
    unit: str


def bench(
    options: CommandOptions,
    memories: Annotated[int, typer.Option(help="Number of memories to write.")] = 1000,
) -> None:
    """Measure the speed of writes and searches on this machine. Uses a temporary database."""
    with progress_bar("Measuring", options.as_json) as progress:
        measurements = _measure(memories, options.config, progress)
    rows = ((item.what, f"{item.value:,.1f}", item.unit) for item in measurements)
    print_result(measurements, options.as_json, lambda: table(("what", "value", "unit"), rows))


def _measure(count: int, config: MemoryConfig, progress: Progress | None) -> list[Measurement]:
    """Measure bulk writes, single writes and recall with the configured embedder."""
    from memoranda.manager.manager import MemoryManager

    check_integer(count, "memories", minimum=10, maximum=100_000)
    with MemoryManager(replace(config, db_url="sqlite://", read_url=None, durability="full")) as manager:
        manager.add_memory("warm up")
        texts = [_sample_text(n) for n in range(count)]
        bulk = _time(partial(manager.add_memories, texts, progress=progress))
        single = [_time(partial(manager.add_memory, f"single {_sample_text(n)}")) for n in range(20)]
        recall = [_time(partial(manager.recall, f"who likes {_HOBBIES[n % 10]}?")) for n in range(_QUERIES)]
    return [
        Measurement("bulk write, embedding included", count / bulk, "memories a second"),
        Measurement("single write, median", median(single) * 1000, "ms"),
        Measurement("recall, median", median(recall) * 1000, "ms"),
        Measurement("recall, slowest", max(recall) * 1000, "ms"),
    ]


def _sample_text(number: int) -> str:
    city, hobby = _CITIES[number % len(_CITIES)], _HOBBIES[number // len(_CITIES) % len(_HOBBIES)]
    return f"Person {number} moved to {city} and likes {hobby}"


def _time(function: Callable[[], object]) -> float:
    started = time.perf_counter()
    function()
    return time.perf_counter() - started


models = make_group("Add, list and remove embedding models.")


@models.command("add")
def add_model(
    source: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2, a model folder, or hub:<owner/name>.")],
    name: Annotated[str | None, typer.Option(help="Name to use the model by. Default: its own name.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a model, which can then be used by its name."""
    from memoranda.embedding import added_models

    with progress_bar(source, as_json) as progress:

        def step(name: str) -> None:
            if progress is not None:
                progress(added_models.STEPS.index(name), len(added_models.STEPS))

        spec = added_models.add(source, name=name, on_step=step)
    summary = f"added {spec.name} ({spec.dimension} dimensions): EmbeddingModel({spec.name!r})"
    print_result(_model_row(spec.name, spec.dimension, "added"), as_json, message(summary))


@models.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models on this machine."""
    from memoranda.embedding import added_models
    from memoranda.embedding.local import StaticEmbedder, default_spec

    default, fast = default_spec(), StaticEmbedder().identity
    rows = [_model_row(default.name, default.dimension, "default"), _model_row("fast", fast.dimension, "default")]
    rows += [_model_row(spec.name, spec.dimension, "added") for spec in added_models.list_all()]
    print_result(rows, as_json, lambda: table(("name", "dimensions", "from"), (list(row.values()) for row in rows)))


@models.command("remove")
def remove_model(name: Annotated[str, typer.Argument(help="Name of the model.")], as_json: AsJson = False) -> None:
    """Remove a model that was added."""
    from memoranda.embedding import added_models

    added_models.remove(name)
    print_result({"removed": name}, as_json, message(f"removed {name}"))


def _model_row(name: str, dimension: int, origin: str) -> dict[str, str | int]:
    return {"name": name, "dimension": dimension, "from": origin}


jobs = make_group("Run long work in pieces, in several processes.")


def add_job(
    options: CommandOptions,
    kind: Annotated[
        str,
        typer.Argument(
            help="What to do: reembed, index (of large users), upkeep (of all tenants), rewrite (the tables) or import."
        ),
    ],
    files: Annotated[
        list[str] | None, typer.Argument(help="Exports to import, where the workers can read them.")
    ] = None,
) -> None:
    """Add a job to the queue of the database. `jobs run` does it."""
    from memoranda.jobs import order

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
    """Process the queue until it is empty. Several machines can do that at the same time.

    After an interruption, run it again: another worker takes over what was begun, a minute later.
    """
    from memoranda.jobs import find_jobs, retry_failed, run_local, run_on_ray

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

    They wait, run, were done in the last week, or failed; a failed one says why.
    """
    from memoranda.jobs import find_jobs

    with options.open_manager() as manager:
        found = find_jobs(manager, limit)
    columns = ("id", "job", "state", "tries", "note")
    rows = [(job.id, job.kind, job.state, job.tries, job.note) for job in found]
    shown = (lambda: table(columns, rows, wide="note")) if rows else message("no jobs", "yellow")
    print_result(found, options.as_json, shown)


command(jobs, "add")(add_job)
command(jobs, "run", shared=DATABASE)(run_jobs)
command(jobs, "list", shared=DATABASE)(list_jobs)
