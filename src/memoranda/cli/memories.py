"""`memoranda init`, `add`, `edit`, `forget`, `receipts`: create the database and change memories."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from memoranda.cli.options import READ, WRITE, CommandOptions, command
from memoranda.cli.output import memories_table, message, print_result, progress_bar, record_table, table
from memoranda.errors import InvalidInput
from memoranda.receipts import ForgetReceipt
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
    command(app, "receipts", shared=READ)(receipts)


def init(options: CommandOptions) -> None:
    """Create the database if it does not exist, and show its status."""
    with options.open_manager() as manager:
        health = manager.health()
    print_result(health, options.as_json, lambda: record_table(health))


def add(
    options: CommandOptions,
    texts: Annotated[list[str], typer.Argument(help="Texts to store, one memory each. - reads lines from stdin.")],
    kind: Kind = None,
    source: Source = None,
    importance: Importance = None,
    metadata: Metadata = None,
    at: Annotated[str | None, typer.Option(help="When it became true, for example 2026-05-01T12:00+02:00.")] = None,
) -> None:
    """Store memories."""
    if texts == ["-"]:
        texts = [line.strip() for line in sys.stdin.read().splitlines() if line.strip()]
    parsed_metadata = _parse_metadata(metadata)
    with options.open_manager() as manager, progress_bar("Embedding", options.as_json) as progress:
        outcomes = manager.remember(
            texts,
            **options.scope,
            type=kind,
            source=source,
            importance=importance,
            metadata=parsed_metadata,
            at=at,
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
) -> None:
    """Change a memory. Fields without an option keep their value."""
    with options.open_manager() as manager:
        memory = manager.update(
            memory_id,
            content,
            memory_type=kind,
            source=source,
            importance=importance,
            metadata=_parse_metadata(metadata),
            **options.read_scope,
        )
    print_result(memory, options.as_json, lambda: memories_table([memory]))


def forget(
    options: CommandOptions,
    memory_ids: Annotated[list[int] | None, typer.Argument(help="Ids of the memories.")] = None,
    containing: Annotated[str | None, typer.Option(help="Erase every memory in the scope with this text.")] = None,
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
        raise InvalidInput("--receipts belongs to --again")
    ids = memory_ids or None
    with options.open_manager() as manager:
        receipt = manager.forget(ids, containing=containing, dry_run=True, **options.read_scope)
        if not dry_run:
            _confirm(f"{len(receipt.ids)} memories", yes)
            receipt = manager.forget(ids, containing=containing, **options.read_scope)
    _print_receipt(receipt, options.as_json)


def receipts(
    options: CommandOptions,
    receipt_id: Annotated[str | None, typer.Argument(help="Id of one receipt; without it, all are listed.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", help="The largest number of receipts.")] = 100,
) -> None:
    """Show what was forgotten, with the places and whether the signature is right. Names are pseudonyms."""
    with options.open_manager() as manager:
        if receipt_id is not None:
            receipt, verified = manager.receipt(receipt_id), manager.verify_receipt(receipt_id)
            _print_receipt(receipt, options.as_json, "signature is right" if verified else "SIGNATURE IS WRONG")
            return
        found = manager.receipts(user=options.user or ANY, limit=limit)
        signed = {receipt.id: manager.verify_receipt(receipt) for receipt in found}
    columns = ("id", "at", "user", "memories", "complete", "signed")
    rows = (
        (each.id, f"{each.at:%Y-%m-%d %H:%M}", each.user or "", len(each.ids), each.complete, signed[each.id])
        for each in found
    )
    print_result(found, options.as_json, lambda: table(columns, rows, wide="user"))


def _forget_again(options: CommandOptions, receipts_file: Path | None, yes: bool) -> None:
    given = [] if receipts_file is None else _read_receipts(receipts_file)
    with options.open_manager() as manager:
        _confirm("everything that was forgotten before", yes)
        receipt = manager.forget_again(given)
    if receipt is None:
        print_result(None, options.as_json, message("nothing that was forgotten is here"))
        return
    _print_receipt(receipt, options.as_json)


def _read_receipts(path: Path) -> list[ForgetReceipt]:
    from memoranda.deserialize import build

    try:
        return [build(ForgetReceipt, values) for values in json.loads(path.read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidInput(f"{path} holds no receipts ({error}): write it with `memoranda receipts --json`") from error


def _print_receipt(receipt: ForgetReceipt, as_json: bool, note: str | None = None) -> None:
    columns = ("store", "status", "count", "detail")
    rows = ((store.store, store.status, store.count, store.detail) for store in receipt.stores)
    summary = f"{len(receipt.ids)} memories {'would be erased' if receipt.dry_run else 'erased'}"
    if not receipt.dry_run:
        summary += f", receipt {receipt.id}: {'complete' if receipt.complete else 'NOT complete'}"
    views = [lambda: table(columns, rows, wide="detail"), message(summary if note is None else f"{summary}; {note}")]
    print_result(receipt, as_json, *views)


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
