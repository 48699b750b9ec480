"""Statistics, health, integrity checks and repair of a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from memoranda.errors import Incompatible, Unavailable
from memoranda.maintenance.receipts import find_receipt_problems
from memoranda.results.maintenance import AgentActivity, CheckReport, Health, RepairReport, Stats
from memoranda.sessions.base import Tenant
from memoranda.storage.add import count_by_agent, count_by_type, count_executions
from memoranda.storage.base import PartitionKey
from memoranda.storage.message_log import ModelQueue, read_queue
from memoranda.storage.read import count_memories, partition_keys
from memoranda.storage.rows import from_micros
from memoranda.types import ANY, DEFAULT_TENANT, MemoryType, Progress

if TYPE_CHECKING:
    from memoranda.embedding.vectors import Vectors
    from memoranda.executions.log import ExecutionLog
    from memoranda.index.partitions import Partitions
    from memoranda.sessions.context import Sessions
    from memoranda.sessions.values import ShortTerm
    from memoranda.storage.base import Store
    from memoranda.storage.database_key import DatabaseKey

_MAX_AGENTS: Final = 100
_NORM_TOLERANCE: Final = 0.01


def collect_stats(
    store: Store, partitions: Partitions, short_term: ShortTerm, sessions: Sessions, tenant: str
) -> Stats:
    """Return the counts of one tenant."""
    counts = store.read(lambda tx: count_by_type(tx, tenant), tenant=tenant)
    agents = store.read(lambda tx: count_by_agent(tx, tenant, _MAX_AGENTS), tenant=tenant)
    entries, active, problems = _count_short_term(short_term, sessions, tenant)
    return Stats(
        short_term_entries=entries,
        long_term_entries=sum(counts.values()),
        by_type={kind.value: counts.get(kind.value, 0) for kind in MemoryType},
        active_sessions=active,
        executions=store.read(lambda tx: count_executions(tx, tenant), tenant=tenant),
        agents={
            name: AgentActivity(agent.memories, agent.executions, from_micros(agent.last_at))
            for name, agent in agents.items()
        },
        degraded=(*short_term.problems, *problems),
        conversation_history_size=None if problems else sessions.count_messages(),
        storage_dir=None if store.path is None else str(store.path.absolute().parent),
        embeddings_dir=None if partitions.path is None else str(partitions.path.absolute().parent),
        vector_store_loaded=len(partitions) > 0,
    )


def _count_short_term(
    short_term: ShortTerm, sessions: Sessions, tenant: str
) -> tuple[int | None, int | None, list[str]]:
    """Return the counts of values and open sessions, and problems: Redis may fail while the rest works."""
    stores = list({id(store): store for store in (short_term.values, short_term.sessions)}.values())
    try:
        entries = sum(store.count(Tenant(tenant)) for store in stores)
        return entries, sessions.count_open(), []
    except Unavailable as error:
        return None, None, [str(error)]


def collect_health(
    store: Store,
    vectors: Vectors,
    partitions: Partitions,
    short_term: ShortTerm,
    sessions: Sessions,
    durability: str,
    problems: Sequence[str],
) -> Health:
    """Return the health of all components.

    Args:
        store: The database.
        vectors: The embedder and the vectors in use.
        partitions: The search index.
        short_term: The short-term values.
        sessions: The open sessions.
        durability: The setting `durability`.
        problems: Those of components that are not passed in.
    """
    embedder, status = vectors.embedder, store.status()
    _, _, short_term_problems = _count_short_term(short_term, sessions, DEFAULT_TENANT)
    queue = store.read(read_queue, tenant=ANY)
    generation, vector_problems = _find_generation(vectors)
    problems = (
        *vector_problems,
        *short_term.problems,
        *short_term_problems,
        *partitions.problems,
        *_memory_problems(partitions),
        *problems,
        *status.problems,
        *_queue_problems(queue),
    )
    return Health(
        status="degraded" if problems else "ok",
        problems=problems,
        database=status.database,
        size_bytes=status.size_bytes,
        database_version=status.version,
        database_library=status.library,
        wal_reset_bug=status.wal_reset_bug,
        durability=durability,
        embedder=None if embedder is None else str(embedder.identity),
        generation=generation,
        changes=store.head(),
        unread_messages=queue.length,
        last_model_failure=queue.last_failure,
        encrypted=status.encrypted,
        index_bytes=partitions.nbytes,
        index_limit=partitions.capacity,
    )


def _find_generation(vectors: Vectors) -> tuple[int | None, list[str]]:
    """Return the generation in use, and why there is none: vectors of another model are a problem to report."""
    try:
        return vectors.generation(), []
    except Incompatible as error:
        return None, [str(error)]


def _memory_problems(partitions: Partitions) -> list[str]:
    if partitions.nbytes <= partitions.capacity:
        return []
    return [
        f"the index in memory takes {partitions.nbytes:,} bytes, and {partitions.capacity:,} are allowed: one user "
        "alone needs more, raise MEMORY_INDEX_BYTES"
    ]


def _queue_problems(queue: ModelQueue) -> list[str]:
    if not queue.length:
        return []
    return [f"{queue.length} messages wait for the language model, which failed: {queue.last_failure}"]


def check(store: Store, partitions: Partitions, audit_key: DatabaseKey, executions: ExecutionLog) -> CheckReport:
    """Check file, rows, search terms, vectors, receipts and execution records, and compare the index with the rows."""
    problems = [*store.check(), *_find_forgeries(store, audit_key, executions)]
    keys = store.read(partition_keys, tenant=ANY)
    # The active generation, whichever model made it: a check needs no model.
    active = store.active_generation()
    for key in keys:
        problems += _check_partition(store, partitions, key, active.id if active else None)
    problems += partitions.problems
    return CheckReport(tuple(problems), store.read(count_memories, tenant=ANY), len(keys))


def repair(
    store: Store,
    vectors: Vectors,
    partitions: Partitions,
    audit_key: DatabaseKey,
    executions: ExecutionLog,
    progress: Progress | None = None,
) -> RepairReport:
    """Rebuild what derives from the rows: indexes, search terms, counts, vectors and the search index.

    Args:
        store: The database.
        vectors: Makes missing vectors again.
        partitions: The search index.
        audit_key: The key of the receipts.
        executions: The execution records, which are checked too.
        progress: Called with (done, total) while texts are embedded.
    """
    before = check(store, partitions, audit_key, executions)
    if before.ok:
        return RepairReport((), (), ())
    done = store.repair()
    generation = vectors.generation()
    if generation is not None:
        count = vectors.embed_missing(generation, progress, sentences=False)
        done += [f"{count} vectors rebuilt"] if count else []
    partitions.clear()
    partitions.problems.clear()
    done.append("search index dropped, to be rebuilt from the rows")
    return RepairReport(before.problems, tuple(done), check(store, partitions, audit_key, executions).problems)


def _find_forgeries(store: Store, audit_key: DatabaseKey, executions: ExecutionLog) -> list[str]:
    """Return what is wrong with everything that is signed, or with the key that it was signed with."""
    # API keys are signed too, and nothing here reads them.
    problems = [problem for problem in [executions.key_problem()] if problem is not None]
    try:
        problems += [*find_receipt_problems(store, audit_key), *executions.find_problems()]
    except Incompatible as error:
        problems.append(str(error))
    return list(dict.fromkeys(problems))


def _check_partition(store: Store, partitions: Partitions, key: PartitionKey, generation: int | None) -> list[str]:
    """Compare rows and index of one owner, except for memories that somebody writes in between."""
    import numpy as np

    owner = f"tenant {key.tenant}, {f'user {key.user}' if key.user else 'no user'}"
    head = store.head(key)
    try:
        rows = list(store.rows(key, None, generation))
    except Incompatible as error:
        return [f"the index cannot be built ({owner}): {error}"]
    vectors = {row.id: np.frombuffer(row.vector, "<f4") for row in rows if row.vector and len(row.vector) % 4 == 0}
    # Written so that a NaN fails.
    bad = [str(i) for i, vector in vectors.items() if not abs(float(np.linalg.norm(vector)) - 1) < _NORM_TOLERANCE]
    problems = [f"{len(bad)} vectors are not of length 1 ({owner}): {', '.join(bad[:5])}"] if bad else []
    try:
        with partitions.locked(key, generation) as partition:
            indexed = partition.ids
            vectors_indexed = () if partition.index is None else partition.index.ids
    except Incompatible as error:
        return [*problems, f"the index cannot be built ({owner}): {error}"]
    differing = {row.id for row in rows} ^ set(indexed) | vectors.keys() ^ set(vectors_indexed)
    if differing and differing - set(store.changed(key, head)):
        expected = f"the store {len(rows)} and {len(vectors)} ({owner})"
        problems.append(f"the index has {len(indexed)} memories and {len(vectors_indexed)} vectors, {expected}")
    return problems
