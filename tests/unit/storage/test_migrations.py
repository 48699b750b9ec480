from __future__ import annotations

import stat
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from memoranda.errors import Incompatible
from memoranda.storage.schema import metadata
from memoranda.storage.sqlite.store import SQLiteStore


def test_migrations_make_exactly_the_tables_of_the_schema(tmp_path: Path) -> None:
    SQLiteStore.open(tmp_path / "a.db").close()
    engine = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with engine.connect() as connection:
        ours = MigrationContext.configure(connection, opts={"include_name": _not_full_text})
        assert compare_metadata(ours, metadata) == []
    engine.dispose()


def _not_full_text(name: str | None, kind: str, parents: object) -> bool:
    return not (kind == "table" and name is not None and name.startswith("memory_text"))


def test_a_new_file_is_readable_by_its_owner_alone(tmp_path: Path) -> None:
    SQLiteStore.open(tmp_path / "a.db").close()
    assert stat.S_IMODE((tmp_path / "a.db").stat().st_mode) == 0o600


def test_a_store_keeps_its_name(tmp_path: Path) -> None:
    first = SQLiteStore.open(tmp_path / "a.db")
    first.close()
    again = SQLiteStore.open(tmp_path / "a.db")
    other = SQLiteStore.open(tmp_path / "b.db")
    assert first.id == again.id != other.id
    again.close()
    other.close()


def test_a_database_of_a_newer_version_is_refused(tmp_path: Path) -> None:
    SQLiteStore.open(tmp_path / "a.db").close()
    _run(tmp_path / "a.db", "UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(Incompatible, match="upgrade memoranda"):
        SQLiteStore.open(tmp_path / "a.db")


def test_somebody_elses_database_is_refused(tmp_path: Path) -> None:
    _run(tmp_path / "a.db", "CREATE TABLE holidays (day TEXT)")
    with pytest.raises(Incompatible, match="holidays"):
        SQLiteStore.open(tmp_path / "a.db")


def test_a_database_in_memory_is_gone_at_close() -> None:
    store = SQLiteStore.open("sqlite://")
    assert store.path.exists()
    store.close()
    assert not store.path.parent.exists()


def _run(path: Path, statement: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()
