"""The hash that proves whose a row is: of its owner, its number and its text.

A database finds rows by its indexes and trusts them, and SQLite reads the columns that an index has from the index, the
owner among them. So one flipped bit in an index gives a row to another owner, and the row itself is not asked. Its hash
is in no index: it is read from the row, and fits no other owner and no other row.

A row that a PostgreSQL server of an older version wrote has no hash; that database checks its pages itself.

Exports, archives and copies read whole rows, each with its hash, and write them only where it fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from sqlalchemy import TEXT, ColumnElement, LargeBinary, Select, Table, func, literal, literal_column, null, select
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement

from memoranda.errors import Incompatible
from memoranda.storage.base import ReadTransaction
from memoranda.storage.errors import called_by_sqlite
from memoranda.storage.schema import memories, messages, revisions, unpack
from memoranda.text.terms import content_hash

SQL_NAME: Final = "memoranda_row_hash"
_BYTES: Final = 16


def row_hash(number: int, owner: Sequence[str], name: str | None, content: str | None, more: str | None) -> bytes:
    """Return the hash of a row. Every text but the last stands behind its length, so that none can pass for another.

    Args:
        number: The id of a memory; 0 for a message.
        owner: Tenant, agent, user and session as the tables hold them.
        name: The key of a memory, the message id of a message.
        content: The text.
        more: The value, metadata and notes of a memory, the payload of a message, the metadata of a former version.
    """
    tenant, agent, user, session = owner
    name, content = name or "", content or ""
    text = (
        f"{number} {len(tenant)} {len(agent)} {len(user)} {len(session)} {len(name)} {len(content)} "
        f"{tenant}{agent}{user}{session}{name}{content}{more or ''}"
    )
    return sha256(text.encode()).digest()[:_BYTES]


POSTGRES_FUNCTION: Final = f"""
    CREATE FUNCTION {SQL_NAME}(number bigint, tenant text, agent text, "user" text, session text, name text,
      content text, value text, metadata text, notes text) RETURNS bytea LANGUAGE sql AS $$
      SELECT substring(sha256(convert_to(concat_ws(' ', number, length(tenant), length(agent), length("user"),
        length(session), length(coalesce(name, '')), length(coalesce(content, '')),
        concat(tenant, agent, "user", session, name, content, value, metadata, notes)
      ), 'UTF8')) FROM 1 FOR {_BYTES})
    $$"""
"""The same for PostgreSQL, where what belongs to `more` are arguments of their own; so it is in SQLite."""


def add_functions(raw: Any) -> None:
    """Let a connection of SQLite's driver call `row_hash` and `content_hash`; long texts may be packed."""
    raw.create_function(SQL_NAME, 10, called_by_sqlite(_hash_of_columns), deterministic=True)
    raw.create_function("memoranda_content_hash", 1, called_by_sqlite(_content_hash), deterministic=True)


def _content_hash(content: str | bytes) -> bytes:
    return content_hash(unpack(content) or "")


def _hash_of_columns(number: int, *texts: str | bytes | None) -> bytes:
    tenant, agent, user, session, name, content, *more = [unpack(each) or "" for each in texts]
    return row_hash(number, (tenant, agent, user, session), name, content, "".join(more))


class stored_hash(FunctionElement[bytes]):
    """The hash of a row as it is stored; on PostgreSQL, for a row without one, that of the row itself."""

    type = LargeBinary()
    inherit_cache = True


@compiles(stored_hash)
def _compile_for_sqlite(element: stored_hash, compiler: SQLCompiler, **options: Any) -> str:
    stored, *_ = element.clauses
    return compiler.process(stored, **options)


@compiles(stored_hash, "postgresql")
def _compile_for_postgresql(element: stored_hash, compiler: SQLCompiler, **options: Any) -> str:
    stored, *parts = [compiler.process(part, **options) for part in element.clauses]
    return f"coalesce({stored}, {SQL_NAME}({', '.join(parts)}))"


_M, _T, _R = memories.c, messages.c, revisions.c
OWNER: Final = ("tenant", "agent", "user", "session")
_OF_MEMORY: Final = (_M.id, *(_M[name] for name in OWNER))
_OF_MESSAGE: Final = (literal_column("0"), *(_T[name] for name in OWNER))
MEMORY_HASH: Final = stored_hash(_M.row_hash, *_OF_MEMORY, _M.key, _M.content, _M.value, _M.metadata, _M.notes)
MESSAGE_HASH: Final = stored_hash(_T.row_hash, *_OF_MESSAGE, _T.message_id, _T.content, _T.payload, null(), null())
REVISION_HASH: Final = stored_hash(_R.row_hash, *_OF_MEMORY, null(), _R.content, null(), _R.metadata, null())
"""Of a former version, in a query that joins its memory. A memory with a key has none."""


