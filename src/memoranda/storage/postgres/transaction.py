"""Transactions on PostgreSQL, and every statement that goes straight to the driver.

Rows are sent as arrays, one for each column, in the binary form that the server reads. The driver would write a list
item by item in Python, which takes longer than all other work of a client on a row.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeAlias

import psycopg
from psycopg.adapt import Dumper
from psycopg.pq import Format
from sqlalchemy import Connection, Table, select, text
from sqlalchemy.dialects import postgresql
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

from memoranda.storage.base import Generation, Owner, PartitionKey, Row, Tenant, chunked
from memoranda.storage.postgres.connections import driver_of, receive_result, set_local, tenant_settings
from memoranda.storage.postgres.pool import Statement
from memoranda.storage.rows import (
    SELECT_MEMORY,
    index_conditions,
    memory_from_row,
    scope_columns,
    stored_name,
)
from memoranda.storage.schema import changes, memories
from memoranda.types import ANY, IntArray, Memory, Scope

_LOCK: Final = 7_364_519_202
"""The advisory lock between writes that name their owners, which share it, and all others, which hold it alone."""
_HEAD_OF_ALL: Final = "SELECT coalesce(max(seq), 0) FROM changes"
_HEAD_OF_TENANT: Final = "SELECT coalesce(max(head), 0) FROM owners WHERE tenant = %s"
_HEAD: Final = 'SELECT head FROM owners WHERE tenant = %s AND "user" = %s'
_CHANGED: Final = (
    'SELECT DISTINCT memory_id FROM changes WHERE tenant = %s AND "user" = %s AND seq > %s ORDER BY memory_id'
)
# Writers of two users commit in any order. A change with a smaller number than `since` that was not committed when
# `since` was read has a transaction that was open when `since` was written: no older than its horizon.
_CHANGED_OF_TENANT: Final = """
SELECT DISTINCT memory_id FROM changes WHERE tenant = %s AND (seq > %s OR (
  xid >= coalesce((SELECT horizon FROM changes WHERE seq = %s), '0'::xid8)
  AND xid IS DISTINCT FROM (SELECT xid FROM changes WHERE seq = %s) AND %s::bigint > 0)) ORDER BY memory_id"""
# Each vector is looked up: for a join, the planner would read those of all pages before, if most rows are of one owner.
_INDEX_ROWS: Final = """
SELECT memories.id, agent, session, speaker, valid_from, valid_to, expires_at, recorded_at, true_from,
  superseded_at, terms, (SELECT data FROM vectors WHERE memory_id = memories.id AND generation = %s) FROM memories
WHERE memories.tenant = %s AND """
ACTIVE_GENERATION: Final[Statement] = (
    "SELECT id, provider, model, dimension, fingerprint FROM generations WHERE active = 1",
    (),
)
# Of each text the first memory, however many users have it. The order is that of the index, or the planner would not
# see that one row of it is enough.
_VECTORS: Final = """
WITH first AS MATERIALIZED (SELECT wanted, (SELECT id FROM memories WHERE tenant = %s AND content_hash = wanted
  ORDER BY tenant, content_hash, "user" LIMIT 1) AS id FROM unnest(%s::bytea[]) AS wanted)
SELECT wanted, data, sentences FROM first JOIN vectors ON memory_id = id WHERE generation = %s"""
_LOCK_OWNER: Final = 'SELECT 1 FROM owners WHERE tenant = %s AND "user" = %s FOR UPDATE'
_ADD_OWNER: Final = "INSERT INTO owners VALUES (%s, %s, 0) ON CONFLICT DO NOTHING"
# Changes are numbered while their owners are locked, so those of one owner are committed in the order of their numbers.
_ADD_CHANGES: Final = """
WITH added AS (
  {insert} RETURNING tenant, "user", seq)
