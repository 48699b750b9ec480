"""Backups, and exports as JSON Lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, Final

from sqlalchemy import ColumnElement, Table, func, select

from memoranda.errors import InvalidInput
from memoranda.files import atomic_replace
from memoranda.results import Backup, ExportReport
from memoranda.settings import MemoryConfig, database_url, index_path
from memoranda.storage import restore_backup
from memoranda.storage.base import BackupStore, ReadTransaction, Store
from memoranda.storage.errors import translate_errors
from memoranda.storage.rows import scope_conditions, to_json
from memoranda.storage.schema import memories
from memoranda.transfer.rows import LINKS, LOGS, TABLES, to_record
from memoranda.types import ANY, JSON, Progress, Scope

FORMAT: Final = "memoranda"
VERSION: Final = 1
_BATCH: Final = 500


def restore(source: str | PathLike[str], config: MemoryConfig, *, force: bool = False) -> Backup:
    """Replace the configured database, which no process may have open, by a backup."""
    database, restored = restore_backup(database_url(config), Path(source), force=force)
    index = index_path(config, database)
    assert index is not None
    index.unlink(missing_ok=True)  # it was derived from the database that was replaced
    return restored


def back_up(store: Store, target: str | PathLike[str], *, force: bool, progress: Progress | None = None) -> Backup:
    """Copy every write acknowledged before the call to one file. Writes may go on during it."""
    if not isinstance(store, BackupStore):
        raise InvalidInput("this store is not a single file: back it up with the tools of its database")
    return store.backup(Path(target), force=force, progress=progress)


def export_file(
    store: Store, scope: Scope, target: str | PathLike[str], progress: Progress | None = None
) -> ExportReport:
    """Write the export to a file, which is complete or does not exist."""
    path, lines, exported = Path(target), 0, 0
    total = store.read(lambda tx: _count_memories(tx, scope))
    with translate_errors(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(path) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as file:
            for line in store.stream(lambda tx: export_lines(tx, scope, store.id)):
                file.write(f"{line}\n")
                lines += 1
                exported += line.startswith('{"kind":"memory"')
                if progress is not None and lines % _BATCH == 0:
                    progress(exported, total)
    return ExportReport(path, exported, lines)


def export_lines(tx: ReadTransaction, scope: Scope, store_id: str) -> Iterator[str]:
    """Yield the lines of an export, without line ends. All of them are from one snapshot."""
    counts = dict.fromkeys([*TABLES, *LINKS, *LOGS], 0)
    yield to_json({"kind": "header", "format": FORMAT, "version": VERSION, "store": store_id})
    for record in _records(tx, scope):
        counts[str(record["kind"])] += 1
        yield to_json(record)
    yield to_json({"kind": "end", **counts})


def _count_memories(tx: ReadTransaction, scope: Scope) -> int:
    return int(
        tx.execute(select(func.count()).select_from(memories).where(*scope_conditions(memories, scope))).scalar_one()
    )


def _records(tx: ReadTransaction, scope: Scope) -> Iterator[dict[str, JSON]]:
    for kind, table in TABLES.items():
        key = next(iter(table.primary_key.columns))
        for row in _stream(tx, table, scope_conditions(table, scope), [key]):
            yield to_record(kind, row)
    ids = select(memories.c.id).where(*scope_conditions(memories, scope))
    for kind, (table, id_columns) in LINKS.items():
        conditions = [table.c[column].in_(ids) for column in id_columns]
        for row in _stream(tx, table, conditions, list(table.primary_key.columns)):
            yield to_record(kind, row)
    yield from _log_records(tx, scope)


def _log_records(tx: ReadTransaction, scope: Scope) -> Iterator[dict[str, JSON]]:
    """Yield sessions and executions, but none when a user is named: they belong to no user."""
    if scope.user is not ANY:
        return
    for kind, table in LOGS.items():
        names = {"agent": scope.agent, "id" if kind == "session" else "session": scope.session}
        named = {column: value for column, value in names.items() if value is not None}
        if all(column in table.columns for column in named):
            conditions = [
                table.c.tenant == scope.tenant,
                *(table.c[column] == value for column, value in named.items()),
            ]
            order = [table.c.ended_at, table.c.id] if kind == "session" else [table.c.number]
            for row in _stream(tx, table, conditions, order):
                yield to_record(kind, row)


def _stream(
    tx: ReadTransaction, table: Table, conditions: Sequence[ColumnElement[bool]], order: Sequence[ColumnElement[Any]]
) -> Iterator[dict[str, Any]]:
    statement = select(table).where(*conditions).order_by(*order).execution_options(yield_per=_BATCH)
    yield from (dict(row) for row in tx.execute(statement).mappings())
