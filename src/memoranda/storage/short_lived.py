"""Rows that expire. A row whose time is over counts as missing, whether or not it is deleted yet."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sqlalchemy import ColumnElement, delete, func, select

from memoranda.storage.base import ReadTransaction, Transaction, chunked
from memoranda.storage.schema import short_lived

RESPONSE_BODY: Final = "body:"
"""What the names of responses begin with that a server keeps for a request under an idempotency key."""
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
