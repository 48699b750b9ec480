"""Row checksums ("seals"), kept by triggers, that reveal changes by other programs.

The connection that writes has its own triggers, in its TEMP schema, which renew the checksum of a row with every change
of it. A connection of another program has none: what it adds, edits or deletes does not match the checksums.

They have no key: they find mistakes, damage and plain edits. Anyone who can write the file can recompute them, but not
the signatures of receipts and of execution records.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any, Final

from sqlalchemy import BLOB, REAL, Table

from memoranda.storage.errors import called_by_sqlite
from memoranda.storage.row_hash import add_functions as add_hash_functions
from memoranda.storage.schema import (
    api_keys,
    associations,
    lineage,
    memories,
    messages,
    recalled_memories,
    recalls,
    revisions,
    seals,
    tombstones,
)
from memoranda.storage.sqlite.transaction import SQLiteTransaction

_SEALED: Final = (
    memories, messages, recalls, recalled_memories, associations, lineage, revisions, tombstones, api_keys,
)  # fmt: skip
_COUNTED: Final = frozenset(("access_count", "accessed_at", "used_at"))
"""Columns that change with every use and that nothing is decided by for certain."""
_UNSEALED: Final = frozenset(
    (("associations", "metadata"), *((table.name, "row_hash") for table in (memories, messages, revisions)))
)
"""Columns that were added after rows had been sealed without them: nothing is decided by them, or they are compared
with the others at each read."""
_FUNCTION: Final = "memoranda_seal"
_SEAL_BYTES: Final = 16
_SHOWN: Final = 5


def watch(raw: Any) -> None:
    """Let this connection of the driver seal every row that it writes, if the file has seals."""
    tables = {row[0] for row in raw.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if seals.name not in tables:
        return
    _add_function(raw)
    add_hash_functions(raw)
    for table in _SEALED:
        for statement in _triggers(table) if table.name in tables else ():
            raw.execute(statement)


def seal_rows(tx: SQLiteTransaction) -> int:
    """Seal all rows as they are now, and return how many seals did not fit."""
    _add_function(tx.driver)
    edited = sum(tx.driver.execute(f"SELECT count(*) FROM ({_misfits(table)})").fetchone()[0] for table in _SEALED)
    tx.driver.execute(f"DELETE FROM {seals.name}")
    for table in _SEALED:
        tx.driver.execute(f"INSERT INTO {seals.name} SELECT '{table.name}', {_key(table)}, {_seal(table)} FROM {table}")
    return int(edited)


def find_misfits(tx: SQLiteTransaction) -> list[str]:
    """Return one sentence for each table with rows that another program added, edited or deleted."""
    _add_function(tx.driver)
    found: list[str] = []
    for table in _SEALED:
        keys = [str(row[0]) for row in tx.driver.execute(_misfits(table))]
        if keys:
            named = f"{', '.join(keys[:_SHOWN])}{'…' if len(keys) > _SHOWN else ''}"
            found.append(f"{len(keys)} rows of {table.name} were changed by another program: {named}")
    return found


def _add_function(raw: Any) -> None:
    raw.create_function(_FUNCTION, -1, called_by_sqlite(_digest), deterministic=True)


def _digest(*values: bytes | float | None) -> bytes:
    # In one step, as it is called for every row that is written.
    parts = [
        b"1:-" if value is None
        else b"%d:%b" % (len(data := value if type(value) is bytes else str(value).encode()), data)
        for value in values
    ]  # fmt: skip
    return blake2b(b"".join(parts), digest_size=_SEAL_BYTES).digest()


def _triggers(table: Table) -> tuple[str, ...]:
    seal = (
        f"INSERT INTO {seals.name} VALUES ('{table.name}', {_key(table, 'NEW.')}, {_seal(table, 'NEW.')})"
        " ON CONFLICT (kind, row_key) DO UPDATE SET seal = excluded.seal;"
    )
    unseal = f"DELETE FROM {seals.name} WHERE kind = '{table.name}' AND row_key = {_key(table, 'OLD.')};"
    columns = ", ".join(_sealed_columns(table))
    begin = "CREATE TEMP TRIGGER IF NOT EXISTS seal"
    return (
        f"{begin}_added_{table} AFTER INSERT ON main.{table} BEGIN {seal} END",
        f"{begin}_edited_{table} AFTER UPDATE OF {columns} ON main.{table} BEGIN {seal} END",
        f"{begin}_deleted_{table} AFTER DELETE ON main.{table} BEGIN {unseal} END",
    )


def _misfits(table: Table) -> str:
    """Return the statement for the keys of rows whose seal does not fit, and of seals without a row."""
    key = f"seals.kind = '{table.name}' AND seals.row_key = {_key(table)}"
    return (
        f"SELECT {_key(table)} FROM {table} LEFT JOIN {seals} ON {key} WHERE seals.seal IS NOT {_seal(table)}"
        f" UNION ALL SELECT row_key FROM {seals} WHERE kind = '{table.name}'"
        f" AND row_key NOT IN (SELECT {_key(table)} FROM {table})"
    )


def _key(table: Table, of: str = "") -> str:
    names = ((column.type, _quoted(table, column.name, of)) for column in table.primary_key.columns)
    return " || ' ' || ".join(
        f"hex({name})" if isinstance(kind, BLOB) else f"CAST({name} AS TEXT)" for kind, name in names
    )


def _seal(table: Table, of: str = "") -> str:
    """Return the digest of the columns. As bytes, so that a text which is not valid can be compared too."""
    names = {column: _quoted(table, column, of) for column in _sealed_columns(table)}
    parts = [name if isinstance(table.c[key].type, REAL) else f"CAST({name} AS BLOB)" for key, name in names.items()]
    return f"{_FUNCTION}({', '.join(parts)})"


def _quoted(table: Table, column: str, of: str) -> str:
    return f'{of or table.name + "."}"{column}"'


def _sealed_columns(table: Table) -> list[str]:
    names = [column.name for column in table.columns if column.name not in _COUNTED]
    return [name for name in names if (table.name, name) not in _UNSEALED]
