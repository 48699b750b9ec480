"""API keys: create, list, rotate and revoke. A secret is shown only when its key is created."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import insert, or_, select, update

from memoranda.errors import InvalidInput, NotFound
from memoranda.records import Record
from memoranda.settings import MemoryConfig, database_url, encryption_key, get_settings
from memoranda.storage import open_store
from memoranda.storage.base import OwnedWork, Store, Transaction
from memoranda.storage.database_key import DatabaseKey
from memoranda.storage.rows import from_micros
from memoranda.storage.schema import api_keys
from memoranda.text.checks import clean_text
from memoranda.types import ANY, DEFAULT_TENANT

SCOPES: Final = ("read", "write", "admin")
_PREFIX: Final = "mmr"
_PEPPER_VARIABLE: Final = "MEMORY_SERVER_PEPPER"
_MIN_PEPPER_LENGTH: Final = 16
_ID_BYTES: Final = 8
_SECRET_BYTES: Final = 32
_MICROSECOND: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class ApiKey(Record):
    """What is stored about a key, without its secret."""

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
    """A new key: `key` is shown once and cannot be read again."""

    key: str
    info: ApiKey


@dataclass(frozen=True, slots=True)
class KeyRow:
    """A row of the table of keys; times are microseconds."""

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


class Keys:
    """The API keys of one store."""

    def __init__(self, store: Store, audit_key: str | None = None) -> None:
        self._store = store
        # A store without a key file has only what the settings say.
        text = _read_pepper() or (audit_key if store.path is None else None)
        self._key = DatabaseKey(store, text, api_keys)

    def create(
        self,
        name: str,
        *,
        tenant: str = DEFAULT_TENANT,
        scopes: Sequence[str] = ("read", "write"),
        expires_in: timedelta | None = None,
        rate: float | None = None,
    ) -> IssuedKey:
        """Create a key and return it with its secret.

        Args:
            name: What the key is for.
            tenant: The tenant whose memory it opens.
            scopes: Some of `read`, `write` and `admin`.
            expires_in: How long it works; None for ever.
            rate: Requests a second; None for no limit.
        """
        name, tenant, scopes = clean_text(name, "name"), clean_text(tenant, "tenant"), _check_scopes(scopes)
        if rate is not None and not 0 < rate < 1e9:
            raise InvalidInput(f"rate is {rate}: give requests a second above 0, or leave it out")
        if expires_in is not None and expires_in <= timedelta(0):
            raise InvalidInput("expires_in must be positive")
        key_id, secret = secrets.token_hex(_ID_BYTES), secrets.token_urlsafe(_SECRET_BYTES)
        digest = _digest(self._key.read_to_sign(), key_id, secret)

        def write(tx: Transaction) -> KeyRow:
            expires_at = None if expires_in is None else tx.at + expires_in // _MICROSECOND
            row = KeyRow(key_id, tenant, name, digest, " ".join(scopes), rate, tx.at, expires_at)
            tx.execute(insert(api_keys).values(asdict(row)))
            return row

        return IssuedKey(f"{_PREFIX}.{key_id}.{secret}", to_api_key(self._store.write(write, tenant=tenant)))

    def all(self) -> list[ApiKey]:
        """Return every key, including those that no longer work, oldest first."""
        query = select(api_keys).order_by(api_keys.c.created_at, api_keys.c.id)
        return self._store.read(lambda tx: [to_api_key(KeyRow(*row)) for row in tx.execute(query)], tenant=ANY)

    def revoke(self, key_id: str) -> None:
        """Refuse the key from now on; raise `NotFound` when there is no such key that is not revoked."""
        matches = (api_keys.c.id == key_id, api_keys.c.revoked_at.is_(None))

        def write(tx: Transaction) -> int:
            return tx.execute(update(api_keys).where(*matches).values(revoked_at=tx.at)).rowcount

        if not self._store.write(write, tenant=ANY):
            raise NotFound(f"no key {key_id} that could be revoked")

    def rotate(self, key_id: str, *, grace: timedelta = timedelta(0)) -> IssuedKey:
        """Create a key with the same rights; the old one works for `grace` longer, unless it expires sooner."""
        old = self.find(key_id)
        if old is None or old.revoked_at is not None:
            raise NotFound(f"no key {key_id} that could be rotated")
        new = self.create(old.name, tenant=old.tenant, scopes=old.scopes.split(), rate=old.rate)

        def write(tx: Transaction) -> None:
            end = tx.at + grace // _MICROSECOND
            expires_later = or_(api_keys.c.expires_at.is_(None), api_keys.c.expires_at > end)
            tx.execute(update(api_keys).where(api_keys.c.id == key_id, expires_later).values(expires_at=end))

        self._store.write(write, tenant=old.tenant)
        return new

    def find(self, key_id: str) -> KeyRow | None:
        query = select(api_keys).where(api_keys.c.id == key_id)
        row = self._store.read(lambda tx: tx.execute(query).first(), tenant=ANY)
        return None if row is None else KeyRow(*row)

    def any_created(self) -> bool:
        """Return whether there ever was a key: those that were revoked or have expired count."""
        query = select(api_keys.c.id).limit(1)
        return self._store.read(lambda tx: tx.execute(query).first(), tenant=ANY) is not None

    def any_valid(self, now: datetime) -> bool:
        return any(key.is_valid(now) for key in self.all())

    def record_use(self, key_id: str) -> None:
        """Store the present time as the key's last use."""
        statement = update(api_keys).where(api_keys.c.id == key_id)
        self._store.write(OwnedWork(lambda tx: tx.execute(statement.values(used_at=tx.at))), tenant=ANY)

    def digest(self, key_id: str, secret: str) -> bytes:
        """Return what is stored instead of the secret."""
        return _digest(self._key.read(), key_id, secret)

    def derive(self, purpose: str) -> bytes:
        """Return a secret for another purpose, always the same one."""
        return hmac.digest(self._key.read(), f"memoranda {purpose}".encode(), hashlib.sha256)

    def require_key_file(self) -> None:
        """Raise `Incompatible` when the file that the keys were made with is missing: none of them would work."""
        if self.any_created():
            self._key.read()


