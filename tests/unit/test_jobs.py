from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import func, select

from memoranda import jobs
from memoranda.errors import Conflict, InvalidInput, MissingExtra, NotFound, Unavailable
from memoranda.index.partitions import Partitions
from memoranda.jobs import NewJob
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import open_store
from memoranda.storage.base import Store
from memoranda.storage.schema import vectors
from memoranda.testing.fakes import HashEmbedder
from memoranda.types import ANY
from tests.fake_clock import FakeClock


@pytest.fixture
def config(tmp_path: Path) -> MemoryConfig:
    return MemoryConfig(db_url=f"sqlite:///{tmp_path}/a.db")


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2030, 1, 1, tzinfo=UTC))


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    store = open_store(tmp_path / "queue.db", clock=clock)
    yield store
    store.close()


def fill(config: MemoryConfig, count: int, dimension: int = 16) -> None:
    with MemoryManager(config, embedder=HashEmbedder(dimension)) as manager:
        manager.add_memories([f"The boat number {number} is blue" for number in range(count)], user="ada")


def add(store: Store, *stages: int) -> None:
    store.write(lambda tx: jobs.add_jobs(tx, [NewJob("upkeep", {"n": n}, stage) for n, stage in enumerate(stages)]))


def claim(store: Store, holder: str) -> jobs.Job | None:
    return store.write(lambda tx: jobs.claim_job(tx, holder))


