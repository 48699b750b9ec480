"""Check a SQLite file in slices: that rows are where a search looks for them, and are what was written.

SQLite trusts its pages. Where two of them were exchanged, it finds some rows and misses others without an error. Read
in the order of the tree, such rows are out of order, or no index knows them. A check of the whole file takes long, so
this one reads some rows at a time and remembers where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from sqlalchemy import Table, text
from sqlalchemy.exc import DatabaseError

from memoranda.errors import Incompatible
from memoranda.storage.base import ReadTransaction, ScrubState, Transaction
from memoranda.storage.meta import get_meta, set_meta
from memoranda.storage.rows import SELECT_MEMORY, memory_from_row
from memoranda.storage.schema import memories, metadata
from memoranda.storage.sqlite.transaction import SQLiteTransaction

_STATE: Final = "scrub"
_ROWS_AT_ONCE: Final = 200
_MAX_PROBLEMS: Final = 20
_TABLES: Final = dict(sorted(metadata.tables.items()))
_ADVICE: Final = "run check, then repair or restore a backup"


@dataclass(frozen=True, slots=True)
class _IndexOfTable:
    name: str
    columns: tuple[str, ...]
    condition: str
    """What a row must fulfil to be in it; "1" for every row."""


def read_state(tx: ReadTransaction) -> ScrubState:
    """Return how far the check has come."""
    stored = get_meta(tx, _STATE)
    if stored is None:
        return ScrubState()
    loaded = json.loads(stored).items()
    values: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in loaded}
    return ScrubState(**values)


def write_state(tx: Transaction, state: ScrubState) -> None:
    set_meta(tx, _STATE, json.dumps(asdict(state)))


def check_slice(tx: SQLiteTransaction, state: ScrubState, rows: int) -> ScrubState:
    """Check about so many rows from where the state says; return the state after them, at the most one round on."""
    left = rows
    names = [name for name in _TABLES if name >= state.table]
    for name in names:
        state = state if name == state.table else replace(state, table=name, key=())
        while left > 0:
            state, done = _check_some(tx, state, min(left, _ROWS_AT_ONCE))
            left -= max(done, 1)
            if done == 0:
                break
        else:
            return _with_known(state)
    # What an earlier round found and this one did not is no longer there.
    return ScrubState(problems=state.found, rounds=state.rounds + 1)


def _with_known(state: ScrubState) -> ScrubState:
    return replace(state, problems=tuple(dict.fromkeys([*state.found, *state.problems]))[:_MAX_PROBLEMS])


def _check_some(tx: SQLiteTransaction, state: ScrubState, limit: int) -> tuple[ScrubState, int]:
    """Check the next rows of one table; return how many there were."""
    table = _TABLES[state.table]
    try:
        keys = _walk(tx, table, state.key, limit)
        found = list(_find_problems(tx, table, state.key, keys)) if keys else []
    except DatabaseError as error:
        found, keys = [f"the table {table.name} cannot be read ({error.orig}): {_ADVICE}"], []
    known = tuple(dict.fromkeys([*state.found, *found]))[:_MAX_PROBLEMS]
    # Rows out of order must not send the check in circles: where the last key does not grow, the table has ended.
    last = max([state.key, *keys])
    return replace(state, found=known, key=last), len(keys) if last > state.key else 0


def _walk(tx: SQLiteTransaction, table: Table, after: tuple[int | str, ...], limit: int) -> list[tuple[int | str, ...]]:
    """Return the keys of the rows after one, in the order of the tree."""
    names, values = _key_columns(table), _key_values(table, after)
    shown = ", ".join(f"hex({name})" if _is_blob(table, name) else name for name in names)
    bound = ", ".join(f":{name}" for name in values)
    where = f"WHERE ({', '.join(names)}) > ({bound})" if after else ""
    query = f"SELECT {shown} FROM {table.name} NOT INDEXED {where} ORDER BY {', '.join(names)} LIMIT :limit"
    return [tuple(row) for row in tx.execute(text(query), {**values, "limit": limit})]


def _key_values(table: Table, key: tuple[int | str, ...]) -> dict[str, int | str | bytes]:
    """Return the parts of a key as parameters of a statement."""
    names = _key_columns(table)
    return {f"k{n}": bytes.fromhex(str(value)) if _is_blob(table, names[n]) else value for n, value in enumerate(key)}


def _is_found(tx: SQLiteTransaction, table: Table, key: tuple[int | str, ...]) -> bool:
    """Return whether a search for the key of a row ends at the row."""
    same = " AND ".join(f"{name} = :k{n}" for n, name in enumerate(_key_columns(table)))
    query = f"SELECT 1 FROM {table.name} NOT INDEXED WHERE {same}"
    return tx.execute(text(query), _key_values(table, key)).first() is not None


def _find_problems(
    tx: SQLiteTransaction, table: Table, after: tuple[int | str, ...], keys: Sequence[tuple[int | str, ...]]
) -> Iterator[str]:
    previous = after
    for key in keys:
        if previous and key <= previous:
            yield f"rows of the table {table.name} are out of order: {_ADVICE}"
            break
        previous = key
    if not all(_is_found(tx, table, key) for key in keys):
        yield f"rows of the table {table.name} are not found by their keys: {_ADVICE}"
    if not _has_rowid(table):
        return
    numbers = [int(key[0]) for key in keys]
    listed = json.dumps(numbers)
    for index in _indexes(tx, table):
        if _misses_rows(tx, table, index, listed):
            yield f"rows of the table {table.name} are missing in the index {index.name}: {_ADVICE}"
    if table is memories:
        yield from _find_damaged(tx, numbers)


def _misses_rows(tx: SQLiteTransaction, table: Table, index: _IndexOfTable, listed: str) -> bool:
    same = " AND ".join(f"entry.{name} IS stored.{name}" for name in index.columns)
    entry = (
        f"SELECT 1 FROM {table.name} AS entry INDEXED BY {index.name} "
        f"WHERE {same} AND entry.rowid = stored.rowid AND {index.condition}"
    )
    query = (
        f"SELECT 1 FROM {table.name} AS stored NOT INDEXED "
        f"WHERE stored.rowid IN (SELECT value FROM json_each(:listed)) "
        f"AND {index.condition} AND NOT EXISTS ({entry}) LIMIT 1"
    )
    return tx.execute(text(query), {"listed": listed}).first() is not None


def _find_damaged(tx: SQLiteTransaction, ids: Sequence[int]) -> Iterator[str]:
    for row in tx.execute(SELECT_MEMORY.where(memories.c.id.in_(ids))):
        try:
            memory_from_row(row)
        except Incompatible as error:
            yield str(error)


def _indexes(tx: SQLiteTransaction, table: Table) -> Iterator[_IndexOfTable]:
    for row in tx.driver_sql(f"PRAGMA index_list({table.name})").all():
        columns = [entry[2] for entry in tx.driver_sql(f"PRAGMA index_xinfo({row[1]})").all() if entry[5]]
        named = tuple(name for name in columns if name is not None)
        yield _IndexOfTable(row[1], named, _condition(tx, row[1]) if row[4] else "1")


def _condition(tx: SQLiteTransaction, index: str) -> str:
    made: Any = tx.execute(text("SELECT sql FROM sqlite_master WHERE name = :name"), {"name": index}).scalar_one()
    return f"({str(made).partition(' WHERE ')[2]})"


def _has_rowid(table: Table) -> bool:
    return bool(table.dialect_options["sqlite"]["with_rowid"])


def _key_columns(table: Table) -> list[str]:
    return ["rowid"] if _has_rowid(table) else [column.name for column in table.primary_key]


def _is_blob(table: Table, name: str) -> bool:
    return name != "rowid" and table.c[name].type.__visit_name__ == "BLOB"
