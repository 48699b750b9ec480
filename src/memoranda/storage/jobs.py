"""The queue of jobs: pieces of work that are claimed for a time, done once, and done again after a crash.

A claim that is not renewed ends, so a piece of a process that was killed goes to another. What a piece does must be
safe to do again: it may have been done, up to its last write, before the process ended.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal, TypeAlias

from sqlalchemy import delete, func, select, update

from memoranda.errors import Conflict
from memoranda.records import Record
from memoranda.storage.base import ReadTransaction, Row, Transaction
from memoranda.storage.rows import from_micros
from memoranda.storage.schema import jobs
from memoranda.types import JSON

JobState: TypeAlias = Literal["waiting", "running", "done", "failed"]
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
    """Claim the piece that waits longest and may begin; None when there is none."""
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


def retry_failed(tx: Transaction) -> int:
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
    return Job(id, batch, stage, kind, json.loads(payload), state, tries, note, from_micros(added_at), ended)
