"""A copy of a database taken while it is in use, and putting one back.

A backup is one SQLite file, with its checksum beside it (`<file>.sha256`, in the form that `sha256sum -c` reads) and,
where the database has an audit key, a copy of that (`<file>.key`).
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
from memoranda.storage.sqlite.connections import FileLock
from memoranda.storage.sqlite.driver import load_driver
from memoranda.storage.sqlite.errors import translated
from memoranda.storage.sqlite.transaction import SQLiteTransaction
from memoranda.types import Progress

_PAGES_AT_ONCE: Final = 1000
_CHUNK: Final = 1 << 20
_BESIDE: Final = ("-wal", "-shm", "-journal")


def back_up(tx: SQLiteTransaction, target: Path, *, force: bool, progress: Progress | None = None) -> Backup:
    """Everything committed before the call, as one file; other connections write on meanwhile."""
    if target.exists() and not force:
        raise Conflict(f"{target} exists: choose another name, or replace it with force")
    with translated(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        with atomic_replace(target) as draft:
            _copy(tx, draft, progress)
            done = Backup(target, draft.stat().st_size, _count_memories(draft), _digest(draft))
            checksum_file(target).unlink(missing_ok=True)
        _write_private(checksum_file(target), f"{done.sha256}  {target.name}\n".encode())
    return done


def copy_key(database: Path, target: Path) -> None:
    """The audit key beside the copy: without it, a restored audit trail could not be verified."""
    source = key_file(database)
    if source.exists():
        with translated(str(target)):
            _write_private(key_file(target), source.read_bytes())


def inspect(backup: Path) -> Backup:
    """The backup, found whole; `Incompatible` when a single byte of it is not what was written."""
    if not backup.is_file():
        raise NotFound(f"no backup {backup}")
    with translated(str(backup)):
        digest, expected = _digest(backup), _expected_digest(backup)
        if expected is not None and digest != expected:
            raise Incompatible(f"{backup} is damaged (its checksum is wrong): use another backup")
        return Backup(backup, backup.stat().st_size, _count_memories(backup), digest, expected is not None)


def restore(backup: Path, database: Path, *, force: bool = False) -> Backup:
    """Puts a backup in the place of a database. What was there is kept, as `<file>.before-restore`."""
    found = inspect(backup)
    if database.exists() and not force:
        raise Conflict(f"{database} exists: restore to another path, or replace it with force")
    with translated(str(database)):
        database.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(database.with_name(f"{database.name}.lock"))
        with lock():
            with atomic_replace(database) as draft:
                shutil.copyfile(backup, draft)
                fsync_file(draft)
                _move_old_aside(database)
            if key_file(backup).exists():
                _write_private(key_file(database), key_file(backup).read_bytes())
        lock.close()
    return found


def checksum_file(backup: Path) -> Path:
    return backup.with_name(f"{backup.name}.sha256")


def _copy(tx: SQLiteTransaction, draft: Path, progress: Progress | None) -> None:
    # Inside one read transaction every step sees the same commit, so writers neither wait nor make it start again.
    tx.driver_sql("BEGIN")
    tx.driver_sql("SELECT count(*) FROM sqlite_master").all()
    source: Any = tx.driver
    target = type(source)(str(draft), isolation_level=None)
    try:
        source.backup(target, pages=_PAGES_AT_ONCE, progress=_reporting(progress))
        target.execute("PRAGMA journal_mode=DELETE")  # one file, that opens on a read-only medium as well
        said = target.execute("PRAGMA quick_check(1)").fetchone()[0]
    finally:
        target.close()
        tx.driver_sql("ROLLBACK")
        for ending in _BESIDE:
            draft.with_name(draft.name + ending).unlink(missing_ok=True)
    if said != "ok":
        raise Incompatible(f"the database is damaged, no backup was made ({said}): run check, then repair or restore")


def _reporting(progress: Progress | None) -> Any:
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


def _move_old_aside(database: Path) -> None:
    if not database.exists():
        return
    _require_unused(database)
    stem = _free_name(database)
    for ending in ("", *_BESIDE, ".key"):
        companion = database.with_name(database.name + ending)
        if companion.exists():
            companion.rename(stem.with_name(stem.name + ending))


def _require_unused(database: Path) -> None:
    """Takes the file out of WAL mode, which works for its only user alone and leaves everything in the one file."""
    module, _ = load_driver()
    connection = module.connect(str(database), isolation_level=None, timeout=1.0)
    try:
        connection.execute("PRAGMA journal_mode=DELETE").fetchone()
    except module.DatabaseError as error:
        if "locked" in str(error):
            message = f"{database} is in use by another program: end it, then restore"
            raise Unavailable(message, retry_after=1.0) from error
        # A damaged file is what a backup is for: it is moved aside as it is.
    finally:
        connection.close()


def _free_name(database: Path) -> Path:
    first = database.with_name(f"{database.name}.before-restore")
    return first if not first.exists() else first.with_name(f"{first.name}-{uuid.uuid4().hex[:8]}")


def _write_private(path: Path, data: bytes) -> None:
    with atomic_replace(path) as draft:
        draft.write_bytes(data)


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def _expected_digest(backup: Path) -> str | None:
    file = checksum_file(backup)
    return file.read_text("ascii", errors="replace").split(" ", 1)[0].strip() if file.exists() else None
