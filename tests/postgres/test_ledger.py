"""The ledger of recalls is written beside the writes of others, and loses nothing to them."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.base import OwnedWork, Transaction
from memoranda.testing.fakes import HashEmbedder


def _open(url: str) -> MemoryManager:
    config = MemoryConfig(db_url=url, audit_key="a key for the tests of the ledger")
    return MemoryManager(config, embedder=HashEmbedder(64))


def test_ledger_is_written_while_another_process_writes_for_a_user(url: str) -> None:
    other, started, done = open_store(url), threading.Event(), threading.Event()

    def hold(tx: Transaction) -> bool:
        started.set()
        return done.wait(20)

    with _open(url) as manager, ThreadPoolExecutor(2) as threads:
        manager.add_memory("Ada plays chess.", user="ada")
        found = manager.recall("chess", user="ada")
        held = threads.submit(other.write, OwnedWork(hold, ("default", "ada")), tenant="default")
        assert started.wait(10)
        threads.submit(manager._components.ledger.write).result(10)
        done.set()
        assert held.result(10)
        assert manager.replay(found.id, user="ada").complete
    other.close()


def test_ledgers_of_two_processes_keep_the_same_memory_while_others_are_deleted(
    url: str, caplog: pytest.LogCaptureFixture
) -> None:
    with _open(url) as first, _open(url) as second, ThreadPoolExecutor(3) as threads:
        ids = [first.add_memory(f"Ada plays chess on day {number}.", user="ada").id for number in range(40)]

        def recall(manager: MemoryManager) -> list[str]:
            found = list[str]()
            for _ in range(10):
                found.append(manager.recall("chess", user="ada", limit=10).id)
                manager._components.ledger.write()
            return found

        with caplog.at_level(logging.WARNING, "memoranda"):
            asked = [threads.submit(recall, manager) for manager in (first, second)]
            for memory_id in ids[:30]:
                first.delete(memory_id, user="ada")
            recalls = [recall_id for each in asked for recall_id in each.result()]
        assert [record.message for record in caplog.records if "ledger" in record.message] == []
        for recall_id in recalls:
            assert first.replay(recall_id, user="ada").recall.id == recall_id
