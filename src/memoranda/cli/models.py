"""`memoranda models`: which embedding models are on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli.errors import group
from memoranda.cli.output import progress_bar, said, show, table

app = group("Add, list and remove embedding models.")

AsJson = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]


@app.command()
def add(
    source: Annotated[str, typer.Argument(help="all-MiniLM-L6-v2, a model folder, or hub:<owner/name>.")],
    name: Annotated[str | None, typer.Option(help="The name to use it by; its own by default.")] = None,
    as_json: AsJson = False,
) -> None:
    """Add a model, to be used by its name."""
    from memoranda.embedding import models

    with progress_bar(source, as_json) as report:

        def step(name: str) -> None:
            if report is not None:
                report(models.STEPS.index(name), len(models.STEPS))

        spec = models.add(source, name=name, step=step)
    text = f"added {spec.name} ({spec.dimension} dimensions): EmbeddingModel({spec.name!r})"
    show(_row(spec.name, spec.dimension, "added"), as_json, said(text))


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models on this machine."""
    from memoranda.embedding import models
    from memoranda.embedding.local import default_spec
    from memoranda.embedding.static import StaticEmbedder

    fast = StaticEmbedder().identity
    rows = [_row(default_spec().name, default_spec().dimension, "default"), _row("fast", fast.dimension, "default")]
    rows += [_row(spec.name, spec.dimension, "added") for spec in models.added()]
    show(rows, as_json, lambda: table(("name", "dimensions", "from"), (list(row.values()) for row in rows)))


@app.command()
def remove(name: Annotated[str, typer.Argument(help="A model that was added.")], as_json: AsJson = False) -> None:
    """Remove a model that was added."""
    from memoranda.embedding import models

    models.remove(name)
    show({"removed": name}, as_json, said(f"removed {name}"))


def _row(name: str, dimension: int, origin: str) -> dict[str, str | int]:
    return {"name": name, "dimension": dimension, "from": origin}
