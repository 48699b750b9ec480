"""Work that only one process may do at a time: a lease with an end, kept in the store."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection

from memoranda.errors import Conflict
from memoranda.storage.meta import note, noted, strike

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
    holder, until = _held(connection, lease)
    # One that ends later than any lease can was written by a clock that was wrong.
    if holder != lease.holder and at < until <= at + _MICROS:
        return until
    note(connection, lease.key, json.dumps([lease.holder, at + _MICROS]))
    return None


def keep(connection: Connection, lease: Lease, at: int) -> None:
    """Holds on to it; `Conflict` when it was lost: what was decided under it must not be written."""
    if _held(connection, lease)[0] != lease.holder:
        raise Conflict(f"another process has taken over {lease.work}: nothing more was written here")
    take(connection, lease, at)


def give_back(connection: Connection, lease: Lease) -> None:
    if _held(connection, lease)[0] == lease.holder:
        strike(connection, lease.key)


def _held(connection: Connection, lease: Lease) -> tuple[str, int]:
    """Who has it, and until which microsecond; nobody when it is free."""
    row = noted(connection, lease.key)
    holder, until = ("", 0) if row is None else json.loads(row)
    return holder, until
