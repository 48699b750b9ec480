"""The secret key of a database, with which execution records and receipts are signed."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from hmac import digest as hmac_digest
from pathlib import Path
from typing import Final

from memoranda.errors import Incompatible, InvalidInput
from memoranda.storage.base import key_file
from memoranda.storage.errors import translate_errors
from memoranda.storage.rows import to_json
from memoranda.types import JSON

_KEY_BYTES: Final = 32
_MIN_KEY_CHARS: Final = 16


class DatabaseKey:
    """The secret key of one database: from a text, or from a file `<database>.key` created at the first use."""

    def __init__(self, database: Path | None, text: str | None = None) -> None:
        if text is not None and len(text) < _MIN_KEY_CHARS:
            raise InvalidInput(f"the audit key has {len(text)} characters: give at least {_MIN_KEY_CHARS} random ones")
        if database is None and text is None:
            raise InvalidInput("this store is not a single file, so it has no key file: set MEMORY_AUDIT_KEY")
        self._path = None if database is None else key_file(database)
        self._key = None if text is None else hashlib.sha256(text.encode("utf-8")).digest()

    def sign(self, kind: str, values: Sequence[JSON]) -> bytes:
        """Return a keyed hash of the values, which nobody can make without the key."""
        return hmac_digest(self.read(), to_json([kind, *values]).encode("utf-8"), "sha256")

    def read(self) -> bytes:
        if self._key is None:
            assert self._path is not None
            with translate_errors(str(self._path)):
                self._key = _read_key(self._path)
        return self._key


def _read_key(path: Path) -> bytes:
    if not path.exists():
        _create_key(path)
    try:
        key = bytes.fromhex(path.read_text("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise Incompatible(f"{path} is not an audit key: restore the key file that was created with the database")
    return key


def _create_key(path: Path) -> None:
    # Written to a temporary file and linked: another process sees the whole key or none, and the first one stays.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(secrets.token_hex(_KEY_BYTES).encode("ascii"))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
    finally:
        temporary.unlink()
