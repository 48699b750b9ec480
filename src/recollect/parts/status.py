"""How a manager is doing: counts and health."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from recollect.session.base import Tenant
from recollect.types import MemoryType, Record

if TYPE_CHECKING:
    from recollect.parts.foundation import Foundation


@dataclass(frozen=True, slots=True)
class Stats(Record):
    """Counts of one tenant."""

    short_term_entries: int
    """Values that have not expired."""
    long_term_entries: int
    """Memories of every type."""
    by_type: dict[str, int]


@dataclass(frozen=True, slots=True)
class Health(Record):
    """Whether everything works, and on what it runs."""

    status: Literal["ok", "degraded"]
    problems: tuple[str, ...]
    """What a person should know of, one sentence each."""
    database: str
    size_bytes: int
    sqlite_version: str
    sqlite_driver: str
    wal_reset_bug: bool
    """Whether this SQLite can lose commits when checkpoints race; the lock file guards against it."""
    durability: str
    embedder: str | None
    generation: int | None
    """Which set of vectors answers; None while there are none."""
    changes: int
    """The number of the latest change in the store."""


def stats(parts: Foundation, tenant: str) -> Stats:
    counts = parts.open().store.counts(tenant)
    known = {kind.value: counts.get(kind.value, 0) for kind in MemoryType}
    return Stats(parts.short_term.count(Tenant(tenant)), sum(counts.values()), known)


def health(parts: Foundation) -> Health:
    engine = parts.open()
    store, embedder = engine.store, engine.vectors.embedder
    problems = tuple(engine.partitions.problems)
    return Health(
        status="degraded" if problems else "ok",
        problems=problems,
        database=str(store.path),
        size_bytes=_size(store.path),
        sqlite_version=store.driver.version,
        sqlite_driver=store.driver.name,
        wal_reset_bug=store.driver.wal_reset_bug,
        durability=parts.config.durability,
        embedder=None if embedder is None else str(embedder.identity),
        generation=engine.vectors.generation(),
        changes=store.head(),
    )


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())
