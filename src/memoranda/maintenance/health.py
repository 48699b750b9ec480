"""How a manager is doing: counts and health."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from memoranda.errors import Incompatible, Unavailable
from memoranda.memories.changes import PartitionKey
from memoranda.memories.read import partition_keys
from memoranda.memories.vectors import active as active_generation
from memoranda.memories.vectors import embed_missing
from memoranda.sessions.base import Tenant
from memoranda.storage.sqlite.integrity import damaged_memories, repair_rows
from memoranda.types import DEFAULT_TENANT, MemoryType, Progress, Record

if TYPE_CHECKING:
    from memoranda.index.partitions import Partitions
    from memoranda.memories.vectors import Vectors
    from memoranda.sessions.sessions import Sessions
    from memoranda.sessions.values import ShortTerm
    from memoranda.storage.sqlite.store import SQLiteStore


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


def stats(store: SQLiteStore, short_term: ShortTerm, sessions: Sessions, tenant: str) -> Stats:
    from memoranda.memories import add
    from memoranda.memories.rows import from_micros

    counts = store.counts(tenant)
    done = store.read(lambda connection: add.activity(connection, tenant, _AGENTS))
    entries, active, problems = _short_term(short_term, sessions, tenant)
    return Stats(
        short_term_entries=entries,
        long_term_entries=sum(counts.values()),
        by_type={kind.value: counts.get(kind.value, 0) for kind in MemoryType},
        active_sessions=active,
        executions=done.executions,
        agents={
            name: AgentActivity(each.memories, each.executions, from_micros(each.last_at))
            for name, each in done.agents.items()
        },
        degraded=(*short_term.problems, *problems),
    )


def _short_term(short_term: ShortTerm, sessions: Sessions, tenant: str) -> tuple[int | None, int | None, list[str]]:
    """Values, open sessions, and what is wrong; Redis may be away while the rest goes on."""
    stores = list({id(store): store for store in (short_term.values, short_term.sessions)}.values())
    try:
        entries = sum(store.count(Tenant(tenant)) for store in stores)
        return entries, sessions.count_open(), []
    except Unavailable as error:
        return None, None, [str(error)]


def health(
    store: SQLiteStore,
    vectors: Vectors,
    short_term: ShortTerm,
    sessions: Sessions,
    durability: str,
    problems: Sequence[str],
) -> Health:
    """Return how everything is doing; `problems` are those of components that are not passed in."""
    embedder = vectors.embedder
    problems = (*short_term.problems, *_short_term(short_term, sessions, DEFAULT_TENANT)[2], *problems)
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
        durability=durability,
        embedder=None if embedder is None else str(embedder.identity),
        generation=vectors.generation(),
        changes=store.head(),
    )


def _size(path: Path) -> int:
    files = (path, path.with_name(f"{path.name}-wal"))
    return sum(file.stat().st_size for file in files if file.exists())


_NORM_ERROR = 0.01


@dataclass(frozen=True, slots=True)
class CheckReport(Record):
    """What a check found."""

    problems: tuple[str, ...]
    """One sentence each; empty when everything agrees."""
    memories: int
    partitions: int

    @property
    def ok(self) -> bool:
        return not self.problems


@dataclass(frozen=True, slots=True)
class RepairReport(Record):
    """What a repair found, did, and could not do."""

    found: tuple[str, ...]
    done: tuple[str, ...]
    remaining: tuple[str, ...]
    """What only a backup can bring back; nothing of it was deleted."""

    @property
    def ok(self) -> bool:
        return not self.remaining


def check(store: SQLiteStore, partitions: Partitions) -> CheckReport:
    """SQLite's own checks, our rows, full text and vectors, and the index against the rows."""
    found = store.check() + store.read(damaged_memories)
    keys, memories = store.read(partition_keys), 0
    # The vectors that are there, whichever model made them: a check needs no model.
    active = store.read(active_generation)
    for key in keys:
        count, wrong = _check_partition(store, partitions, key, active.id if active else None)
        memories += count
        found += wrong
    found += partitions.problems
    return CheckReport(tuple(found), memories, len(keys))


def repair(
    store: SQLiteStore, vectors: Vectors, partitions: Partitions, progress: Progress | None = None
) -> RepairReport:
    """Rebuilds what derives from the rows: indexes, full text, counts, vectors, the search index."""
    before = check(store, partitions)
    if before.ok:
        return RepairReport((), (), ())
    done = store.write(lambda connection, _: repair_rows(connection, rebuild=True))
    embedder, generation = vectors.embedder, vectors.generation()
    if embedder is not None and generation is not None:
        made = embed_missing(store, embedder, generation, progress)
        done += [f"{made} vectors made again"] if made else []
    partitions.clear()
    partitions.problems.clear()
    done.append("the search index dropped, to be rebuilt from the rows")
    return RepairReport(before.problems, tuple(done), check(store, partitions).problems)


def _check_partition(
    store: SQLiteStore, partitions: Partitions, key: PartitionKey, generation: int | None
) -> tuple[int, list[str]]:
    import numpy as np

    whose = f"tenant {key.tenant}, {f'user {key.user}' if key.user else 'no user'}"
    rows = list(store.rows(key, None, generation))
    vectors = {row.id: np.frombuffer(row.vector, "<f4") for row in rows if row.vector and len(row.vector) % 4 == 0}
    odd = [str(i) for i, vector in vectors.items() if not abs(float(np.linalg.norm(vector)) - 1) < _NORM_ERROR]
    wrong = [f"{len(odd)} vectors are not of length 1 ({whose}): {', '.join(odd[:5])}"] if odd else []
    try:
        with partitions.locked(key, generation) as partition:
            indexed = (len(partition), 0 if partition.index is None else len(partition.index))
    except Incompatible as error:
        return len(rows), [*wrong, f"the index cannot be made ({whose}): {error}"]
    if indexed != (len(rows), len(vectors)):
        stored = f"the store {len(rows)} and {len(vectors)} ({whose})"
        wrong.append(f"the index has {indexed[0]} memories and {indexed[1]} vectors, {stored}")
    return len(rows), wrong
