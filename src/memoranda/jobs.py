"""Jobs: long work in pieces, which are claimed for a time, done once, and done again after a crash.

A claim that is not renewed ends, so a piece of a process that was killed goes to another. What a piece does must be
safe to do again: it may have been done, up to its last write, before the process ended. The kind of a job says how an
order becomes pieces, and what each piece does. The queue is worked off in this process, in several of this machine, or
on a Ray cluster.
"""

from __future__ import annotations

import json
import logging
import multiprocessing
import os
import secrets
import socket
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from sqlalchemy import delete, func, select, update

from memoranda.display import plural
from memoranda.embedding.base import Embedder
from memoranda.errors import Conflict, InvalidInput, MemorandaError, MissingExtra, NotFound, Unavailable
from memoranda.files import is_file
from memoranda.manager.manager import MemoryManager
from memoranda.records import Record
from memoranda.settings import MemoryConfig
from memoranda.storage.base import OwnedWork, PartitionKey, ReadTransaction, RewriteStore, Row, Store, Transaction
from memoranda.storage.rows import from_micros, stored_json, to_micros
from memoranda.storage.schema import jobs, memories
from memoranda.threads import Flag, start_thread
from memoranda.types import ANY, JSON, utc_now

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnContext, SpawnProcess

JobState: TypeAlias = Literal["waiting", "running", "done", "failed"]
_Worker: TypeAlias = "tuple[SpawnProcess, Connection]"
LEASE_SECONDS: Final = 60
MAX_TRIES: Final = 5
_KEPT: Final = 7 * 86_400_000_000
"""Microseconds that finished jobs are listed."""
_J = jobs.c


@dataclass(frozen=True, slots=True)
class NewJob:
    """A piece of work to be done."""

    kind: str
    payload: Mapping[str, JSON]
    stage: int = 0
    """Pieces of a later stage begin when all pieces of the earlier ones are done."""


@dataclass(frozen=True, slots=True)
class Job(Record):
    """A piece of work in the queue."""

    id: str
    batch: str
    stage: int
    kind: str
    payload: dict[str, Any]
    state: JobState
    tries: int
    """How often it was begun."""
    note: str
    """What it did, or why it failed."""
    added_at: datetime
    ended_at: datetime | None


def add_jobs(tx: Transaction, new: Sequence[NewJob]) -> str:
    """Add the pieces of one order; return the name of their batch."""
    batch = secrets.token_hex(4)
    tx.execute(delete(jobs).where(_J.state == "done", _J.ended_at < tx.at - _KEPT))
    columns = ("id", "batch", "stage", "kind", "payload", "added_at")
    rows = [
        (f"{batch}-{number:06d}", batch, each.stage, each.kind, json.dumps(dict(each.payload)), tx.at)
        for number, each in enumerate(new, 1)
    ]
    tx.insert_rows(jobs, columns, rows)
    return batch


def claim_job(tx: Transaction, holder: str) -> Job | None:
    """Claim the piece that has waited longest and may begin; None when there is none."""
    earlier = jobs.alias()
    is_blocked = (
        select(earlier.c.id)
        .where(earlier.c.batch == _J.batch, earlier.c.stage < _J.stage, earlier.c.state != "done")
        .exists()
    )
    query = (
        select(jobs)
        .where(_J.state == "waiting", _J.claimed_until <= tx.at, ~is_blocked)
        .order_by(_J.added_at, _J.id)
        .limit(1)
        # On PostgreSQL two workers look at the same time: each takes another row. SQLite has one writer.
        .with_for_update(skip_locked=True, of=jobs)
    )
    row = tx.execute(query).first()
    if row is None:
        return None
    until = tx.at + LEASE_SECONDS * 1_000_000
    claim = {"holder": holder, "claimed_until": until, "tries": row.tries + 1}
    tx.execute(update(jobs).where(_J.id == row.id).values(claim))
    return _to_job((*row[:8], row.tries + 1, *row[9:]), "running")


def renew_claim(tx: Transaction, job_id: str, holder: str) -> None:
    """Keep a piece for another while; `Conflict` when another worker has it."""
    until = tx.at + LEASE_SECONDS * 1_000_000
    _change(tx, job_id, holder, {"claimed_until": until})


def finish_job(tx: Transaction, job_id: str, holder: str, note: str) -> None:
    """Mark a piece as done; `Conflict` when another worker has it."""
    _change(tx, job_id, holder, {"state": "done", "note": note, "ended_at": tx.at, "holder": ""})


def fail_job(tx: Transaction, job_id: str, holder: str, reason: str, tries: int) -> None:
    """Let a piece wait for another try, longer each time; after the last try it has failed."""
    wait = 2**tries * 1_000_000
    state = {"state": "failed", "ended_at": tx.at} if tries >= MAX_TRIES else {"claimed_until": tx.at + wait}
    _change(tx, job_id, holder, {"note": reason, "holder": "", **state})


