"""The contract suites on PostgreSQL: the same answers as on SQLite."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from memoranda.storage import open_store
from memoranda.storage.base import Store
from memoranda.testing.store import StoreContract


class TestPostgres(StoreContract):
    @pytest.fixture
    def store(self, url: str) -> Iterator[Store]:
        store = open_store(url)
        yield store
        store.close()
