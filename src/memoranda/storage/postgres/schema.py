"""The tables on PostgreSQL: those of `storage.schema`, and what PostgreSQL needs beside them.

`migrate` creates them or brings them up to date; a store that is opened only compares the version. While servers are
replaced one after the other, old ones work on the new tables: the database says from which version on.
Rows are isolated by tenant below the code: every table with a tenant has a policy that shows only the rows of the
tenant that the transaction has set, and none when it has set none.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from itertools import chain
from typing import Final

from sqlalchemy import Connection, text
from sqlalchemy.exc import DBAPIError

from memoranda.errors import Incompatible, InvalidInput, Unavailable
from memoranda.storage.postgres import search
from memoranda.storage.postgres.tables import (
    VERSION_TABLE,
    clear_statistics,
    grant,
    keep_texts_out_of_statistics,
    tables_with_tenant,
)
from memoranda.storage.row_hash import POSTGRES_FUNCTION
from memoranda.storage.schema import HEAD, LongText, counters, jobs, metadata, seals, short_lived
from memoranda.text.terms import TERMS_VERSION

STORE_ID: Final = "store_id"
TERMS: Final = "terms:version"
_MIGRATION_LOCK: Final = 7_364_519_201
_LOCK_SECONDS: Final = 60.0
_CHILDREN: Final = {
    "claims": ("memories", "id", "memory_id"),
    "vectors": ("memories", "id", "memory_id"),
    "associations": ("memories", "id", "memory_id"),
    "lineage": ("memories", "id", "derived_id"),
    "revisions": ("memories", "id", "memory_id"),
    "recalled_memories": ("memories", "id", "memory_id"),
    "unread": ("messages", "seq", "message_seq"),
}
"""Tables whose rows belong to a row of another: that table, its key, and the column that names it.

