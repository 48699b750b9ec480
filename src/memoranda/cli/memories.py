"""`memoranda add`, `edit`, `forget`, `init`: what is written by hand."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from memoranda.cli.calls import READ, WRITE, Call, command
from memoranda.cli.output import memories_table, progress_bar, record, said, show, table
from memoranda.errors import InvalidInput
from memoranda.types import JSON, Outcome

Kind = Annotated[str | None, typer.Option("--type", "-t", help="semantic, episodic, procedural, …")]
Source = Annotated[str | None, typer.Option(help="Where it comes from.")]
Importance = Annotated[float | None, typer.Option(help="0 to 1.")]
Metadata = Annotated[str | None, typer.Option(help='A JSON object, as {"topic": "tea"}.')]


def register(app: typer.Typer) -> None:
    """Adds these commands."""
    command(app, "init")(init)
    command(app, "add", options=WRITE)(add)
    command(app, "edit", options=READ)(edit)
    command(app, "forget", options=READ)(forget)


def init(call: Call) -> None:
    """Make the database, or look whether it is there."""
    with call.manager() as manager:
        health = manager.health()
    show(health, call.as_json, lambda: record(health))


def add(
    call: Call,
    texts: Annotated[list[str], typer.Argument(help="What to remember, one text each; - reads lines from stdin.")],
    kind: Kind = None,
    source: Source = None,
    importance: Importance = None,
    metadata: Metadata = None,
    at: Annotated[str | None, typer.Option(help="When it became true, as 2026-05-01T12:00+02:00.")] = None,
) -> None:
    """Remember something."""
    contents, extra = _texts(texts), parsed(metadata)
    with call.manager() as manager, progress_bar("Embedding", call.as_json) as report:
        outcomes = manager.remember(
            contents,
            **call.scope,
            type=kind,
            source=source,
            importance=importance,
            metadata=extra,
            at=at,
            progress=report,
        )
    columns = ("status", "id", "content", "reason")
    show(outcomes, call.as_json, lambda: table(columns, map(_outcome, outcomes), wide="content"))


def edit(
    call: Call,
    memory_id: Annotated[int, typer.Argument(help="The memory's id.")],
    content: Annotated[str | None, typer.Option(help="The new text.")] = None,
    kind: Kind = None,
    source: Source = None,
    importance: Importance = None,
    metadata: Metadata = None,
) -> None:
    """Change a memory; what is not given stays."""
    with call.manager() as manager:
        memory = manager.update(
            memory_id,
            content,
            memory_type=kind,
            source=source,
            importance=importance,
            metadata=parsed(metadata),
            **call.read_scope,
        )
    show(memory, call.as_json, lambda: memories_table([memory]))


def forget(
    call: Call,
    memory_ids: Annotated[list[int] | None, typer.Argument(help="The memories' ids.")] = None,
    containing: Annotated[str | None, typer.Option(help="Every memory of the scope that contains this text.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would go, and erase nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Erase memories and all that tells of them. By id, by a text they contain, or a whole scope that is named."""
    ids = memory_ids or None
    with call.manager() as manager:
        receipt = manager.forget(ids, containing=containing, dry_run=True, **call.read_scope)
        if not dry_run:
            _confirm(len(receipt.ids), yes)
            receipt = manager.forget(ids, containing=containing, **call.read_scope)
    rows = ((each.store, each.status, each.count, each.detail) for each in receipt.stores)
    show(receipt, call.as_json, lambda: table(("store", "status", "count", "detail"), rows, wide="detail"))
    if not call.as_json:
        show(None, False, said(f"{len(receipt.ids)} memories {'would go' if dry_run else 'erased'}"))


def parsed(metadata: str | None) -> dict[str, JSON] | None:
    """A JSON object given as an option."""
    if metadata is None:
        return None
    try:
        value = json.loads(metadata)
    except ValueError as error:
        raise InvalidInput(f'metadata is not JSON ({error}): write it as \'{{"topic": "tea"}}\'') from error
    if not isinstance(value, dict):
        raise InvalidInput('metadata must be a JSON object, as {"topic": "tea"}')
    return value


def _texts(given: Sequence[str]) -> list[str]:
    if list(given) != ["-"]:
        return list(given)
    lines = [line.strip() for line in sys.stdin.read().splitlines()]
    return [line for line in lines if line]


def _outcome(outcome: Outcome) -> tuple[object, ...]:
    memory = outcome.memory
    return (outcome.status, memory.id if memory else "", memory.content if memory else "", outcome.reason)


def _confirm(count: int, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidInput("nobody can be asked here: repeat with --yes, or look first with --dry-run")
    typer.confirm(f"Erase {count} memories for good?", abort=True)
