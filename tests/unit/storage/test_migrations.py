from __future__ import annotations

import shutil
import stat
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, text

from memoranda import MemoryManager
from memoranda.errors import Incompatible
from memoranda.storage import migrations
from memoranda.storage.migrations import known_versions
from memoranda.storage.schema import metadata
from memoranda.storage.sqlite import integrity
from memoranda.storage.sqlite.connections import load_driver
from memoranda.storage.sqlite.integrity import expected_schema, read_schema
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.fakes import HashEmbedder
from memoranda.text.terms import TERMS_VERSION, lexical_keys
from memoranda.types import ANY
from tests.driver import sqlite3


def test_migrations_create_exactly_the_tables_of_the_schema(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "a.db").close()
    engine = create_engine(f"sqlite:///{tmp_path / 'a.db'}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    engine.dispose()


def test_second_new_database_has_the_schema_and_rows_that_the_migrations_made(tmp_path: Path) -> None:
    migrations._schemas.clear()
    found = []
    for name in ("first.db", "second.db"):
        open_sqlite(tmp_path / name).close()
        with closing(sqlite3.connect(tmp_path / name)) as raw:
            tables = sorted(raw.execute("SELECT type, name, sql FROM sqlite_master"))
            counts = [raw.execute(f"SELECT count(*) FROM {row[1]}").fetchone() for row in tables if row[0] == "table"]
            found.append((tables, counts, raw.execute("SELECT * FROM alembic_version").fetchall()))
    assert found[0] == found[1]


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


@pytest.mark.parametrize("url", ["sqlite://", "sqlite:///:memory:", ":memory:"])
def test_temporary_database_is_deleted_at_close(url: str) -> None:
    store = open_sqlite(url)
    assert store.path.exists()
    store.close()
    assert not store.path.parent.exists()


def _run(path: Path, statement: str) -> None:
    engine = create_engine(f"sqlite:///{path}")
    with engine.begin() as connection:
        connection.execute(text(statement))
    engine.dispose()


DATA = Path(__file__).parents[2] / "data"
RELEASED = sorted(DATA.glob("schema-*.db"))
"""Files as each released schema wrote them: see `make_schema_file`."""


def _version_of(file: Path) -> str:
    return file.stem.removeprefix("schema-")


def test_every_schema_but_the_newest_has_a_file() -> None:
    assert [_version_of(file) for file in RELEASED] == known_versions()[: len(RELEASED)]
    assert len(RELEASED) >= len(known_versions()) - 1, "run python -m tests.unit.storage.make_schema_file"


@pytest.mark.parametrize("file", RELEASED, ids=_version_of)
@pytest.mark.parametrize("driver", ["sqlite3", "pysqlite3"])
def test_released_migrations_are_never_edited(file: Path, driver: str) -> None:
    module, _ = load_driver(driver)
    engine = create_engine(f"sqlite:///{file}")
    with engine.connect() as connection:
        assert read_schema(connection) == expected_schema(_version_of(file), module)
    engine.dispose()


@pytest.mark.parametrize("file", RELEASED, ids=_version_of)
def test_file_of_each_released_schema_is_upgraded_with_all_rows(file: Path, tmp_path: Path) -> None:
    path = Path(shutil.copy(file, tmp_path / "a.db"))
    before = {name: _rows(path, f"SELECT count(*) FROM {name}") for name in ("memories", "messages", "vectors")}
    contents = _rows(path, "SELECT content FROM memories ORDER BY id")
    with MemoryManager(f"sqlite:///{path}", embedder=HashEmbedder(16)) as manager:
        assert [(memory.content,) for memory in manager.list_memories(user=ANY)] == contents
        assert manager.recall("cold river", user="nora")[0].content == "The river is cold in May"
        assert manager.check().problems == ()
        manager.add_memory("written after the upgrade", user="nora")
    after = {name: _rows(path, f"SELECT count(*) FROM {name}") for name in before}
    assert before["memories"] == [(5,)]
    assert {name: count[0][0] - before[name][0][0] for name, count in after.items()} == {
        "memories": 1, "messages": 0, "vectors": 1,
    }  # fmt: skip


def _rows(path: Path, query: str) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute(query).fetchall()


EDITS = {
    "table memories is different": "ALTER TABLE memories ADD COLUMN mood TEXT",
    "index memories_hash is missing": "DROP INDEX memories_hash",
    "trigger memories_removed is missing": "DROP TRIGGER memories_removed",
    "table revisions is missing": "DROP TABLE revisions",
    "trigger mine is unknown": "CREATE TRIGGER mine AFTER INSERT ON memories BEGIN DELETE FROM memories; END",
    "index mine is unknown": "CREATE UNIQUE INDEX mine ON memories (content)",
}


@pytest.mark.parametrize("version", [_version_of(RELEASED[0]), "newest"])
@pytest.mark.parametrize("problem", EDITS)
def test_file_whose_schema_is_not_that_of_its_version_is_refused(tmp_path: Path, problem: str, version: str) -> None:
    path = tmp_path / "a.db"
    if version == "newest":
        open_sqlite(path).close()
    else:
        shutil.copy(RELEASED[0], path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(EDITS[problem])
    before = path.read_bytes()
    with pytest.raises(Incompatible, match=rf"{problem}.*export it with the version that wrote it"):
        open_sqlite(path)
    assert path.read_bytes()[100:] == before[100:]


def test_earlier_state_of_the_first_migration_is_refused(tmp_path: Path) -> None:
    # What the first migration made before memories had notes.
    path = Path(shutil.copy(RELEASED[0], tmp_path / "a.db"))
    _run(path, "ALTER TABLE memories DROP COLUMN notes")
    with pytest.raises(Incompatible, match="table memories is different"):
        open_sqlite(path)


def test_table_of_another_program_is_left_alone(tmp_path: Path) -> None:
    open_sqlite(tmp_path / "a.db").close()
    _run(tmp_path / "a.db", "CREATE TABLE _replica (id INTEGER PRIMARY KEY, name TEXT)")
    _run(tmp_path / "a.db", "CREATE INDEX _replica_name ON _replica (name)")
    open_sqlite(tmp_path / "a.db").close()


def test_schema_is_checked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    open_sqlite(tmp_path / "a.db").close()
    checked: list[str] = []
    monkeypatch.setattr(integrity, "require_schema", lambda _, version, *__: checked.append(version))
    open_sqlite(tmp_path / "a.db").close()
    assert checked == []
    _run(tmp_path / "a.db", "ANALYZE")
    open_sqlite(tmp_path / "a.db").close()
    open_sqlite(tmp_path / "a.db").close()
    assert checked == [known_versions()[-1]]
    monkeypatch.setattr(integrity, "_migrations_digest", lambda: "edited")
    open_sqlite(tmp_path / "a.db").close()
    assert len(checked) == 2


def test_terms_of_an_older_database_are_made_again_by_the_rules_of_this_version(tmp_path: Path) -> None:
    path = Path(shutil.copy(RELEASED[0], tmp_path / "a.db"))
    open_sqlite(path).close()
    rows = _rows(path, "SELECT content, terms FROM memories ORDER BY id")
    assert rows
    assert all(set(lexical_keys(content).split()) <= set(terms.split()) for content, terms in rows)
    assert _rows(path, "SELECT value FROM meta WHERE key = 'terms:version'") == [(TERMS_VERSION,)]


def test_old_terms_in_another_language_are_found_after_opening(tmp_path: Path) -> None:
    path = tmp_path / "a.db"
    with MemoryManager(path) as manager:
        manager.remember([{"role": "user", "content": "Ich bin allergisch gegen Erdnüsse."}], user="u")
    with closing(sqlite3.connect(path)) as old, old:  # as version 1 wrote it
        old.execute("UPDATE memories SET terms = 'ich bin allergisch gegen erdnuss'")
        old.execute("DELETE FROM meta WHERE key IN ('terms:version', 'schema:passed')")
    with MemoryManager(path) as manager:
        hits = manager.recall("Welche Allergien habe ich?", user="u", mode="fast")
        assert [hit.content for hit in hits] == ["Ich bin allergisch gegen Erdnüsse."]
