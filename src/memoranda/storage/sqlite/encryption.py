"""Encrypted database files, by SQLCipher: AES-256 with an HMAC on every page of the file and of its WAL.

The first 16 bytes of such a file are a random salt. The key of the file is derived from it here, once for each process:
SQLCipher would derive it again for every connection.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from memoranda.errors import EncryptionKeyError
from memoranda.security.encryption import SALT_BYTES, EncryptionKey
from memoranda.storage.errors import translate_errors
from memoranda.storage.sqlite.file_lock import journal_of, lock_of, log_of, size_of
from memoranda.storage.sqlite.scrub import MAGIC, RawFile
from memoranda.storage.sqlite.transaction import PAGE_BYTES

_HOW_TO_SET: Final = "MEMORY_ENCRYPTION_KEY, MEMORY_ENCRYPTION_KEY_FILE or MEMORY_ENCRYPTION_KEY_COMMAND"


class DatabaseCipher:
    """Opens the connections of one encrypted file."""

    __slots__ = ("_pragma",)

    def __init__(self, key: EncryptionKey, salt: bytes) -> None:
        self._pragma = f"PRAGMA key = \"x'{key.derive(salt).hex()}{salt.hex()}'\""

    def __repr__(self) -> str:
        return "DatabaseCipher(…)"

    def unlock(self, raw: Any, where: str) -> None:
        """Give a new connection the key; `EncryptionKeyError` when the file cannot be read with it."""
        raw.execute("PRAGMA cipher_log_level = NONE")  # it would write to standard error
        raw.execute(self._pragma)
        raw.execute(f"PRAGMA cipher_page_size = {PAGE_BYTES}")
        try:
            raw.execute("SELECT count(*) FROM sqlite_master").fetchone()
        except Exception as error:
            if "not a database" not in str(error):
                raise
            raise wrong_key(where) from error


def open_cipher(path: Path, key: EncryptionKey | None, module: ModuleType) -> DatabaseCipher | None:
    """Return what opens a file; None for one that is not encrypted. A new file is created with the key.

    Raise `EncryptionKeyError` when there is a key and the file is not encrypted, or the other way round.
    """
    start = read_start(path)
    if key is None:
        if start and is_encrypted(start):
            raise EncryptionKeyError(
                f"{path} is encrypted, or damaged in its first bytes: set {_HOW_TO_SET}; if it was never encrypted, "
                "restore a backup"
            )
        return None
    if not start:
        return _create(path, key, module)
    if not is_encrypted(start):
        raise EncryptionKeyError(
            f"{path} is not encrypted, and an encryption key is set: run `memoranda encrypt`, or leave the key out"
        )
    if len(start) < SALT_BYTES:
        raise wrong_key(str(path))
    cipher = DatabaseCipher(key, start)
    _require_own_log(path, start, cipher, module)
    return cipher


def _require_own_log(path: Path, start: bytes, cipher: DatabaseCipher, module: ModuleType) -> None:
    """Refuse a file that cannot be read beside the log of another: SQLite would write that into it, and delete it.

    A power cut during a checkpoint can leave such a first page too. Then the log has it, and it begins like the file.
    """
    logs = list(filter(size_of, (log_of(path), journal_of(path))))
    for may_fail in (True, False) if logs else ():  # another process may be writing the page
        try:
            with closing(module.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as raw:
                return cipher.unlock(raw, str(path))
        except EncryptionKeyError:
            if any(start in log.read_bytes() for log in logs):
                return None
            if not may_fail:
                raise
    return None


def is_encrypted(start: bytes) -> bool:
    """Return whether these are the first bytes of an encrypted file."""
    return bool(start) and not start.startswith(MAGIC)


def read_start(path: Path) -> bytes:
    """Return the first bytes of a database that may be open in this process, without harm to SQLite's locks on it."""
    with translate_errors(str(path)), _raw_file(path) as file:
        return file.read_start(SALT_BYTES)


def new_cipher(key: EncryptionKey) -> DatabaseCipher:
    """Return what opens a file that is yet to be written."""
    return DatabaseCipher(key, os.urandom(SALT_BYTES))


def wrong_key(where: str) -> EncryptionKeyError:
    return EncryptionKeyError(
        f"{where} cannot be read with this encryption key: it was encrypted with another one, or is damaged; set the "
        "right key, or restore a backup"
    )


def _create(path: Path, key: EncryptionKey, module: ModuleType) -> DatabaseCipher:
    """Write the first page, under the lock: two processes that create the file at once must use the same salt."""
    lock = lock_of(path)
    with closing(lock), lock():
        start = read_start(path)
        cipher = DatabaseCipher(key, start) if start else new_cipher(key)
        if not start:
            with closing(module.connect(str(path), isolation_level=None)) as raw:
                cipher.unlock(raw, str(path))
                raw.execute("PRAGMA journal_mode=WAL")
    return cipher


@contextmanager
def _raw_file(path: Path) -> Iterator[RawFile]:
    file = RawFile(path)
    try:
        yield file
    finally:
        file.close()