def test_two_workers_never_get_the_same_piece(store: Store) -> None:
    add(store, *[0] * 40)
    got: list[str] = []

    def work(name: str) -> None:
        while (job := claim(store, name)) is not None:
            got.append(job.id)
            store.write(lambda tx, job=job: jobs.finish_job(tx, job.id, name, ""))  # type: ignore[misc]

    threads = [threading.Thread(target=work, args=(f"worker {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == len(set(got)) == 40


def test_piece_goes_to_another_worker_when_its_claim_is_not_renewed(store: Store, clock: FakeClock) -> None:
    add(store, 0)
    first = claim(store, "one")
    assert first is not None
    assert claim(store, "two") is None
    clock.advance(seconds=40)
    store.write(lambda tx: jobs.renew_claim(tx, first.id, "one"))
    clock.advance(seconds=40)
    assert claim(store, "two") is None
    clock.advance(seconds=30)
    again = claim(store, "two")
    assert again is not None
    assert (again.id, again.tries) == (first.id, 2)
    for late in (jobs.renew_claim, lambda tx, job, holder: jobs.finish_job(tx, job, holder, "")):
        with pytest.raises(Conflict, match="taken over"):
            store.write(lambda tx, late=late: late(tx, first.id, "one"))  # type: ignore[misc]


def test_later_stage_begins_when_the_earlier_one_is_done(store: Store) -> None:
    add(store, 1, 0, 0)
    first, second = claim(store, "one"), claim(store, "two")
    assert first is not None
    assert second is not None
    assert (first.stage, second.stage, claim(store, "three")) == (0, 0, None)
    store.write(lambda tx: jobs.finish_job(tx, first.id, "one", ""))
    assert claim(store, "three") is None
    store.write(lambda tx: jobs.finish_job(tx, second.id, "two", ""))
    last = claim(store, "three")
    assert last is not None
    assert last.stage == 1


def test_piece_that_fails_waits_longer_each_time_and_fails_in_the_end(store: Store, clock: FakeClock) -> None:
    add(store, 0, 1)
    for tries in range(1, jobs.MAX_TRIES + 1):
        job = claim(store, "one")
        assert job is not None
        assert job.tries == tries
        store.write(lambda tx, job=job: jobs.fail_job(tx, job.id, "one", "no disk", job.tries))  # type: ignore[misc]
        assert claim(store, "one") is None
        clock.advance(seconds=2**tries)
    listed = store.read(lambda tx: list(jobs.list_jobs(tx, 0, 10)))
    assert [(job.state, job.note) for job in listed] == [("failed", "no disk"), ("waiting", "")]
    assert store.read(jobs.count_unfinished) == 0
    assert store.write(jobs.requeue_failed) == 1
    assert claim(store, "one") is not None


def test_reembedding_in_pieces_gives_every_memory_a_vector_of_the_new_model(
    config: MemoryConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "_PAGE", 10)
    fill(config, 35)
    new = HashEmbedder(32)
    with MemoryManager(config, embedder=new) as manager:
        assert jobs.order(manager, "reembed")[1] == 5
        manager_store = manager._components.open().store
        assert jobs.work_off(config, embedder=new) == 5
        counted = select(func.count(), func.min(func.length(vectors.c.data))).select_from(vectors)
        assert manager_store.read(lambda tx: tuple(tx.execute(counted).one()), tenant=ANY) == (35, 4 * 32)
        assert manager.recall("boat number 7", user="ada")[0].content == "The boat number 7 is blue"
        states = {job.state for job in jobs.find_jobs(manager)}
    assert states == {"done"}


def test_upkeep_has_a_piece_for_each_tenant(config: MemoryConfig) -> None:
    embedder = HashEmbedder(16)
    with MemoryManager(config, embedder=embedder) as manager:
        manager.add_memory("The boat is blue", user="ada")
        manager.for_tenant("other").add_memory("The goat is white", user="bob")
        assert jobs.order(manager, "upkeep")[1] == 2
        assert jobs.work_off(config, embedder=embedder) == 2
        notes = [job.note for job in jobs.find_jobs(manager)]
    assert notes == ["1 memory examined, 0 changes"] * 2


def test_import_of_a_file_that_is_gone_is_kept_as_a_failure(
    config: MemoryConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "MAX_TRIES", 1)
    fill(config, 3)
    with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
        manager.export_jsonl(tmp_path / "export.jsonl")
    there = MemoryConfig(db_url=f"sqlite:///{tmp_path}/b.db")
    with MemoryManager(there, embedder=HashEmbedder(16)) as manager:
        files = [str(tmp_path / "export.jsonl")]
        with pytest.raises(NotFound, match="no file"):
            jobs.order(manager, "import", [*files, "missing.jsonl"])
        jobs.order(manager, "import", files)
        assert jobs.work_off(there, embedder=HashEmbedder(16)) == 1
        assert len(manager.list_memories(user="ada")) == 3
        jobs.order(manager, "import", files)
        (tmp_path / "export.jsonl").unlink()
        assert jobs.work_off(there, embedder=HashEmbedder(16)) == 0
        latest = jobs.find_jobs(manager)[0]
    assert latest.state == "failed"
    assert "export.jsonl" in latest.note


@pytest.mark.parametrize(("kind", "files"), [("dream", []), ("reembed", ["a"]), ("import", [])])
def test_unknown_or_incomplete_order_is_refused_and_adds_nothing(
    config: MemoryConfig, kind: str, files: list[str]
) -> None:
    with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
        with pytest.raises(InvalidInput):
            jobs.order(manager, kind, files)
        assert jobs.find_jobs(manager) == []


_WORKER = """
import sys, time
from memoranda import jobs
from memoranda.settings import MemoryConfig
from memoranda.testing.fakes import HashEmbedder

class SlowEmbedder(HashEmbedder):
    def embed(self, texts, *, kind):
        print(len(texts), flush=True)
        time.sleep(0.3)
        return super().embed(texts, kind=kind)

jobs.LEASE_SECONDS = 2
config = MemoryConfig(db_url=sys.argv[1], audit_key="a key for the tests of jobs")
print("done", jobs.work_off(config, embedder=SlowEmbedder(32)), flush=True)
"""


def test_killed_worker_loses_only_its_claim(config: MemoryConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_PAGE", 5)
    fill(config, 40)
    with MemoryManager(config, embedder=HashEmbedder(32)) as manager:
        jobs.order(manager, "reembed")
        with ExitStack() as stack:
            command = [sys.executable, "-c", _WORKER, config.db_url]
            workers = [
                stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True)) for _ in range(2)
            ]
            assert workers[0].stdout is not None
            workers[0].stdout.readline()
            workers[0].kill()
            output, _ = workers[1].communicate(timeout=120)
        assert "done" in output
        found = jobs.find_jobs(manager)
        assert {job.state for job in found} == {"done"}
        assert any(job.tries == 2 for job in found)
        assert manager.recall("boat number 7", user="ada")[0].content == "The boat number 7 is blue"


def die_or_work(config: MemoryConfig) -> int:
    """Claim a piece and die, in the first process that comes here; work off the queue in the others."""
    jobs.LEASE_SECONDS = 2  # type: ignore[misc]
    file = Path(config.db_url.removeprefix("sqlite:///"))
    try:
        file.with_name("first").touch(exist_ok=False)
    except FileExistsError:
        return jobs.work_off(config)
    store = open_store(file)
    assert claim(store, "the first") is not None
    die(config)
    return 0


def die(_: MemoryConfig) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return 0


def test_pieces_of_a_killed_process_are_done_by_the_others(config: MemoryConfig) -> None:
    config = replace(config, embedding_model="fast")
    with MemoryManager(config) as manager:
        for tenant in ("one", "two", "three"):
            with manager.for_tenant(tenant) as own:
                own.add_memory("The boat is blue", user="ada")
        jobs.order(manager, "upkeep")
    assert jobs.run_local(config, 2, die_or_work) == 3
    with MemoryManager(config) as manager:
        assert sorted((job.state, job.tries) for job in jobs.find_jobs(manager)) == [
            ("done", 1),
            ("done", 1),
            ("done", 2),
        ]


def test_that_every_process_was_killed_is_an_error(config: MemoryConfig) -> None:
    with pytest.raises(Unavailable, match="exit code -9"):
        jobs.run_local(config, 2, die)


def test_error_of_a_process_is_raised_here(config: MemoryConfig) -> None:
    with pytest.raises(Unavailable, match="Ray cluster"):
        jobs.run_local(config, 2, find_no_cluster)


def find_no_cluster(_: MemoryConfig) -> int:
    raise Unavailable("there is no Ray cluster", retry_after=1.0)


def test_ray_that_is_not_installed_is_named(config: MemoryConfig, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra, match="ray"):
        jobs.run_on_ray(config, "local", 1)


def test_index_job_builds_and_saves_the_graph_of_a_large_user(
    config: MemoryConfig, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(config, 40)
    with MemoryManager(config, embedder=HashEmbedder(16)) as manager:
        assert jobs.order(manager, "index")[1] == 0  # nobody has so many memories
        monkeypatch.setattr(Partitions, "prepared_from", lambda *_: 40)
        assert jobs.order(manager, "index")[1] == 1
        assert jobs.work_off(config, embedder=HashEmbedder(16)) == 1
        assert [job.note for job in jobs.find_jobs(manager)] == ["40 memories indexed"]


def test_index_job_without_vectors_is_refused(config: MemoryConfig) -> None:
    with (
        MemoryManager(replace(config, enable_vector_search=False)) as manager,
        pytest.raises(InvalidInput, match="nothing to index"),
    ):
        jobs.order(manager, "index")
