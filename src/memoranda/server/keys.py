"""API keys: made, listed, rotated and revoked. `create` is the one moment at which a secret is seen."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import insert, select, update

from memoranda.errors import InvalidInput, NotFound
from memoranda.executions.log import KeyRing
from memoranda.settings import MemoryConfig, database_url, get_settings
from memoranda.storage import open_store
from memoranda.storage.base import ReadTransaction, Store, Transaction
from memoranda.storage.rows import from_micros
from memoranda.storage.schema import api_keys
from memoranda.text import clean_text
from memoranda.types import DEFAULT_TENANT, Record

PREFIX: Final = "mmr"
SCOPES: Final = ("read", "write", "admin")
PEPPER_VARIABLE: Final = "MEMORY_SERVER_PEPPER"
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_LEAST_PEPPER: Final = 16


@dataclass(frozen=True, slots=True)
class ApiKey(Record):
    """What is known of a key; never its secret."""

    id: str
    name: str
    tenant: str
    scopes: tuple[str, ...]
    rate: float | None
    """Requests a second; None for no limit."""
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None
    """When it was last used, to the minute."""

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


@dataclass(frozen=True, slots=True)
class IssuedKey(Record):
    """A new key: `key` is shown once and can never be read again."""

    key: str
    info: ApiKey


class Keys:
    """The keys of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._ring = KeyRing(store.path, _pepper())

    def create(
        self,
        name: str,
        *,
        tenant: str = DEFAULT_TENANT,
        scopes: Sequence[str] = ("read", "write"),
        expires_in: timedelta | None = None,
        rate: float | None = None,
    ) -> IssuedKey:
        name, tenant, scopes = clean_text(name, "name"), clean_text(tenant, "tenant"), _checked(scopes)
        if rate is not None and not 0 < rate < 1e9:
            raise InvalidInput(f"rate is {rate}: give requests a second above 0, or leave it out")
        if expires_in is not None and expires_in <= timedelta(0):
            raise InvalidInput("expires_in must lie in the future")
        key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        digest = self.digest(key_id, secret)

        def write(tx: Transaction) -> KeyRow:
            ends = None if expires_in is None else tx.at + expires_in // timedelta(microseconds=1)
            row = KeyRow(key_id, tenant, name, digest, " ".join(scopes), rate, tx.at, ends)
            add(tx, row)
            return row

        return IssuedKey(f"{PREFIX}.{key_id}.{secret}", info_of(self._store.write(write)))

    def all(self) -> list[ApiKey]:
        """Every key there ever was, the oldest first."""
        return [info_of(row) for row in self._store.read(find_all)]

    def revoke(self, key_id: str) -> None:
        """The key is refused from now on; `NotFound` when there is none that still works."""
        if not self._store.write(lambda tx: revoke(tx, key_id, tx.at)):
            raise NotFound(f"no key {key_id} that could be revoked")

    def rotate(self, key_id: str, *, grace: timedelta = timedelta(0)) -> IssuedKey:
        """A new key with the same rights; the old one works for `grace` longer."""
        old = self.find(key_id)
        if old is None or old.revoked_at is not None:
            raise NotFound(f"no key {key_id} that could be rotated")
        new = self.create(old.name, tenant=old.tenant, scopes=old.scopes.split(), rate=old.rate)
        ends = grace // timedelta(microseconds=1)
        self._store.write(lambda tx: expire(tx, key_id, tx.at + ends))
        return new

    def find(self, key_id: str) -> KeyRow | None:
        return self._store.read(lambda tx: find(tx, key_id))

    def any_valid(self, now: datetime) -> bool:
        return any(key.is_valid(now) for key in self.all())

    def note_use(self, key_id: str) -> None:
        self._store.write(lambda tx: note_use(tx, key_id, tx.at))

    def digest(self, key_id: str, secret: str) -> bytes:
        # The id is part of what is hashed: a digest copied into another row opens nothing.
        pepper = hmac.digest(self._ring.key(), b"memoranda api keys", hashlib.sha256)
        return hmac.digest(pepper, f"{key_id}.{secret}".encode(), hashlib.sha256)


def _pepper() -> str | None:
    given = os.environ.get(PEPPER_VARIABLE) or None
    if given is not None and len(given) < _LEAST_PEPPER:
        raise InvalidInput(f"{PEPPER_VARIABLE} has {len(given)} characters: give {_LEAST_PEPPER} or more, at random")
    return given


def split_key(text: str) -> tuple[str, str] | None:
    """The id and the secret of a key; None when it does not look like one."""
    parts = text.split(".")
    if len(parts) != 3 or parts[0] != PREFIX or not parts[1] or not parts[2] or not text.isascii():
        return None
    return parts[1], parts[2]


def info_of(row: KeyRow) -> ApiKey:
    created, *others = (
        None if moment is None else from_micros(moment)
        for moment in (row.created_at, row.expires_at, row.revoked_at, row.used_at)
    )
    assert created is not None
    return ApiKey(row.id, row.name, row.tenant, tuple(row.scopes.split()), row.rate, created, *others)


@contextmanager
def open_keys(config: MemoryConfig | str | None = None) -> Iterator[Keys]:
    """The keys of the store that the settings, or a database URL, name."""
    if isinstance(config, str):
        config = MemoryConfig(db_url=config)
    store = open_store(database_url(config or get_settings().memory))
    try:
        yield Keys(store)
    finally:
        store.close()


def _checked(scopes: Sequence[str]) -> tuple[str, ...]:
    wanted = scopes.split(",") if isinstance(scopes, str) else scopes
    unknown = [scope for scope in wanted if scope not in SCOPES]
    if unknown or not wanted:
        raise InvalidInput(f"scopes must be some of {', '.join(SCOPES)}, not {', '.join(map(repr, unknown)) or 'none'}")
    return tuple(scope for scope in SCOPES if scope in wanted)


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


def add(tx: Transaction, row: KeyRow) -> None:
    tx.execute(insert(api_keys).values({name: getattr(row, name) for name in KeyRow.__slots__}))


def find(tx: ReadTransaction, key_id: str) -> KeyRow | None:
    row = tx.execute(select(api_keys).where(_K.id == key_id)).first()
    return None if row is None else KeyRow(*row)


def find_all(tx: ReadTransaction) -> list[KeyRow]:
    """Every key, the oldest first."""
    return [KeyRow(*row) for row in tx.execute(select(api_keys).order_by(_K.created_at, _K.id))]


def revoke(tx: Transaction, key_id: str, at: int) -> bool:
    """Whether there was such a key, not yet revoked."""
    changed = update(api_keys).where(_K.id == key_id, _K.revoked_at.is_(None)).values(revoked_at=at)
    return tx.execute(changed).rowcount == 1


def expire(tx: Transaction, key_id: str, at: int) -> None:
    """The key ends at `at`, unless it ends sooner."""
    sooner = (_K.expires_at.is_(None)) | (_K.expires_at > at)
    tx.execute(update(api_keys).where(_K.id == key_id, sooner).values(expires_at=at))


def note_use(tx: Transaction, key_id: str, at: int) -> None:
    tx.execute(update(api_keys).where(_K.id == key_id).values(used_at=at))
