"""Commands that move memories in and out of files, and change the key of the database.

`memoranda export`, `import`, `backup`, `archive`, `restore`, `chat import`, `encrypt`, `decrypt`, `rekey`. No option
takes a key itself: other users of the machine could read it in the list of processes.
"""

from __future__ import annotations

import os
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memoranda.cli.options import DATABASE, WHOLE_TENANT, WRITE, CommandOptions, command
from memoranda.cli.output import make_group, message, print_result, problem_list, progress_bar
from memoranda.display import plural
from memoranda.errors import Incompatible, InvalidInput, NotFound
from memoranda.files import is_file
from memoranda.records import Record
from memoranda.security.encryption import EncryptionKey, make_key, read_key
from memoranda.types import Progress
from memoranda.validation import check_days

if TYPE_CHECKING:
    from memoranda.manager.manager import MemoryManager
    from memoranda.security.encryption import EncryptionKey
    from memoranda.transfer.chats import ImportedConversation


KeyFile = Annotated[Path | None, typer.Option("--key-file", help="File with a key other than the one in the settings.")]
KeyVariable = Annotated[str | None, typer.Option("--key-env", help="Environment variable with that key.")]
KeyCommand = Annotated[str | None, typer.Option("--key-command", help="Command that prints that key.")]
NewKeyFile = Annotated[Path | None, typer.Option("--new-key-file", help="File with the new key.")]
NewKeyVariable = Annotated[str | None, typer.Option("--new-key-env", help="Environment variable with the new key.")]
NewKeyCommand = Annotated[str | None, typer.Option("--new-key-command", help="Command that prints the new key.")]
_REMAINING = "Not changed, delete or move them: {}"


def _require_file(options: CommandOptions) -> None:
    """Raise unless there is a database that is a file, before anything is asked."""
    from memoranda.settings import database_url
    from memoranda.storage import file_to_encrypt

    file_to_encrypt(database_url(options.config))
    options.require_database()


def encrypt(options: CommandOptions) -> None:
    """Encrypt the database. The key is the one in the settings, or is asked for. No process may have it open.

    After an interruption, run it again: the database is complete at all times.
    """
    _require_file(options)
    key = _configured_key(options) or _make_key(ask_key("the database"))
    _convert(options, None, key, "Encrypting")


def decrypt(options: CommandOptions) -> None:
    """Decrypt the database with the key in the settings. No process may have it open.

    After an interruption, run it again: the database is complete at all times.
    """
    _require_file(options)
    _convert(options, _required_key(options), None, "Decrypting")


def rekey(
    options: CommandOptions,
    new_key_file: NewKeyFile = None,
    new_key_variable: NewKeyVariable = None,
    new_key_command: NewKeyCommand = None,
) -> None:
    """Give the database a new key in place of the one in the settings. No process may have it open.

    Without an option for the new key, it is asked for. After an interruption, run it again with the same two keys.
    """
    _require_file(options)
    current = _required_key(options)
    new = find_key(new_key_file, new_key_variable, new_key_command) or ask_key("the database, the new one")
    _convert(options, current, _make_key(new), "Encrypting")


def find_key(file: Path | None, variable: str | None, command: str | None) -> str | None:
    """Return the key that the options of a command name; None when they name none."""
    text = None if variable is None else os.environ.get(variable, "")
    if text == "":
        raise InvalidInput(f"the environment variable {variable} is not set: put the key into it")
    key = read_key(text, None if file is None else str(file), command)
    return None if key is None else key.reveal()


def ask_key(purpose: str) -> str:
    """Ask for a key on a terminal, twice."""
    if not sys.stdin.isatty():
        raise InvalidInput(f"no key for {purpose}: set MEMORY_ENCRYPTION_KEY, or name a key by an option")
    key: str = typer.prompt(f"Key of {purpose}", hide_input=True, confirmation_prompt=True, err=True)
    return key


def _configured_key(options: CommandOptions) -> EncryptionKey | None:
    from memoranda.settings import encryption_key

    return encryption_key(options.config)


def _required_key(options: CommandOptions) -> EncryptionKey:
    key = _configured_key(options)
    if key is None:
        raise InvalidInput("the present key of the database is not set: set MEMORY_ENCRYPTION_KEY")
    return key


def _make_key(text: str) -> EncryptionKey:
    return EncryptionKey(text)


def _convert(options: CommandOptions, current: EncryptionKey | None, new: EncryptionKey | None, title: str) -> None:
    from memoranda.transfer.export import change_key

    with progress_bar(title, options.as_json) as progress:
        done = change_key(options.config, current, new, progress)
    state = ("encrypted" if done.encrypted else "not encrypted") + ("" if done.changed else " already")
    summary = f"{done.path} is {state}: {plural(done.memories, 'memory', 'memories')}"
    notes = [message(_REMAINING.format(", ".join(done.remaining)), "yellow")] if done.remaining else []
    print_result(done, options.as_json, message(summary), *notes)


chats = make_group("Import conversations from ChatGPT and Claude.")


class ExportFormat(StrEnum):
    """What `export` writes."""

    JSONL = "jsonl"
    FILES = "files"


