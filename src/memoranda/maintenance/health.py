"""How a manager is doing: counts and health."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from memoranda.errors import Incompatible, Unavailable
from memoranda.results import AgentActivity, CheckReport, Health, RepairReport, Stats
from memoranda.sessions.base import Tenant
from memoranda.storage.add import count_by_agent, count_by_type, count_executions
from memoranda.storage.base import PartitionKey
from memoranda.storage.read import partition_keys
from memoranda.storage.rows import from_micros
from memoranda.types import DEFAULT_TENANT, MemoryType, Progress

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.index.partitions import Partitions
    from memoranda.sessions.context import Sessions
    from memoranda.sessions.values import ShortTerm
    from memoranda.storage.base import Store


_AGENTS = 100


def stats(store: Store, short_term: ShortTerm, sessions: Sessions, tenant: str) -> Stats:
    counts = store.read(lambda tx: count_by_type(tx, tenant))
    agents = store.read(lambda tx: count_by_agent(tx, tenant, _AGENTS))
    entries, active, problems = _short_term(short_term, sessions, tenant)
    return Stats(
        short_term_entries=entries,
        long_term_entries=sum(counts.values()),
        by_type={kind.value: counts.get(kind.value, 0) for kind in MemoryType},
        active_sessions=active,
        executions=store.read(lambda tx: count_executions(tx, tenant)),
        agents={
            name: AgentActivity(each.memories, each.executions, from_micros(each.last_at))
            for name, each in agents.items()
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
    store: Store,
    vectors: Vectors,
    short_term: ShortTerm,
    sessions: Sessions,
    durability: str,
    problems: Sequence[str],
) -> Health:
    """Return how everything is doing; `problems` are those of components that are not passed in."""
    embedder = vectors.embedder
    problems = (*short_term.problems, *_short_term(short_term, sessions, DEFAULT_TENANT)[2], *problems)
    status = store.status()
    problems += status.problems
    return Health(
        status="degraded" if problems else "ok",
        problems=problems,
        database=status.database,
        size_bytes=status.size_bytes,
        sqlite_version=status.version,
        sqlite_driver=status.library,
        wal_reset_bug=status.wal_reset_bug,
        durability=durability,
        embedder=None if embedder is None else str(embedder.identity),
        generation=vectors.generation(),
        changes=store.head(),
    )


_NORM_ERROR = 0.01


def check(store: Store, partitions: Partitions) -> CheckReport:
    """SQLite's own checks, our rows, full text and vectors, and the index against the rows."""
    found = store.check()
    keys, memories = store.read(partition_keys), 0
    # The vectors that are there, whichever model made them: a check needs no model.
    active = store.active_generation()
    for key in keys:
        count, wrong = _check_partition(store, partitions, key, active.id if active else None)
        memories += count
        found += wrong
    found += partitions.problems
    return CheckReport(tuple(found), memories, len(keys))


def repair(store: Store, vectors: Vectors, partitions: Partitions, progress: Progress | None = None) -> RepairReport:
    """Rebuilds what derives from the rows: indexes, full text, counts, vectors, the search index."""
    before = check(store, partitions)
    if before.ok:
        return RepairReport((), (), ())
    done = store.repair()
    generation = vectors.generation()
    if generation is not None:
        made = vectors.embed_missing(generation, progress)
        done += [f"{made} vectors made again"] if made else []
    partitions.clear()
    partitions.problems.clear()
    done.append("the search index dropped, to be rebuilt from the rows")
    return RepairReport(before.problems, tuple(done), check(store, partitions).problems)


def _check_partition(
    store: Store, partitions: Partitions, key: PartitionKey, generation: int | None
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
