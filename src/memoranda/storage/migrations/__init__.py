"""Bring a database to the current schema, and make sure that it has the schema that its version says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlalchemy import Connection, inspect, text

from memoranda.errors import Incompatible
from memoranda.storage.schema import HEAD


def current_version(connection: Connection) -> str | None:
    """Return the schema version of a database; None when it is empty."""
    tables = inspect(connection).get_table_names()
    if "alembic_version" in tables:
        return str(connection.execute(text("SELECT version_num FROM alembic_version")).scalar())
    if tables:
        raise Incompatible(f"the database holds other tables ({', '.join(sorted(tables)[:3])}…): choose another file")
    return None


def upgrade(connection: Connection) -> None:
    """Run the missing migrations, inside the caller's transaction."""
    version = current_version(connection)
    if version == HEAD:
        return
    if version is not None and version > HEAD:
        raise Incompatible(f"the database is at schema {version}, this Memoranda knows {HEAD}: upgrade memoranda")
    if version is None:
        _create(connection)
    else:
        run_migrations(connection, HEAD)


_schemas: dict[str, list[str]] = {}
"""Version of SQLite → the statements that make the newest schema, as the migrations left it."""


def _create(connection: Connection) -> None:
    """Make the schema of an empty database: by the migrations, and from the second one on by what they made.

    Migrating takes as long as everything else that opens a new store.
    """
    library = str(connection.dialect.dbapi.sqlite_version)  # type: ignore[union-attr]
    if library not in _schemas:
        run_migrations(connection, HEAD)
        made = "SELECT sql FROM sqlite_master WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite%' ORDER BY rowid"
        _schemas[library] = [str(row[0]) for row in connection.execute(text(made))]
        return
    for statement in _schemas[library]:
        connection.exec_driver_sql(statement)
    connection.execute(text("INSERT INTO alembic_version VALUES (:version)"), {"version": HEAD})


def run_migrations(connection: Connection, version: str) -> None:
    """Run the migrations up to a version, inside the caller's transaction."""
    from alembic import command

    command.upgrade(_config(connection), version)


def known_versions() -> list[str]:
    """Return the versions that have a migration, the oldest first."""
    from alembic.script import ScriptDirectory

    scripts = ScriptDirectory.from_config(_config(None)).walk_revisions()
    return sorted(script.revision for script in scripts)


def _config(connection: Connection | None) -> Any:
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    return config
