"""The contract suites on PostgreSQL: the same answers as on SQLite."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from memoranda.sessions.database import DatabaseBackend
from memoranda.storage import open_store
from memoranda.storage.base import Store
from memoranda.testing.store import StoreContract
from memoranda.testing.values import ValueStoreContract
from tests.postgres.pgbouncer import run_pgbouncer
from tests.postgres.server import PostgresServer


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, url: str) -> Iterator[Store]:
        store = open_store(url)
        yield store
        store.close()


@pytest.fixture(scope="module")
def pooler(server: PostgresServer) -> Iterator[int]:
    with run_pgbouncer(server) as port:
        yield port


class TestBehindPooler(StoreContract):
    """Through PgBouncer, which gives each transaction any session of the server."""

    @pytest.fixture
    def store(self, server: PostgresServer, pooler: int, url: str) -> Iterator[Store]:
        store = open_store(url.replace(f":{server.port}/", f":{pooler}/"))
        yield store
        store.close()


class TestValues(ValueStoreContract):
    @pytest.fixture
    def store(self, url: str) -> Iterator[DatabaseBackend]:
        database = open_store(url)
        with DatabaseBackend(database) as store:
            yield store
        database.close()

    def advance(self, seconds: float) -> None:
        time.sleep(seconds)
