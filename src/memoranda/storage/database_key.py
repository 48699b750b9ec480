"""The secret key of a database, with which execution records, receipts and API keys are signed."""

from __future__ import annotations

import hashlib
import os
import secrets
from collections.abc import Sequence
from contextlib import suppress
from hmac import digest as hmac_digest
from pathlib import Path
from typing import Final

from sqlalchemy import Table, literal, select

from memoranda.errors import EncryptionKeyError, Incompatible, InvalidInput, MemorandaError
from memoranda.files import atomic_replace, fsync_folder
from memoranda.security.encryption import EncryptionKey, is_encrypted_file, is_sealed, seal, unseal
from memoranda.storage.base import Store, encryption_key, file_keys, key_file
from memoranda.storage.errors import translate_errors
from memoranda.storage.meta import set_meta
from memoranda.storage.rows import to_json
from memoranda.types import ANY, JSON

_KEY_BYTES: Final = 32
_MAX_KEY_FILE: Final = 10_000
_MIN_KEY_CHARS: Final = 16
_KEY_PREFIX: Final = "key:"
FINGERPRINT: Final = "key_fingerprint"
"""The name in `meta` of the fingerprint of the key that the records of a database were signed with."""


class DatabaseKey:
    """The secret key of one database: from a text, or from a file `<database>.key` created at the first use.

    The database keeps a fingerprint of the key in its file. So a file that was lost or exchanged is an error that says
    what to do: a new key in its place would make every signed record look tampered with, and every API key invalid.
    """

    def __init__(self, store: Store, text: str | None, signed: Table) -> None:
        if text is not None and len(text) < _MIN_KEY_CHARS:
            raise InvalidInput(f"the audit key has {len(text)} characters: give at least {_MIN_KEY_CHARS} random ones")
        if store.path is None and text is None:
            raise InvalidInput(
                "this store is not a single file, so it has no key file: set MEMORY_AUDIT_KEY, or audit_key where a "
                "MemoryConfig is passed, which reads no environment"
            )
        self._store = store
        self._signed = signed
        """The table whose rows need the key: it shows that there was one where the fingerprint is missing."""
        self._path = None if store.path is None else key_file(store.path)
        self._key = None if text is None else _key_of(text)
        self._recorded = text is not None

    def sign(self, kind: str, values: Sequence[JSON]) -> bytes:
        """Return a keyed hash of the values, which nobody can make without the key."""
        return hmac_digest(self.read(), to_json([kind, *values]).encode("utf-8"), "sha256")

    def read(self) -> bytes:
        """Return the key, to check what was signed with it; `Incompatible` when its file is missing."""
        if self._key is None:
            assert self._path is not None
            with translate_errors(str(self._path)):
                if not self._path.exists() and not self._is_needed():
                    _create_key(self._path, self._file_key())
                if problem := self.problem():
                    raise Incompatible(problem)
                self._key = self._read_file(self._path)
        return self._key

    def read_to_sign(self) -> bytes:
        """Return the key, and record its fingerprint before anything is signed with it."""
        key = self.read()
        if not self._recorded:
            self._store.write(lambda tx: set_meta(tx, FINGERPRINT, _fingerprint(key)))
            self._recorded = True
        return key

    def problem(self) -> str | None:
        """Return what is wrong with the key file and how to recover; None when nothing is."""
        if self._path is None:
            return None
        if not self._path.exists():
            return _describe_loss(self._path, "is missing") if self._is_needed() else None
        try:
            key = read_key_file(self._path, file_keys(self._store))
        except MemorandaError as error:
            return str(error)
        if is_key_of(key, self._store.get_meta(FINGERPRINT)):
            return None
        return _describe_loss(self._path, "holds another key")

    def _read_file(self, path: Path) -> bytes:
        key, file_key = read_key_file(path, file_keys(self._store)), self._file_key()
        if file_key is not None and not is_encrypted_file(path):  # left so by an encryption that was interrupted
            write_key_file(path, key, file_key)
        return key

    def _file_key(self) -> EncryptionKey | None:
        """Return what encrypts the file; None when the database is not encrypted."""
        return None if encryption_key(self._store) is None else file_keys(self._store)[0]

    def _is_needed(self) -> bool:
        if self._store.get_meta(FINGERPRINT) is not None:
            return True
        first = select(literal(1)).select_from(self._signed).limit(1)
        return self._key is None and self._store.read(lambda tx: tx.execute(first).first(), tenant=ANY) is not None


