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


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, url: str) -> Iterator[Store]:
        store = open_store(url)
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
