"""Transactions on SQLite, and every statement that goes straight to the driver.

Statements that every call of a program runs bypass SQLAlchemy, which would take longer than SQLite itself; so do those
that begin, end and configure, which SQLAlchemy would wrap in transactions of its own. All of them are in this file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Table, select
from sqlalchemy.dialects import sqlite
from sqlalchemy.dialects.sqlite import Insert, insert

from memoranda.storage.base import Durability, Generation, IndexRow, PartitionKey, PartitionState, TextVector, chunked
from memoranda.storage.read_budget import ROWS_AT_ONCE, current_budget
from memoranda.storage.rows import (
    SELECT_MEMORY,
    index_conditions,
    index_row,
    memory_from_row,
    scope_columns,
    stored_name,
    to_json,
)
from memoranda.storage.schema import LAST_ERASURE, LongText, memories, pack
from memoranda.types import ANY, IntArray, Memory, Scope

if TYPE_CHECKING:
    from memoranda.storage.base import Rows

_T = TypeVar("_T")
Fetch: TypeAlias = Callable[[str, "Sequence[object] | Mapping[str, object]"], list[tuple[Any, ...]]]
"""Returns the rows of a statement with its parameters."""
# A page of this size holds five vectors of the default model; one of SQLite's usual 4096 bytes holds two.
PAGE_BYTES = 8192
# The writer checkpoints after a commit, while it still holds the lock; readers never checkpoint.
_CHECKPOINT_PAGES = 1000
# Every handle has a cache of pages of its own, and a server has dozens of handles: what a reader does not find in a
# small cache comes from that of the system, in microseconds. Larger caches made nothing faster.
_READER_CACHE_KB = 1_000
_WRITER_CACHE_KB = 4_000
BUSY_MS = 30_000
"""How long SQLite waits for a lock of another program."""

_HEAD = "SELECT coalesce(max(seq), 0) FROM changes"
_ACTIVE_GENERATION = "SELECT id, provider, model, dimension, fingerprint FROM generations WHERE active = 1"
_STATE = f"""
SELECT ({_HEAD}), (SELECT CAST(value AS INTEGER) FROM meta WHERE key = '{LAST_ERASURE}'), generations.*
FROM (SELECT 1) LEFT JOIN ({_ACTIVE_GENERATION}) AS generations"""
_LAST_ID = "SELECT seq FROM sqlite_sequence WHERE name = ?"
_ADD_COUNTS = """
INSERT INTO counters VALUES (?, ?, ?, ?, ?)
ON CONFLICT DO UPDATE SET entries = entries + excluded.entries, last_at = max(last_at, excluded.last_at)
"""
_FEW_ROWS = 2_000
"""Up to this many memories are counted when a file is opened; that takes less than a millisecond."""
_COUNTED = "SELECT coalesce(sum(entries), 0) FROM counters WHERE kind = 'type'"
# In one statement, so that all three numbers are of the same commit while others write.
_STORED = f"""
SELECT ({_COUNTED}), count(*), count(found.id) FROM (SELECT id FROM memories INDEXED BY memories_scope) AS listed
LEFT JOIN memories AS found NOT INDEXED ON found.id = listed.id"""
_CHANGED = "SELECT DISTINCT memory_id FROM changes WHERE seq > :since AND tenant = :tenant"
_INDEX_ROWS = """
SELECT memories.id, agent, session, speaker, valid_from, valid_to, expires_at, recorded_at, true_from,
  superseded_at, terms, data FROM memories
LEFT JOIN vectors ON vectors.memory_id = memories.id AND vectors.generation = :generation
WHERE memories.tenant = :tenant AND """
# Without the limit SQLite drops the order, walks an index in the order of hashes and sorts whole rows at the end.
ALL_INDEX_ROWS = _INDEX_ROWS.replace(
    "FROM memories\n",
    """FROM (SELECT id AS listed FROM memories WHERE tenant = :tenant ORDER BY id LIMIT -1)
