"""Memories out of a store: backups, and exports as lines of JSON."""

from __future__ import annotations

from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from memoranda.errors import InvalidInput
from memoranda.files import replacing
from memoranda.storage import backup as backups
from memoranda.storage.backup import Backup
from memoranda.storage.export import count_memories
from memoranda.storage.faults import translated
from memoranda.types import Progress, Record, Scope

if TYPE_CHECKING:
    from memoranda.parts.engine import Engine
    from memoranda.settings import MemoryConfig

_BATCH = 500


@dataclass(frozen=True, slots=True)
class ExportReport(Record):
    """How much went out."""

    path: Path
    memories: int
    lines: int


def back_up(engine: Engine, target: str | PathLike[str], *, force: bool, progress: Progress | None = None) -> Backup:
    """Everything acknowledged before the call, in one file; writers go on meanwhile."""
    path = Path(target)
    done = engine.store.read(lambda connection: backups.back_up(connection, path, force=force, progress=progress))
    backups.copy_key(engine.store.path, path)
    return done


def restore(backup: str | PathLike[str], config: MemoryConfig, *, force: bool = False) -> Backup:
    """Puts a backup in the place of the configured database, which nothing may have open."""
    from memoranda.parts.engine import database_url, index_path
    from memoranda.storage.sqlite import path_of

    database = path_of(database_url(config))
    if database is None:
        raise InvalidInput("a database in memory cannot be restored to: name a file")
    done = backups.restore(Path(backup), database, force=force)
    index_path(config, database).unlink(missing_ok=True)  # derived, and of the database that was there before
    return done


def export_file(
    engine: Engine, scope: Scope, target: str | PathLike[str], progress: Progress | None = None
) -> ExportReport:
    """The export in a file, which is there whole or not at all."""
    path, lines = Path(target), 0
    total = engine.store.read(lambda connection: count_memories(connection, scope))
    memories = 0
    with translated(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as draft, draft.open("w", encoding="utf-8", newline="\n") as file:
            for line in engine.store.export(scope):
                file.write(f"{line}\n")
                lines += 1
                memories += line.startswith('{"kind":"memory"')
                if progress is not None and lines % _BATCH == 0:
                    progress(memories, total)
    return ExportReport(path, memories, lines)
