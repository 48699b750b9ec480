from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from memoranda.embedding.vectors import start_generation
from memoranda.storage.sqlite.store import SQLiteStore, open_sqlite
from memoranda.testing.fakes import HashEmbedder
from memoranda.testing.operations import MemoryOperations
from memoranda.testing.reference import ReferenceStore
from memoranda.testing.samples import VectorSpace
from memoranda.testing.store import StoreContract

DIMENSION = 8


class TestReferenceStore(StoreContract):
    @pytest.fixture
    def operations(self) -> MemoryOperations:
        return ReferenceStore()

    @pytest.fixture
    def space(self) -> VectorSpace:
        return VectorSpace(generation=1, dimension=DIMENSION)


class SQLiteContract(StoreContract):
    driver: str

    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[SQLiteStore]:
        store = open_sqlite(tmp_path / "memories.db", driver=self.driver)
        yield store
        problems = store.check()
        store.close()
        assert problems == []

    @pytest.fixture
    def space(self, store: SQLiteStore) -> VectorSpace:
        identity = HashEmbedder(DIMENSION).identity
        return VectorSpace(store.write(lambda tx: start_generation(tx, identity, activate=True)).id, DIMENSION)


class TestSQLiteWithTheStandardLibrary(SQLiteContract):
    driver = "sqlite3"


class TestSQLiteWithItsNewestLibrary(SQLiteContract):
    driver = "pysqlite3"
