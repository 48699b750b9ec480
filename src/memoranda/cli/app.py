"""All commands of `memoranda`."""

from __future__ import annotations

from importlib.metadata import version
from typing import Annotated, Any, Final

import typer

from memoranda.cli import doctor, items, maintenance, memories, recall, serve, transfer
from memoranda.cli.options import OUTPUT, command
from memoranda.cli.output import CommandGroup, make_group

SECTIONS: Final = {
    "Write": "init add edit forget release discard receipts chat knowledge items",
    "Ask": "recall search context why replay",
    "Look": "ui list show users agents sessions session facts conflicts history executions stats",
    "Maintain": "doctor check repair upkeep reembed models migrate jobs bench",
    "Copy and move": "export import backup restore archive copy encrypt decrypt rekey",
    "Serve": "serve keys mcp",
}
"""Under which heading the help lists each command."""


class _SectionedGroup(CommandGroup):
    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - the signature is the base class's
        width = max(map(len, self.commands))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [(name.ljust(width), self.commands[name].get_short_help_str(200)) for name in names.split()]
                )


app = make_group("Memory for AI agents. Begin with `memoranda add` and `memoranda recall`.", _SectionedGroup)
for module in (memories, recall, items, maintenance, doctor, transfer, serve):
    module.register(app)
command(app, "bench", shared=OUTPUT)(maintenance.bench)
app.add_typer(transfer.chats, name="chat")
app.add_typer(items.items, name="items")
app.add_typer(memories.knowledge, name="knowledge")
app.add_typer(memories.sessions, name="session")
app.add_typer(memories.executions, name="executions")
app.add_typer(serve.keys, name="keys")
app.add_typer(serve.mcp_group, name="mcp")
app.add_typer(maintenance.jobs, name="jobs")
app.add_typer(maintenance.models, name="models")


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


def main() -> None:
    """Run the command line, under its own name however it was started."""
    app(prog_name="memoranda")