class ImportFormat(StrEnum):
    """What `import` reads."""

    JSONL = "jsonl"
    FILES = "files"
    MEM0 = "mem0"


class ChatVendor(StrEnum):
    """The product a chat export comes from."""

    AUTO = "auto"
    CHATGPT = "chatgpt"
    CLAUDE = "claude"


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    command(app, "export", shared=WHOLE_TENANT)(export)
    command(app, "archive", shared=WHOLE_TENANT)(archive)
    command(app, "backup", shared=DATABASE)(backup)
    for name, function in (("import", import_file), ("restore", restore)):
        command(app, name)(function)
    command(app, "encrypt", shared=DATABASE)(encrypt)
    command(app, "decrypt", shared=DATABASE)(decrypt)
    command(app, "rekey", shared=DATABASE)(rekey)


def export(
    options: CommandOptions,
    path: Annotated[
        Path, typer.Argument(help="File to write, compressed if it ends with .zst; or folder for --as files.")
    ],
    file_format: Annotated[
        ExportFormat, typer.Option("--as", help="jsonl, or files for saved values and execution records only.")
    ] = ExportFormat.JSONL,
    encrypt: Annotated[
        bool | None,
        typer.Option(
            "--encrypt/--plain",
            help="Whether to encrypt the file. By default, as the database is, with the same key.",
            show_default=False,
        ),
    ] = None,
    key_file: KeyFile = None,
    key_variable: KeyVariable = None,
    key_command: KeyCommand = None,
) -> None:
    """Export memories to a file."""
    plain = encrypt is False
    with options.open_manager() as manager, progress_bar("Exporting", options.as_json) as progress:
        if file_format is ExportFormat.FILES:
            files = manager.export_files(path, plain=plain)
            summary = f"{plural(files.values, 'value')}, {plural(files.executions, 'record')} in {path}"
            print_result(files, options.as_json, message(summary))
            return
        key = find_key(key_file, key_variable, key_command)
        if encrypt and key is None and not manager.health().encrypted:
            key = ask_key("the export")
        scope = options.tenant_scope
        report = manager.export_jsonl(path, progress=progress, encryption_key=key, plain=plain, **scope)
    summary = f"{_count(report.memories)} in {report.path}{', encrypted' if report.encrypted else ''}"
    print_result(report, options.as_json, message(summary))


def import_file(
    options: CommandOptions,
    path: Annotated[Path, typer.Argument(help="File or folder that export wrote, or the folder of a mem0 store.")],
    file_format: Annotated[ImportFormat, typer.Option("--from", help="Format of the data.")] = ImportFormat.JSONL,
    collection: Annotated[str, typer.Option(help="Collection of a mem0 store.")] = "mem0",
    include_forgotten: Annotated[
        bool, typer.Option("--include-forgotten", help="Also import what was forgotten here since the export.")
    ] = False,
    key_file: KeyFile = None,
    key_variable: KeyVariable = None,
    key_command: KeyCommand = None,
) -> None:
    """Import memories from a file or folder. Existing memories stay; importing twice adds nothing."""
    key = find_key(key_file, key_variable, key_command)
    with options.open_manager(create=True) as manager, progress_bar("Importing", options.as_json) as progress:
        if file_format is ImportFormat.JSONL:
            report, summary = _import_jsonl(manager, path, include_forgotten, key, progress)
        else:
            report, summary = _import(manager, path, file_format, collection, progress)
    print_result(report, options.as_json, message(summary))


def _import(
    manager: MemoryManager, path: Path, file_format: ImportFormat, collection: str, progress: Progress | None
) -> tuple[Record, str]:
    if file_format is ImportFormat.FILES:
        files = manager.import_files(path)
        imported_files = f"{plural(files.values, 'value')} and {plural(files.executions, 'record')} imported"
        return files, f"{imported_files}, {files.known} existed already"
    from memoranda.manager.mem0_import import import_mem0

    imported = import_mem0(manager, path, collection=collection, progress=progress)
    return imported, f"{_count(imported.stored)} imported, {imported.known} existed already"


def _import_jsonl(
    manager: MemoryManager, path: Path, include_forgotten: bool, key: str | None, progress: Progress | None
) -> tuple[Record, str]:
    report = manager.import_jsonl(path, include_forgotten=include_forgotten, progress=progress, encryption_key=key)
    summary = f"{_count(report.memories)} imported, {report.known} existed already"
    return report, f"{summary}, {report.skipped} skipped: {report.skipped_reason}" if report.skipped else summary


