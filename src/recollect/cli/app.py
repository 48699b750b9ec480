"""All commands of `recollect`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from recollect.cli import models

app = typer.Typer(help="Memory for AI agents.", no_args_is_help=True)
app.add_typer(models.app, name="models")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recollect {version('recollect')}")
        raise typer.Exit


@app.callback()
def options(
    _show: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Memory for AI agents."""