def _key_of(text: str) -> bytes:
    """Return the key that a text stands for. After `key:` it is the content of a key file, moved with its data."""
    if not text.startswith(_KEY_PREFIX):
        return hashlib.sha256(text.encode("utf-8")).digest()
    try:
        key = bytes.fromhex(text.removeprefix(_KEY_PREFIX))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise InvalidInput("after 'key:' the audit key must be 64 hexadecimal digits: the content of a key file")
    return key


def _describe_loss(path: Path, what: str) -> str:
    return (
        f"{path} {what}, and the execution records and API keys of the database were made with it: restore that file "
        "from a backup. If it is lost for good, export the data, import it into a new database and create new API keys"
    )


def _fingerprint(key: bytes) -> str:
    return hmac_digest(key, b"memoranda key file", "sha256").hex()


def is_key_of(key: bytes, fingerprint: str | None) -> bool:
    """Return whether a key has the fingerprint that a database holds; nothing was signed yet where that is None."""
    return fingerprint in (None, _fingerprint(key))


def read_key_file(path: Path, keys: Sequence[EncryptionKey]) -> bytes:
    """Return the key in a file, which may be encrypted with one of these."""
    with translate_errors(str(path)):
        if not path.is_file() or path.stat().st_size > _MAX_KEY_FILE:  # a pipe would be waited for without end
            raise Incompatible(f"{path} is not an audit key: restore the key file that was created with the database")
        data = path.read_bytes()
    if is_sealed(data):
        data = _unseal_any(path, data, keys)
    try:
        key = bytes.fromhex(data.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        raise Incompatible(f"{path} is not an audit key: restore the key file that was created with the database")
    return key


def copy_key(source: Store, target: Store, text: str | None) -> bool:
    """Give a copied file the key that the rows of its source were signed with; return whether it has one now.

    Args:
        source: The store that was copied.
        target: The copy.
        text: The audit key in the settings, which is that of a source on a server.
    """
    if target.path is None:
        return False
    file = key_file(target.path)
    if not file.exists():
        if text is not None:
            key = _key_of(text)
        elif source.path is not None and key_file(source.path).exists():
            key = read_key_file(key_file(source.path), file_keys(source))
        else:
            return False
        write_key_file(file, key, None if encryption_key(target) is None else file_keys(target)[0])
    return True


def write_key_file(path: Path, key: bytes, file_key: EncryptionKey | None) -> None:
    """Replace the file, encrypted unless `file_key` is None."""
    with atomic_replace(path, database=True) as temporary:
        temporary.write_bytes(_encode_key(key, file_key))


def _unseal_any(path: Path, data: bytes, keys: Sequence[EncryptionKey]) -> bytes:
    for key in keys:
        with suppress(EncryptionKeyError):
            return unseal(data, key, str(path))
    raise Incompatible(f"{path} was encrypted for another database: restore the key file from the same backup as this")


def _encode_key(key: bytes, file_key: EncryptionKey | None) -> bytes:
    data = key.hex().encode("ascii")
    return data if file_key is None else seal(data, file_key)


def _create_key(path: Path, file_key: EncryptionKey | None) -> None:
    # Written to a temporary file and linked: another process sees the whole key or none, and the first one stays.
    temporary = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(_encode_key(secrets.token_bytes(_KEY_BYTES), file_key))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(temporary, path)
        except FileExistsError:
            return
    finally:
        temporary.unlink()
        # The name of the file must be on disk before anything is signed with the key.
        fsync_folder(path.parent)