def backup(
    options: CommandOptions,
    path: Annotated[
        Path, typer.Argument(help="File to write, compressed if it ends with .zst. Its checksum is written next to it.")
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    key_file: KeyFile = None,
    key_variable: KeyVariable = None,
    key_command: KeyCommand = None,
) -> None:
    """Copy the database while it is in use.

    The copy of an encrypted database has the same key, unless an option names another.
    """
    key = find_key(key_file, key_variable, key_command)
    with options.open_manager() as manager, progress_bar("Copying", options.as_json) as progress:
        report = manager.backup(path, force=force, progress=progress, encryption_key=key)
    summary = f"{_count(report.memories)}, {report.size_bytes / 1e6:.1f} MB in {report.path}"
    missing = [problem_list(report.problems)] if report.problems else []
    print_result(report, options.as_json, message(summary), *missing)


def archive(
    options: CommandOptions,
    path: Annotated[Path, typer.Argument(help="File to write, such as old.jsonl.zst.")],
    older_than: Annotated[float | None, typer.Option(help="Only memories stored more than this many days ago.")] = None,
    archived: Annotated[
        bool, typer.Option("--archived", help="Only memories that are archived or have expired.")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="Then remove them from the database.")] = False,
    key_file: KeyFile = None,
    key_variable: KeyVariable = None,
    key_command: KeyCommand = None,
) -> None:
    """Write memories to a compressed file, or move them there.

    `restore` brings them back. Pinned memories are never removed, and neither is one that replaced a memory that
    stays.
    """
    key = find_key(key_file, key_variable, key_command)
    age = None if older_than is None else check_days(older_than, "older_than")
    with options.open_manager() as manager, progress_bar("Archiving", options.as_json) as progress:
        report = manager.archive_to(
            path,
            older_than=age,
            archived=archived,
            remove=remove,
            progress=progress,
            encryption_key=key,
            **options.tenant_scope,
        )
    removed = f", {report.removed} removed from the database" if remove else ""
    summary = f"{_count(report.memories)} in {report.path}{', encrypted' if report.encrypted else ''}{removed}"
    print_result(report, options.as_json, message(summary))


def restore(
    options: CommandOptions,
    path: Annotated[Path, typer.Argument(help="File that backup or archive wrote.")],
    force: Annotated[bool, typer.Option("--force", help="Replace the database if it exists.")] = False,
    key_file: KeyFile = None,
    key_variable: KeyVariable = None,
    key_command: KeyCommand = None,
) -> None:
    """Replace the database with a backup, or bring back an archive.

    With a backup, the old database is kept as <file>.before-restore. An archive replaces nothing.

    If the file has another key than the one in the settings, name it with a key option.
    """
    from memoranda.transfer.copying import is_archive
    from memoranda.transfer.export import restore as restore_backup

    key = find_key(key_file, key_variable, key_command)
    if is_file(path) and is_archive(path):
        with options.open_manager(create=True) as manager, progress_bar("Restoring", options.as_json) as progress:
            loaded, summary = _import_jsonl(manager, path, False, key, progress)
        print_result(loaded, options.as_json, message(summary.replace("imported", "restored")))
        return
    report = restore_backup(path, options.config, force=force, backup_key=make_key(key))
    warning = "" if report.verified else " (without a check for damage: the checksum file is missing)"
    style = "green" if report.verified else "yellow"
    print_result(report, options.as_json, message(f"{_count(report.memories)} restored{warning}", style))


def import_chats(
    options: CommandOptions,
    path: Annotated[Path, typer.Argument(help="The export: the zip file, or its conversations.json.")],
    vendor: Annotated[
        ChatVendor, typer.Option("--from", help="Product the export comes from; auto detects it.")
    ] = ChatVendor.AUTO,
) -> None:
    """Store every message of a ChatGPT or Claude data export. Importing again adds only new messages.

    What was forgotten here is left out.

    Each conversation becomes one session, unless --session is given.
    """
    stored = messages = forgotten = 0
    with options.open_manager(create=True) as manager, progress_bar("Storing", options.as_json) as progress:
        conversations = _read_chats(path, vendor)
        for number, conversation in enumerate(conversations, start=1):
            session = options.session or conversation.id or conversation.title or path.stem
            kept = manager._components.receipts.leave_out_forgotten(options.user, conversation.messages)
            forgotten += len(conversation.messages) - len(kept)
            outcomes = manager.remember(
                kept,
                agent=options.agent,
                user=options.user,
                session=session,
                source="chat import",
            )
            messages += len(outcomes)
            stored += sum(outcome.status == "stored" for outcome in outcomes)
            if progress is not None:
                progress(number, len(conversations))
    counts = {"conversations": len(conversations), "messages": messages, "stored": stored, "forgotten": forgotten}
    summary = f"{stored} of {plural(messages, 'message')} stored, from {plural(len(conversations), 'conversation')}"
    summary += f"; {forgotten} left out, which were forgotten here" if forgotten else ""
    print_result(counts, options.as_json, message(summary))


command(chats, "import", shared=WRITE)(import_chats)


def _count(memories: int) -> str:
    return plural(memories, "memory", "memories")


def _read_chats(path: Path, vendor: ChatVendor) -> list[ImportedConversation]:
    from memoranda.transfer.chats import read_chatgpt_export, read_claude_export

    if not is_file(path):
        raise NotFound(f"no file {path}")
    if vendor is ChatVendor.CLAUDE:
        return read_claude_export(path)
    try:
        return read_chatgpt_export(path)
    except Incompatible:
        if vendor is ChatVendor.CHATGPT:
            raise
        return read_claude_export(path)
