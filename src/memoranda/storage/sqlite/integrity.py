"""Check and repair a SQLite file. Each finding is one sentence; none means that the file is sound.

- All rows, on request: `find_problems`, `repair_rows`.
- The schema, when a file is opened: its tables, indexes and triggers must be those that the migrations of its version
  make. A file can say a version and have another schema: a migration was edited after it had run, or another program
  changed a table. Such a file would be misread, or be called damaged much later. The expected schema is made by running
  the migrations on an empty database in memory. That takes a moment, so a file that passed keeps a note of it in
  `meta`; the note holds until SQLite's own counter of schema changes, the migrations of this program, or its rules for
  terms, are no longer the same.
- Some rows at a time, in the background: that they are where a search looks for them, and are what was written. SQLite
  trusts its pages. Where two of them were exchanged, it finds some rows and misses others without an error. Read in
  the order of the tree, such rows are out of order, or no index knows them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from sqlalchemy import Connection, Table, create_engine, text
from sqlalchemy.exc import DatabaseError
from sqlalchemy.pool import StaticPool

from memoranda.display import plural
from memoranda.errors import Incompatible
from memoranda.storage import migrations
from memoranda.storage.base import ReadTransaction, ScrubState, Transaction
from memoranda.storage.errors import called_by_sqlite
from memoranda.storage.integrity import run_checks, run_repairs
from memoranda.storage.meta import decode, get_meta, set_meta
from memoranda.storage.row_hash import add_functions as add_hash_functions
from memoranda.storage.rows import SELECT_MEMORY, memory_from_row
from memoranda.storage.schema import HEAD, memories, metadata, unpack
from memoranda.storage.sqlite.transaction import Fetch, SQLiteTransaction, read_meta
from memoranda.text.terms import TERMS_VERSION

_OWN_HASH: Final = "memoranda_row_hash(id, tenant, agent, user, session, key, content, value, metadata, notes)"
_CHECKS: Final = {
    "memories without terms": "SELECT id FROM memories WHERE terms = '' AND plain_text(content) GLOB '*[a-zA-Z0-9]*'",
    "numbers missing from the change log, by the last one before them": """
        SELECT seq FROM changes WHERE seq < (SELECT max(seq) FROM changes) AND seq + 1 NOT IN (SELECT seq FROM changes)
        UNION ALL SELECT 0 WHERE (SELECT min(seq) FROM changes) > 1
        UNION ALL SELECT last FROM (SELECT coalesce(max(seq), 0) AS last FROM changes)
        WHERE last < (SELECT seq FROM sqlite_sequence WHERE name = 'changes')""",
    "entries of the change log with another owner than their memory": """
        SELECT changes.seq FROM changes JOIN memories ON memories.id = changes.memory_id
        WHERE changes.tenant != memories.tenant OR changes.user != memories.user""",
    "generations of vectors, and not one of them in use": """
        SELECT id FROM generations WHERE (SELECT sum(active != 0) FROM generations) != 1""",
    "memory types with a wrong count": """
        SELECT name FROM counters WHERE kind = 'type' AND entries !=
        (SELECT count(*) FROM memories WHERE memories.tenant = counters.tenant AND type = name)""",
    "memory types that are not counted": """
        SELECT DISTINCT type FROM memories WHERE NOT EXISTS (SELECT 1 FROM counters
        WHERE counters.tenant = memories.tenant AND kind = 'type' AND name = type)""",
    "memories whose message is gone": """
        SELECT id FROM memories WHERE message_seq IS NOT NULL AND message_seq NOT IN (SELECT seq FROM messages)""",
    "conversations with a gap, by their first message": """
        SELECT min(seq) FROM messages WHERE position IS NOT NULL GROUP BY tenant, agent, user, session
        HAVING max(position) - min(position) + 1 != count(*) OR count(DISTINCT position) != count(*)""",
}
_REPAIRS: Final = {
    "vectors without a memory removed": "DELETE FROM vectors WHERE memory_id NOT IN (SELECT id FROM memories)",
    "memories detached from a message that is gone": """
        UPDATE memories SET message_seq = NULL
        WHERE message_seq IS NOT NULL AND message_seq NOT IN (SELECT seq FROM messages)""",
    "entries of the change log given the owner of their memory": f"""
        UPDATE changes SET (tenant, user) = (SELECT tenant, user FROM memories WHERE memories.id = changes.memory_id)
        WHERE EXISTS (SELECT 1 FROM memories WHERE memories.id = changes.memory_id
        AND (changes.tenant != memories.tenant OR changes.user != memories.user) AND row_hash IS {_OWN_HASH})""",
    "counts corrected": """
        UPDATE counters SET entries =
        (SELECT count(*) FROM memories WHERE memories.tenant = counters.tenant AND type = name)
        WHERE kind = 'type' AND entries !=
        (SELECT count(*) FROM memories WHERE memories.tenant = counters.tenant AND type = name)""",
    "counts added": """
        INSERT INTO counters (tenant, kind, name, entries, last_at)
        SELECT tenant, 'type', type, count(*), max(recorded_at) FROM memories WHERE NOT EXISTS (SELECT 1 FROM counters
        WHERE counters.tenant = memories.tenant AND kind = 'type' AND name = type) GROUP BY tenant, type""",
    "positions in conversations renumbered": """
        WITH numbered AS (
          SELECT seq, row_number() OVER (PARTITION BY tenant, agent, user, session ORDER BY position, seq) AS n
          FROM messages WHERE position IS NOT NULL),
        uneven AS (
          SELECT tenant, agent, user, session FROM messages WHERE position IS NOT NULL
          GROUP BY tenant, agent, user, session
          HAVING max(position) - min(position) + 1 != count(*) OR count(DISTINCT position) != count(*))
        UPDATE messages SET position = (SELECT n FROM numbered WHERE numbered.seq = messages.seq)
        WHERE position IS NOT NULL AND (tenant, agent, user, session) IN uneven""",
}


def find_problems(tx: SQLiteTransaction) -> list[str]:
    """Return what SQLite's own checks and ours find, damaged rows included."""
    found = [str(row[0]) for row in tx.execute(text("PRAGMA integrity_check")) if row[0] != "ok"]
    for row in tx.execute(text("PRAGMA foreign_key_check")):
        found.append(f"{row[0]} row {row[1]} points to a missing row of {row[2]}")
    tx.driver.create_function("plain_text", 1, called_by_sqlite(unpack), deterministic=True)
    return found + run_checks(tx, _CHECKS)


