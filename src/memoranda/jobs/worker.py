"""The kinds of jobs, and working off the queue: in this process, in several of this machine, or on a Ray cluster.

A kind says how an order becomes pieces, and what each piece does.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from sqlalchemy import func, select

from memoranda.display import plural
from memoranda.embedding.base import Embedder
from memoranda.errors import Conflict, InvalidInput, MemorandaError, MissingExtra, NotFound, Unavailable
from memoranda.files import is_file
from memoranda.manager.manager import MemoryManager
from memoranda.settings import MemoryConfig
from memoranda.storage import jobs as queue
from memoranda.storage.base import OwnedWork, PartitionKey, Store
from memoranda.storage.jobs import Job, NewJob
from memoranda.storage.rows import to_micros
from memoranda.storage.schema import memories
from memoranda.threads import Flag, start_thread
from memoranda.types import ANY, utc_now

Run: TypeAlias = Callable[[MemoryManager, dict[str, Any]], str]
"""Does one piece, and returns what was done in a few words. It may be run again after it was interrupted."""
_PAGE: Final = 1_000
"""Memories of one piece."""


def plan(manager: MemoryManager, kind: str, files: Sequence[str] = ()) -> list[NewJob]:
    """Return the pieces of an order: `reembed`, `index`, `upkeep`, or `import` of some files."""
    if kind not in _PLANS:
        raise InvalidInput(f"there is no job {kind!r}: it is one of {', '.join(sorted(_PLANS))}")
    if bool(files) != (kind == "import"):
        raise InvalidInput("name the files of an import, and none for another job")
    return _PLANS[kind](manager, files)


def _plan_reembedding(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:  # noqa: ARG001
    vectors = manager._components.open().vectors
    generation, ids = vectors.begin_reembedding()
    if generation is None:
        raise InvalidInput("vector search is off: there is nothing to embed")
    pages = [ids[start : start + _PAGE] for start in range(0, len(ids), _PAGE)]
    pieces = [NewJob("reembed", {"generation": generation, "first": page[0], "last": page[-1]}) for page in pages]
    return [*pieces, NewJob("reembed-end", {"generation": generation}, stage=1)]


def _reembed(manager: MemoryManager, payload: dict[str, Any]) -> str:
    within = (int(payload["first"]), int(payload["last"]))
    made = manager._components.open().vectors.embed_missing(int(payload["generation"]), None, within=within)
    return f"{plural(made, 'memory', 'memories')} embedded"


def _end_reembedding(manager: MemoryManager, payload: dict[str, Any]) -> str:
    made = manager._components.open().vectors.end_reembedding(int(payload["generation"]), None)
    return f"the new vectors answer; {plural(made, 'memory', 'memories')} embedded meanwhile"


def _plan_indexing(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:  # noqa: ARG001
    opened = manager._components.open()
    embedder = opened.vectors.embedder
    if embedder is None or opened.vectors.generation() is None:
        raise InvalidInput("vector search is off, or the store is empty: there is nothing to index")
    owner, least = (memories.c.tenant, memories.c.user), opened.partitions.prepared_from(embedder.identity.dimension)
    large = select(*owner).group_by(*owner).having(func.count() >= least).order_by(*owner)
    owners = opened.store.read(lambda tx: tx.execute(large).all(), tenant=ANY)
    return [NewJob("index", {"tenant": tenant, "user": user}) for tenant, user in owners]


def _index(manager: MemoryManager, payload: dict[str, Any]) -> str:
    opened = manager._components.open()
    generation = opened.vectors.generation()
    if generation is None:
        return "vector search is off: nothing was indexed"
    return opened.partitions.prepare(PartitionKey(payload["tenant"], payload["user"] or None), generation)


def _plan_upkeep(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:  # noqa: ARG001
    query = select(memories.c.tenant).distinct().order_by(memories.c.tenant)
    tenants = manager._components.open().store.read(lambda tx: list(tx.scalars(query)), tenant=ANY)
    return [NewJob("upkeep", {"tenant": tenant}) for tenant in tenants]


def _upkeep(manager: MemoryManager, payload: dict[str, Any]) -> str:
    with manager.for_tenant(payload["tenant"]) as own:
        report = own.upkeep()
    return f"{plural(report.examined, 'memory', 'memories')} examined, {plural(len(report.decisions), 'change')}"


def _plan_import(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:
    found = [Path(file).absolute() for file in files]
    if missing := [file for file in found if not is_file(file)]:
        raise NotFound(f"there is no file {missing[0]}")
    return [NewJob("import", {"tenant": manager._tenant, "file": str(file)}) for file in found]


def _import(manager: MemoryManager, payload: dict[str, Any]) -> str:
    with manager.for_tenant(payload["tenant"]) as own:
        report = own.import_jsonl(payload["file"])
    return f"{plural(report.memories, 'memory', 'memories')} imported"


_PLANS: Final[dict[str, Callable[[MemoryManager, Sequence[str]], list[NewJob]]]] = {
    "reembed": _plan_reembedding,
    "index": _plan_indexing,
    "upkeep": _plan_upkeep,
    "import": _plan_import,
}
KINDS: Final[dict[str, Run]] = {
    "reembed": _reembed,
    "reembed-end": _end_reembedding,
    "index": _index,
    "upkeep": _upkeep,
    "import": _import,
}


_LOGGER: Final = logging.getLogger("memoranda")
_POLL_SECONDS: Final = 0.5
_CONNECT_SECONDS: Final = 10.0


def order(manager: MemoryManager, kind: str, files: Sequence[str] = ()) -> tuple[str, int]:
    """Add a job to the queue; return the name of its batch and the number of its pieces."""
    pieces = plan(manager, kind, files)
    store = manager._components.open().store
    return store.write(OwnedWork(lambda tx: queue.add_jobs(tx, pieces)), tenant=None), len(pieces)


def find_jobs(manager: MemoryManager, limit: int = 100) -> list[Job]:
    """Return the pieces in the queue, the latest order first."""
    now = to_micros(utc_now())
    return manager._components.open().store.read(lambda tx: list(queue.list_jobs(tx, now, limit)), tenant=None)


def retry_failed(manager: MemoryManager) -> int:
    """Let pieces that have failed wait again; return how many."""
    return manager._components.open().store.write(OwnedWork(queue.retry_failed), tenant=None)


def work_off(config: MemoryConfig, *, embedder: Embedder | None = None) -> int:
    """Do pieces until none is left that could be done, also not by another worker; return how many were done here."""
    done = 0
    with MemoryManager(config, embedder=embedder) as manager:
        store, holder = manager._components.open().store, uuid.uuid4().hex
        while True:
            job = store.write(OwnedWork(lambda tx: queue.claim_job(tx, holder)), tenant=None)
            if job is not None:
                done += _do(manager, store, job, holder)
            elif store.read(queue.count_unfinished, tenant=None):
                time.sleep(_POLL_SECONDS)  # others are at it: one of them may die
            else:
                return done


def _do(manager: MemoryManager, store: Store, job: Job, holder: str) -> bool:
    """Do one piece; return whether it is done."""
    try:
        with _renewing(store, job, holder):
            note = KINDS[job.kind](manager, job.payload)
        store.write(OwnedWork(lambda tx: queue.finish_job(tx, job.id, holder, note)), tenant=None)
    except Conflict as error:
        _LOGGER.warning("%s", error)
        return False
    except Exception as error:  # noqa: BLE001 - kept with the job, which `memoranda jobs list` shows
        reason = str(error) if isinstance(error, MemorandaError) else f"{type(error).__name__}: {error}"
        _LOGGER.warning("job %s failed: %s", job.id, reason)
        store.write(OwnedWork(lambda tx: queue.fail_job(tx, job.id, holder, reason, job.tries)), tenant=None)
        return False
    return True


@contextmanager
def _renewing(store: Store, job: Job, holder: str) -> Iterator[None]:
    """Keep the claim while the piece is done."""
    ended = Flag()

    def renew() -> None:
        while not ended.wait(queue.LEASE_SECONDS / 4):
            try:
                store.write(OwnedWork(lambda tx: queue.renew_claim(tx, job.id, holder)), tenant=None)
            except MemorandaError as error:  # the next time, or the end of the piece, tells
                _LOGGER.warning("the claim on job %s was not renewed: %s", job.id, error)

    thread = threading.Thread(target=renew, daemon=True)
    start_thread(thread)
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def run_local(config: MemoryConfig, workers: int = 1) -> int:
    """Work off the queue in so many processes of this machine; return how many pieces were done."""
    if workers == 1:
        return work_off(config)
    spawn = multiprocessing.get_context("spawn")
    with spawn.Pool(workers) as pool:
        return sum(pool.map(work_off, [config] * workers, chunksize=1))


def run_on_ray(config: MemoryConfig, address: str, workers: int, run: Callable[[MemoryConfig], int] = work_off) -> int:
    """Work off the queue in so many workers of a Ray cluster; return how many pieces were done.

    Args:
        config: The settings. Every node must reach the database and have Memoranda installed.
        address: The address of the cluster, such as `ray://head:10001`, or `local` for one on this machine.
        workers: How many workers.
        run: What each of them runs.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ModuleNotFoundError as error:
        raise MissingExtra("jobs on a Ray cluster", "ray") from error
    _require_cluster(address)
    try:
        ray.init(address=address, logging_level=logging.WARNING)
    except (ConnectionError, ValueError) as error:
        raise Unavailable(f"there is no Ray cluster at {address}: {error}") from error
    try:
        # A worker that dies is not started again: the others take over its piece when its claim ends.
        remote: Any = ray.remote(max_retries=0)(run)
        waiting = [remote.remote(config) for _ in range(workers)]
        return sum(_results(ray, waiting))
    finally:
        ray.shutdown()


def _require_cluster(address: str) -> None:
    """Raise `Unavailable` when nobody listens at the address: Ray itself would try for minutes."""
    host, separator, port = address.removeprefix("ray://").rpartition(":")
    if not separator or not port.isdigit():
        return  # such as "local" and "auto"
    try:
        socket.create_connection((host.strip("[]"), int(port)), _CONNECT_SECONDS).close()
    except OSError as error:
        raise Unavailable(f"there is no Ray cluster at {address}: {error.strerror or error}") from error


def _results(ray: Any, waiting: Sequence[Any]) -> Iterator[int]:
    for each in waiting:
        try:
            yield int(ray.get(each))
        except ray.exceptions.WorkerCrashedError as error:
            _LOGGER.warning("a worker of the cluster died: %s", error)
