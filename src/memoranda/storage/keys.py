"""The rows of API keys. A secret is never here: only a keyed hash of it."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import Connection, insert, select, update

from memoranda.storage.schema import api_keys

_K = api_keys.c


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One key as the table holds it; times are microseconds."""

    id: str
    tenant: str
    name: str
    digest: bytes
    scopes: str
    rate: float | None
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    used_at: int | None = None


def add(connection: Connection, row: KeyRow) -> None:
    connection.execute(insert(api_keys).values({name: getattr(row, name) for name in KeyRow.__slots__}))


def find(connection: Connection, key_id: str) -> KeyRow | None:
    row = connection.execute(select(api_keys).where(_K.id == key_id)).first()
    return None if row is None else KeyRow(*row)


def find_all(connection: Connection) -> list[KeyRow]:
    """Every key, the oldest first."""
    return [KeyRow(*row) for row in connection.execute(select(api_keys).order_by(_K.created_at, _K.id))]


def revoke(connection: Connection, key_id: str, at: int) -> bool:
    """Whether there was such a key, not yet revoked."""
    changed = update(api_keys).where(_K.id == key_id, _K.revoked_at.is_(None)).values(revoked_at=at)
    return connection.execute(changed).rowcount == 1


def expire(connection: Connection, key_id: str, at: int) -> None:
    """The key ends at `at`, unless it ends sooner."""
    sooner = (_K.expires_at.is_(None)) | (_K.expires_at > at)
    connection.execute(update(api_keys).where(_K.id == key_id, sooner).values(expires_at=at))


def note_use(connection: Connection, key_id: str, at: int) -> None:
    connection.execute(update(api_keys).where(_K.id == key_id).values(used_at=at))
