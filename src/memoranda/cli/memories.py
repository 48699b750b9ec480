"""Change what is stored, and show what workflows and agents did.

`memoranda init`, `add`, `edit`, `forget`, `receipts`, `release` and `discard`; `memoranda knowledge`,
`memoranda session` and `memoranda executions`.
"""

from __future__ import annotations

import json
import sys
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from memoranda.cli.maintenance import status_table
from memoranda.cli.options import READ, WRITE, CommandOptions, command, parse_start
from memoranda.cli.output import (
    DAMAGED,
    hint,
    make_group,
    memories_table,
    message,
    print_result,
    progress_bar,
    record_table,
    table,
)
from memoranda.cli.recall import Limit, Offset
from memoranda.display import plural
from memoranda.errors import InvalidInput, NotFound
from memoranda.records import build
from memoranda.results.maintenance import ForgetReceipt
from memoranda.types import ANY, JSON, Outcome

Kind = Annotated[str | None, typer.Option("--type", "-t", help="Memory type: semantic, episodic, procedural, …")]
Source = Annotated[str | None, typer.Option(help="Where the memory comes from.")]
Importance = Annotated[float | None, typer.Option(help="Importance, from 0 to 1.")]
Metadata = Annotated[str | None, typer.Option(help='Metadata as a JSON object, for example {"topic": "tea"}.')]


def register(app: typer.Typer) -> None:
    """Add these commands to the app."""
    command(app, "init")(init)
    command(app, "add", shared=WRITE)(add)
    command(app, "edit", shared=READ)(edit)
    command(app, "forget", shared=READ)(forget)
    command(app, "release", shared=READ)(release)
    command(app, "discard", shared=READ)(discard)
    command(app, "receipts", shared=READ)(receipts)


def init(options: CommandOptions) -> None:
    """Create the database if it does not exist, and show its status."""
    with options.open_manager(create=True) as manager:
        counts, health = manager.get_stats(), manager.health()
    print_result(health, options.as_json, lambda: status_table(counts, health))


def add(
    options: CommandOptions,
    texts: Annotated[list[str], typer.Argument(help="Texts to store, one memory each. - reads lines from stdin.")],
    kind: Kind = None,
    source: Source = None,
    importance: Importance = None,
    metadata: Metadata = None,
    ttl: Annotated[float | None, typer.Option(help="Seconds until they expire.")] = None,
    at: Annotated[
        datetime | None,
        typer.Option(
            parser=parse_start,
            metavar="TIME",
            help="When it became true: 2026-05-01, 2026-05-01T12:00+02:00, yesterday.",
        ),
    ] = None,
) -> None:
    """Store memories, and read facts from them. Every text is stored."""
    if texts == ["-"]:
        texts = [line.strip() for line in sys.stdin.read().splitlines() if line.strip()]
    parsed_metadata = _parse_metadata(metadata)
    with options.open_manager(create=True) as manager, progress_bar("Embedding", options.as_json) as progress:
        outcomes = manager.remember(
            texts,
            **options.scope,
            type=kind,
            source=source,
            importance=importance,
            metadata=parsed_metadata,
            at=at,
            ttl=ttl,
            progress=progress,
        )
    columns = ("status", "id", "content", "reason")
    rows = map(_outcome_row, outcomes)
    print_result(outcomes, options.as_json, lambda: table(columns, rows, wide="content"))