def repair_rows(tx: SQLiteTransaction) -> list[str]:
    """Rebuild every index and what derives from the rows; return what was done, one sentence each."""
    tx.driver_sql("REINDEX")
    return ["indexes rebuilt", *_accept_edits(tx), *_fill_change_log(tx), *run_repairs(tx, _REPAIRS)]


_ACCEPT: Final = f"""
    UPDATE memories SET row_hash = {_OWN_HASH}
    WHERE row_hash IS NOT {_OWN_HASH} AND memoranda_content_hash(content) = content_hash
    AND EXISTS (SELECT 1 FROM changes WHERE changes.op = 'add' AND changes.memory_id = memories.id
    AND changes.tenant = memories.tenant AND changes.user = memories.user)"""


def _accept_edits(tx: SQLiteTransaction) -> list[str]:
    """Give memories that another program edited a hash that fits: those with their text, and of the owner whom the
    change log names too."""
    add_hash_functions(tx.driver)
    count = tx.driver.execute(_ACCEPT).rowcount
    return [f"{plural(count, 'memory')} that another program changed given a new hash"] if count else []


_GAPS: Final = """
    SELECT former + 1, seq - former - 1 FROM (SELECT seq, lag(seq, 1, 0) OVER (ORDER BY seq) AS former FROM changes)
    WHERE seq > former + 1"""
_MAX_FILLED: Final = 100_000


def _fill_change_log(tx: SQLiteTransaction) -> list[str]:
    """Give missing numbers an empty entry, and enter every memory as edited: nobody knows which change was lost.

    An index that has yet to catch up then reads all memories again.
    """
    gaps = [(int(row[0]), int(row[1])) for row in tx.execute(text(_GAPS))]
    missing = sum(length for _, length in gaps)
    if not 0 < missing <= _MAX_FILLED:  # more were never written: `check` still names them
        return []
    entry = text("INSERT INTO changes VALUES (:seq, 'edit', 0, '', '', :at)")
    tx.execute(entry, [{"seq": seq, "at": tx.at} for first, length in gaps for seq in range(first, first + length)])
    edited = "INSERT INTO changes (op, memory_id, tenant, user, at) SELECT 'edit', id, tenant, user, :at FROM memories"
    tx.execute(text(edited), {"at": tx.at})
    return [f"{missing} numbers of the change log filled, and all memories entered in it again"]


PASSED: Final = "schema:passed"
"""The key in `meta` of the note that a file has the schema of its version."""
_OWN_TABLES: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name IN ('meta', 'alembic_version')"
_ADVICE: Final = (
    "it was written by an unreleased version, or changed by another program: export it with the version that wrote it "
    "and import that here, or restore a backup"
)


