"""Small values: those that the store keeps about itself, leases (work that only one process may do at a time), and rows
that expire. A row whose time is over counts as missing, whether or not it is deleted yet."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Final, TypeVar

from sqlalchemy import ColumnElement, delete, func, select

from memoranda.errors import Conflict, Incompatible, Unavailable
from memoranda.storage.base import ReadTransaction, Transaction, chunked
from memoranda.storage.schema import meta, short_lived

_Stored = TypeVar("_Stored")
_T = TypeVar("_T")
FILE_KEY: Final = "files:key"
"""The key, inside an encrypted database, of the files beside it: a new key of the database leaves them readable."""
FORMER_FILE_KEY: Final = "files:former_key"
"""The one before, until the key file is written again."""
COPY_SOURCE: Final = "copy:source"
"""The id of the store that this one is a copy of."""
COPY_UNFINISHED: Final = "copy:unfinished"
"""The key that exists until a copy to this store is complete."""
LEASE_TIME: Final = timedelta(minutes=5)
"""How long a lease holds after its last renewal, so that a process that died delays others no longer than this."""
_LEASE_MICROS: Final = int(LEASE_TIME.total_seconds() * 1_000_000)


def get_meta(tx: ReadTransaction, key: str) -> str | None:
    """Return the value under a key; None when there is none."""
    value: str | None = tx.execute(select(meta.c.value).where(meta.c.key == key)).scalar()
    return value


def decode(value: _Stored, read: Callable[[_Stored], _T]) -> _T:
    """Return what a stored value stands for; `Incompatible` when it is not of its kind: the file is damaged."""
    try:
        return read(value)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise Incompatible("a stored value is damaged: run check, then repair or restore a backup") from error


def set_meta(tx: Transaction, key: str, value: str) -> None:
    tx.upsert(meta, [{"key": key, "value": value}], key=("key",), update=("value",))


def delete_meta(tx: Transaction, key: str) -> None:
    tx.execute(delete(meta).where(meta.c.key == key))


def unfinished_copy(where: str) -> Unavailable:
    """Return the error for whoever uses a store that is not yet a whole copy."""
    return Unavailable(f"{where} is a copy that is not complete: run the same `memoranda copy SOURCE TARGET` again")


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
    return ("", 0) if value is None else decode(value, _to_lease)


def _to_lease(value: str) -> tuple[str, int]:
    holder, until = json.loads(value)
    return str(holder), int(until)


RESPONSE_BODY: Final = "body:"
"""The prefix of the names under which a server keeps the responses for idempotency keys."""
_S = short_lived.c


def put_values(tx: Transaction, tenant: str, values: Mapping[str, str], expires_at: int) -> None:
    """Store values under their names until a microsecond; a name that exists gets the new value and time."""
    # In one order, so that two writers never wait for each other.
    rows = [
        {"tenant": tenant, "name": name, "value": value, "expires_at": expires_at}
        for name, value in sorted(values.items())
    ]
    tx.upsert(short_lived, rows, key=("tenant", "name"), update=("value", "expires_at"))


def get_values(tx: ReadTransaction, tenant: str, names: Sequence[str], now: int) -> dict[str, str]:
    """Return the values that exist, by name."""
    found: dict[str, str] = {}
    for part in chunked(names):
        query = select(_S.name, _S.value).where(_S.tenant == tenant, _S.name.in_(part), _S.expires_at > now)
        found |= {row[0]: row[1] for row in tx.execute(query)}
    return found


def lock_value(tx: Transaction, tenant: str, name: str) -> str | None:
    """Return a value that nobody else changes before this transaction ends; None when there is none."""
    # A row that is not there cannot be locked: add one that has expired. To update one, if only its key, locks it.
    row = {"tenant": tenant, "name": name, "value": "", "expires_at": 0}
    tx.upsert(short_lived, [row], key=("tenant", "name"), update=("tenant",))
    value, expires_at = tx.execute(select(_S.value, _S.expires_at).where(_S.tenant == tenant, _S.name == name)).one()
    return value if expires_at > tx.at else None


def delete_values(tx: Transaction, tenant: str, names: Sequence[str], now: int) -> int:
    """Delete values; return how many there were."""
    count = 0
    for part in chunked(sorted(names)):
        named = (_S.tenant == tenant, _S.name.in_(part))
        count += tx.execute(delete(short_lived).where(*named, _S.expires_at > now)).rowcount
        tx.execute(delete(short_lived).where(*named))
    return count


def list_names(tx: ReadTransaction, tenant: str, prefix: str, now: int) -> list[str]:
    """Return the names that begin with a text, sorted."""
    return list(tx.scalars(select(_S.name).where(*_begins(tenant, prefix), _S.expires_at > now).order_by(_S.name)))


def count_values(tx: ReadTransaction, tenant: str, prefix: str, now: int) -> int:
    query = select(func.count()).select_from(short_lived).where(*_begins(tenant, prefix), _S.expires_at > now)
    return int(tx.execute(query).scalar_one())


def clear_values(tx: Transaction, tenant: str, prefix: str, now: int) -> int:
    """Delete the values whose names begin with a text; return how many there were."""
    count = count_values(tx, tenant, prefix, now)
    tx.execute(delete(short_lived).where(*_begins(tenant, prefix)))
    return count


def drop_expired(tx: Transaction) -> None:
    tx.execute(delete(short_lived).where(_S.expires_at <= tx.at))


def _begins(tenant: str, prefix: str) -> tuple[ColumnElement[bool], ...]:
    end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return _S.tenant == tenant, _S.name >= prefix, _S.name < end
