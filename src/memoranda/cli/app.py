"""All commands of `memoranda`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from memoranda.cli import (
    bench,
    keys,
    knowledge,
    maintenance,
    memories,
    models,
    recall,
    serve,
    sessions,
    transfer,
)
from memoranda.cli.output import make_group

app = make_group("Memory for AI agents.")
for module in (memories, recall, maintenance, transfer, serve, bench):
    module.register(app)
app.add_typer(transfer.chats, name="chat")
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(sessions.sessions, name="session")
app.add_typer(sessions.executions, name="executions")
app.add_typer(keys.app, name="keys")
app.add_typer(models.app, name="models")


def _print_version(requested: bool) -> None:
    if requested:
        typer.echo(f"memoranda {version('memoranda')}")
        raise typer.Exit


@app.callback()
def main_options(
    _version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Memory for AI agents."""