@contextmanager
def open_keys(config: MemoryConfig | str | None = None) -> Iterator[Keys]:
    """Open the keys of the store that the settings, or a database URL, name."""
    if not isinstance(config, MemoryConfig):
        settings = get_settings().memory
        config = settings if config is None else replace(settings, db_url=config, read_url=None)
    store = open_store(database_url(config), key=encryption_key(config))
    try:
        yield Keys(store, config.audit_key)
    finally:
        store.close()


def split_key(text: str) -> tuple[str, str] | None:
    """Return the id and the secret of a key; None when the text is not a key."""
    parts = text.split(".")
    if len(parts) != 3 or parts[0] != _PREFIX or not parts[1] or not parts[2] or not text.isascii():
        return None
    return parts[1], parts[2]


def to_api_key(row: KeyRow) -> ApiKey:
    """Return what callers may see of a row."""
    expires_at, revoked_at, used_at = (
        None if moment is None else from_micros(moment) for moment in (row.expires_at, row.revoked_at, row.used_at)
    )
    return ApiKey(
        id=row.id,
        name=row.name,
        tenant=row.tenant,
        scopes=tuple(row.scopes.split()),
        rate=row.rate,
        created_at=from_micros(row.created_at),
        expires_at=expires_at,
        revoked_at=revoked_at,
        used_at=used_at,
    )


def _digest(database_key: bytes, key_id: str, secret: str) -> bytes:
    # The id is part of what is hashed: a digest copied into another row is useless.
    pepper = hmac.digest(database_key, b"memoranda api keys", hashlib.sha256)
    return hmac.digest(pepper, f"{key_id}.{secret}".encode(), hashlib.sha256)


def _read_pepper() -> str | None:
    pepper = os.environ.get(_PEPPER_VARIABLE) or None
    if pepper is not None and len(pepper) < _MIN_PEPPER_LENGTH:
        raise InvalidInput(
            f"{_PEPPER_VARIABLE} has {len(pepper)} characters: give {_MIN_PEPPER_LENGTH} or more, at random"
        )
    return pepper


def _check_scopes(scopes: Sequence[str]) -> tuple[str, ...]:
    names = scopes.split(",") if isinstance(scopes, str) else scopes
    unknown = [scope for scope in names if scope not in SCOPES]
    if unknown or not names:
        raise InvalidInput(f"scopes must be some of {', '.join(SCOPES)}, not {', '.join(map(repr, unknown)) or 'none'}")
    return tuple(scope for scope in SCOPES if scope in names)
