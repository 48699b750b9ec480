"""Memories out of a store: backups, and exports as lines of JSON."""

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
from memoranda.storage.base import BackupStore, ReadTransaction, Store
from memoranda.storage.rows import scope_conditions, to_json
from memoranda.storage.schema import memories
from memoranda.storage.sqlite import backup
from memoranda.storage.sqlite.errors import translate_errors
from memoranda.transfer.rows import LINKS, LOGS, TABLES, to_record
from memoranda.types import ANY, JSON, Progress, Scope

_BATCH = 500


def restore(source: str | PathLike[str], config: MemoryConfig, *, force: bool = False) -> Backup:
    """Put a backup in the place of the configured database, which nothing may have open."""
    from memoranda.storage.sqlite.store import path_from_url

    database = path_from_url(database_url(config))
    if database is None:
        raise InvalidInput("a database in memory cannot be restored to: name a file")
    done = backup.restore(Path(source), database, force=force)
    index = index_path(config, database)
    assert index is not None
    index.unlink(missing_ok=True)  # derived, and of the database that was there before
    return done


def back_up(store: Store, target: str | PathLike[str], *, force: bool, progress: Progress | None = None) -> Backup:
    """Everything acknowledged before the call, in one file; writers go on meanwhile."""
    if not isinstance(store, BackupStore):
        raise InvalidInput("this store is not one file: back it up with the tools of its database")
    return store.backup(Path(target), force=force, progress=progress)


def export_file(
    store: Store, scope: Scope, target: str | PathLike[str], progress: Progress | None = None
) -> ExportReport:
    """The export in a file, which is there whole or not at all."""
    path, lines = Path(target), 0
    total = store.read(lambda tx: count_memories(tx, scope))
    memories = 0
    with translate_errors(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
            for line in store.stream(lambda tx: export_lines(tx, scope, store.id)):
                file.write(f"{line}\n")
                lines += 1
                memories += line.startswith('{"kind":"memory"')
                if progress is not None and lines % _BATCH == 0:
                    progress(memories, total)
    return ExportReport(path, memories, lines)


FORMAT: Final = "memoranda"
VERSION: Final = 1
_ROWS_AT_ONCE: Final = 500


def export_lines(tx: ReadTransaction, scope: Scope, store_id: str) -> Iterator[str]:
    """Lines without their line ends, all as of one commit."""
    counts = dict.fromkeys([*TABLES, *LINKS, *LOGS], 0)
    yield to_json({"kind": "header", "format": FORMAT, "version": VERSION, "store": store_id})
    for record in _records(tx, scope):
        counts[str(record["kind"])] += 1
        yield to_json(record)
    yield to_json({"kind": "end", **counts})


def count_memories(tx: ReadTransaction, scope: Scope) -> int:
    return int(
        tx.execute(select(func.count()).select_from(memories).where(*scope_conditions(memories, scope))).scalar_one()
    )


def _records(tx: ReadTransaction, scope: Scope) -> Iterator[dict[str, JSON]]:
    for kind, table in TABLES.items():
        key = next(iter(table.primary_key.columns))
        for row in _stream(tx, table, [*scope_conditions(table, scope)], [key]):
            yield to_record(kind, row)
    mine = select(memories.c.id).where(*scope_conditions(memories, scope))
    for kind, (table, ends) in LINKS.items():
        held = [table.c[end].in_(mine) for end in ends]
        for row in _stream(tx, table, held, list(table.primary_key.columns)):
            yield to_record(kind, row)
    yield from _logs(tx, scope)


def _logs(tx: ReadTransaction, scope: Scope) -> Iterator[dict[str, JSON]]:
    """Only of a whole tenant, or of one agent or session of it: no user can be told apart in them."""
    if scope.user is not ANY:
        return
    for kind, table in LOGS.items():
        named = {"agent": scope.agent, "id" if kind == "session" else "session": scope.session}
        given = {name: value for name, value in named.items() if value is not None}
        if all(name in table.columns for name in given):
            held = [table.c.tenant == scope.tenant, *(table.c[name] == value for name, value in given.items())]
            order = [table.c.ended_at, table.c.id] if kind == "session" else [table.c.number]
            for row in _stream(tx, table, held, order):
                yield to_record(kind, row)


def _stream(
    tx: ReadTransaction, table: Table, where: Sequence[ColumnElement[bool]], order: Sequence[ColumnElement[Any]]
) -> Iterator[dict[str, Any]]:
    wanted = select(table).where(*where).order_by(*order).execution_options(yield_per=_ROWS_AT_ONCE)
    yield from (dict(row) for row in tx.execute(wanted).mappings())
