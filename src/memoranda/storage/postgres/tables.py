"""Which tables of a database are Memoranda's, what the service may do with them, and which columns hold texts.

Other programs may have tables in the same schema: nothing is granted on them, and nothing about them is changed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from sqlalchemy import Connection, text

from memoranda.storage.schema import counters, metadata, seals

VERSION_TABLE: Final = "memoranda_version"
OWN_TABLES: Final = (
    *sorted(name for name in metadata.tables if name not in (counters.name, seals.name)),
    *("commits", "counter_parts", "owners", "search_owners", "search_terms", "search_vectors"),
)
"""The tables that the service writes; `counters` is a view here, and `seals` are for files."""
_GRANTED: Final = (*OWN_TABLES, counters.name)
_MAY_MAINTAIN: Final = 170_000
_EXISTING: Final = (
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace"
    " AND relkind IN ('r', 'v') AND relname = ANY(:names) ORDER BY relname"
)
_SEQUENCES: Final = (
    "SELECT s.relname FROM pg_class AS s JOIN pg_depend AS d ON d.objid = s.oid AND d.classid = 'pg_class'::regclass"
    " JOIN pg_class AS t ON t.oid = d.refobjid AND d.refclassid = 'pg_class'::regclass"
    " WHERE s.relkind = 'S' AND d.deptype IN ('a', 'i') AND t.relname = ANY(:names)"
    " AND t.relnamespace = current_schema()::regnamespace ORDER BY s.relname"
)
_WITH_TENANT: Final = (
    "SELECT table_name FROM information_schema.columns WHERE table_schema = current_schema()"
    " AND column_name = 'tenant' AND table_name = ANY(:names) ORDER BY 1"
)

_TEXTS: Final = {
    "associations": ("metadata",),
    "executions": ("record",),
    "memories": ("content", "metadata", "notes", "terms", "value"),
    "messages": ("content", "payload"),
    "meta": ("value",),
    "recalled_memories": ("state",),
    "recalls": ("parameters", "query"),
    "revisions": ("content", "metadata"),
    "search_terms": ("term",),
    "sessions": ("metadata",),
    "short_lived": ("value",),
    "vectors": ("data", "sentences"),
}
"""Columns with what users said, or what gives it back. The planner's statistics would keep some of their values."""
_CAN_CLEAR: Final = 180_000
_CLEAR: Final = "SELECT pg_clear_attribute_stats(current_schema(), '{}', '{}', false)"


def existing_tables(connection: Connection) -> list[str]:
    """Return those of Memoranda's tables, and its view, that are there."""
    return list(connection.execute(text(_EXISTING), {"names": list(_GRANTED)}).scalars())


def tables_with_tenant(connection: Connection) -> list[str]:
    """Return the tables of Memoranda whose rows belong to a tenant."""
    return list(connection.execute(text(_WITH_TENANT), {"names": list(OWN_TABLES)}).scalars())


def grant(connection: Connection, role: str) -> None:
    """Let a role read and write the rows, and vacuum the tables where the server can allow that."""
    quote = connection.dialect.identifier_preparer.quote
    name, schema = quote(role), quote(connection.execute(text("SELECT current_schema()")).scalar_one())
    tables = existing_tables(connection)
    sequences = connection.execute(text(_SEQUENCES), {"names": tables}).scalars().all()
    listed = ", ".join(f"{schema}.{each}" for each in tables)
    statements = [
        f"GRANT USAGE ON SCHEMA {schema} TO {name}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON {listed} TO {name}",
        f"GRANT SELECT ON {schema}.{VERSION_TABLE} TO {name}",
        f"REVOKE INSERT, UPDATE, DELETE ON {schema}.{VERSION_TABLE} FROM {name}",
        f"GRANT USAGE, SELECT ON SEQUENCE {', '.join(f'{schema}.{each}' for each in sequences)} TO {name}",
    ]
    if _server_version(connection) >= _MAY_MAINTAIN:
        statements.append(f"GRANT MAINTAIN ON {listed} TO {name}")
    for statement in statements:
        connection.execute(text(statement))


def keep_texts_out_of_statistics(_: Connection) -> Iterator[str]:
    """Yield what lets the server keep no values of columns with texts for its planner."""
    for table, columns in _TEXTS.items():
        changes = ", ".join(f"ALTER COLUMN {column} SET STATISTICS 0" for column in columns)
        yield f"ALTER TABLE {table} {changes}"
    yield (
        "DO $$ BEGIN IF to_regclass('search_vectors') IS NOT NULL THEN"
        " ALTER TABLE search_vectors ALTER COLUMN v SET STATISTICS 0; END IF; END $$"
    )


def clear_statistics(connection: Connection) -> list[str]:
    """Remove what the statistics kept of texts before; return what was done, or is left to do."""
    if _server_version(connection) < _CAN_CLEAR:
        tables = ", ".join(f"'{table}'::regclass" for table in _TEXTS)
        return [
            "the planner's statistics may hold texts of before: let a superuser run "
            f"DELETE FROM pg_statistic WHERE starelid IN ({tables}), then ANALYZE"
        ]
    for table, columns in _TEXTS.items():
        for column in columns:
            connection.execute(text(_CLEAR.format(table, column)))
    return ["the planner's statistics keep no texts"]


def _server_version(connection: Connection) -> int:
    return int(connection.execute(text("SELECT current_setting('server_version_num')")).scalar_one())
