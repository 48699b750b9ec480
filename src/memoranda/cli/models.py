"""`memoranda models`: the embedding models on this machine."""

from __future__ import annotations

from typing import Annotated

import typer

from memoranda.cli.options import AsJson
from memoranda.cli.output import make_group, message, print_result, progress_bar, table

app = make_group("Add, list and remove embedding models.")


@app.command()
def add(
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
    print_result(_row(spec.name, spec.dimension, "added"), as_json, message(summary))


@app.command("list")
def list_models(as_json: AsJson = False) -> None:
    """List the models on this machine."""
    from memoranda.embedding import added_models
    from memoranda.embedding.onnx import default_spec
    from memoranda.embedding.static import StaticEmbedder

    default, fast = default_spec(), StaticEmbedder().identity
    rows = [_row(default.name, default.dimension, "default"), _row("fast", fast.dimension, "default")]
    rows += [_row(spec.name, spec.dimension, "added") for spec in added_models.list_all()]
    print_result(rows, as_json, lambda: table(("name", "dimensions", "from"), (list(row.values()) for row in rows)))


@app.command()
def remove(name: Annotated[str, typer.Argument(help="Name of the model.")], as_json: AsJson = False) -> None:
    """Remove a model that was added."""
    from memoranda.embedding import added_models

    added_models.remove(name)
    print_result({"removed": name}, as_json, message(f"removed {name}"))


def _row(name: str, dimension: int, origin: str) -> dict[str, str | int]:
    return {"name": name, "dimension": dimension, "from": origin}
