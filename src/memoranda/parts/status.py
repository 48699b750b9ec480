"""How a manager is doing: counts and health."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoranda.errors import Unavailable
from memoranda.session.base import Tenant
from memoranda.types import DEFAULT_TENANT, MemoryType, Record

if TYPE_CHECKING:
    from memoranda.parts.foundation import Foundation

_AGENTS = 100


@dataclass(frozen=True, slots=True)
class AgentActivity(Record):
    """What one agent has written."""

    memories: int
    executions: int
    last_active: datetime


@dataclass(frozen=True, slots=True)
class Stats(Record):
    """Counts of one tenant."""

    short_term_entries: int | None
    """Values that have not expired, those of sessions included; None while Redis does not answer."""
    long_term_entries: int
    """Memories of every type."""
    by_type: dict[str, int]
    active_sessions: int | None
    """Sessions open now, in all processes that share the store; None while Redis does not answer."""
    executions: int
    """Records in the audit trail."""
    agents: dict[str, AgentActivity]
    """The agents that wrote last, newest first, at most a hundred."""
    degraded: tuple[str, ...]
    """What cannot be reached, one sentence each; empty when all is well."""


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
    from memoranda.storage import tallies
    from memoranda.storage.rows import from_micros

    store = parts.open().store
    counts = store.counts(tenant)
    done = store.read(lambda connection: tallies.activity(connection, tenant, _AGENTS))
    entries, sessions, problems = _short_term(parts, tenant)
    return Stats(
        short_term_entries=entries,
        long_term_entries=sum(counts.values()),
        by_type={kind.value: counts.get(kind.value, 0) for kind in MemoryType},
        active_sessions=sessions,
        executions=done.executions,
        agents={
            name: AgentActivity(each.memories, each.executions, from_micros(each.last_at))
            for name, each in done.agents.items()
        },
        degraded=(*parts.stores.problems, *problems),
    )


def _short_term(parts: Foundation, tenant: str) -> tuple[int | None, int | None, list[str]]:
    """Values, open sessions, and what is wrong; Redis may be away while the rest goes on."""
    stores = list({id(store): store for store in (parts.stores.values, parts.stores.sessions)}.values())
    try:
        entries = sum(store.count(Tenant(tenant)) for store in stores)
        return entries, parts.sessions.count_open(), []
    except Unavailable as error:
        return None, None, [str(error)]


def health(parts: Foundation) -> Health:
    engine = parts.open()
    store, embedder = engine.store, engine.vectors.embedder
    mirror = [] if parts.mirror is None else parts.mirror.problems
    problems = (*parts.stores.problems, *_short_term(parts, DEFAULT_TENANT)[2], *mirror, *engine.partitions.problems)
    problems += parts.upkeep.problems
    if gone := store.problem():
        problems += (gone,)
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
