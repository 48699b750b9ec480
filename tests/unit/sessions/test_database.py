from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import func, select

from memoranda.sessions.base import Namespace
from memoranda.sessions.database import DatabaseBackend
from memoranda.storage import open_store
from memoranda.storage.base import Store
from memoranda.storage.schema import short_lived
from memoranda.testing.values import ValueStoreContract
from memoranda.types import ANY
from tests.fake_clock import FakeClock

AGENT = Namespace(agent="writer")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def database(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    store = open_store(tmp_path / "a.db", clock=clock)
    yield store
    store.close()


class TestContract(ValueStoreContract):
    clock: FakeClock

    @pytest.fixture
    def store(self, database: Store, clock: FakeClock) -> Iterator[DatabaseBackend]:
        self.clock = clock
        with DatabaseBackend(database, clock=clock) as store:
            yield store

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds=seconds)


def test_two_stores_on_one_file_share_their_values(tmp_path: Path) -> None:
    stores = [open_store(tmp_path / "a.db") for _ in range(2)]
    first, second = (DatabaseBackend(store) for store in stores)
    first.set(AGENT, {"draft": 1})
    assert second.get(AGENT, ["draft"]) == {"draft": 1}
    assert second.delete(AGENT, ["draft"]) == 1
    assert first.get(AGENT, ["draft"]) == {}
    for store in stores:
        store.close()


def test_expired_values_are_deleted_from_the_table(database: Store, clock: FakeClock) -> None:
    backend = DatabaseBackend(database, clock=clock)
    backend.set(AGENT, {f"old {number}": number for number in range(10)}, ttl=1)
    clock.advance(seconds=2)
    for number in range(300):
        backend.set(AGENT, {"new": number})
    rows = database.read(lambda tx: tx.execute(select(func.count()).select_from(short_lived)).scalar(), tenant=ANY)
    assert rows == 1
