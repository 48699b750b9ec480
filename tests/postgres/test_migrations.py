"""Bringing a database up to date, while servers of the version before go on working."""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Iterator

import psycopg
import pytest
from sqlalchemy import Connection, create_mock_engine
from typer.testing import CliRunner

from memoranda.cli.app import app
from memoranda.errors import Incompatible, InvalidInput
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.postgres import schema
from memoranda.storage.postgres.schema import USABLE_FROM, VERSION
from memoranda.storage.postgres.store import migrate
from memoranda.storage.postgres.tables import VERSION_TABLE
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.server import OWNER, SERVICE, PostgresServer

_ADDS = re.compile(r"\s*(CREATE |ALTER TABLE \w+ ADD COLUMN (?!.*NOT NULL)|.*ALTER COLUMN \w+ SET STATISTICS 0)")


@pytest.fixture
def database(server: PostgresServer) -> str:
    """The name of a database with the tables of this version."""
    return server.new_database().rpartition("/")[2]


def read_version(server: PostgresServer, database: str) -> str:
    with psycopg.connect(server.url(database, OWNER)) as connection:
        row = connection.execute(f"SELECT version FROM {VERSION_TABLE}").fetchone()
    assert row is not None
    return str(row[0])


def make_older(server: PostgresServer, database: str) -> None:
    """Take away what versions after 0004 have added."""
    for table in ("search_vectors", "search_terms", "search_owners", "short_lived", "jobs"):
        server.execute(f"DROP TABLE {table}", database)
    server.execute("DROP FUNCTION memoranda_unsearch CASCADE", database)
    server.execute("ALTER TABLE vectors DROP COLUMN sentences", database)
    server.execute("ALTER TABLE associations DROP COLUMN metadata", database)
    for table in ("memories", "messages", "revisions"):
        server.execute(f"ALTER TABLE {table} DROP COLUMN row_hash CASCADE", database)
    server.execute("DROP FUNCTION memoranda_row_hash, memoranda_memory_edited CASCADE", database)
    server.execute(f"ALTER TABLE {VERSION_TABLE} DROP COLUMN usable_from", database)
    server.execute(f"UPDATE {VERSION_TABLE} SET version = '0004'", database)


def use(url: str) -> None:
    with MemoryManager(MemoryConfig(db_url=url, audit_key="x" * 20), embedder=HashEmbedder(8)) as manager:
        memory = manager.add_memory("I drink tea", user="ada")
        assert [hit.id for hit in manager.recall("tea", user="ada")] == [memory.id]
        assert manager.delete(memory.id, user="ada")


def test_migrate_command_creates_or_updates_tables_once_and_refuses_unsafe_roles(server: PostgresServer) -> None:
    server.execute("DROP DATABASE IF EXISTS fresh")
    server.execute(f"CREATE DATABASE fresh OWNER {OWNER}")
    run, url = CliRunner().invoke, server.url("fresh", OWNER)
    for role in ("postgres", OWNER, "nobody_of_this_name"):
        assert run(app, ["migrate", "--db", url, "--service-role", role]).exit_code != 0
    first = run(app, ["migrate", "--db", url, "--service-role", SERVICE])
    assert (first.exit_code, "created" in first.output, "a superuser" in first.output) == (0, True, True), first.output
    server.execute("CREATE EXTENSION vector", "fresh")
    second = run(app, ["migrate", "--db", url, "--service-role", SERVICE])
    assert (second.exit_code, "by pgvector" in second.output) == (0, True), second.output
    again = run(app, ["migrate", "--db", url])
    assert (again.exit_code, "up to date" in again.output) == (0, True), again.output
    make_older(server, "fresh")
    with pytest.raises(Incompatible, match="memoranda migrate"):
        open_store(server.url("fresh"))
    older = run(app, ["migrate", "--db", url])
    assert (older.exit_code, "migrated" in older.output, "pgvector" in older.output) == (0, True, True), older.output
    use(server.url("fresh"))
    with psycopg.connect(server.url("fresh", SERVICE)) as connection:
        assert connection.execute("SELECT count(*) FROM short_lived, jobs").fetchone() == (0,)
    server.execute(f"UPDATE {VERSION_TABLE} SET version = '9999'", "fresh")
    newer = run(app, ["migrate", "--db", url])
    assert newer.exit_code != 0