CROSS JOIN memories ON memories.id = listed
""",
)


class SQLiteTransaction:
    """A `Transaction` on one connection."""

    __slots__ = ("_connection", "at", "driver", "execute", "scalars")

    def __init__(self, connection: Connection, at: int = 0) -> None:
        self._connection = connection
        self.execute = connection.execute
        self.scalars = connection.scalars
        self.driver: Any = connection.connection.driver_connection
        self.at = at

    def insert_rows(self, table: Table, columns: tuple[str, ...], rows: Sequence[tuple[Any, ...]]) -> None:
        long = _long_columns(table, columns)
        packed = [_pack_row(row, long) for row in rows] if long else rows
        self.driver.executemany(_insert_statement(table.name, columns), packed)

    def upsert(
        self, table: Table, rows: Sequence[Mapping[str, Any]], *, key: Sequence[str], update: Sequence[str] = ()
    ) -> int:
        if not rows:
            return 0
        return self._connection.execute(_upsert_statement(table, tuple(key), tuple(update)), rows).rowcount

    def new_ids(self, table: Table, count: int) -> Sequence[int]:
        # AUTOINCREMENT's counter decides, not the largest id that is left: ids are never used twice.
        last = self.driver.execute(_LAST_ID, (table.name,)).fetchone()
        first = 1 if last is None else int(last[0]) + 1
        return range(first, first + count)

    def add_counts(self, rows: Sequence[tuple[str, str, str, int, int]]) -> None:
        self.driver.executemany(_ADD_COUNTS, rows)

    def fetch(self, statement: str, parameters: Sequence[object] | Mapping[str, object] = ()) -> list[tuple[Any, ...]]:
        """Return the rows of one statement, as they are in this transaction."""
        rows: list[tuple[Any, ...]] = self.driver.execute(statement, parameters).fetchall()
        return rows

    def driver_sql(self, statement: str) -> Rows:
        """Run a statement that only SQLite knows, such as a PRAGMA."""
        return self._connection.exec_driver_sql(statement)


@cache  # to build one takes far longer than to run it
def _upsert_statement(table: Table, key: tuple[str, ...], update: tuple[str, ...]) -> Insert:
    statement = insert(table)
    if not update:
        return statement.on_conflict_do_nothing(index_elements=key)
    new = {column: statement.excluded[column] for column in update}
    return statement.on_conflict_do_update(index_elements=key, set_=new)


def driver_of(connection: Connection) -> Any:
    """Return the driver's own connection."""
    return connection.connection.driver_connection


def configure(raw: Any, durability: Durability) -> None:
    """Set up a new connection of the driver."""
    for pragma in (
        f"page_size={PAGE_BYTES}",  # of a new file; an existing file keeps its own
        "journal_mode=WAL",
        f"synchronous={durability.upper()}",
        "foreign_keys=ON",
        # Deleted rows are overwritten with zeros; compaction removes the copies that SQLite made when it moved them.
        "secure_delete=ON",
        "wal_autocheckpoint=0",
        "trusted_schema=OFF",
        "cell_size_check=ON",
        "mmap_size=0",
        "temp_store=MEMORY",
        f"cache_size=-{_READER_CACHE_KB}",
    ):
        raw.execute(f"PRAGMA {pragma}")


def make_writer(raw: Any) -> None:
    """Let a connection checkpoint: only the one that holds the lock of the file may."""
    raw.execute(f"PRAGMA wal_autocheckpoint={_CHECKPOINT_PAGES}")
    raw.execute(f"PRAGMA cache_size=-{_WRITER_CACHE_KB}")


def can_write(raw: Any) -> bool:
    """Return whether the handle can write: SQLite opens a file read-only while the system refuses more.

    It says so only at the first statement that writes; this one changes nothing.
    """
    table = raw.execute("SELECT name FROM sqlite_master WHERE type = 'table' LIMIT 1").fetchone()
    if table is None:
        return True
    try:
        raw.execute(f'DELETE FROM "{table[0]}" WHERE 0')
    except Exception as error:
        if "readonly" in str(error):
            return False
        raise
    return True


