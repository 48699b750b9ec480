"""`recollect models`: which embedding models are on this machine."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from recollect.embedding import models
from recollect.errors import RecollectError

app = typer.Typer(help="Add, list and remove embedding models.", no_args_is_help=True)

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]


@app.command()
def add(
    source: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2, a model folder, or hub:<owner/name>.")],
    name: Annotated[str | None, typer.Option(help="The name to use it by; its own by default.")] = None,
) -> None:
    """Add a model, to be used by its name."""
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        bar.add_task(f"{source}: starting", total=len(models.STEPS))
        try:
            spec = models.add(source, name=name, step=lambda step: _show(bar, source, step))
        except RecollectError as error:
            raise _failed(error) from error
    Console().print(f"[green]added[/] {spec.name} ({spec.dimension} dimensions): EmbeddingModel({spec.name!r})")


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models on this machine."""
    from recollect.embedding.local import default_spec
    from recollect.embedding.static import StaticEmbedder

    fast = StaticEmbedder().identity
    rows = [_row(default_spec().name, default_spec().dimension, "default"), _row("fast", fast.dimension, "default")]
    rows += [_row(spec.name, spec.dimension, "added") for spec in models.added()]
    if as_json:
        typer.echo(json.dumps(rows))
        return
    table = Table("name", "dimensions", "from")
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console().print(table)


@app.command()
def remove(name: Annotated[str, typer.Argument(help="A model that was added.")]) -> None:
    """Remove a model that was added."""
    try:
        models.remove(name)
    except RecollectError as error:
        raise _failed(error) from error
    Console().print(f"[green]removed[/] {name}")


def _row(name: str, dimension: int, origin: str) -> dict[str, str | int]:
    return {"name": name, "dimension": dimension, "from": origin}


def _show(bar: Progress, source: str, step: str) -> None:
    bar.update(bar.task_ids[0], description=f"{source}: {step}", completed=models.STEPS.index(step))


def _failed(error: RecollectError) -> typer.Exit:
    # No markup: an install line such as recollect[hub] must come out as it is.
    Console(stderr=True).print(Text.assemble(("error: ", "red"), str(error)), soft_wrap=True)
    return typer.Exit(1)
