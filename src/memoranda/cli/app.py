"""All commands of `memoranda`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated

import typer

from memoranda.cli import chats, finding, keys, knowledge, models, remembering, serving, sessions, transfer, upkeep
from memoranda.cli.errors import group

app = group("Memory for AI agents.")
for theme in (remembering, finding):
    theme.register(app)
app.add_typer(chats.app, name="chat")
app.add_typer(knowledge.app, name="knowledge")
app.add_typer(sessions.sessions, name="session")
app.add_typer(sessions.executions, name="executions")
for work in (upkeep, transfer, serving):
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
