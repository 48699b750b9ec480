"""Rows of a tenant are invisible to others below the code: by the policies of the tables."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import psycopg
import pytest
from psycopg import Connection, sql

from memoranda.errors import Incompatible
from memoranda.manager.manager import MemoryManager
from memoranda.server.config import ServerConfig
from memoranda.server.services import Services
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.postgres.store import migrate
from memoranda.storage.postgres.tables import VERSION_TABLE
from memoranda.storage.read import partition_keys
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY
from tests.postgres.server import OWNER, SERVICE, PostgresServer

_WITHOUT_TENANT = {"meta", "generations", "commits", "jobs", VERSION_TABLE}
"""Tables of the whole database, without anything that a user said: `jobs` names tenants, numbers and files."""


@pytest.fixture
def filled(url: str) -> str:
    """A database in which two tenants have rows in nearly every table."""
    config = MemoryConfig(db_url=url, audit_key="a key for the tests of isolation")
    with MemoryManager(config, embedder=HashEmbedder(64)) as root:
        for tenant in ("one", "two"):
            manager = root.for_tenant(tenant)
            manager.remember({"role": "user", "content": "I live in Bern."}, user="ada")
            first = manager.add_memory("The boat is blue.", user="ada")
            second = manager.add_memory("The boat was sold.", user="ada")
            manager.update(first.id, content="The boat is green.", user="ada")
            manager.add_memory_association(first.id, second.id, "about", user="ada")
            manager.save_execution_record("a", {"status": "done"})
            manager.recall("boat", user="ada")
            manager.add_memory("secret", user="eve")
            manager.forget(user="eve")
    return url


def count(connection: Connection, table: str) -> dict[str, int]:
    query = sql.SQL("SELECT tenant, count(*) FROM {} GROUP BY tenant").format(sql.Identifier(table))
    return dict(connection.execute(query).fetchall())


def tables(connection: Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def test_every_table_shows_only_rows_of_the_tenant_that_is_set(server: PostgresServer, filled: str) -> None:
    filled_tables = 0
    with psycopg.connect(server.url(filled.rpartition("/")[2], "postgres")) as superuser:
        expected = {table: count(superuser, table) for table in sorted(tables(superuser) - _WITHOUT_TENANT)}
    for role in (SERVICE, OWNER):
        with psycopg.connect(filled.replace(SERVICE, role)) as connection:
            assert set(expected) == tables(connection) - _WITHOUT_TENANT
            for table, rows in expected.items():
                with connection.transaction(force_rollback=True):
                    assert count(connection, table) == {}, f"{table} shows rows without a tenant"
                for tenant in ("one", "two"):
                    with connection.transaction(force_rollback=True):
                        connection.execute("SELECT set_config('memoranda.tenant', %s, true)", (tenant,))
                        seen = {name: number for name, number in rows.items() if name == tenant}
                        assert count(connection, table) == seen, table
                filled_tables += bool(rows)
    assert filled_tables >= 2 * 14


def test_no_row_of_another_tenant_can_be_written(filled: str) -> None:
    changed = 0
    with psycopg.connect(filled) as connection:
        for table in sorted(tables(connection) - _WITHOUT_TENANT):
            name = sql.Identifier(table)
            for tenant in ("", "one"):  # "" is no tenant
                for statement in ("DELETE FROM {} WHERE tenant = 'two'", "UPDATE {} SET tenant = tenant"):
                    with connection.transaction(force_rollback=True):
                        _set_tenant(connection, tenant)
                        own = count(connection, table).get(tenant, 0)
                        done = connection.execute(sql.SQL(statement).format(name)).rowcount
                        assert done == (own if statement.startswith("UPDATE") else 0), (table, tenant, statement)
            for statement in ("UPDATE {0} SET tenant = 'two'", _COPY):
                with connection.transaction(force_rollback=True):
                    _set_tenant(connection, "one")
                    if not count(connection, table):
                        continue
                    changed += 1
                    columns = connection.execute(_COLUMNS, (table,)).fetchall()
                    others = sql.SQL(", ").join(sql.Identifier(column) for (column,) in columns)
                    with pytest.raises(psycopg.errors.InsufficientPrivilege):
                        connection.execute(sql.SQL(statement).format(name, others))
    assert changed >= 2 * 14


_COPY = "INSERT INTO {0} (tenant, {1}) OVERRIDING SYSTEM VALUE SELECT 'two', {1} FROM {0} LIMIT 1"
_COLUMNS = """SELECT column_name FROM information_schema.columns
WHERE table_schema = 'public' AND table_name = %s AND column_name <> 'tenant' AND is_generated = 'NEVER'"""


def _set_tenant(connection: Connection, tenant: str) -> None:
    if tenant:
        connection.execute("SELECT set_config('memoranda.tenant', %s, true)", (tenant,))


def test_setting_does_not_outlive_its_transaction(filled: str) -> None:
    store = open_store(f"{filled}?pool_size=1")
    assert len(store.read(partition_keys, tenant=ANY)) == 2
    assert {key.tenant for key in store.read(partition_keys, tenant="one")} == {"one"}
    assert store.read(partition_keys) == []
    store.close()


def test_service_role_cannot_change_tables(filled: str) -> None:
    with psycopg.connect(filled) as connection:
        for statement in (
            "ALTER TABLE memories DISABLE ROW LEVEL SECURITY",
            "DROP POLICY of_tenant ON memories",
            "DROP TABLE memories",
            f"UPDATE {VERSION_TABLE} SET version = '9999'",
        ):
            with connection.transaction(force_rollback=True), pytest.raises(psycopg.errors.InsufficientPrivilege):
                connection.execute(statement)


@pytest.fixture
def unbound_role(server: PostgresServer) -> Iterator[str]:
    server.execute("CREATE ROLE unbound LOGIN BYPASSRLS IN ROLE memoranda_service")
    yield "unbound"
    server.execute("DROP ROLE unbound")


def test_role_that_row_level_security_does_not_bind_is_reported_and_serves_nobody(
    server: PostgresServer, url: str, unbound_role: str
) -> None:
    for role in ("postgres", unbound_role):
        config = MemoryConfig(db_url=server.url(url.rpartition("/")[2], role), audit_key="x" * 20)
        with MemoryManager(config, embedder=HashEmbedder(8)) as manager:
            [problem] = manager.health().problems
            assert "--service-role" in problem
        services = Services(ServerConfig(), config, embedder=HashEmbedder(8))
        with pytest.raises(Incompatible, match="--service-role"):
            asyncio.run(services.open())
    with MemoryManager(MemoryConfig(db_url=url, audit_key="x" * 20), embedder=HashEmbedder(8)) as manager:
        assert manager.health().problems == ()


def test_tables_of_other_programs_in_the_schema_are_left_alone(server: PostgresServer) -> None:
    """Neither are rights granted on them, nor do they keep anybody from granting rights on ours."""
    server.execute(f"CREATE DATABASE shared OWNER {OWNER}")
    server.execute("CREATE TABLE alien (tenant text, salary integer)", "shared")
    with psycopg.connect(server.url("shared", OWNER)) as owner:
        owner.execute("CREATE TABLE payroll (id serial, tenant text, salary integer)")
        owner.execute("INSERT INTO payroll (tenant, salary) VALUES ('one', 1)")
    for _ in range(2):  # when the tables are created, and when they are up to date
        migrate(server.url("shared", OWNER), service_role=SERVICE)
    with psycopg.connect(server.url("shared", OWNER)) as owner:
        rights = "SELECT bool_or(has_table_privilege(%s, of, %s)) FROM unnest(%s::text[]) AS of"
        for right in ("SELECT", "INSERT", "UPDATE", "DELETE", "MAINTAIN"):
            assert owner.execute(rights, (SERVICE, right, ["payroll", "alien"])).fetchone() == (False,)
        sequences = "SELECT has_sequence_privilege(%s, 'payroll_id_seq', 'USAGE')"
        assert owner.execute(sequences, (SERVICE,)).fetchone() == (False,)
        assert owner.execute("SELECT count(*) FROM payroll").fetchone() == (1,)  # without a policy of ours
    with psycopg.connect(server.url("shared", SERVICE)) as service:
        assert service.execute("SELECT count(*) FROM counters").fetchone() == (0,)
        assert service.execute(f"SELECT count(*) FROM {VERSION_TABLE}").fetchone() == (1,)
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            service.execute(f"DELETE FROM {VERSION_TABLE}")
