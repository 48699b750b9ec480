"""Back up a database while it is in use, and restore it.

A backup is one SQLite file, compressed if its name ends with `.zst`, with its checksum in `<file>.sha256`, in the form
that `sha256sum -c` reads, and a copy of the audit key in `<file>.key` if the database has one.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from memoranda.errors import Conflict, EncryptionKeyError, Incompatible, InvalidInput, NotFound, Unavailable
from memoranda.files import (
    COMPRESSED,
    atomic_replace,
    compress,
    decompressed,
    fsync_file,
    is_file,
    refuse_database,
    temporary_file,
)
from memoranda.results.workflows import Backup
from memoranda.security.encryption import EncryptionKey, random_key
from memoranda.storage.base import key_file
from memoranda.storage.database_key import FINGERPRINT, is_key_of, read_key_file, write_key_file
from memoranda.storage.errors import translate_errors
from memoranda.storage.meta import FILE_KEY, FORMER_FILE_KEY
from memoranda.storage.schema import api_keys
from memoranda.storage.sqlite.connections import connect, load_driver, translate_driver_errors
from memoranda.storage.sqlite.encryption import DatabaseCipher, is_encrypted, new_cipher, open_cipher, read_start
from memoranda.storage.sqlite.file_lock import lock_of, require_content
from memoranda.storage.sqlite.seals import watch
from memoranda.storage.sqlite.transaction import PAGE_BYTES
from memoranda.types import Progress

_PAGES_AT_ONCE: Final = 1000
_ROWS_AT_ONCE: Final = 500
_CHUNK: Final = 1 << 20
_OBJECTS: Final = "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL AND substr(name, 1, 7) != 'sqlite_'"
_SUFFIXES: Final = ("-wal", "-shm", "-journal")
_KEY_COLUMNS: Final = ", ".join(column.name for column in api_keys.columns)


@dataclass(frozen=True, slots=True)
class Source:
    """A connection to a database that is copied."""

    raw: Any
    key: EncryptionKey | None
    """Of the database; None when it is not encrypted."""


def back_up(
    source: Source, target: Path, key: EncryptionKey | None, *, force: bool, progress: Progress | None = None
) -> Backup:
    """Copy everything committed before the call into one file, while other connections may write.

    Args:
        source: The database, on a connection outside of a transaction.
        target: The file.
        key: Encrypts the file; None to leave it unencrypted.
        force: Whether a file of this name is replaced.
        progress: Called with (done, total).
    """
    if key is not None and target.suffix == COMPRESSED:
        raise InvalidInput(f"an encrypted backup cannot be compressed: name it without {COMPRESSED}")
    with translate_driver_errors(str(target)):
        if target.exists() and not force:
            advice = "choose another name, or replace it with force (on the command line, --force)"
            raise Conflict(f"{target} exists: {advice}")
        refuse_database(target, backups=False)
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(target, database=True) as temporary:
            memories = _write_backup(source, temporary, key, progress, packed=target.suffix == COMPRESSED)
            backup = Backup(target, temporary.stat().st_size, memories, _digest(temporary))
            checksum_file(target).unlink(missing_ok=True)
        _write_private(checksum_file(target), f"{backup.sha256}  {target.name}\n".encode())
    return backup


def _write_backup(
    source: Source, target: Path, key: EncryptionKey | None, progress: Progress | None, *, packed: bool
) -> int:
    """Copy a database into an empty file; return how many memories it has."""
    if not packed:
        copy_database(source, target, key, progress)
        return _count_memories(target, key)
    with temporary_file(target.parent, target.name) as plain:
        copy_database(source, plain, key, progress)
        compress(plain, target)
        return _count_memories(plain, key)


def copy_key(
    database: Path,
    keys: Sequence[EncryptionKey],
    target: Path,
    key: EncryptionKey | None,
    fingerprint: str | None,
) -> bool:
    """Copy the audit key too: without it, a restored audit trail could not be verified. Return whether it is there.

    A key that is damaged or another one is not copied: it might replace the right one, beside an older backup.

    Args:
        database: The database whose key file is copied.
        keys: The keys of the files beside it.
        target: The copy of the database.
        key: The key of that copy; None when it is not encrypted.
        fingerprint: The fingerprint of the audit key that the copy holds.
    """
    source = key_file(database)
    if not source.exists():
        return False
    with translate_driver_errors(str(target)):
        try:
            audit_key = read_key_file(source, keys)
        except Incompatible:  # whoever opens the database is told, and so is the caller of `backup`
            return False
        if not is_key_of(audit_key, fingerprint):
            return False
        made = read_file_keys(target, key) if key is not None else ()
        write_key_file(key_file(target), audit_key, made[0] if made else None)
    return True


def inspect(backup: Path, key: EncryptionKey | None = None, plain: Path | None = None) -> Backup:
    """Return a description of a backup; `Incompatible` when a single byte of it is not what was written.

    Args:
        backup: The backup.
        key: The key of an encrypted one.
        plain: What is in a compressed one.
    """
    _require_file(backup)
    with translate_driver_errors(str(backup)):
        digest, expected = _digest(backup), _expected_digest(backup)
        if expected is not None and digest != expected:
            raise Incompatible(f"{backup} is damaged (its checksum is wrong): use another backup")
        memories = _count_memories(plain or backup, key)
        return Backup(backup, backup.stat().st_size, memories, digest, expected is not None)


def _require_file(backup: Path) -> None:
    if not is_file(backup):
        raise NotFound(f"no backup {backup}")


def restore(
    backup: Path,
    database: Path,
    *,
    force: bool = False,
    key: EncryptionKey | None = None,
    backup_key: EncryptionKey | None = None,
) -> Backup:
    """Replace a database by a backup. The old database is kept as `<file>.before-restore`.

    Args:
        backup: The backup.
        database: The file to write.
        force: Whether a database of this name is replaced.
        key: The key of the database. Without one it gets that of the backup.
        backup_key: The key of the backup; that of the database when None.
    """
    _require_file(backup)
    with _unpacked(backup, database.parent) as plain:
        backup_key = (backup_key or key) if is_encrypted(read_start(plain)) else None
        key = key or backup_key
        found = inspect(backup, backup_key, plain)
        if database.exists() and not force:
            raise Conflict(
                f"{database} exists: restore to another path, or replace it with force (on the command line, --force)"
            )
        with translate_driver_errors(str(database)):
            database.parent.mkdir(parents=True, exist_ok=True)
            lock = lock_of(database)
            with lock():
                with atomic_replace(database, database=True) as temporary:
                    _copy_backup(plain, backup_key, temporary, key)
                    old = _keep_old(database, key)
                    if old is not None:
                        _carry_keys(old, key, temporary)
                    lock.forget_note()
                fingerprint = _read_fingerprint(database, key)
                # A backup from before the first signature has no key: what was signed since stays verifiable.
                for each, file, its_key in ((backup, plain, backup_key), (old, old, key)):
                    if each is None or file is None:
                        continue
                    if copy_key(each, _file_keys_or_none(file, its_key), database, key, fingerprint):
                        break
            lock.close()
    return found


def _carry_keys(old: Path, key: EncryptionKey | None, new: Path) -> None:
    """Give the API keys of a database that is replaced to the new one, as they are now.

    Otherwise one that was revoked since the backup would work again, and a server that has only had keys since would
    need none. A damaged database keeps its keys for itself.
    """
    rows: list[tuple[Any, ...]] = []
    with (
        suppress(Incompatible, EncryptionKeyError),
        translate_driver_errors(str(old)),
        closing(open_read_only(old, key if is_encrypted(read_start(old)) else None)) as raw,
    ):
        rows = raw.execute(f"SELECT {_KEY_COLUMNS} FROM api_keys").fetchall()
    if not rows:
        return
    module, _ = load_driver(encrypted=key is not None)
    with closing(connect(module, str(new), open_cipher(new, key, module))) as raw:
        watch(raw)
        raw.execute("BEGIN")
        raw.executemany(
            f"INSERT INTO api_keys ({_KEY_COLUMNS}) VALUES ({', '.join('?' * len(rows[0]))}) ON CONFLICT (id)"
            " DO UPDATE SET expires_at = excluded.expires_at, revoked_at = excluded.revoked_at",
            rows,
        )
        raw.execute("COMMIT")


@contextmanager
def _unpacked(backup: Path, folder: Path) -> Iterator[Path]:
    """Yield a backup as a database file: itself, or a decompressed copy in a folder for the time of the block."""
    if backup.suffix != COMPRESSED:
        yield backup
        return
    with translate_errors(str(folder)):
        folder.mkdir(parents=True, exist_ok=True)
    with decompressed(backup, folder) as plain:
        yield plain


def _copy_backup(backup: Path, backup_key: EncryptionKey | None, target: Path, key: EncryptionKey | None) -> None:
    if backup_key == key:
        shutil.copyfile(backup, target)
        fsync_file(target)
        return
    with closing(open_read_only(backup, backup_key)) as raw:
        copy_database(Source(raw, backup_key), target, key)


def _read_fingerprint(database: Path, key: EncryptionKey | None) -> str | None:
    with closing(open_read_only(database, key)) as raw:
        row = raw.execute("SELECT value FROM meta WHERE key = ?", (FINGERPRINT,)).fetchone()
    return None if row is None else str(row[0])


def _file_keys_or_none(database: Path, key: EncryptionKey | None) -> tuple[EncryptionKey, ...]:
    """Return the keys of the files beside a database; none when it cannot be read, which is why it is replaced."""
    try:
        with translate_driver_errors(str(database)):
            return read_file_keys(database, key)
    except (Incompatible, EncryptionKeyError):
        return ()


def checksum_file(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.sha256")


def copy_database(
    source: Source, copy: Path, key: EncryptionKey | None, progress: Progress | None = None
) -> DatabaseCipher | None:
    """Write a database into another, empty file, encrypted unless the key is None; return what opens it."""
    module, _ = load_driver(encrypted=key is not None)
    cipher = None if key is None else new_cipher(key)
    # Inside one read transaction every step sees the same commit, so that writers need not wait and the copy need not
    # start again.
    source.raw.execute("BEGIN")
    source.raw.execute("SELECT count(*) FROM sqlite_master").fetchall()
    target = connect(module, str(copy), cipher)
    try:
        if (source.key is None) == (key is None):
            source.raw.backup(target, pages=_PAGES_AT_ONCE, progress=_progress_handler(progress))
        else:
            copy_rows(source.raw, target, progress)
        if key != source.key:
            _replace_file_key(target, key)
        target.execute("PRAGMA journal_mode=DELETE")  # one file, which opens on a read-only medium too
        result = target.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        target.close()
        source.raw.execute("ROLLBACK")
        for suffix in _SUFFIXES:
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    if result != "ok":
        raise Incompatible(f"the database is damaged, no copy was made ({result}): run check, then repair or restore")
    return cipher


def copy_rows(source: Any, target: Any, progress: Progress | None = None) -> None:
    """Copy all tables into an empty database. SQLite's own copy of pages cannot go between encrypted and plain."""
    objects = source.execute(_OBJECTS).fetchall()
    tables = [(name, sql) for kind, name, sql in objects if kind == "table"]
    if any(sql.upper().startswith("CREATE VIRTUAL") for _, sql in tables):
        raise Incompatible("the database has virtual tables of another program, which cannot be copied: drop them")
    counts = [source.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name, _ in tables]
    done, total = 0, sum(counts)
    for pragma in (f"page_size={PAGE_BYTES}", "journal_mode=OFF", "synchronous=OFF", "foreign_keys=OFF"):
        target.execute(f"PRAGMA {pragma}")  # the file is not used, and is synced, before it is complete
    target.execute("BEGIN")
    for name, sql in tables:
        target.execute(sql)
        for rows in _batches(source, name):
            target.executemany(f'INSERT INTO "{name}" VALUES ({", ".join("?" * len(rows[0]))})', rows)
            done += len(rows)
            if progress is not None:
                progress(done, total)
    for kind, _, sql in objects:
        if kind != "table":
            target.execute(sql)
    target.execute("DELETE FROM sqlite_sequence")
    target.executemany("INSERT INTO sqlite_sequence VALUES (?, ?)", source.execute("SELECT * FROM sqlite_sequence"))
    target.execute("COMMIT")
    copied = [target.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0] for name, _ in tables]
    if copied != counts:
        raise Incompatible("rows were lost in the copy, which was not used: run check, then repair or restore a backup")