def hash_with_notes(notes: str) -> ColumnElement[bytes]:
    """Return the hash that a memory gets with these notes, for the statement that writes them."""
    texts = (_M.key, _M.content, _M.value, _M.metadata, literal(notes, TEXT))
    return func.memoranda_row_hash(*_OF_MEMORY, *texts, type_=LargeBinary)


def hash_as_former() -> ColumnElement[bytes]:
    """Return the hash of a memory as a former version, for the statement that copies it."""
    return func.memoranda_row_hash(*_OF_MEMORY, null(), _M.content, null(), _M.metadata, null(), type_=LargeBinary)


def not_as_written(what: str) -> Incompatible:
    """Return the error for a row that its hash does not fit: of another owner or number, or with another text."""
    return Incompatible(
        f"{what} is damaged (its text or its owner is not what was written): run repair or restore a backup"
    )


_BATCH: Final = 500
_HASH: Final = "row_hash"
_HASHES: Final = {memories: MEMORY_HASH, messages: MESSAGE_HASH, revisions: REVISION_HASH}
_OWNERS: Final = [memories.c[name].label(f"owner_{name}") for name in OWNER]


def select_whole(table: Table) -> Select[Any]:
    """Return a query for all columns of a table, in their order."""
    columns = [_HASHES[table].label(_HASH) if column.name == _HASH else column for column in table.columns]
    if table is revisions:
        return select(*columns).join(memories, memories.c.id == revisions.c.memory_id)
    return select(*columns)


def stream_rows(
    tx: ReadTransaction, table: Table, conditions: Sequence[ColumnElement[bool]], order: Sequence[ColumnElement[Any]]
) -> Iterator[dict[str, Any]]:
    """Yield rows by the names of their columns; `Incompatible` at one that is not what was written, or another's."""
    names = [column.name for column in table.columns]
    for row in _read(tx, table, conditions, order):
        if not _is_intact(table, row):
            raise _damaged(table, row)
        yield {name: row[name] for name in names}


def find_damaged(tx: ReadTransaction, table: Table) -> list[str]:
    """Return what is to be said of the rows of a table that are not what was written, one sentence each."""
    return [str(_damaged(table, row)) for row in _read(tx, table, (), table.primary_key) if not _is_intact(table, row)]


def _read(
    tx: ReadTransaction, table: Table, conditions: Sequence[ColumnElement[bool]], order: Iterable[ColumnElement[Any]]
) -> Iterator[dict[str, Any]]:
    query = select_whole(table).where(*conditions).order_by(*order).execution_options(yield_per=_BATCH)
    if table is revisions:
        query = query.add_columns(*_OWNERS)
    for row in tx.execute(query).mappings():
        yield {str(name): value for name, value in row.items()}


def _is_intact(table: Table, row: Mapping[str, Any]) -> bool:
    return _HASH not in row or row[_HASH] == _expected(table, row)


def _damaged(table: Table, row: Mapping[str, Any]) -> Incompatible:
    return not_as_written(f"a row of {table.name}, {next(iter(row.values()))},")


def with_hash(table: Table, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row that is about to be written with its hash."""
    return {**row, _HASH: _expected(table, row)}


def with_revision_hashes(tx: ReadTransaction, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return former versions with their hashes, which are of the owners of their memories here."""
    found = tx.execute(select(memories.c.id, *_OWNERS).where(memories.c.id.in_({row["memory_id"] for row in rows})))
    owner_of = {owner["id"]: owner for owner in found.mappings()}
    return [with_hash(revisions, {**owner_of[row["memory_id"]], **row}) for row in rows]


def _expected(table: Table, row: Mapping[str, Any]) -> bytes | None:
    try:
        if table is memories:
            owner, more = [row[each] for each in OWNER], f"{row['value'] or ''}{row['metadata']}{row['notes']}"
            return row_hash(row["id"], owner, row["key"], row["content"], more)
        if table is messages:
            owner = [row[each] for each in OWNER]
            return row_hash(0, owner, row["message_id"], row["content"], row["payload"])
        return row_hash(row["memory_id"], [row[each.name] for each in _OWNERS], None, row["content"], row["metadata"])
    except (TypeError, ValueError):  # a damaged row may hold anything
        return None