INSERT INTO owners AS known SELECT tenant, "user", max(seq) FROM added GROUP BY tenant, "user" ORDER BY tenant, "user"
ON CONFLICT (tenant, "user") DO UPDATE SET head = greatest(known.head, excluded.head)"""
_NEW_IDS: Final = "SELECT nextval(pg_get_serial_sequence(%s, %s)) FROM generate_series(1, %s)"
_ADD_COUNTS: Final = "SELECT memoranda_count(%s, %s, %s, %s, %s)"


KEYS: Final = {"memories": "id", "messages": "seq", "changes": "seq", "recalls": "number"}
"""The tables whose rows are numbered, and never twice with the same number."""
SET_NEXT_ID: Final = text("SELECT setval(pg_get_serial_sequence(:name, :key), :number, false)")
SET_NEXT_GENERATION: Final = text(
    "SELECT setval(pg_get_serial_sequence('generations', 'id'), coalesce(max(id), 0) + 1, false) FROM generations"
)
"""For rows with numbers of another store, which counts generations by the rows that it has."""


class PostgresTransaction:
    """A `Transaction` on one connection."""

    __slots__ = ("_connection", "_entered", "at", "driver", "execute", "scalars")

    def __init__(self, connection: Connection, at: int = 0) -> None:
        self._connection = connection
        self.execute = connection.execute
        self.scalars = connection.scalars
        self.driver: Any = driver_of(connection)
        self.at = at
        self._entered: Tenant = None

    def insert_rows(self, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        # Not COPY, which PostgreSQL refuses on a table with row-level security.
        statement = _insert_statement(table, columns)
        for part in chunked(rows):
            self.driver.execute(statement, column_arrays(table, columns, part), prepare=True)

    def upsert(
        self, table: Table, rows: Sequence[Mapping[str, Any]], *, key: Sequence[str], update: Sequence[str] = ()
    ) -> int:
        if not rows:
            return 0
        with self.driver.cursor() as cursor:
            cursor.executemany(_upsert_statement(table, tuple(rows[0]), tuple(key), tuple(update)), rows)
            receive_result(self._connection)  # until then nobody knows how many were written
            return int(cursor.rowcount)

    def new_ids(self, table: Table, count: int) -> Sequence[int]:
        column = next(iter(table.primary_key)).name
        return sorted(row[0] for row in self.driver.execute(_NEW_IDS, (table.name, column, count), prepare=True))

    def add_counts(self, rows: Sequence[tuple[str, str, str, int, int]]) -> None:
        with self.driver.cursor() as cursor:
            cursor.executemany(_ADD_COUNTS, sorted(rows))  # sorted, so that two writers never wait for each other

    def enter(self, tenant: Tenant) -> None:
        """Let the following statements see the rows of this tenant."""
        if tenant != self._entered:
            set_local(self.driver, tenant_settings(tenant))
            self._entered = tenant

    def lock(self, owners: Sequence[Owner] | None, settings: Mapping[str, str], patience: float | None = None) -> None:
        """Wait until no other transaction writes for these owners, or for any when None.

        With `patience`, wait only for so many seconds for the rows of owners, and whatever is locked later.
        """
        tenants = {tenant for tenant, _ in owners or ()}
        self._entered = tenants.pop() if len(tenants) == 1 else ANY
        set_local(self.driver, {**settings, **tenant_settings(self._entered)})
        if owners is None:
            self.driver.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
            return
        self.driver.execute(f"SELECT pg_advisory_xact_lock_shared({_LOCK})", prepare=True)
        if patience is not None:
            set_local(self.driver, {"lock_timeout": f"{patience * 1000:.0f}ms"})
        for owner in owners:  # ascending, so that two writers never wait for each other
            self.driver.execute(_ADD_OWNER, owner, prepare=True)
            self.driver.execute(_LOCK_OWNER, owner, prepare=True)


@cache
def _upsert_statement(table: Table, columns: tuple[str, ...], key: tuple[str, ...], update: tuple[str, ...]) -> str:
    statement = insert(table)
    new = {column: statement.excluded[column] for column in update}
    whole = (
        statement.on_conflict_do_update(index_elements=key, set_=new)
        if new
        else statement.on_conflict_do_nothing(index_elements=key)
    )
    dialect = PGDialect_psycopg()  # type: ignore[no-untyped-call]
    return str(whole.compile(dialect=dialect, column_keys=list(columns)))


@cache
def _insert_statement(table: Table, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    arrays = ", ".join(f"%s::{column_type(table, column)}[]" for column in columns)
    insert = f"INSERT INTO {table.name} ({names}) SELECT * FROM unnest({arrays})"
    return _ADD_CHANGES.format(insert=insert) if table is changes else insert


def select_head(key: PartitionKey | None) -> Statement:
    if key is None:
        return _HEAD_OF_ALL, ()
    return (_HEAD_OF_TENANT, [key.tenant]) if key.user is ANY else (_HEAD, [key.tenant, stored_name(key.user)])


def head_from(rows: Sequence[Row]) -> int:
    return int(rows[0][0]) if rows else 0


def select_changed_ids(key: PartitionKey, since: int) -> Statement:
    if key.user is ANY:
        return _CHANGED_OF_TENANT, [key.tenant, since, since, since, since]
    return _CHANGED, [key.tenant, stored_name(key.user), since]


def ids_from(rows: Sequence[Row]) -> IntArray:
    import numpy as np

    return np.fromiter((row[0] for row in rows), dtype=np.int64)


def select_index_rows(key: PartitionKey, ids: IntArray, generation: int | None) -> Statement:
    """Return the statement for what an index needs of these memories, as far as they are of the partition."""
    statement, values = _select_index(key, generation)
    return f"{statement} AND memories.id = ANY(%s::bigint[]) ORDER BY memories.id", [*values, _array(ids.tolist())]


def select_index_page(key: PartitionKey, after: int, limit: int, generation: int | None) -> Statement:
    """Return the statement for the next memories of the partition, in the order of their ids."""
    statement, values = _select_index(key, generation)
    # The limit as a number: of a parameter, the planner would not know that it is small.
    return f"{statement} AND memories.id > %s ORDER BY memories.id LIMIT {limit:d}", [*values, after]


def _select_index(key: PartitionKey, generation: int | None) -> tuple[str, list[Any]]:
    statement, values = _INDEX_ROWS + _in_index_sql(), [generation, key.tenant]
    if key.user is ANY:
        return statement, values
    return f'{statement} AND memories."user" = %s', [*values, stored_name(key.user)]


def read_next_ids(driver: Any) -> dict[str, int]:
    """Return the number that the next row of each table gets."""
    found = {}
    for table, key in KEYS.items():
        last, is_called = driver.execute(f"SELECT last_value, is_called FROM {table}_{key}_seq").fetchone()
        found[table] = last + is_called
    return found


def generation_from(rows: Sequence[Row]) -> Generation | None:
    for generation_id, provider, model, dimension, fingerprint in rows:
        return Generation(generation_id, provider, model, dimension, fingerprint, active=True)
    return None


def select_memories(scope: Scope, ids: Sequence[int]) -> Statement:
    """Return the statement that every recall runs."""
    columns = scope_columns(scope)
    return _select_by_ids(tuple(columns)), [*columns.values(), _array(ids)]


def _array(ids: Sequence[int]) -> str:
    """Return ids as the server reads an array; the driver takes longer to write a list."""
    return f"{{{','.join(map(str, ids))}}}"


def memories_from(rows: Sequence[Row], ids: Sequence[int]) -> list[Memory | None]:
    """Return memories in the order of `ids`."""
    found = {row[0]: memory_from_row(row) for row in rows}
    return [found.get(memory_id) for memory_id in ids]


def select_vectors(tenant: str, generation: int, hashes: Sequence[bytes]) -> Statement:
    """Return the statement for the vectors of a tenant's texts with these hashes."""
    return _VECTORS, [tenant, list(hashes), generation]


