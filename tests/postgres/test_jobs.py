"""The queue of jobs on PostgreSQL: workers of several connections claim at the same time."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from memoranda import jobs
from memoranda.jobs import NewJob
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.base import OwnedWork, Store
from memoranda.testing.fakes import HashEmbedder
from tests.fake_clock import FakeClock
from tests.unit.test_jobs import (  # noqa: F401 - run here too, on a server
    clock,
    test_killed_worker_loses_only_its_claim,
    test_piece_goes_to_another_worker_when_its_claim_is_not_renewed,
)

AUDIT_KEY = "a key for the tests of jobs"


@pytest.fixture
def config(url: str) -> MemoryConfig:
    return MemoryConfig(db_url=url, audit_key=AUDIT_KEY)


@pytest.fixture
def store(url: str, clock: FakeClock) -> Iterator[Store]:  # noqa: F811
    store = open_store(url, clock=clock)
    yield store
    store.close()


def test_workers_never_get_the_same_piece(url: str) -> None:
    stores = [open_store(url) for _ in range(3)]
    stores[0].write(OwnedWork(lambda tx: jobs.add_jobs(tx, [NewJob("upkeep", {"n": n}) for n in range(60)])))
    got: list[str] = []

    def work(number: int) -> None:
        store, name = stores[number % 3], f"worker {number}"
        while (job := store.write(OwnedWork(lambda tx: jobs.claim_job(tx, name)))) is not None:
            got.append(job.id)
            store.write(OwnedWork(lambda tx, job=job: jobs.finish_job(tx, job.id, name, "")))  # type: ignore[misc]

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(set(got)) == 60
    for store in stores:
        store.close()


def test_two_workers_reembed_a_database(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_PAGE", 10)
    config = MemoryConfig(db_url=url, audit_key=AUDIT_KEY)
    with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
        manager.add_memories([f"The boat number {number} is blue" for number in range(60)], user="ada")
    done: list[int] = []
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        jobs.order(manager, "reembed")
        threads = [
            threading.Thread(target=lambda: done.append(jobs.work_off(config, embedder=HashEmbedder(32))))
            for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(done) == 7
        assert manager.recall("boat number 7", user="ada")[0].content == "The boat number 7 is blue"
        assert manager.check().problems == ()
