"""All commands of `memoranda`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from memoranda.cli import (
    conversations,
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
from memoranda.cli.errors import group

app = group("Memory for AI agents.")
for theme in (memories, recall):
    theme.register(app)
app.add_typer(conversations.app, name="chat")
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(sessions.sessions, name="session")
app.add_typer(sessions.executions, name="executions")
for work in (maintenance, transfer, serve):
    work.register(app)
app.add_typer(keys.app, name="keys")
app.add_typer(models.app, name="models")


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"memoranda {version('memoranda')}")
        raise typer.Exit


@app.callback()
def options(
    _show: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    """Memory for AI agents."""
