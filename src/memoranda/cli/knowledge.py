"""`memoranda knowledge`: documents that every agent can search."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from memoranda.cli.options import CommandOptions, command
from memoranda.cli.output import make_group, message, print_result, progress_bar, table

app = make_group("Manage documents that every agent can search.")


def add(
    options: CommandOptions,
    paths: Annotated[list[Path], typer.Argument(help="Text and Markdown files, or folders that contain them.")],
    version: Annotated[str | None, typer.Option(help="Version of the documents.")] = None,
) -> None:
    """Add documents. A document with the same name is replaced."""
    with options.open_manager() as manager, progress_bar("Reading", options.as_json) as progress:
        reports = manager.add_knowledge(paths, version=version, progress=progress)
    columns = ("source", "version", "chunks", "added", "kept", "removed")
    rows = ([report[column] for column in columns] for report in reports)
    print_result(reports, options.as_json, lambda: table(columns, rows))


def list_sources(options: CommandOptions) -> None:
    """List the documents."""
    with options.open_manager() as manager:
        sources = manager.get_knowledge_sources()
    columns = ("source", "version", "chunks", "recorded_at")
    rows = ([source[column] for column in columns] for source in sources)
    print_result(sources, options.as_json, lambda: table(columns, rows))


def remove(
    options: CommandOptions,
    source: Annotated[str, typer.Argument(help="Name of the document, as `knowledge list` shows it.")],
) -> None:
    """Remove a document."""
    with options.open_manager() as manager:
        chunks = manager.remove_knowledge(source)
    print_result({"removed": source, "chunks": chunks}, options.as_json, message(f"{source} removed, {chunks} chunks"))


command(app, "add")(add)
command(app, "list")(list_sources)
command(app, "remove")(remove)