def has_wal(raw: Any) -> bool:
    """Return whether the file is in WAL mode, without switching it."""
    return bool(raw.execute("PRAGMA journal_mode").fetchone()[0] == "wal")


def begin_read(raw: Any) -> None:
    raw.execute("BEGIN")


def set_durability(raw: Any, durability: Durability) -> None:
    """Change whether a commit waits until it is on disk."""
    raw.execute(f"PRAGMA synchronous={durability.upper()}")


def begin_write(raw: Any) -> None:
    raw.execute("BEGIN IMMEDIATE")


def commit(raw: Any) -> None:
    raw.execute("COMMIT")


def roll_back(raw: Any) -> None:
    raw.execute("ROLLBACK")


def overwrite_failed_commit(raw: Any) -> None:
    """Commit one page, on a new connection, in the place where a failed commit may have left its own in the WAL.

    Without this the failed commit could come back: SQLite recovers every complete commit that it finds in the WAL when
    the file is opened again. One page needs no more space than the failed commit took.
    """
    begin_write(raw)
    bump_user_version(raw)
    commit(raw)


def bump_user_version(raw: Any) -> None:
    """Change one page, and nothing that anybody reads."""
    number = raw.execute("PRAGMA user_version").fetchone()[0]
    raw.execute(f"PRAGMA user_version={(number + 1) % 1_000_000}")


def truncate_log(tx: SQLiteTransaction, wait_ms: int) -> bool:
    """Move everything from the WAL into the file and empty it; False while a reader holds old pages."""
    tx.driver_sql(f"PRAGMA busy_timeout={wait_ms}")
    busy = tx.driver_sql("PRAGMA wal_checkpoint(TRUNCATE)").one()[0]
    tx.driver_sql(f"PRAGMA busy_timeout={BUSY_MS}")
    return not busy


def read_head(fetch: Fetch) -> int:
    return int(fetch(_HEAD, ())[0][0])


def read_meta(fetch: Fetch, key: str) -> str | None:
    rows = fetch("SELECT value FROM meta WHERE key = ?", (key,))
    return str(rows[0][0]) if rows else None


def find_hidden_rows(fetch: Fetch) -> str | None:
    """Return what is wrong when a small file has more memories than can be reached, such as after pages were swapped.

    In a large file only `check` finds that.
    """
    if int(fetch(_COUNTED, ())[0][0]) > _FEW_ROWS:
        return None
    counted, listed, found = fetch(_STORED, ())[0]
    if counted == listed == found:
        return None
    return f"{counted} memories were stored and {found} can be read: run check, then repair or restore a backup"


def read_active_generation(fetch: Fetch) -> Generation | None:
    for generation_id, provider, model, dimension, fingerprint in fetch(_ACTIVE_GENERATION, ()):
        return Generation(generation_id, provider, model, dimension, fingerprint, active=True)
    return None


def read_state(fetch: Fetch) -> PartitionState:
    """Return what every recall asks first, in one statement."""
    [(head, erased_at, number, provider, model, dimension, fingerprint)] = fetch(_STATE, ())
    answering = None if number is None else Generation(number, provider, model, dimension, fingerprint, active=True)
    return PartitionState(answering, head, erased_at or 0)


def read_memories(fetch: Fetch, scope: Scope, ids: Sequence[int]) -> list[Memory | None]:
    """Return memories of a scope in the order of `ids`: the statement that every recall runs."""
    columns = scope_columns(scope)
    size = len(ids) if current_budget() is None else ROWS_AT_ONCE
    found: dict[int, Memory] = {}
    for start in range(0, len(ids), max(1, size)):
        # The ids are one parameter, so that the statement is the same, and prepared, however many there are.
        rows = fetch(_select_by_ids(tuple(columns)), [*columns.values(), to_json(list(ids[start : start + size]))])
        found.update((row[0], memory_from_row(row, scope)) for row in rows)
    return [found.get(memory_id) for memory_id in ids]


