"""The queue of jobs on PostgreSQL: workers of several connections claim at the same time."""

from __future__ import annotations

import threading

import pytest

from memoranda.jobs import worker
from memoranda.jobs.worker import NewJob
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.base import OwnedWork
from memoranda.testing.fakes import HashEmbedder

AUDIT_KEY = "a key for the tests of jobs"


def test_workers_never_get_the_same_piece(url: str) -> None:
    stores = [open_store(url) for _ in range(3)]
    stores[0].write(OwnedWork(lambda tx: worker.add_jobs(tx, [NewJob("upkeep", {"n": n}) for n in range(60)])))
    got: list[str] = []

    def work(number: int) -> None:
        store, name = stores[number % 3], f"worker {number}"
        while (job := store.write(OwnedWork(lambda tx: worker.claim_job(tx, name)))) is not None:
            got.append(job.id)
            store.write(OwnedWork(lambda tx, job=job: worker.finish_job(tx, job.id, name, "")))  # type: ignore[misc]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(set(got)) == 60
    for store in stores:
        store.close()


def test_two_workers_reembed_a_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "_PAGE", 10)
    config = MemoryConfig(db_url=url, audit_key=AUDIT_KEY)
    with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
        manager.add_memories([f"The boat number {number} is blue" for number in range(60)], user="ada")
    done: list[int] = []
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        worker.order(manager, "reembed")
        threads = [
            threading.Thread(target=lambda: done.append(worker.work_off(config, embedder=HashEmbedder(32))))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(done) == 7
        assert manager.recall("boat number 7", user="ada")[0].content == "The boat number 7 is blue"
        assert manager.check().problems == ()