def _batches(source: Any, table: str) -> Iterator[list[tuple[Any, ...]]]:
    rows = source.execute(f'SELECT * FROM "{table}"')
    while batch := rows.fetchmany(_ROWS_AT_ONCE):
        yield batch


def _replace_file_key(raw: Any, key: EncryptionKey | None) -> None:
    """Give a copy with another key also another key for the files beside it; none when it is not encrypted."""
    raw.execute("PRAGMA secure_delete=ON")
    raw.execute("DELETE FROM meta WHERE key IN (?, ?)", (FILE_KEY, FORMER_FILE_KEY))
    if key is not None:
        raw.execute("INSERT INTO meta VALUES (?, ?)", (FILE_KEY, random_key()))


def read_file_keys(database: Path, key: EncryptionKey | None) -> tuple[EncryptionKey, ...]:
    """Return the keys of the files beside a database that is not in use, the present one first."""
    with closing(open_read_only(database, key)) as raw:
        values = dict(raw.execute("SELECT key, value FROM meta WHERE key IN (?, ?)", (FILE_KEY, FORMER_FILE_KEY)))
    return tuple(EncryptionKey(values[name]) for name in (FILE_KEY, FORMER_FILE_KEY) if name in values)


def open_read_only(path: Path, key: EncryptionKey | None) -> Any:
    """Open a file that nobody writes to."""
    module, _ = load_driver(encrypted=key is not None)
    cipher = open_cipher(path, key, module)
    raw = module.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True, isolation_level=None)
    if cipher is not None:
        cipher.unlock(raw, str(path))
    return raw


