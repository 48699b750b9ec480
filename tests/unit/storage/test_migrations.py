from __future__ import annotations

import stat
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from memoranda.errors import Incompatible
from memoranda.storage import migrations
from memoranda.storage.schema import metadata
from memoranda.storage.sqlite.store import open_sqlite


def test_migrations_create_exactly_the_tables_of_the_schema(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "a.db").close()
    engine = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_new_file_is_readable_by_its_owner_only(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "a.db").close()
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600


def test_store_keeps_its_id(tmp_path: Path) -> None:
    first = open_sqlite(tmp_path / "a.db")
    first.close()
    again = open_sqlite(tmp_path / "a.db")
    other = open_sqlite(tmp_path / "b.db")
    assert first.id == again.id != other.id
    again.close()
    other.close()


def test_database_of_newer_schema_is_refused(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "a.db").close()
    _run(tmp_path / "a.db", "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Incompatible, match="upgrade memoranda"):
        open_sqlite(tmp_path / "a.db")


def test_database_of_another_program_is_refused(tmp_path: Path) -> None:
    _run(tmp_path / "a.db", "CREATE TABLE holidays (day TEXT)")
    with pytest.raises(Incompatible, match="holidays"):
        open_sqlite(tmp_path / "a.db")


def test_temporary_database_is_deleted_at_close() -> None:
    store = open_sqlite("sqlite://")
    assert store.path.exists()
    store.close()
    assert not store.path.parent.exists()


def _run(path: Path, statement: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


def test_database_of_the_first_schema_is_upgraded_with_its_terms(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    _make_first_schema(path)
    _run(
        path,
        "INSERT INTO memories (id, tenant, content, type, importance, recorded_at, valid_from, content_hash)"
        " VALUES (1, 'default', 'tea', 'semantic', 0.5, 0, 0, x'00')",
    )
    _run(path, "INSERT INTO memory_text (rowid, terms) VALUES (1, 'tea leaf')")
    store = open_sqlite(path)
    assert store.read(lambda tx: tx.execute(text("SELECT terms FROM memories")).scalar()) == "tea leaf"
    assert store.read(lambda tx: tx.execute(text("SELECT count(*) FROM counters")).scalar()) == 0
    store.close()


def _make_first_schema(path: Path) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", str(Path(migrations.__file__).parent))
        config.attributes["connection"] = connection
        command.upgrade(config, "0001")
    engine.dispose()
