"""`memoranda export`, `import`, `backup`, `restore`: memory in and out of files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.calls import STORE, WRITE, Call, command
from memoranda.cli.output import progress_bar, said, show
from memoranda.errors import InvalidInput
from memoranda.types import ANY, Progress, Record

if TYPE_CHECKING:
    from memoranda.manager.manager import MemoryManager

Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]


def register(app: typer.Typer) -> None:
    """Adds these commands."""
    command(app, "export", options=WRITE)(export)
    for name, function in (("import", import_file), ("backup", backup), ("restore", restore)):
        command(app, name, options=STORE)(function)


class Form(StrEnum):
    """What a file or folder holds."""

    JSONL = "jsonl"
    FILES = "files"
    MEM0 = "mem0"


def export(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file to write, or the folder for --as files.")],
    form: Annotated[
        Form, typer.Option("--as", help="jsonl, or files: saved values and execution records.")
    ] = Form.JSONL,
) -> None:
    """Write memory to files. All of the tenant's, unless a scope is named."""
    user = ANY if call.user is None else call.user
    with call.manager() as manager, progress_bar("Exporting", call.as_json) as progress:
        if form is Form.FILES:
            files = manager.export_files(path)
            show(files, call.as_json, said(f"{files.values} values, {files.executions} records in {path}"))
            return
        if form is Form.MEM0:
            raise InvalidInput("mem0 is for import: export as jsonl or files")
        report = manager.export_jsonl(path, agent=call.agent, user=user, session=call.session, progress=progress)
    show(report, call.as_json, said(f"{report.memories} memories in {report.path}"))


def import_file(
    call: Call,
    path: Annotated[Path, typer.Argument(help="A file that export wrote, or the folder of a mem0 store.")],
    form: Annotated[Form, typer.Option("--from", help="What it is: jsonl, files or mem0.")] = Form.JSONL,
    collection: Annotated[str, typer.Option(help="The collection of a mem0 store.")] = "mem0",
) -> None:
    """Load memories from files. What is there already stays; run again, it adds nothing."""
    with call.manager() as manager, progress_bar("Importing", call.as_json) as progress:
        report, text = _imported(manager, path, form, collection, progress)
    show(report, call.as_json, said(text))


def _imported(
    manager: MemoryManager, path: Path, form: Form, collection: str, progress: Progress | None
) -> tuple[Record, str]:
    if form is Form.FILES:
        files = manager.import_files(path)
        return files, f"{files.values} values and {files.executions} records imported, {files.known} were there already"
    if form is Form.MEM0:
        from memoranda.integrations.mem0 import import_mem0

        taken = import_mem0(manager, path, collection=collection, progress=progress)
        return taken, f"{taken.stored} memories imported, {taken.known} were there already"
    report = manager.import_jsonl(path, progress=progress)
    return report, f"{report.memories} memories imported, {report.known} were there already"


def backup(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file to write; its checksum goes beside it.")],
    force: Force = False,
) -> None:
    """Copy the database while it is in use."""
    with call.manager() as manager, progress_bar("Copying", call.as_json) as progress:
        made = manager.backup(path, force=force, progress=progress)
    show(made, call.as_json, said(f"{made.memories} memories, {made.size_bytes / 1e6:.1f} MB in {made.path}"))


def restore(
    call: Call,
    path: Annotated[Path, typer.Argument(help="A file that backup wrote.")],
    force: Force = False,
) -> None:
    """Put a backup in the place of the database. What was there is kept as <file>.before-restore."""
    from memoranda.transfer.export import restore as put_back

    done = put_back(path, call.config, force=force)
    unsure = "" if done.verified else " (its checksum file was missing, so damage could go unseen)"
    show(done, call.as_json, said(f"{done.memories} memories restored{unsure}", "green" if done.verified else "yellow"))
