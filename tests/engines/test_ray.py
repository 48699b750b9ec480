"""Jobs on a real Ray cluster of this machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from memoranda import jobs
from memoranda.errors import Unavailable
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig


@pytest.fixture
def config(tmp_path: Path) -> MemoryConfig:
    return MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db", enable_vector_search=False)


def test_workers_of_a_cluster_do_every_piece_once(config: MemoryConfig) -> None:
    with MemoryManager(config) as manager:
        for number in range(6):
            manager.for_tenant(f"tenant {number}").add_memory("The boat is blue", user="ada")
        jobs.order(manager, "upkeep")
        assert jobs.run_on_ray(config, "local", 2) == 6
        found = jobs.find_jobs(manager)
    assert [(job.state, job.tries) for job in found] == [("done", 1)] * 6


def _die_or_work(config: MemoryConfig) -> int:
    """The first worker that runs this dies with its piece."""
    mark = Path(config.db_url.removeprefix("sqlite:///") + ".died")

    jobs.LEASE_SECONDS = 2  # type: ignore[misc]
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return jobs.work_off(config)
    with MemoryManager(config) as manager:
        manager._components.open().store.write(lambda tx: jobs.claim_job(tx, "dead"))
    os._exit(1)


def test_piece_of_a_worker_that_dies_is_done_by_another(config: MemoryConfig) -> None:
    with MemoryManager(config) as manager:
        for number in range(4):
            manager.for_tenant(f"tenant {number}").add_memory("The boat is blue", user="ada")
        jobs.order(manager, "upkeep")
        assert jobs.run_on_ray(config, "local", 2, _die_or_work) == 4
        assert {job.state for job in jobs.find_jobs(manager)} == {"done"}


def test_cluster_that_is_not_there_is_unavailable(config: MemoryConfig) -> None:
    with pytest.raises(Unavailable, match="no Ray cluster"):
        jobs.run_on_ray(config, "127.0.0.1:9", 1)