Here they have a tenant: that of the transaction, or of the other row when the transaction is of all tenants."""
# `counters` is a view here, and `seals` are for files, whose pages nobody else checks.
_VECTOR_STATE: Final = (
    "SELECT to_regclass('search_vectors') IS NOT NULL AS has_table,"
    " EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') AS available"
)
_BIG_TABLES: Final = ("memories", "messages", "vectors", "changes")

# A policy compares with a subquery, which PostgreSQL evaluates once for a statement and not once for a row.
_IS_VISIBLE: Final = (
    "tenant = (SELECT current_setting('memoranda.tenant', true))"
    " OR (SELECT current_setting('memoranda.every_tenant', true)) = 'on'"
)

_WRITING_ROLES: Final = (
    "SELECT DISTINCT grantee FROM information_schema.role_table_grants WHERE table_schema = current_schema()"
    " AND table_name = 'memories' AND privilege_type = 'INSERT' AND grantee <> current_user"
)

_TAKEN: Final = (
    "SELECT name FROM unnest(CAST(:names AS text[])) AS name WHERE to_regclass(quote_ident(name)) IS NOT NULL"
)

_OWN_TABLES: Final = (
    # One row for each owner of memories: the lock in front of its writes, and the number of its latest change.
    'CREATE TABLE owners (tenant text COLLATE "C" NOT NULL, "user" text COLLATE "C" NOT NULL, head bigint NOT NULL,'
    ' PRIMARY KEY (tenant, "user"))',
    # What was committed: a writer whose COMMIT got no answer finds out here whether it was done.
    "CREATE TABLE commits (id uuid PRIMARY KEY, at timestamptz NOT NULL DEFAULT now())",
    "CREATE INDEX commits_at ON commits (at)",
    # Counts in sixteen parts: one row for a tenant would put all its writers behind one lock.
    'CREATE TABLE counter_parts (tenant text COLLATE "C" NOT NULL, kind text COLLATE "C" NOT NULL,'
    ' name text COLLATE "C" NOT NULL, part integer NOT NULL DEFAULT pg_backend_pid() % 16, entries bigint NOT NULL,'
    " last_at bigint NOT NULL, PRIMARY KEY (tenant, kind, name, part))",
    "CREATE VIEW counters WITH (security_invoker = true) AS SELECT tenant, kind, name,"
    " sum(entries)::bigint AS entries, max(last_at) AS last_at FROM counter_parts GROUP BY tenant, kind, name",
    # Who reads the changes of all users needs to know which transactions were open when a change was written.
    "ALTER TABLE changes ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id(),"
    " ADD COLUMN horizon xid8 NOT NULL DEFAULT pg_snapshot_xmin(pg_current_snapshot())",
    "CREATE INDEX changes_xid ON changes (tenant, xid)",
)

_OWNER_FIRST: Final = {
    "memories_key": 'UNIQUE memories (tenant, "user", agent, session, key) WHERE key IS NOT NULL',
    "memories_spoken": 'memories (tenant, "user", message_id) WHERE message_id IS NOT NULL',
    "memories_once": 'memories (tenant, "user", idempotency_key) WHERE idempotency_key IS NOT NULL',
    "memories_hash": 'memories (tenant, content_hash, "user")',
    "messages_once": 'UNIQUE messages (tenant, "user", message_id, agent, session) WHERE position IS NULL',
    "messages_position": 'messages (tenant, "user", agent, session, position) WHERE position IS NOT NULL',
    "messages_known": 'messages (tenant, "user", agent, session, message_id) WHERE position IS NOT NULL',
}
"""Indexes that begin with the owner here: in one database are many more owners than in a file, with the same texts,
message ids and keys."""

_FUNCTIONS: Final = (
    """
    CREATE FUNCTION memoranda_count(of text, what text, called text, number bigint, at bigint) RETURNS void
    LANGUAGE sql AS $$
      INSERT INTO counter_parts (tenant, kind, name, entries, last_at) VALUES (of, what, called, number, at)
      ON CONFLICT (tenant, kind, name, part) DO UPDATE
      SET entries = counter_parts.entries + excluded.entries,
          last_at = greatest(counter_parts.last_at, excluded.last_at)
    $$""",
    """
    CREATE FUNCTION memoranda_memory_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM memoranda_count(OLD.tenant, 'type', OLD.type, -1, 0);
      PERFORM memoranda_count(OLD.tenant, 'agent', OLD.agent, -1, 0);
      RETURN NULL;
    END $$""",
    """
    CREATE FUNCTION memoranda_memory_moved() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM memoranda_count(OLD.tenant, 'type', OLD.type, -1, 0);
      PERFORM memoranda_count(OLD.tenant, 'agent', OLD.agent, -1, 0);
      PERFORM memoranda_count(NEW.tenant, 'type', NEW.type, 1, NEW.recorded_at);
      PERFORM memoranda_count(NEW.tenant, 'agent', NEW.agent, 1, NEW.recorded_at);
      RETURN NULL;
    END $$""",
    """
    CREATE FUNCTION memoranda_execution_added() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      PERFORM memoranda_count(NEW.tenant, 'execution', NEW.agent, 1, NEW.recorded_at);
      RETURN NULL;
    END $$""",
    """
    CREATE FUNCTION memoranda_counter_removed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      DELETE FROM counter_parts WHERE tenant = OLD.tenant AND kind = OLD.kind AND name = OLD.name;
      RETURN OLD;
    END $$""",
    """
    CREATE FUNCTION memoranda_find_tenant() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      EXECUTE format('SELECT tenant FROM %I WHERE %I = ($1).%I', TG_ARGV[0], TG_ARGV[1], TG_ARGV[2])
      INTO NEW.tenant USING NEW;
      RETURN NEW;
    END $$""",
    # The member of a JSON object under a key passes a test, or one of its items does. Numbers compare as numbers.
    """
    CREATE FUNCTION memoranda_passes(found jsonb, op text, wanted jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE
        WHEN op = 'eq' THEN found = wanted
        WHEN op = 'in' THEN EXISTS (SELECT 1 FROM jsonb_array_elements(wanted) AS one WHERE found = one)
        WHEN jsonb_typeof(found) <> jsonb_typeof(wanted) THEN false
        WHEN jsonb_typeof(found) = 'number' THEN CASE op
          WHEN 'gt' THEN (found #>> '{}')::numeric > (wanted #>> '{}')::numeric
          WHEN 'gte' THEN (found #>> '{}')::numeric >= (wanted #>> '{}')::numeric
          WHEN 'lt' THEN (found #>> '{}')::numeric < (wanted #>> '{}')::numeric
          ELSE (found #>> '{}')::numeric <= (wanted #>> '{}')::numeric END
        WHEN jsonb_typeof(found) = 'string' THEN CASE op
          WHEN 'gt' THEN (found #>> '{}') COLLATE "C" > (wanted #>> '{}')
          WHEN 'gte' THEN (found #>> '{}') COLLATE "C" >= (wanted #>> '{}')
          WHEN 'lt' THEN (found #>> '{}') COLLATE "C" < (wanted #>> '{}')
          ELSE (found #>> '{}') COLLATE "C" <= (wanted #>> '{}') END
        ELSE false END
    $$""",
    """
    CREATE FUNCTION memoranda_has_member(stored text, member text, op text, wanted text) RETURNS boolean
    LANGUAGE sql IMMUTABLE AS $$
      SELECT CASE
        WHEN NOT stored::jsonb ? member THEN false
        WHEN op = 'exists' OR memoranda_passes(stored::jsonb -> member, op, wanted::jsonb) THEN true
        WHEN jsonb_typeof(stored::jsonb -> member) = 'array' THEN EXISTS (
          SELECT 1 FROM jsonb_array_elements(stored::jsonb -> member) AS item
          WHERE memoranda_passes(item, op, wanted::jsonb))
        ELSE false END
    $$""",
)

_TRIGGERS: Final = (
    "CREATE TRIGGER memories_removed AFTER DELETE ON memories FOR EACH ROW EXECUTE FUNCTION memoranda_memory_removed()",
    "CREATE TRIGGER memories_moved AFTER UPDATE OF tenant, type, agent ON memories FOR EACH ROW"
    " WHEN ((OLD.tenant, OLD.type, OLD.agent) IS DISTINCT FROM (NEW.tenant, NEW.type, NEW.agent))"
    " EXECUTE FUNCTION memoranda_memory_moved()",
    "CREATE TRIGGER executions_added AFTER INSERT ON executions"
    " FOR EACH ROW EXECUTE FUNCTION memoranda_execution_added()",
    "CREATE TRIGGER counters_removed INSTEAD OF DELETE ON counters"
    " FOR EACH ROW EXECUTE FUNCTION memoranda_counter_removed()",
)


def _owner_first_indexes(_: Connection) -> Iterator[str]:
    for name, definition in _OWNER_FIRST.items():
        unique, columns = "UNIQUE " if definition.startswith("UNIQUE ") else "", definition.removeprefix("UNIQUE ")
        yield f"DROP INDEX {name}"
        yield f"CREATE {unique}INDEX {name} ON {columns}"


def _search_tables(_: Connection) -> Iterator[str]:
    yield from search.TABLES
    for table in ("search_owners", "search_terms"):
        yield from _isolate(table)


def _add_shared_work(connection: Connection) -> Iterator[str]:
    metadata.create_all(connection, tables=[short_lived, jobs])
    yield from _isolate(short_lived.name)


def _add_sentences(_: Connection) -> Iterator[str]:
    yield "ALTER TABLE vectors ADD COLUMN sentences bytea"


def _compress_long_texts(_: Connection) -> Iterator[str]:
    """Yield what compresses long texts by lz4, which is read faster, where the server was built with it."""
    for table in metadata.tables.values():
        names = [column.name for column in table.columns if isinstance(column.type, LongText)]
        if names:
            changes = ", ".join(f"ALTER COLUMN {name} SET COMPRESSION lz4" for name in names)
            yield f"DO $$ BEGIN ALTER TABLE {table} {changes}; EXCEPTION WHEN feature_not_supported THEN NULL; END $$"


def _add_association_metadata(_: Connection) -> Iterator[str]:
    yield 'ALTER TABLE associations ADD COLUMN metadata text COLLATE "C"'


_HASHED: Final = (
    POSTGRES_FUNCTION,
    # A server of an older version writes no hash: what it edits has none from then on.
    """
    CREATE FUNCTION memoranda_memory_edited() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      NEW.row_hash := NULL;
      RETURN NEW;
    END $$""",
    "CREATE TRIGGER memories_edited BEFORE UPDATE OF content, value, metadata, notes ON memories FOR EACH ROW"
    " WHEN (NEW.row_hash IS NOT DISTINCT FROM OLD.row_hash"
    " AND (OLD.content, OLD.value, OLD.metadata, OLD.notes)"
    " IS DISTINCT FROM (NEW.content, NEW.value, NEW.metadata, NEW.notes))"
    " EXECUTE FUNCTION memoranda_memory_edited()",
)


def _add_row_hashes(_: Connection) -> Iterator[str]:
    for table in ("memories", "messages", "revisions"):
        yield f"ALTER TABLE {table} ADD COLUMN row_hash bytea"
    yield from _HASHED


def _note_oldest_server(_: Connection) -> Iterator[str]:
    yield f"ALTER TABLE {VERSION_TABLE} ADD COLUMN usable_from text"


_NO_STATISTICS: Final = "0009.1"
_STEPS: Final[dict[str, Callable[[Connection], Iterator[str]]]] = {
    "0004.1": _owner_first_indexes,
    "0004.2": _search_tables,
    "0005": _add_shared_work,
    "0006": _add_sentences,
    "0006.1": _compress_long_texts,
    "0007": _add_association_metadata,
    "0008": _note_oldest_server,
    "0009": _add_row_hashes,
    _NO_STATISTICS: keep_texts_out_of_statistics,
}
"""What brings a database from the version before to this one, by version.

A version with a point is of PostgreSQL alone: its statements also run for a new database."""
VERSION: Final = max(HEAD, *_STEPS)
"""The version that this Memoranda needs."""
USABLE_FROM: Final = "0007"
"""The oldest version whose servers may go on with a database of this one: every step after it only adds. A step that
takes something away, or asks more of a row, names its own version here, and comes a release after the servers that no
longer need what it takes."""


def current_version(connection: Connection) -> str | None:
    """Return the schema version of a database; None when it has no tables of Memoranda."""
    found = _read_version(connection)
    return None if found is None else str(found["version"])


def _read_version(connection: Connection) -> dict[str, str | None] | None:
    """Return the row of the version, whichever columns it has; None when there are no tables of Memoranda."""
    if connection.execute(text(f"SELECT to_regclass('{VERSION_TABLE}')")).scalar() is None:
        return None
    rows = list(connection.execute(text(f"SELECT to_jsonb(v) FROM {VERSION_TABLE} AS v")).scalars())
    if len(rows) != 1:
        raise Incompatible(f"{VERSION_TABLE} has {len(rows)} rows in place of one: restore a backup")
    return dict(rows[0])


def require_version(connection: Connection, where: str) -> None:
    """Raise `Incompatible` unless this version of Memoranda may use the database."""
    found = _read_version(connection)
    if found is None:
        raise Incompatible(f"{where} has no tables of Memoranda yet: run `memoranda migrate`")
    version = str(found["version"])
    if version < VERSION:
        raise Incompatible(f"{where} is at schema {version}, this Memoranda needs {VERSION}: run `memoranda migrate`")
    if (found.get("usable_from") or version) > VERSION:
        raise Incompatible(f"{where} is at schema {version}, this Memoranda knows {VERSION}: upgrade memoranda")


def upgrade(connection: Connection, service_role: str | None = None) -> list[str]:
    """Create the tables or bring them up to date, in the caller's transaction; return what was done.

    Args:
        connection: A connection as the role that owns the tables, outside of a transaction.
        service_role: The role that the service connects as: it may read and write rows, and nothing else.
    """
    _take_migration_lock(connection)
    version = current_version(connection)
    if version is not None and version > VERSION:
        raise Incompatible(f"the database is at schema {version}, this Memoranda knows {VERSION}: upgrade memoranda")
    done = _create(connection) if version is None else _run_steps(connection, version)
    done += _add_vectors(connection)
    # The roles that could write before may write the tables that came later too.
    roles = set(connection.execute(text(_WRITING_ROLES)).scalars())
    if service_role is not None:
        _require_bound_role(connection, service_role)
        roles.add(service_role)
        done.append(f"the role {service_role} may read and write rows")
    for role in sorted(roles):
        grant(connection, role)
    return done


def _take_migration_lock(connection: Connection) -> None:
    """Wait until no other program migrates. The lock ends with the transaction, also behind a pooler."""
    connection.execute(text("SELECT set_config('lock_timeout', '2s', true)"))
    deadline = time.monotonic() + _LOCK_SECONDS
    while not connection.execute(text(f"SELECT pg_try_advisory_xact_lock({_MIGRATION_LOCK})")).scalar():
        if time.monotonic() > deadline:
            raise Unavailable("another program is migrating this database: try again when it is done", retry_after=10.0)
        time.sleep(0.2)


def _create(connection: Connection) -> list[str]:
    names = [name for name in metadata.tables if name != seals.name]
    taken = connection.execute(text(_TAKEN), {"names": names}).scalars().all()
    if taken:
        raise Incompatible(
            f"the database has other tables with the names of Memoranda's ({', '.join(taken)}): use an empty one"
        )
    for table in metadata.tables.values():
        for index in table.indexes:  # the conditions of partial indexes are the same on both stores
            index.dialect_options["postgresql"]["where"] = index.dialect_options["sqlite"]["where"]
    metadata.create_all(connection, tables=[each for each in metadata.tables.values() if each not in (counters, seals)])
    own_steps = (step(connection) for version, step in sorted(_STEPS.items()) if "." in version)
    # A chain: the policies are for the tables that have a tenant by then.
    for statement in chain(
        _OWN_TABLES, _FUNCTIONS, _TRIGGERS, _HASHED, _tenant_columns(), _policies(connection), *own_steps
    ):
        connection.execute(text(statement))
    connection.execute(text(f"CREATE TABLE {VERSION_TABLE} (version text NOT NULL, usable_from text)"))
    values = {"version": VERSION, "usable_from": USABLE_FROM}
    connection.execute(text(f"INSERT INTO {VERSION_TABLE} VALUES (:version, :usable_from)"), values)
    for key, value in ((STORE_ID, uuid.uuid4().hex), (TERMS, TERMS_VERSION)):
        connection.execute(text("INSERT INTO meta VALUES (:key, :value)"), {"key": key, "value": value})
    return [f"tables of schema {VERSION} created"]


def _run_steps(connection: Connection, version: str) -> list[str]:
    done = []
    for step in sorted(each for each in _STEPS if each > version):
        for statement in _STEPS[step](connection):
            connection.execute(text(statement))
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version = :version"), {"version": step})
        done.append(f"migrated to schema {step}")
    if version < _NO_STATISTICS:
        done += clear_statistics(connection)
    if done:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET usable_from = :version"), {"version": USABLE_FROM})
    return done


def _tenant_columns() -> Iterator[str]:
    for table, (parent, key, column) in _CHILDREN.items():
        yield (
            f'ALTER TABLE {table} ADD COLUMN tenant text COLLATE "C" NOT NULL'
            " DEFAULT coalesce(current_setting('memoranda.tenant', true), '')"
        )
        yield (
            f"CREATE TRIGGER {table}_tenant BEFORE INSERT ON {table} FOR EACH ROW WHEN (NEW.tenant = '')"
            f" EXECUTE FUNCTION memoranda_find_tenant('{parent}', '{key}', '{column}')"
        )


def _policies(connection: Connection) -> Iterator[str]:
    for table in tables_with_tenant(connection):
        yield from _isolate(table)
    for table in _BIG_TABLES:
        # Deleted rows leave the pages soon, whatever the size of the table.
        yield f"ALTER TABLE {table} SET (autovacuum_vacuum_scale_factor = 0.02)"


def _isolate(table: str) -> Iterator[str]:
    """Yield what shows the rows of a table to their tenant only."""
    yield f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY"
    yield f"ALTER TABLE {table} FORCE ROW LEVEL SECURITY"
    yield f"CREATE POLICY of_tenant ON {table} USING ({_IS_VISIBLE}) WITH CHECK ({_IS_VISIBLE})"


def _add_vectors(connection: Connection) -> list[str]:
    """Add the table for search by pgvector, where the server has the extension and this role may create it."""
    rows = connection.execute(text(_VECTOR_STATE)).one()
    if rows.has_table or not rows.available:
        return []
    try:
        with connection.begin_nested():
            connection.execute(text("CREATE EXTENSION IF NOT EXISTS vector"))
    except DBAPIError:  # reported: this is optional, and a superuser may do it later
        return ["pgvector is not used: let a superuser run CREATE EXTENSION vector, then migrate again"]
    for statement in chain(search.VECTOR_TABLE, _isolate("search_vectors")):
        connection.execute(text(statement))
    return ["large owners are searched by pgvector"]


def _require_bound_role(connection: Connection, role: str) -> None:
    found = connection.execute(
        text("SELECT rolsuper OR rolbypassrls, rolname = current_user FROM pg_roles WHERE rolname = :role"),
        {"role": role},
    ).first()
    if found is None:
        raise InvalidInput(f"there is no role {role!r}: create it first, CREATE ROLE … LOGIN PASSWORD …")
    bypasses, is_owner = found
    if is_owner:
        raise InvalidInput(f"the role {role!r} owns the tables, and could switch row-level security off: use another")
    if bypasses:
        raise InvalidInput(f"the role {role!r} is not bound by row-level security: use one that is not a superuser")