def read_vectors(fetch: Fetch, tenant: str, generation: int, hashes: Sequence[bytes]) -> dict[bytes, TextVector]:
    """Return the vectors of a tenant's texts with these hashes."""
    found: dict[bytes, TextVector] = {}
    for part in chunked(hashes):
        rows = fetch(_select_vectors(len(part)), (tenant, generation, *part))
        found.update((key, (data, sentences)) for key, data, sentences in rows)
    return found


def read_changed_ids(fetch: Fetch, key: PartitionKey, since: int) -> IntArray:
    import numpy as np

    statement, values = _with_owner(_CHANGED, key)
    rows = fetch(f"{statement} ORDER BY memory_id", {"since": since, **values})
    return np.array([row[0] for row in rows], dtype=np.int64)


def read_index_rows(fetch: Fetch, key: PartitionKey, ids: IntArray, generation: int | None) -> Iterator[IndexRow]:
    """Yield what an index needs of these memories, as far as they are of the partition."""
    statement, values = _select_index(_INDEX_ROWS, key, generation)
    in_ids = " AND memories.id IN (SELECT value FROM json_each(:ids)) ORDER BY memories.id"
    return map(index_row, fetch(statement + in_ids, {"ids": to_json(ids.tolist()), **values}))


def read_all_index_rows(connection: Connection, key: PartitionKey, generation: int | None) -> Iterator[IndexRow]:
    """Yield what an index needs of all memories of the partition, which may be very many."""
    if key.user is ANY:
        statement, values = _select_index(ALL_INDEX_ROWS, key, generation)
    else:
        statement, values = _select_index(_INDEX_ROWS, key, generation)
        statement += " ORDER BY memories.id"
    return map(index_row, driver_of(connection).execute(statement, values))


def _select_index(select_rows: str, key: PartitionKey, generation: int | None) -> tuple[str, dict[str, Any]]:
    statement, values = _with_owner(select_rows + _in_index_sql(), key)
    return statement, {"generation": generation, **values}


@cache
def _long_columns(table: Table, columns: tuple[str, ...]) -> tuple[int, ...]:
    """Return the positions of those columns whose texts may be compressed."""
    return tuple(position for position, name in enumerate(columns) if isinstance(table.c[name].type, LongText))


def _pack_row(row: tuple[Any, ...], long: tuple[int, ...]) -> Sequence[Any]:
    packed = list(row)
    for position in long:
        packed[position] = pack(row[position])
    return packed


@cache
def _insert_statement(table: str, columns: tuple[str, ...]) -> str:
    names = ", ".join(f'"{column}"' for column in columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join('?' * len(columns))})"


@cache
def _select_by_ids(columns: tuple[str, ...]) -> str:
    selected = SELECT_MEMORY.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    conditions = " AND ".join(f'memories."{column}" = ?' for column in columns)
    return f"{selected} WHERE {conditions} AND memories.id IN (SELECT value FROM json_each(?))"


@cache
def _select_vectors(count: int) -> str:
    return (
        "SELECT content_hash, data, sentences FROM memories JOIN vectors ON vectors.memory_id = memories.id "
        f"WHERE tenant = ? AND vectors.generation = ? AND content_hash IN ({', '.join('?' * count)})"
    )


def _with_owner(statement: str, key: PartitionKey) -> tuple[str, dict[str, Any]]:
    """Return the statement with the partition's user as a condition, and its parameters."""
    if key.user is ANY:
        return statement, {"tenant": key.tenant}
    return f'{statement} AND "user" = :user', {"tenant": key.tenant, "user": stored_name(key.user)}


@cache
def _in_index_sql() -> str:
    """Return the condition on indexed rows as SQL text, compiled once."""
    query = select(memories.c.id).where(*index_conditions())
    compiled = query.compile(dialect=sqlite.dialect(), compile_kwargs={"literal_binds": True})
    return str(compiled).partition("WHERE ")[2]
