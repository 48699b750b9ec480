"""Back up a database while it is in use, and restore it.

A backup is one SQLite file, with its checksum in `<file>.sha256`, in the form that `sha256sum -c` reads, and a copy of
the audit key in `<file>.key` if the database has one.
"""

from __future__ import annotations

import hashlib
import shutil
import uuid
from pathlib import Path
from typing import Any, Final

from memoranda.errors import Conflict, Incompatible, NotFound, Unavailable
from memoranda.files import atomic_replace, fsync_file
from memoranda.results import Backup
from memoranda.storage.base import key_file
from memoranda.storage.errors import translate_errors
from memoranda.storage.sqlite.connections import FileLock, load_driver
from memoranda.storage.sqlite.transaction import SQLiteTransaction
from memoranda.types import Progress

_PAGES_AT_ONCE: Final = 1000
_CHUNK: Final = 1 << 20
_SUFFIXES: Final = ("-wal", "-shm", "-journal")


def back_up(tx: SQLiteTransaction, target: Path, *, force: bool, progress: Progress | None = None) -> Backup:
    """Copy everything committed before the call into one file, while other connections may write."""
    if target.exists() and not force:
        raise Conflict(f"{target} exists: choose another name, or replace it with force")
    with translate_errors(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(target) as temporary:
            _copy(tx, temporary, progress)
            backup = Backup(target, temporary.stat().st_size, _count_memories(temporary), _digest(temporary))
            checksum_file(target).unlink(missing_ok=True)
        _write_private(checksum_file(target), f"{backup.sha256}  {target.name}\n".encode())
    return backup


def copy_key(database: Path, target: Path) -> None:
    """Copy the audit key too: without it, a restored audit trail could not be verified."""
    source = key_file(database)
    if source.exists():
        with translate_errors(str(target)):
            _write_private(key_file(target), source.read_bytes())


def inspect(backup: Path) -> Backup:
    """Return a description of a backup; `Incompatible` when a single byte of it is not what was written."""
    if not backup.is_file():
        raise NotFound(f"no backup {backup}")
    with translate_errors(str(backup)):
        digest, expected = _digest(backup), _expected_digest(backup)
        if expected is not None and digest != expected:
            raise Incompatible(f"{backup} is damaged (its checksum is wrong): use another backup")
        return Backup(backup, backup.stat().st_size, _count_memories(backup), digest, expected is not None)


def restore(backup: Path, database: Path, *, force: bool = False) -> Backup:
    """Replace a database by a backup. The old database is kept as `<file>.before-restore`."""
    found = inspect(backup)
    if database.exists() and not force:
        raise Conflict(f"{database} exists: restore to another path, or replace it with force")
    with translate_errors(str(database)):
        database.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(database.with_name(f"{database.name}.lock"))
        with lock():
            with atomic_replace(database) as temporary:
                shutil.copyfile(backup, temporary)
                fsync_file(temporary)
                old = _keep_old(database)
            # A backup from before the first signature has no key: what was signed since stays verifiable.
            keys = [key_file(each) for each in (backup, old) if each is not None and key_file(each).exists()]
            if keys:
                _write_private(key_file(database), keys[0].read_bytes())
        lock.close()
    return found


def checksum_file(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.sha256")


def _copy(tx: SQLiteTransaction, copy: Path, progress: Progress | None) -> None:
    # Inside one read transaction every step sees the same commit, so that writers need not wait and the copy need not
    # start again.
    tx.driver_sql("BEGIN")
    tx.driver_sql("SELECT count(*) FROM sqlite_master").all()
    source: Any = tx.driver
    target = type(source)(str(copy), isolation_level=None)
    try:
        source.backup(target, pages=_PAGES_AT_ONCE, progress=_progress_handler(progress))
        target.execute("PRAGMA journal_mode=DELETE")  # one file, which opens on a read-only medium too
        result = target.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        target.close()
        tx.driver_sql("ROLLBACK")
        for suffix in _SUFFIXES:
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)
    if result != "ok":
        raise Incompatible(f"the database is damaged, no backup was made ({result}): run check, then repair or restore")


def _progress_handler(progress: Progress | None) -> Any:
    if progress is None:
        return None
    return lambda _status, left, total: progress(total - left, total)


def _count_memories(path: Path) -> int:
    module, _ = load_driver()
    connection = module.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])
    except module.DatabaseError as error:
        raise Incompatible(f"{path} is damaged or not a Memoranda database ({error}): use another backup") from error
    finally:
        connection.close()


def _keep_old(database: Path) -> Path | None:
    """Give the database that is replaced, and its key, a second name; return it.

    The first name stays until the backup takes it: there is a database at every moment, whatever fails.
    """
    if not database.exists():
        return None
    _require_unused(database)
    target = database.with_name(f"{database.name}.before-restore")
    if target.exists():
        target = target.with_name(f"{target.name}-{uuid.uuid4().hex[:8]}")
    for file, name in ((database, target), (key_file(database), key_file(target))):
        if file.exists():
            _link_or_copy(file, name)
    for suffix in _SUFFIXES:  # only a damaged database still has one, and the backup must not find it
        file = database.with_name(database.name + suffix)
        if file.exists():
            file.rename(target.with_name(target.name + suffix))
    return target


def _link_or_copy(source: Path, target: Path) -> None:
    try:
        target.hardlink_to(source)
    except OSError:  # not on this file system
        with atomic_replace(target) as temporary:
            shutil.copyfile(source, temporary)


def _require_unused(database: Path) -> None:
    """Leave WAL mode, which only a file's only user can do, and which moves everything into the one file."""
    module, _ = load_driver()
    connection = module.connect(str(database), isolation_level=None, timeout=1.0)
    try:
        connection.execute("PRAGMA journal_mode=DELETE").fetchone()
    except module.DatabaseError as error:
        if "locked" in str(error):
            message = f"{database} is in use by another program: end it, then restore"
            raise Unavailable(message, retry_after=1.0) from error
        # A damaged file is what a backup is for: it is renamed as it is.
    finally:
        connection.close()


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
