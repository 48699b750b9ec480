"""The keyed hashes that tie execution records together, and the key, which lies outside of the database."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from memoranda.errors import Incompatible, InvalidInput
from memoranda.storage.faults import translated
from memoranda.storage.rows import to_json
from memoranda.types import JSON

_KEY_BYTES: Final = 32
_LEAST_KEY: Final = 16


class KeyRing:
    """The key of one database: a given text, or a file `<database>.key` made at the first use."""

    def __init__(self, database: Path, given: str | None = None) -> None:
        if given is not None and len(given) < _LEAST_KEY:
            raise InvalidInput(f"the audit key has {len(given)} characters: give {_LEAST_KEY} or more, at random")
        self._path = key_file(database)
        self._key = None if given is None else hashlib.sha256(given.encode("utf-8")).digest()

    def key(self) -> bytes:
        if self._key is None:
            with translated(str(self._path)):
                self._key = _read(self._path)
        return self._key


def key_file(database: Path) -> Path:
    """Where the key of a database, or of its backup, lies."""
    return database.with_name(f"{database.name}.key")


def _read(path: Path) -> bytes:
    if not path.exists():
        _create(path)
    try:
        key = bytes.fromhex(path.read_text("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise Incompatible(f"{path} is no audit key: put the file back that was made with the database")
    return key


def _create(path: Path) -> None:
    # Written aside and linked into place: another process sees the whole key or none, and the first one stays.
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_hex(_KEY_BYTES).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(draft, path)
        except FileExistsError:
            return
    finally:
        draft.unlink()


class Chain:
    """Digests of one tenant's records: each depends on all before it, and on the key."""

    def __init__(self, key: bytes, tenant: str) -> None:
        self._key = key
        self._tenant = tenant

    def start(self) -> bytes:
        """What stands before the first record."""
        return self._sign("start", [])

    def link(self, before: bytes, row: Sequence[JSON]) -> bytes:
        """The digest of a record that follows the one with the digest `before`."""
        return self._sign("record", [before.hex(), *row])

    def seal(self, count: int, digest: bytes) -> bytes:
        """What proves how many records there are and which is the last."""
        return self._sign("head", [count, digest.hex()])

    def _sign(self, what: str, parts: list[JSON]) -> bytes:
        return hmac.digest(self._key, to_json([what, self._tenant, *parts]).encode("utf-8"), "sha256")


def same(left: bytes, right: bytes) -> bool:
    return hmac.compare_digest(left, right)