def requeue_failed(tx: Transaction) -> int:
    """Let all failed pieces wait again; return how many."""
    again = {"state": "waiting", "claimed_until": 0, "tries": 0, "ended_at": None}
    return tx.execute(update(jobs).where(_J.state == "failed").values(again)).rowcount


def count_unfinished(tx: ReadTransaction) -> int:
    """Return how many pieces are waiting or being done, without those that only a failed one keeps from beginning."""
    earlier = jobs.alias()
    is_stuck = (
        select(earlier.c.id)
        .where(earlier.c.batch == _J.batch, earlier.c.stage < _J.stage, earlier.c.state == "failed")
        .exists()
    )
    query = select(func.count()).select_from(jobs).where(_J.state == "waiting", ~is_stuck)
    return int(tx.execute(query).scalar_one())


def list_jobs(tx: ReadTransaction, now: int, limit: int) -> Iterator[Job]:
    """Yield pieces, the latest order first."""
    for row in tx.execute(select(jobs).order_by(_J.added_at.desc(), _J.id).limit(limit)):
        running = row.state == "waiting" and row.holder and row.claimed_until > now
        yield _to_job(row, "running" if running else row.state)


def _change(tx: Transaction, job_id: str, holder: str, values: Mapping[str, Any]) -> None:
    own = (_J.id == job_id, _J.holder == holder, _J.state == "waiting")
    if not tx.execute(update(jobs).where(*own).values(dict(values))).rowcount:
        raise Conflict(f"another worker has taken over job {job_id}: nothing more was written here")


def _to_job(row: Row, state: JobState) -> Job:
    id, batch, stage, kind, payload, _, _, _, tries, note, added_at, ended_at = row
    ended = None if ended_at is None else from_micros(ended_at)
    return Job(id, batch, stage, kind, stored_json(payload, dict), state, tries, note, from_micros(added_at), ended)


Run: TypeAlias = Callable[[MemoryManager, dict[str, Any]], str]
"""Does one piece, and returns what was done in a few words. It may be run again after it was interrupted."""
_PAGE: Final = 1_000
"""Memories of one piece."""


def plan(manager: MemoryManager, kind: str, files: Sequence[str] = ()) -> list[NewJob]:
    """Return the pieces of an order: `reembed`, `index`, `upkeep`, `rewrite`, or `import` of some files."""
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
    return f"the new vectors answer; {plural(made, 'memory', 'memories')} embedded in the meantime"


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


def _plan_rewriting(manager: MemoryManager, files: Sequence[str]) -> list[NewJob]:  # noqa: ARG001
    if not isinstance(manager._components.open().store, RewriteStore):
        raise InvalidInput("a file has no free space with old bytes: what is forgotten is gone from it at once")
    return [NewJob("rewrite", {})]


def _rewrite(manager: MemoryManager, payload: dict[str, Any]) -> str:  # noqa: ARG001
    opened = manager._components.open()
    if isinstance(opened.store, RewriteStore) and not opened.store.rewrite():
        raise Unavailable("rows that were erased are still held: see the log", retry_after=1.0)
    opened.finish_erasures()
    return "all tables written anew"


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
    "rewrite": _plan_rewriting,
    "import": _plan_import,
}
KINDS: Final[dict[str, Run]] = {
    "reembed": _reembed,
    "reembed-end": _end_reembedding,
    "index": _index,
    "upkeep": _upkeep,
    "rewrite": _rewrite,
    "import": _import,
}


_LOGGER: Final = logging.getLogger("memoranda")
_POLL_SECONDS: Final = 0.5
_CONNECT_SECONDS: Final = 10.0


def order(manager: MemoryManager, kind: str, files: Sequence[str] = ()) -> tuple[str, int]:
    """Add a job to the queue; return the name of its batch and the number of its pieces."""
    pieces = plan(manager, kind, files)
    store = manager._components.open().store
    return store.write(OwnedWork(lambda tx: add_jobs(tx, pieces)), tenant=None), len(pieces)


def find_jobs(manager: MemoryManager, limit: int = 100) -> list[Job]:
    """Return the pieces in the queue, the latest order first."""
    now = to_micros(utc_now())
    return manager._components.open().store.read(lambda tx: list(list_jobs(tx, now, limit)), tenant=None)


def retry_failed(manager: MemoryManager) -> int:
    """Let pieces that have failed wait again; return how many."""
    return manager._components.open().store.write(OwnedWork(requeue_failed), tenant=None)