def edit(
    options: CommandOptions,
    memory_id: Annotated[int, typer.Argument(help="Id of the memory.")],
    content: Annotated[str | None, typer.Option(help="The new text.")] = None,
    kind: Kind = None,
    source: Source = None,
    importance: Importance = None,
    metadata: Metadata = None,
    expected_version: Annotated[
        int | None, typer.Option(help="Change the memory only if it is at this version.")
    ] = None,
) -> None:
    """Change a memory. Fields without an option keep their value."""
    if all(each is None for each in (content, kind, source, importance, metadata)):
        raise InvalidInput("change what? Give --content, --type, --source, --importance or --metadata")
    with options.open_manager() as manager:
        memory = manager.update(
            memory_id,
            content,
            memory_type=kind,
            source=source,
            importance=importance,
            metadata=_parse_metadata(metadata),
            expected_version=expected_version,
            **options.read_scope,
        )
    changes = {"type": kind, "source": source, "importance": importance, "metadata": metadata}
    shown = [f"{name} {value}" for name, value in changes.items() if value is not None]
    changed = message(", ".join([f"changed to version {memory.version}", *shown]))
    print_result(memory, options.as_json, lambda: memories_table([memory]), changed)


def forget(
    options: CommandOptions,
    memory_ids: Annotated[list[int] | None, typer.Argument(help="Ids of the memories.")] = None,
    containing: Annotated[str | None, typer.Option(help="Erase every memory in the scope that has this text.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be erased; erase nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Erase what was forgotten before and came back with a restored backup.")
    ] = False,
    receipts_file: Annotated[
        Path | None, typer.Option("--receipts", help="With --again, the receipts that `receipts --json` wrote.")
    ] = None,
) -> None:
    """Erase memories and everything derived from them. Choose them by id, by --containing, or by scope."""
    if again:
        _forget_again(options, receipts_file, yes)
        return
    if receipts_file is not None:
        raise InvalidInput("--receipts is for --again only")
    ids = memory_ids or None
    with options.open_manager() as manager:
        receipt = manager.forget(ids, containing=containing, dry_run=True, **options.read_scope)
        if not dry_run:
            _confirm(_count(len(receipt.ids)), yes)
            receipt = manager.forget(ids, containing=containing, **options.read_scope)
    _print_receipt(receipt, options.as_json)


