"""What backups, exports, imports and conversions return."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from memoranda.records import Record


@dataclass(frozen=True, slots=True, repr=False)
class Backup(Record):
    """A backup that was created, checked or restored."""

    path: Path
    size_bytes: int
    memories: int
    sha256: str
    verified: bool = True
    """Whether the checksum file next to it was present and matched."""
    problems: tuple[str, ...] = ()
    """What a new backup lacks, such as the lost key file of the database."""


@dataclass(frozen=True, slots=True, repr=False)
class Conversion(Record):
    """What `memoranda encrypt`, `decrypt` or `rekey` did."""

    path: Path
    encrypted: bool
    """Whether the database is encrypted now."""
    changed: bool
    """False when it already was so, and only what an interrupted run had left was finished."""
    memories: int
    remaining: tuple[str, ...] = ()
    """Older copies beside the database, which are as they were: delete them, or move them to a safe place."""


@dataclass(frozen=True, slots=True, repr=False)
class ExportReport(Record):
    """How much was exported."""

    path: Path
    memories: int
    lines: int
    encrypted: bool = False
    removed: int = 0
    """Of the memories, those that an archive took out of the store."""


@dataclass(frozen=True, slots=True, repr=False)
class ImportReport(Record):
    """How much was imported. What existed already is unchanged."""

    memories: int = 0
    known: int = 0
    messages: int = 0
    associations: int = 0
    sessions: int = 0
    executions: int = 0
    skipped: int = 0
    """Memories and messages that were left out."""
    skipped_reason: str | None = None


@dataclass(frozen=True, slots=True, repr=False)
class FileReport(Record):
    """How much was written to files or read from them."""

    folder: Path
    values: int
    executions: int
    known: int = 0
    """Execution records that existed already and were skipped."""


@dataclass(frozen=True, slots=True)
class Mem0ImportReport(Record):
    """How many memories an import read, stored, knew already and rejected."""

    read: int
    stored: int
    known: int
    rejected: int
    quarantined: int = 0
    """Those that look like orders to a model: stored, but not recalled before somebody releases them."""
    forgotten: int = 0
    """Those that were forgotten here before, and left out."""