def _progress_handler(progress: Progress | None) -> Any:
    if progress is None:
        return None
    return lambda _status, left, total: progress(total - left, total)


def _count_memories(path: Path, key: EncryptionKey | None) -> int:
    module, _ = load_driver(encrypted=key is not None)
    connection = open_read_only(path, key)
    try:
        return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])
    except module.DatabaseError as error:
        raise Incompatible(f"{path} is damaged or not a Memoranda database ({error}): use another backup") from error
    finally:
        connection.close()


def _keep_old(database: Path, key: EncryptionKey | None) -> Path | None:
    """Give the database that is replaced, its key and its log a second name; return it, None when there is none.

    The first name stays until the backup takes it: there is a database at every moment, whatever fails.
    """
    if database.exists():
        with suppress(Incompatible, EncryptionKeyError):  # what a backup is for: it is renamed as it is
            leave_wal_mode(database, key)
    target = database.with_name(f"{database.name}.before-restore")
    if any(target.with_name(target.name + suffix).exists() for suffix in ("", *_SUFFIXES)):
        target = target.with_name(f"{target.name}-{uuid.uuid4().hex[:8]}")
    for file, name in ((database, target), (key_file(database), key_file(target))):
        if file.exists():
            _link_or_copy(file, name)
    for suffix in _SUFFIXES:  # of a damaged, empty or missing database: SQLite would apply it to the backup
        file = database.with_name(database.name + suffix)
        if file.exists():
            file.rename(target.with_name(target.name + suffix))
    return target if target.exists() else None


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # not on this file system
        with atomic_replace(target, database=True) as temporary:
            shutil.copyfile(source, temporary)


def leave_wal_mode(database: Path, key: EncryptionKey | None) -> None:
    """Move everything into the one file, which only its only user can do; `Unavailable` when there are others."""
    with translate_driver_errors(str(database)):
        require_content(database)
        encrypted = is_encrypted(read_start(database))
        module, _ = load_driver(encrypted=encrypted)
        cipher = open_cipher(database, key if encrypted else None, module)
        try:
            with closing(connect(module, str(database), cipher, wait_ms=1000)) as raw:
                raw.execute("PRAGMA journal_mode=DELETE").fetchone()
        except module.DatabaseError as error:
            if "locked" in str(error):
                message = f"{database} is in use by another program: end it, then try again"
                raise Unavailable(message, retry_after=1.0) from error
            raise Incompatible(f"{database} is damaged ({error})") from error


def _write_private(path: Path, data: bytes) -> None:
    with atomic_replace(path) as temporary:
        temporary.write_bytes(data)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _expected_digest(backup: Path) -> str | None:
    file = checksum_file(backup)
    return file.read_text("ascii", errors="replace").split(" ", 1)[0].strip() if file.exists() else None
