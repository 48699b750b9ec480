"""Compare the tables, indexes and triggers of a file with those that the migrations of its version make.

A file can say a version and have another schema: a migration was edited after it had run, or another program changed a
table. Such a file would be misread, or be called damaged much later. The expected schema is made by running the
migrations on an empty database in memory. That takes a moment, so a file that passed keeps a note of it in `meta`; the
note holds until SQLite's own counter of schema changes, the migrations of this program, or its rules for terms, are no
longer the same.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Final

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import StaticPool

from memoranda.errors import Incompatible
from memoranda.storage import migrations
from memoranda.storage.schema import HEAD
from memoranda.storage.sqlite.transaction import Fetch, read_meta
from memoranda.text.terms import TERMS_VERSION

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