def owner_values(key: PartitionKey) -> dict[str, Any]:
    """Return the names of an owner as the tables hold them."""
    return {"tenant": key.tenant, "user": "" if key.user is ANY else stored_name(key.user)}


@cache
def _select_by_ids(columns: tuple[str, ...]) -> str:
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    selected = SELECT_MEMORY.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    conditions = " AND ".join(f'memories."{column}" = %s' for column in columns)
    return f"{selected} WHERE {conditions} AND memories.id = ANY(%s::bigint[])"


@cache
def _in_index_sql() -> str:
    """Return the condition on indexed rows as SQL text, compiled once."""
    query = select(memories.c.id).where(*index_conditions())
    dialect = postgresql.dialect()  # type: ignore[no-untyped-call]
    compiled = query.compile(dialect=dialect, compile_kwargs={"literal_binds": True})
    return str(compiled).partition("WHERE ")[2]


_Writer: TypeAlias = Callable[[Any], bytes]
_NULL: Final = struct.pack(">i", -1)
_pack_length: Final = struct.Struct(">i").pack
_pack_integer: Final = struct.Struct(">iq").pack
_pack_float: Final = struct.Struct(">id").pack
_pack_head: Final = struct.Struct(">iiIii").pack


def _write_text(value: str) -> bytes:
    data = value.encode()
    return _pack_length(len(data)) + data


def _write_bytes(value: bytes | bytearray) -> bytes:
    return _pack_length(len(value)) + value


def _write_integer(value: int) -> bytes:
    return _pack_integer(8, value)


def _write_float(value: float) -> bytes:
    return _pack_float(8, value)


_TYPES: Final[dict[str, tuple[int, _Writer]]] = {
    "TEXT": (25, _write_text),
    "BYTEA": (17, _write_bytes),
    "BIGINT": (20, _write_integer),
    "DOUBLE PRECISION": (701, _write_float),
}
"""Each type of a column: its number in every PostgreSQL, and how a value of it is written."""


class _Array(bytes):
    """An array that is written already."""


class _ArrayDumper(Dumper):
    format = Format.BINARY
    oid = 0  # the statement says of which type it is

    def dump(self, obj: _Array) -> _Array:
        return obj


psycopg.adapters.register_dumper(_Array, _ArrayDumper)


def column_type(table: Table, column: str) -> str:
    """Return the type of a column as SQL has it."""
    compiled = table.c[column].type.compile(postgresql.dialect())  # type: ignore[no-untyped-call]
    return compiled.partition(" COLLATE")[0]


@cache
def _types_of(table: Table, columns: tuple[str, ...]) -> list[tuple[int, _Writer]]:
    return [_TYPES[column_type(table, column)] for column in columns]


def column_arrays(table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> list[bytes]:
    """Return the values of each column as one array."""
    return [
        _write_array(*of_type, values)
        for of_type, values in zip(_types_of(table, columns), zip(*rows, strict=True), strict=True)
    ]


def _write_array(type_number: int, write: _Writer, values: Sequence[Any]) -> _Array:
    head = _pack_head(1, 1, type_number, len(values), 1)  # one dimension, perhaps with NULL, from index 1
    try:
        return _Array(head + b"".join([_NULL if value is None else write(value) for value in values]))
    except (struct.error, AttributeError, TypeError) as error:
        raise psycopg.DataError(str(error)) from error
