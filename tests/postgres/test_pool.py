from __future__ import annotations

import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest
from sqlalchemy.dialects.postgresql import psycopg as dialect
from sqlalchemy.engine import base, default
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.pool import base as proxies

from memoranda import Conflict
from memoranda.storage import open_store
from memoranda.storage.base import OwnedWork, PartitionKey, Store, Transaction
from memoranda.storage.meta import get_meta, set_meta
from memoranda.storage.postgres import connections, pool
from memoranda.storage.postgres.connections import driver_of
from memoranda.storage.postgres.pool import LimitedPool, ServerConnection
from memoranda.storage.postgres.store import PostgresStore
from tests.postgres.pgbouncer import run_pgbouncer
from tests.postgres.server import PostgresServer
from tests.unit.storage.sqlite.interrupts import interrupt_at

READS: dict[str, Callable[[Store], object]] = {
    "key": lambda store: store.get_meta("none"),
    "transaction": lambda store: store.read(lambda tx: get_meta(tx, "none")),
}


@pytest.mark.filterwarnings("ignore:.*was deleted while still open:ResourceWarning")  # one that an interrupt lost
@pytest.mark.parametrize("name", READS)
def test_interrupt_at_any_step_of_a_read_does_not_block_the_next(
    url: str, name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.CRITICAL, pool.__name__)  # a log that is kept would hold what the interrupt has lost
    monkeypatch.setattr(pool, "_LOST_SECONDS", 0.0)
    monkeypatch.setattr(pool, "_COLLECT_SECONDS", 0.0)
    store, read, step = open_store(f"{url}?pool_size=1"), READS[name], 0

    def interrupted() -> None:
        try:
            read(store)
        except AssertionError as error:  # of SQLAlchemy, which an interrupt has left in a state that it does not know
            raise KeyboardInterrupt from error

    while interrupt_at(step, interrupted, inside=[connections, pool, base, default, dialect, proxies]):
        started = time.monotonic()
        assert read(store) is None, f"after an interrupt at step {step}"
        assert time.monotonic() - started < 3, f"after an interrupt at step {step}"
        step += 1
    assert step > 10
    store.close()


class _Connection:
    """What a pool needs of a driver's connection."""

    opened = 0

    def __init__(self) -> None:
        _Connection.opened += 1

    def rollback(self) -> None: ...

    def close(self) -> None: ...


def test_pool_opens_no_more_connections_than_its_size_and_wakes_those_that_wait() -> None:
    _Connection.opened = 0
    limited = LimitedPool(_Connection, size=3, seconds=5.0)

    def use(_: int) -> None:
        with limited.driver():
            time.sleep(0.001)

    with ThreadPoolExecutor(16) as threads:
        list(threads.map(use, range(200)))
    assert _Connection.opened <= 3


def test_pool_that_is_used_up_fails_after_its_seconds_and_forgets_what_is_lost() -> None:
    limited = LimitedPool(_Connection, size=1, seconds=0.1)
    taken = [limited._do_get()]
    with pytest.raises(PoolTimeout):
        limited._do_get()
    taken.clear()  # as an interrupt loses it on its way
    with limited.driver() as driver:
        assert driver is not None


def test_connection_is_closed_when_its_user_fails_and_the_next_one_is_new() -> None:
    limited, seen = LimitedPool(_Connection, size=1, seconds=0.1), list[Any]()

    def fail() -> None:
        with limited.driver() as driver:
            seen.append(driver)
            raise ValueError("failed")

    for _ in range(2):
        with pytest.raises(ValueError, match="failed"):
            fail()
    assert seen[0] is not seen[1]


def prepared(store: PostgresStore) -> list[bool]:
    """Return whether the connections that the store has open prepare statements."""
    return [entry.dbapi_connection.prepares for entry in list(store._connections._pool._idle)]  # type: ignore[union-attr]


def test_statements_are_prepared_without_a_pooler_only(server: PostgresServer, url: str) -> None:
    direct = server.url(url.rpartition("/")[2])
    with run_pgbouncer(server) as port:
        pooled = direct.replace(f":{server.port}/", f":{port}/")
        for address, expected in ((direct, True), (pooled, False)):
            store = PostgresStore(address)
            assert [store.head(PartitionKey("default", "ada")) for _ in range(3)] == [0, 0, 0]
            assert prepared(store) == [expected]
            store.close()


def test_statement_that_is_no_longer_prepared_is_sent_as_it_is(server: PostgresServer, url: str) -> None:
    store = PostgresStore(server.url(url.rpartition("/")[2]))
    store.get_meta("none")
    with store._connections._pool.driver() as driver:
        driver.execute("DEALLOCATE ALL")
    assert store.get_meta("none") is None
    assert prepared(store) == [False]
    store.close()


def test_changed_column_does_not_fail_a_prepared_read(server: PostgresServer) -> None:
    url = server.new_database()
    name, store = url.rpartition("/")[2], PostgresStore(url)
    assert store.active_generation() is None
    server.execute("ALTER TABLE generations ALTER COLUMN dimension TYPE bigint", name)
    assert store.active_generation() is None
    assert prepared(store) == [True]
    store.close()


def test_prepared_reads_are_named_once_for_each_statement(server: PostgresServer, url: str) -> None:
    with ServerConnection.connect(server.url(url.rpartition("/")[2]), autocommit=True) as connection:
        connection.prepares = connection.is_direct()
        for number in (1, 2**40):
            rows = connection.fetch_all([("SELECT 1", []), ("SELECT %s::bigint + %s", [number, 1]), ("SELECT 'a'", [])])
            assert rows == [[(1,)], [(number + 1,)], [("a",)]]
        assert connection.execute("SELECT count(*) FROM pg_prepared_statements").fetchone() == (2,)
        with pytest.raises(psycopg.errors.UndefinedTable):
            connection.fetch_all([("SELECT 1", []), ("SELECT * FROM nothing", [])])


def test_undone_write_leaves_reads_and_writes_prepared(url: str) -> None:
    store = PostgresStore(f"{url}?pool_size=1")
    write = OwnedWork(lambda tx: set_meta(tx, "name", "value"))

    def refuse(tx: Transaction) -> None:
        write(tx)
        raise Conflict("not this time")

    for _ in range(2):
        store.write(write, tenant="default")
        assert store.get_meta("name") == "value"
        with pytest.raises(Conflict, match="not this time"):
            store.write(OwnedWork(refuse), tenant="default")
        assert store.get_meta("name") == "value"
    with store._connections.outside_transactions() as connection:
        driver_of(connection).execute("DROP TABLE IF EXISTS nothing")
    assert store.get_meta("name") == "value"
    assert prepared(store) == [True]
    store.close()