def receipts(
    options: CommandOptions,
    receipt_id: Annotated[str | None, typer.Argument(help="Id of one receipt; without it, all are listed.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="Maximum number of receipts.")] = 100,
) -> None:
    """Show the receipts of what was forgotten.

    Each says what was erased where, and whether its signature is valid. Names are pseudonyms.
    """
    with options.open_manager() as manager:
        if receipt_id is not None:
            receipt, verified = manager.receipt(receipt_id), manager.verify_receipt(receipt_id)
            _print_receipt(receipt, options.as_json, "signature is right" if verified else "SIGNATURE IS WRONG")
            return
        found = manager.receipts(user=options.user or ANY, limit=limit)
        signed = {receipt.id: manager.verify_receipt(receipt) for receipt in found}
    columns = ("id", "at", "user", "memories", "complete", "signed")
    rows = [(each.id, each.at, each.user, len(each.ids), _yes(each.complete), _yes(signed[each.id])) for each in found]
    none = message("nothing was forgotten here", "yellow")
    print_result(found, options.as_json, (lambda: table(columns, rows)) if rows else none)


def _yes(value: bool) -> str:
    return "yes" if value else "NO"


def _forget_again(options: CommandOptions, receipts_file: Path | None, yes: bool) -> None:
    known = [] if receipts_file is None else _read_receipts(receipts_file)
    with options.open_manager() as manager:
        _confirm("everything that was forgotten before", yes)
        receipt = manager.forget_again(known)
    if receipt is None:
        print_result(None, options.as_json, message("nothing that was forgotten is here"))
        return
    _print_receipt(receipt, options.as_json)


def _read_receipts(path: Path) -> list[ForgetReceipt]:
    try:
        return [build(ForgetReceipt, values) for values in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput(f"{path} holds no receipts ({error}): write it with `memoranda receipts --json`") from error


def _print_receipt(receipt: ForgetReceipt, as_json: bool, note: str | None = None) -> None:
    columns = ("store", "status", "count", "detail")
    rows = [(each.store, status, each.count, each.detail) for each, status in receipt.places()]
    summary = f"{_count(len(receipt.ids))} {'would be erased' if receipt.dry_run else 'erased'}"
    if not receipt.dry_run:
        summary += f", receipt {receipt.id}: {'complete' if receipt.complete else 'NOT complete'}"
    views = [lambda: table(columns, rows, wide="detail"), message(summary if note is None else f"{summary}; {note}")]
    print_result(receipt, as_json, *views)


def release(options: CommandOptions, memory_id: Annotated[int, typer.Argument(help="Id of the memory.")]) -> None:
    """Take a memory out of quarantine. It takes part in recall from then on."""
    with options.open_manager() as manager:
        memory = manager.release(memory_id, **options.read_scope)
    print_result(memory, options.as_json, lambda: memories_table([memory]))


def discard(
    options: CommandOptions, memory_ids: Annotated[list[int], typer.Argument(help="Ids of the memories.")]
) -> None:
    """Delete memories that are in quarantine."""
    with options.open_manager() as manager:
        count = manager.discard(memory_ids, **options.read_scope)
    print_result({"discarded": count}, options.as_json, message(f"{_count(count)} deleted"))


def _count(memories: int) -> str:
    return plural(memories, "memory", "memories")


def _parse_metadata(text: str | None) -> dict[str, JSON] | None:
    if text is None:
        return None
    try:
        value = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f'metadata is not JSON ({error}): write it as \'{{"topic": "tea"}}\'') from error
    if not isinstance(value, dict):
        raise InvalidInput('metadata must be a JSON object, for example {"topic": "tea"}')
    return value


def _outcome_row(outcome: Outcome) -> tuple[object, ...]:
    memory = outcome.memory
    return (outcome.status, memory.id if memory else "", memory.content if memory else "", outcome.reason)


def _confirm(what: str, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("cannot ask for confirmation here: add --yes, or use --dry-run to see what would be erased")
    typer.confirm(f"Erase {what} permanently?", abort=True)


knowledge = make_group("Manage documents that every agent can search.")


def add_knowledge(
    options: CommandOptions,
    paths: Annotated[list[Path], typer.Argument(help="Text and Markdown files, or folders that contain them.")],
    version: Annotated[str | None, typer.Option(help="Version of the documents.")] = None,
) -> None:
    """Add documents. A document with the same name is replaced."""
    with options.open_manager(create=True) as manager, progress_bar("Reading", options.as_json) as progress:
        reports = manager.add_knowledge(paths, version=version, progress=progress)
    columns = ("source", "version", "chunks", "added", "kept", "removed")
    rows = ([report[column] for column in columns] for report in reports)
    print_result(reports, options.as_json, lambda: table(columns, rows))


def list_sources(options: CommandOptions) -> None:
    """List the documents."""
    with options.open_manager() as manager:
        sources = manager.get_knowledge_sources()
    columns = ("source", "version", "chunks", "recorded_at")
    rows = [[source[column] for column in columns] for source in sources]
    none = message("no documents here: `memoranda knowledge add` adds some", "yellow")
    print_result(sources, options.as_json, (lambda: table(columns, rows, wide="source")) if rows else none)


def remove_knowledge(
    options: CommandOptions,
    source: Annotated[str, typer.Argument(help="Name of the document, as `knowledge list` shows it.")],
) -> None:
    """Remove a document."""
    with options.open_manager() as manager:
        chunks = manager.remove_knowledge(source)
    print_result(
        {"removed": source, "chunks": chunks}, options.as_json, message(f"{source} removed, {plural(chunks, 'chunk')}")
    )


command(knowledge, "add")(add_knowledge)
command(knowledge, "list")(list_sources)
command(knowledge, "remove")(remove_knowledge)


sessions = make_group("Show and clear the sessions of workflows.")
executions = make_group("Show and verify the audit trail of what agents did.")

Workflow = Annotated[str, typer.Argument(help="Id of the workflow.")]
OnlyWorkflow = Annotated[str | None, typer.Option("--workflow", "-w", help="Only this workflow.")]
OnlyAgent = Annotated[str | None, typer.Option("--agent", "-a", help="Only this agent.")]


def list_sessions(
    options: CommandOptions, workflow: OnlyWorkflow = None, limit: Limit = 20, offset: Offset = 0
) -> None:
    """List sessions that have ended, newest first."""
    with options.open_manager() as manager:
        found = manager.get_sessions(workflow, limit, offset)
    columns = ("workflow_id", "session_id", "agents", "messages", "duration")
    rows = [[session.get(column) for column in columns] for session in found]
    none = message("no session has ended here", "yellow")
    print_result(found, options.as_json, (lambda: table(columns, rows)) if rows else none)


def show_session(options: CommandOptions, workflow: Workflow, limit: Limit = 20, offset: Offset = 0) -> None:
    """Show the conversation of a workflow with open sessions, oldest first."""
    with options.open_manager() as manager:
        history = manager.get_conversation_history(workflow, limit, offset)
        if not history and not manager.get_sessions(workflow, 1):
            raise NotFound(
                f"no workflow {workflow}: it has no open session with a message, and no session that has ended"
            )
    rows = [(item.timestamp.isoformat(timespec="seconds"), item.agent_id, item.role, item.content) for item in history]
    columns = ("at", "agent", "role", "content")
    none = message(f"no open session of {workflow} has messages; `memoranda session list` shows ended ones", "yellow")
    view = (lambda: table(columns, rows, wide="content", max_lines=None)) if rows else none
    print_result(history, options.as_json, view)


def clear_session(options: CommandOptions, workflow: Workflow) -> None:
    """Delete the session data of a workflow."""
    with options.open_manager() as manager:
        manager.clear_session(workflow)
    print_result({"cleared": workflow}, options.as_json, message(f"no open session of {workflow} is left"))


def list_executions(
    options: CommandOptions,
    agent: OnlyAgent = None,
    workflow: OnlyWorkflow = None,
    status: Annotated[str | None, typer.Option(help="Only this status.")] = None,
    limit: Limit = 20,
    cursor: Annotated[str | None, typer.Option(help="The next_cursor of the previous page.")] = None,
    offset: Offset = 0,
) -> None:
    """List execution records, newest first."""
    with options.open_manager() as manager:
        page = manager.get_execution_records(agent, limit, status, workflow=workflow, cursor=cursor, offset=offset)
    columns = ("no.", "at", "agent", "workflow", "status", "ms", "id")
    rows = [
        (each.number, each.recorded_at, each.agent_id, each.workflow_id, each.status, each.duration_ms, each.id)
        for each in page
    ]
    none = message("no execution records here", "yellow")
    print_result(page, options.as_json, (lambda: table(columns, rows)) if rows else none)
    if page.next_cursor is not None:
        hint(f"for the next page add --cursor {page.next_cursor}", options.as_json)


def show_stats(options: CommandOptions, agent: OnlyAgent = None, workflow: OnlyWorkflow = None) -> None:
    """Count executions by status and show their durations."""
    with options.open_manager() as manager:
        stats = manager.get_execution_stats(agent, workflow=workflow)
    print_result(stats, options.as_json, lambda: record_table(stats))


def verify(
    options: CommandOptions,
    head: Annotated[str | None, typer.Option(help="Head of the chain as an earlier `verify` printed it.")] = None,
) -> None:
    """Check that no record was edited, removed, moved or cut off."""
    with options.open_manager() as manager:
        report = manager.verify_executions(head)
    intact = message(f"{plural(report.checked, 'record')} unchanged\nhead {report.head}")
    problem = message(f"record {report.first_bad}: {report.problem}", "red")
    print_result(report, options.as_json, intact if report.ok else problem)
    if not report.ok:
        raise typer.Exit(DAMAGED)


command(sessions, "list")(list_sessions)
command(sessions, "show")(show_session)
command(sessions, "clear")(clear_session)
command(executions, "list")(list_executions)
command(executions, "stats")(show_stats)
command(executions, "verify")(verify)
