"""What is forgotten is gone from the server: from its pages, and from what its planner keeps; the receipt says when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from memoranda import jobs
from memoranda.maintenance.receipts import DATABASE_FILE
from memoranda.manager.manager import MemoryManager
from memoranda.messages.message import Message
from memoranda.results.maintenance import ForgetReceipt
from memoranda.settings import MemoryConfig
from memoranda.storage.postgres.store import migrate
from memoranda.storage.postgres.tables import VERSION_TABLE
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.server import OWNER, SERVICE, PostgresServer

KEY = "a key for the tests of erasure"
SECRET = "PLUGH"


@pytest.fixture
def database(server: PostgresServer) -> str:
    """The name of a database of its own: in another one, other tests hold rows."""
    return server.new_database().rpartition("/")[2]


@pytest.fixture
def manager(server: PostgresServer, database: str) -> Iterator[MemoryManager]:
    config = MemoryConfig(db_url=server.url(database), audit_key=KEY)
    with MemoryManager(config, embedder=HashEmbedder(64)) as manager:
        fill(manager)
        yield manager


def fill(manager: MemoryManager) -> None:
    for number in range(30):
        text = f"The garden party of XYZZY{number}{SECRET} was in the old mill."
        manager.remember(Message("user", text), user="eve", keep_all=True)
        manager.add_memory(f"boat number {number}", user="bob")
    manager.recall(f"{SECRET} party", user="eve")


def find_bytes(server: PostgresServer, database: str) -> list[str]:
    """Return the tables in whose files the texts are."""
    with psycopg.connect(server.url(database, "postgres"), autocommit=True) as superuser:
        superuser.execute("CHECKPOINT")
        names = "SELECT pg_relation_filepath(oid), relname FROM pg_class WHERE pg_relation_filepath(oid) IS NOT NULL"
        files = {row[0]: row[1] for row in superuser.execute(names)}
    found = [name for file, name in files.items() if holds(server.data / file)]
    return sorted(found)


def holds(file: Path) -> bool:
    content = file.read_bytes() if file.exists() else b""
    return SECRET.encode() in content or SECRET.lower().encode() in content


def status_of(receipt: ForgetReceipt) -> str:
    [status] = [place.status for place in receipt.stores if place.store == DATABASE_FILE]
    return status


def test_service_vacuums_what_it_forgets_and_a_job_clears_free_space(
    server: PostgresServer, database: str, manager: MemoryManager
) -> None:
    server.execute("ANALYZE", database)
    receipt = manager.forget(user="eve")
    assert receipt.complete
    assert {place.store: place.detail for place in receipt.stores}[DATABASE_FILE] == "the rows are deleted and vacuumed"
    assert any("free space" in place.store and place.status == "not reachable" for place in receipt.stores)
    with psycopg.connect(server.url(database, "postgres")) as superuser:
        kept = "SELECT vacuum_count > 0 FROM pg_stat_user_tables WHERE relname = ANY(%s)"
        assert superuser.execute(kept, (["memories", "messages"],)).fetchall() == [(True,), (True,)]
    assert "pg_statistic" not in find_bytes(server, database)
    jobs.order(manager, "rewrite")
    config = MemoryConfig(db_url=server.url(database), audit_key=KEY)
    assert jobs.work_off(config, embedder=HashEmbedder(64)) == 1
    assert find_bytes(server, database) == []
    assert manager.check().problems == ()


def test_transaction_that_sees_the_rows_keeps_the_receipt_pending_until_upkeep(
    server: PostgresServer, database: str, manager: MemoryManager
) -> None:
    with psycopg.connect(server.url(database, "postgres")) as reader:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute("SELECT count(*) FROM memories")
        receipt = manager.forget(user="eve")
        assert (receipt.complete, status_of(receipt)) == (False, "pending")
        manager.upkeep()
        assert status_of(manager.receipt(receipt.id)) == "pending"
        [problem] = manager.health().problems
        assert "rows that were forgotten are still on disk" in problem
    manager.upkeep()
    assert manager.health().problems == ()
    assert status_of(manager.receipt(receipt.id)) == "erased"
    assert manager.receipt(receipt.id).complete
    assert manager.verify_receipt(receipt.id)


def test_role_that_may_not_vacuum_keeps_the_receipt_pending_and_health_says_what_to_run(
    server: PostgresServer, database: str, manager: MemoryManager
) -> None:
    server.execute(f"REVOKE MAINTAIN ON ALL TABLES IN SCHEMA public FROM {SERVICE}", database)
    receipt = manager.forget(user="eve")
    assert status_of(receipt) == "pending"
    [problem] = manager.health().problems
    assert "may not vacuum" in problem
    assert "memoranda migrate" in problem
    migrate(server.url(database, OWNER))
    manager.upkeep()
    assert manager.receipt(receipt.id).complete
    assert manager.health().problems == ()


def test_upkeep_of_the_owner_finishes_what_the_service_may_not(
    server: PostgresServer, database: str, manager: MemoryManager
) -> None:
    server.execute(f"REVOKE MAINTAIN ON ALL TABLES IN SCHEMA public FROM {SERVICE}", database)
    receipt = manager.forget(user="eve")
    config = MemoryConfig(db_url=server.url(database, OWNER), audit_key=KEY)
    with MemoryManager(config, embedder=HashEmbedder(64)) as owner:
        owner.upkeep()
        assert owner.receipt(receipt.id).complete


def test_statistics_of_the_planner_keep_no_texts(server: PostgresServer, database: str, manager: MemoryManager) -> None:
    assert manager.get_stats().long_term_entries
    texts = f"SELECT count(*) FROM pg_statistic WHERE pg_statistic::text ~* '{SECRET}'"
    with psycopg.connect(server.url(database, "postgres"), autocommit=True) as superuser:
        superuser.execute("ANALYZE")
        assert superuser.execute(texts).fetchone() == (0,)
        columns = "SELECT attrelid::regclass::text, attname FROM pg_attribute WHERE attstattarget = 0 AND attnum > 0"
        for table, column in superuser.execute(columns).fetchall():
            superuser.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET STATISTICS -1")
        superuser.execute("ANALYZE")
        assert superuser.execute(texts).fetchone() != (0,)  # as an older version left it
        superuser.execute(f"UPDATE {VERSION_TABLE} SET version = '0009'")
        migrate(server.url(database, OWNER))
        superuser.execute("ANALYZE")
        assert superuser.execute(texts).fetchone() == (0,)