def work_off(config: MemoryConfig, *, embedder: Embedder | None = None) -> int:
    """Do pieces until none is left that could be done, also not by another worker; return how many were done here."""
    done = 0
    with MemoryManager(config, embedder=embedder) as manager:
        store, holder = manager._components.open().store, uuid.uuid4().hex
        while True:
            job = store.write(OwnedWork(lambda tx: claim_job(tx, holder)), tenant=None)
            if job is not None:
                done += _do(manager, store, job, holder)
            elif store.read(count_unfinished, tenant=None):
                time.sleep(_POLL_SECONDS)  # others work on what is left: one of them may die
            else:
                return done


def _do(manager: MemoryManager, store: Store, job: Job, holder: str) -> bool:
    """Do one piece; return whether it is done."""
    try:
        with _renewing(store, job, holder):
            note = KINDS[job.kind](manager, job.payload)
        store.write(OwnedWork(lambda tx: finish_job(tx, job.id, holder, note)), tenant=None)
    except Conflict as error:
        _LOGGER.warning("%s", error)
        return False
    except Exception as error:  # noqa: BLE001 - kept with the job, which `memoranda jobs list` shows
        reason = str(error) if isinstance(error, MemorandaError) else f"{type(error).__name__}: {error}"
        _LOGGER.warning("job %s failed: %s", job.id, reason)
        store.write(OwnedWork(lambda tx: fail_job(tx, job.id, holder, reason, job.tries)), tenant=None)
        return False
    return True


@contextmanager
def _renewing(store: Store, job: Job, holder: str) -> Iterator[None]:
    """Keep the claim while the piece is done."""
    ended = Flag()

    def renew() -> None:
        while not ended.wait(LEASE_SECONDS / 4):
            try:
                store.write(OwnedWork(lambda tx: renew_claim(tx, job.id, holder)), tenant=None)
            except MemorandaError as error:  # the next renewal, or the end of the piece, reports it
                _LOGGER.warning("the claim on job %s was not renewed: %s", job.id, error)

    thread = threading.Thread(target=renew, daemon=True)
    start_thread(thread)
    try:
        yield
    finally:
        ended.set()
        if thread.is_alive():
            thread.join()


def run_local(config: MemoryConfig, workers: int = 1, run: Callable[[MemoryConfig], int] = work_off) -> int:
    """Work off the queue in so many processes of this machine; return how many pieces were done.

    A process that is killed is not started again: the others take over its piece when its claim ends.
    """
    if workers == 1:
        return run(config)
    spawn = multiprocessing.get_context("spawn")
    # Not a pool, which waits for ever for the result of a process that was killed.
    started = [_start_worker(spawn, run, config) for _ in range(workers)]
    try:
        ended = [_result_of(process, result) for process, result in started]
    finally:
        for process, _ in started:
            process.terminate()
            process.join()
    done = [each for each in ended if isinstance(each, int)]
    return _total(done, [each for each in ended if isinstance(each, Exception)])


def _start_worker(spawn: SpawnContext, run: Callable[[MemoryConfig], int], config: MemoryConfig) -> _Worker:
    receiver, sender = spawn.Pipe(duplex=False)
    process = spawn.Process(target=_run_worker, args=(run, config, sender), daemon=True)
    process.start()
    sender.close()  # the process has its own: when that is closed too, nothing comes any more
    return process, receiver


def _run_worker(run: Callable[[MemoryConfig], int], config: MemoryConfig, result: Connection) -> None:
    try:
        result.send(run(config))
    except Exception as error:  # noqa: BLE001 - raised by who started this process
        result.send(error)


def _result_of(process: SpawnProcess, result: Connection) -> int | Exception:
    """Wait until a worker has ended, in whichever way; return how many pieces it did, or why it did not go on."""
    try:
        found: int | Exception = result.recv()
    except (EOFError, OSError):
        process.join()
        found = Unavailable(f"a worker was killed or crashed (exit code {process.exitcode})", retry_after=1.0)
    if isinstance(found, Exception):
        _LOGGER.warning("a worker ended early, others take over its piece: %s", found)
    return found


def _total(done: Sequence[int], failures: Sequence[Exception]) -> int:
    """Return how many pieces were done. A worker that ends by itself has left nothing to do; when none has, raise."""
    if not done and failures:
        raise failures[0]
    return sum(done)


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
        return _results(ray, waiting)
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


def _results(ray: Any, waiting: Sequence[Any]) -> int:
    done, failures = list[int](), list[Exception]()
    for each in waiting:
        try:
            done.append(int(ray.get(each)))
        except ray.exceptions.WorkerCrashedError as error:
            _LOGGER.warning("a worker of the cluster died: %s", error)
            failures.append(Unavailable(f"all workers of the cluster died: {error}", retry_after=1.0))
    return _total(done, failures)
