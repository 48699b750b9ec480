"""Single values that the store keeps about itself, and leases: work that only one process may do at a time."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from sqlalchemy import delete, select

from memoranda.errors import Conflict
from memoranda.storage.base import ReadTransaction, Transaction
from memoranda.storage.schema import meta

FILE_KEY: Final = "files:key"
"""The key, inside an encrypted database, of the files beside it: a new key of the database leaves them readable."""
FORMER_FILE_KEY: Final = "files:former_key"
"""The one before, until the key file is written again."""
LEASE_TIME: Final = timedelta(minutes=5)
"""How long a lease holds after its last renewal, so that a process that died delays others no longer than this."""
_LEASE_MICROS: Final = int(LEASE_TIME.total_seconds() * 1_000_000)


def get_meta(tx: ReadTransaction, key: str) -> str | None:
    """Return the value under a key; None when there is none."""
    value: str | None = tx.execute(select(meta.c.value).where(meta.c.key == key)).scalar()
    return value


def set_meta(tx: Transaction, key: str, value: str) -> None:
    tx.upsert(meta, [{"key": key, "value": value}], key=("key",), update=("value",))


def delete_meta(tx: Transaction, key: str) -> None:
    tx.execute(delete(meta).where(meta.c.key == key))


@dataclass(frozen=True, slots=True)
class Lease:
    """A claim of one holder on one piece of work."""

    work: str
    holder: str

    @property
    def key(self) -> str:
        return f"lease:{self.work}"


def take_lease(tx: Transaction, lease: Lease) -> int | None:
    """Take the lease. Return None when it is now ours, else the microsecond until which another holder has it."""
    holder, until = _read_lease(tx, lease)
    # A lease that ends later than any lease can was written by a clock that was wrong.
    if holder != lease.holder and tx.at < until <= tx.at + _LEASE_MICROS:
        return until
    set_meta(tx, lease.key, json.dumps([lease.holder, tx.at + _LEASE_MICROS]))
    return None


def renew_lease(tx: Transaction, lease: Lease) -> None:
    """Renew the lease; `Conflict` when it was lost, since what was decided under it must not be written."""
    if _read_lease(tx, lease)[0] != lease.holder:
        raise Conflict(f"another process has taken over {lease.work}: nothing more was written here")
    take_lease(tx, lease)


def release_lease(tx: Transaction, lease: Lease) -> None:
    if _read_lease(tx, lease)[0] == lease.holder:
        delete_meta(tx, lease.key)


def _read_lease(tx: Transaction, lease: Lease) -> tuple[str, int]:
    """Return the holder and the microsecond the lease ends; an empty holder when it is free."""
    value = get_meta(tx, lease.key)
    holder, until = ("", 0) if value is None else json.loads(value)
    return holder, until
