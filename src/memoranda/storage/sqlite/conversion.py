"""Encrypt a database file, decrypt it, or give it another key.

The database is copied into a new file, which replaces it in one step once it is complete and on disk. So after a crash
at any moment there is one whole database, with the old key or with the new one, and the same command run again does
what is left: each step looks at the files and does only what is not done yet.

    database                 the database: with the old key before the replacement, with the new one after it
    database.converting      the new file while it is written
    database.converted       the old file after the replacement, until it has been overwritten and deleted
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from glob import escape
from pathlib import Path
from typing import Any, Final

from memoranda.errors import EncryptionKeyError, NotFound, Unavailable
from memoranda.files import PRIVATE, delete_abandoned, fsync_file, fsync_folder, is_file, overwrite, shred
from memoranda.results.workflows import Conversion
from memoranda.security.encryption import EncryptionKey
from memoranda.storage.base import key_file
from memoranda.storage.database_key import read_key_file, write_key_file
from memoranda.storage.meta import FORMER_FILE_KEY
from memoranda.storage.sqlite.backup import Source, copy_database, leave_wal_mode, read_file_keys
from memoranda.storage.sqlite.connections import connect, load_driver, translate_driver_errors
from memoranda.storage.sqlite.encryption import is_encrypted, open_cipher, read_start
from memoranda.storage.sqlite.file_lock import lock_of, log_of, require_content
from memoranda.storage.sqlite.store import SQLiteStore
from memoranda.types import Progress

_SPARE_BYTES: Final = 16 << 20
_SUFFIXES: Final = ("", "-wal", "-shm", "-journal")


def convert(
    database: Path, current: EncryptionKey | None, new: EncryptionKey | None, progress: Progress | None = None
) -> Conversion:
    """Give a database that nobody has open another key; None stands for no encryption.

    When it has the new key already, only what an interrupted run left undone is done.

    Args:
        database: The file.
        current: The key that it has.
        new: The key that it gets.
        progress: Called with (rows or pages done, total).
    """
    with translate_driver_errors(str(database)):
        require_content(database)
        if not is_file(database):
            raise NotFound(f"there is no database {database}")
        _bring_up_to_date(database, _find_key(database, current, new))
        with _locked(database):
            before = _find_key(database, current, new)  # another program may have converted it meanwhile
            _delete_leftovers(database)
            if before != new:
                _replace(database, before, new, progress)
            _convert_key_file(database, new)
            memories = _count_memories(database, new)
    return Conversion(database, new is not None, before != new, memories, _older_copies(database))


def _find_key(database: Path, current: EncryptionKey | None, new: EncryptionKey | None) -> EncryptionKey | None:
    """Return which of two keys the database has; None when it is not encrypted. Raise when it has neither."""
    if not is_encrypted(read_start(database)):
        if current is not None and new is not None:
            open_cipher(database, current, load_driver(encrypted=True)[0])  # raises: it has no key to change
        return None
    keys = [key for key in (new, current) if key is not None]
    module, _ = load_driver(encrypted=True)
    for key in keys[:-1]:
        with suppress(EncryptionKeyError):
            connect(module, str(database), open_cipher(database, key, module)).close()
            return key
    connect(module, str(database), open_cipher(database, keys[-1] if keys else None, module)).close()
    return keys[-1]


@contextmanager
def _locked(database: Path) -> Iterator[None]:
    lock = lock_of(database)
    with closing(lock), lock():
        yield


def _bring_up_to_date(database: Path, key: EncryptionKey | None) -> None:
    """Open and close the database: its schema becomes the newest, and what is not a database of ours is refused."""
    store = SQLiteStore(database, key=key)
    log = log_of(database)
    try:
        handle = log.open("r+b") if log.exists() else None
    finally:
        store.close()
    if handle is not None:
        with handle:
            if os.fstat(handle.fileno()).st_nlink == 0:  # deleted by SQLite, but its blocks are still here
                overwrite(handle)


def _replace(
    database: Path, before: EncryptionKey | None, new: EncryptionKey | None, progress: Progress | None
) -> None:
    _require_space(database)
    leave_wal_mode(database, before)
    try:
        _write_copy(database, before, new, progress)
    finally:
        _delete_leftovers(database)


def _write_copy(
    database: Path, before: EncryptionKey | None, new: EncryptionKey | None, progress: Progress | None
) -> None:
    """Copy the database, and put the copy in its place."""
    former, copy = read_file_keys(database, before), _copy_of(database)
    os.close(os.open(copy, os.O_RDWR | os.O_CREAT | os.O_EXCL, PRIVATE))
    with closing(_open_alone(database, before)) as raw:
        copy_database(Source(raw, before), copy, new, progress)
        if former:
            with closing(_open_alone(copy, new)) as copied:
                copied.execute("INSERT INTO meta VALUES (?, ?)", (FORMER_FILE_KEY, former[0].reveal()))
        fsync_file(copy)
        with suppress(OSError):  # a file system without links: then the old file is deleted, but not overwritten
            _old_of(database).hardlink_to(database)
        copy.replace(database)
        fsync_folder(database.parent)


def _open_alone(database: Path, key: EncryptionKey | None) -> Any:
    """Open a database so that no other program can, until the connection is closed."""
    module, _ = load_driver(encrypted=key is not None)
    raw = connect(module, str(database), open_cipher(database, key, module), wait_ms=1000)
    try:
        raw.execute("PRAGMA secure_delete=ON")
        raw.execute("PRAGMA locking_mode=EXCLUSIVE")
        raw.execute("BEGIN EXCLUSIVE")
        raw.execute("COMMIT")  # the lock stays
    except module.OperationalError as error:
        raw.close()
        raise Unavailable(f"{database} is in use by another program: end it, then try again", retry_after=1) from error
    return raw


def _convert_key_file(database: Path, key: EncryptionKey | None) -> None:
    """Encrypt or decrypt the audit key beside the database; then the former key of these files is not needed."""
    keys, path = read_file_keys(database, key), key_file(database)
    if path.exists() and (keys or key is not None):
        with path.open("r+b") as old:
            write_key_file(path, read_key_file(path, keys), None if key is None else keys[0])
            overwrite(old)
    with closing(_open_alone(database, key)) as raw:
        raw.execute("DELETE FROM meta WHERE key = ?", (FORMER_FILE_KEY,))


def _count_memories(database: Path, key: EncryptionKey | None) -> int:
    with closing(_open_alone(database, key)) as raw:
        return int(raw.execute("SELECT count(*) FROM memories").fetchone()[0])


def _require_space(database: Path) -> None:
    needed = database.stat().st_size * 5 // 4 + _SPARE_BYTES
    free = shutil.disk_usage(database.parent).free
    if free < needed:
        raise Unavailable(
            f"{database.parent} has {free / 1e6:,.0f} MB free, and {needed / 1e6:,.0f} MB are needed to write the "
            "database anew: free some space, then try again; nothing was changed"
        )


def _delete_leftovers(database: Path) -> None:
    """Delete an unfinished copy, and overwrite and delete the old file once it has been replaced."""
    copy, old = _copy_of(database), _old_of(database)
    for suffix in _SUFFIXES:
        copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    for unfinished in database.parent.glob(f".{escape(key_file(database).name)}.*.partial"):
        shred(unfinished)
    delete_abandoned(database)
    if not old.exists():
        return
    if not old.samefile(database):
        shred(old)
    old.unlink(missing_ok=True)
    fsync_folder(database.parent)


def _older_copies(database: Path) -> tuple[str, ...]:
    """Return copies that `restore` kept: nobody said that they shall change."""
    return tuple(sorted(str(path) for path in database.parent.glob(f"{escape(database.name)}.before-restore*")))


def _copy_of(database: Path) -> Path:
    return database.with_name(f"{database.name}.converting")


def _old_of(database: Path) -> Path:
    return database.with_name(f"{database.name}.converted")