def has_passed(fetch: Fetch) -> bool:
    """Return whether the file is at the newest version, and its schema was checked and has not changed since."""
    if len(fetch(_OWN_TABLES, ())) < 2:
        return False
    is_newest = fetch("SELECT version_num FROM alembic_version", ()) == [(HEAD,)]
    return is_newest and read_meta(fetch, PASSED) == passed_note(fetch)


def passed_note(fetch: Fetch) -> str:
    """Return the note that a file gets when its schema has been checked."""
    return f"{HEAD}:{fetch('PRAGMA schema_version', ())[0][0]}:{_migrations_digest()}:{TERMS_VERSION}"


def require_schema(connection: Connection, version: str, module: ModuleType, where: str) -> None:
    """Raise `Incompatible` unless the database has the schema of this version."""
    if version not in migrations.known_versions():
        return  # a newer one: the upgrade refuses it
    found, expected = read_schema(connection), expected_schema(version, module)
    if problems := _compare(found, expected):
        raise Incompatible(f"{where} is not a database of schema {version} ({'; '.join(problems[:3])}): {_ADVICE}")


def expected_schema(version: str, module: ModuleType) -> dict[str, str]:
    """Return the schema that the migrations make, up to this version."""
    engine = create_engine("sqlite://", module=module, poolclass=StaticPool)
    try:
        with engine.begin() as connection:
            migrations.run_migrations(connection, version)
            return read_schema(connection)
    finally:
        engine.dispose()


def read_schema(connection: Connection) -> dict[str, str]:
    """Return the SQL of each table, index and trigger, by its kind and name; without tables of other programs."""
    rows = [tuple(row) for row in connection.execute(text("SELECT type, name, tbl_name, sql FROM sqlite_master"))]
    virtual = [name for _, name, _, sql in rows if (sql or "").upper().startswith("CREATE VIRTUAL")]
    ours = [row for row in rows if row[3] and not any(row[2].startswith(f"{name}_") for name in virtual)]
    return {f"{kind} {name}": _normalize(sql) for kind, name, _, sql in ours if not name.startswith("sqlite_")}


def _normalize(sql: str) -> str:
    """Return the SQL without what differs between versions of SQLite that mean the same."""
    return " ".join(sql.replace('"', "").replace("`", "").split()).casefold()


def _compare(found: Mapping[str, str], expected: Mapping[str, str]) -> list[str]:
    problems = [f"{name} is missing" for name in expected if name not in found]
    problems += [f"{name} is different" for name, sql in expected.items() if found.get(name, sql) != sql]
    tables = {name.removeprefix("table ") for name in expected if name.startswith("table ")}
    for name, sql in found.items():
        # Tables of another program are its own affair; an index or a trigger on ours is not.
        if name not in expected and not name.startswith("table ") and _table_of(sql) in tables:
            problems.append(f"{name} is unknown")
    return problems


def _table_of(sql: str) -> str:
    """Return the table that an index or a trigger belongs to, from its normalized SQL; "" for anything else."""
    words = sql.partition(" on ")[2].partition("(")[0].split()
    return words[0] if words else ""


@cache
def _migrations_digest() -> str:
    """Return a digest of the migrations of this program, so that one edited in place is noticed."""
    folder = Path(migrations.__file__).parent / "versions"
    digest = hashlib.sha256()
    for file in sorted(folder.glob("m*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


_STATE: Final = "scrub"
_ROWS_AT_ONCE: Final = 200
_MAX_PROBLEMS: Final = 20
_TABLES: Final = dict(sorted(metadata.tables.items()))
_SLICE_ADVICE: Final = "run check, then repair or restore a backup"


@dataclass(frozen=True, slots=True)
class _IndexOfTable:
    name: str
    columns: tuple[str, ...]
    condition: str
    """What a row must fulfil to be in it; "1" for every row."""


def read_state(tx: ReadTransaction) -> ScrubState:
    """Return how far the check has come."""
    stored = get_meta(tx, _STATE)
    return ScrubState() if stored is None else decode(stored, _to_state)


def _to_state(stored: str) -> ScrubState:
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
        found, keys = [f"the table {table.name} cannot be read ({error.orig}): {_SLICE_ADVICE}"], []
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
            yield f"rows of the table {table.name} are out of order: {_SLICE_ADVICE}"
            break
        previous = key
    if not all(_is_found(tx, table, key) for key in keys):
        yield f"rows of the table {table.name} are not found by their keys: {_SLICE_ADVICE}"
    if not _has_rowid(table):
        return
    numbers = [int(key[0]) for key in keys]
    listed = json.dumps(numbers)
    for index in _indexes(tx, table):
        if _misses_rows(tx, table, index, listed):
            yield f"rows of the table {table.name} are missing in the index {index.name}: {_SLICE_ADVICE}"
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