def test_server_works_on_newer_tables_that_only_add(server: PostgresServer, database: str) -> None:
    server.execute("ALTER TABLE memories ADD COLUMN mood text", database)
    server.execute("CREATE TABLE moods (tenant text)", database)
    server.execute(f"UPDATE {VERSION_TABLE} SET version = '9999', usable_from = '{VERSION}'", database)
    use(server.url(database))
    with pytest.raises(Incompatible, match="upgrade memoranda"):
        migrate(server.url(database, OWNER))


def test_rows_of_servers_that_write_no_hashes_are_read_and_rows_of_another_owner_are_not(
    server: PostgresServer, database: str
) -> None:
    config = MemoryConfig(db_url=server.url(database), audit_key="x" * 20)
    with MemoryManager(config, embedder=HashEmbedder(8)) as manager:
        tea, milk = (manager.add_memory(f"I drink {what}", user="ada").id for what in ("tea", "milk"))
        manager.update(tea, "I drink green tea", user="ada")
        server.execute("UPDATE memories SET content = 'I drink black tea', version = 3 WHERE version = 2", database)
        server.execute("UPDATE revisions SET row_hash = NULL", database)
        assert [each.content for each in manager.list_memories(user="ada")] == ["I drink black tea", "I drink milk"]
        assert [each.content for each in manager.history(tea, user="ada").versions] == ["I drink tea"]
        server.execute(f"UPDATE memories SET \"user\" = 'bob' WHERE id = {milk}", database)
        with pytest.raises(Incompatible, match="its owner"):
            manager.list_memories(user="bob")


@pytest.mark.parametrize("usable_from", ["'9999'", "NULL"])
def test_server_refuses_newer_tables_that_it_may_not_use(
    server: PostgresServer, database: str, usable_from: str
) -> None:
    server.execute(f"UPDATE {VERSION_TABLE} SET version = '9999', usable_from = {usable_from}", database)
    with pytest.raises(Incompatible, match="upgrade memoranda"):
        open_store(server.url(database))


def test_every_step_that_servers_of_the_version_before_survive_only_adds() -> None:
    found = list[str]()
    engine = create_mock_engine("postgresql://", lambda statement, *_, **__: found.append(str(statement)))
    for version, step in schema._STEPS.items():
        if version > USABLE_FROM:
            found += step(engine)  # type: ignore[arg-type]
    assert [statement for statement in found if not _ADDS.match(statement)] == []


def migrate_slowly(url: str) -> None:
    def step(_: Connection) -> Iterator[str]:
        yield "CREATE TABLE half (id integer)"
        yield "SELECT pg_sleep(600)"

    schema._STEPS["9998"] = step  # type: ignore[index]
    schema.VERSION = "9998"  # type: ignore[misc]
    migrate(url)


def test_migration_that_is_killed_leaves_nothing_and_is_repeated(server: PostgresServer, database: str) -> None:
    make_older(server, database)
    process = multiprocessing.get_context("fork").Process(target=migrate_slowly, args=(server.url(database, OWNER),))
    process.start()
    with psycopg.connect(server.url("postgres", "postgres"), autocommit=True) as watcher:
        sleeping = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND query LIKE 'SELECT pg_sleep%%'"
        deadline = time.monotonic() + 60
        while (found := watcher.execute(sleeping, (database,)).fetchone()) is None and time.monotonic() < deadline:
            time.sleep(0.1)
        assert found is not None
        process.kill()
        process.join()
        watcher.execute("SELECT pg_terminate_backend(%s, 60000)", found)  # which notices only when the sleep is over
    assert read_version(server, database) == "0004"
    with psycopg.connect(server.url(database, OWNER)) as connection:
        assert connection.execute("SELECT to_regclass('half'), to_regclass('jobs')").fetchone() == (None, None)
    migrate(server.url(database, OWNER), service_role=SERVICE)
    assert read_version(server, database) == VERSION
    use(server.url(database))


def test_owner_of_the_tables_is_no_role_for_servers(server: PostgresServer, database: str) -> None:
    with pytest.raises(InvalidInput, match="owns the tables"):
        migrate(server.url(database, OWNER), service_role=OWNER)
