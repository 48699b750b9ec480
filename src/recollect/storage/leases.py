"""Work that only one process may do at a time: a lease with an end, kept in the store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection, delete, select
from sqlalchemy.dialects.sqlite import insert as upsert

from recollect.errors import Conflict
from recollect.storage.schema import meta

LASTS: Final = timedelta(minutes=5)
"""How long a lease holds after its last sign of life: a process that died keeps others waiting no longer."""
_MICROS: Final = int(LASTS.total_seconds() * 1_000_000)


@dataclass(frozen=True, slots=True)
class Lease:
    """Who wants to do what."""

    work: str
    holder: str

    @property
    def key(self) -> str:
        return f"lease:{self.work}"


def take(connection: Connection, lease: Lease, at: int) -> int | None:
    """None when it is now held by this holder; else the microsecond until which somebody else has it."""
    row = connection.execute(select(meta.c.value).where(meta.c.key == lease.key)).scalar()
    holder, until = json.loads(row) if row is not None else ("", 0)
    # One that ends later than any lease can was written by a clock that was wrong.
    if holder != lease.holder and at < until <= at + _MICROS:
        return int(until)
    statement = upsert(meta).values(key=lease.key, value=json.dumps([lease.holder, at + _MICROS]))
    connection.execute(statement.on_conflict_do_update(set_={"value": statement.excluded.value}))
    return None


def keep(connection: Connection, lease: Lease, at: int) -> None:
    """Holds on to it; `Conflict` when it was lost: what was decided under it must not be written."""
    row = connection.execute(select(meta.c.value).where(meta.c.key == lease.key)).scalar()
    if row is None or json.loads(row)[0] != lease.holder:
        raise Conflict(f"another process has taken over {lease.work}: nothing more was written here")
    take(connection, lease, at)


def give_back(connection: Connection, lease: Lease) -> None:
    mine = select(meta.c.value).where(meta.c.key == lease.key)
    row = connection.execute(mine).scalar()
    if row is not None and json.loads(row)[0] == lease.holder:
        connection.execute(delete(meta).where(meta.c.key == lease.key))
