from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.security.encryption import EncryptionKey
from memoranda.storage.base import Store
from memoranda.storage.sqlite.store import open_sqlite
from memoranda.testing.differential import MemoryOperations
from memoranda.testing.reference import ReferenceStore
from memoranda.testing.store import MemoryContract, StoreContract


class TestReferenceStore(MemoryContract):
    @pytest.fixture
    def operations(self) -> MemoryOperations:
        return ReferenceStore()


class SQLiteContract(StoreContract):
    driver: str

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_sqlite(tmp_path / "memories.db", driver=self.driver)
        yield store
        store.close()


class TestEncryptedSQLite(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = open_sqlite(tmp_path / "memories.db", key=EncryptionKey("0123456789abcdef" * 4))
        yield store
        store.close()


class TestStandardLibrarySQLite(SQLiteContract):
    driver = "sqlite3"


class TestPysqlite3(SQLiteContract):
    driver = "pysqlite3"
