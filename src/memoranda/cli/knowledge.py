"""`memoranda knowledge`: documents that every agent can search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memoranda.cli.calls import Call, command
from memoranda.cli.errors import group
from memoranda.cli.output import progress_bar, said, show, table

app = group("Documents that every agent can search.")

Source = Annotated[str, typer.Argument(help="The document's name, as `list` shows it.")]


def add(
    call: Call,
    paths: Annotated[list[Path], typer.Argument(help="Text and Markdown files, or folders of them.")],
    version: Annotated[str | None, typer.Option(help="Which edition this is.")] = None,
) -> None:
    """Take documents in; one of the same name is replaced."""
    with call.manager() as manager, progress_bar("Reading", call.as_json) as report:
        reports = manager.add_knowledge(paths, version=version, progress=report)
    columns = ("source", "version", "chunks", "added", "kept", "removed")
    show(reports, call.as_json, lambda: table(columns, [[each[column] for column in columns] for each in reports]))


def list_sources(call: Call) -> None:
    """List the documents."""
    with call.manager() as manager:
        sources = manager.get_knowledge_sources()
    rows = [(each.source, each.version, each.chunks, each.recorded_at.isoformat(" ", "seconds")) for each in sources]
    show(sources, call.as_json, lambda: table(("source", "version", "chunks", "recorded_at"), rows))


def remove(call: Call, source: Source) -> None:
    """Take a document out."""
    with call.manager() as manager:
        pieces = manager.remove_knowledge(source)
    show({"removed": source, "chunks": pieces}, call.as_json, said(f"{source} removed, {pieces} pieces"))


command(app, "add")(add)
command(app, "list")(list_sources)
command(app, "remove")(remove)
