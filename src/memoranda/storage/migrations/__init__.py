"""Bring a database to the current schema."""

from __future__ import annotations

from pathlib import Path

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
    from alembic import command
    from alembic.config import Config

    version = current_version(connection)
    if version == HEAD:
        return
    if version is not None and version > HEAD:
        raise Incompatible(f"the database is at schema {version}, this Memoranda knows {HEAD}: upgrade memoranda")
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")
