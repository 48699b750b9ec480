"""How often a call waits for the server: each time takes as long as the network does."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from sqlalchemy import make_url

from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.meta import get_meta
from memoranda.testing.fakes import HashEmbedder
from tests.postgres.proxy import CuttingProxy, cutting_proxy

KEY = "a key for the tests of round trips"


@pytest.fixture
def proxy(url: str) -> Iterator[CuttingProxy]:
    port = make_url(url).port
    assert port is not None
    with cutting_proxy(port) as proxy:
        yield proxy


@pytest.fixture
def manager(url: str, proxy: CuttingProxy) -> Iterator[MemoryManager]:
    through = url.replace(f":{make_url(url).port}/", f":{proxy.port}/")
    with MemoryManager(MemoryConfig(db_url=through, audit_key=KEY), embedder=HashEmbedder(64)) as manager:
        manager.add_memory("Ada plays chess on Fridays.", user="ada", importance=0.5)
        yield manager


def test_single_add_waits_twice_for_the_server(manager: MemoryManager, proxy: CuttingProxy) -> None:
    for number, user in enumerate(("ada", "ada", "bob")):  # bob is new
        proxy.round_trips = 0
        manager.add_memory(f"Note {number} about the garden.", user=user, importance=0.5)
        assert proxy.round_trips <= 3, user  # one of them looks for the vector of the same text


def test_recall_waits_once_and_a_few_times_more_after_a_change(manager: MemoryManager, proxy: CuttingProxy) -> None:
    def count_recall() -> int:
        proxy.round_trips = 0
        assert manager.recall("When does she play chess?", user="ada")
        return proxy.round_trips

    assert count_recall() <= 5  # loads ada's memories
    assert count_recall() == 1
    manager.add_memory("Ada plays chess on Mondays too.", user="ada", importance=0.5)
    assert count_recall() <= 4  # asks, notices, reads the change, and asks again
    assert count_recall() <= 2  # asks first, since there was a change a moment ago
    assert count_recall() == 1


def test_read_of_one_statement_waits_twice(url: str, proxy: CuttingProxy) -> None:
    store = open_store(url.replace(f":{make_url(url).port}/", f":{proxy.port}/"))
    for read in (store.read, store.write):
        proxy.round_trips = 0
        assert read(lambda tx: get_meta(tx, "none")) is None
        assert proxy.round_trips == 2
    store.close()
