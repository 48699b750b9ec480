"""Does everything agree: the file, its rows, the vectors, the search index? And making it agree again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from memoranda.errors import Incompatible
from memoranda.parts.reembedding import embed_missing
from memoranda.storage import generations
from memoranda.storage.base import PartitionKey
from memoranda.storage.reading import partition_keys
from memoranda.storage.repair import damaged_memories, repair_rows
from memoranda.types import Progress, Record

if TYPE_CHECKING:
    from memoranda.parts.engine import Engine

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


def check(engine: Engine) -> CheckReport:
    """SQLite's own checks, our rows, full text and vectors, and the index against the rows."""
    found = engine.store.check() + engine.store.read(damaged_memories)
    keys, memories = engine.store.read(partition_keys), 0
    # The vectors that are there, whichever model made them: a check needs no model.
    active = engine.store.read(generations.active)
    for key in keys:
        count, wrong = _check_partition(engine, key, active.id if active else None)
        memories += count
        found += wrong
    found += engine.partitions.problems
    return CheckReport(tuple(found), memories, len(keys))


def repair(engine: Engine, progress: Progress | None = None) -> RepairReport:
    """Rebuilds what derives from the rows: indexes, full text, counts, vectors, the search index."""
    before = check(engine)
    if before.ok:
        return RepairReport((), (), ())
    done = engine.store.write(lambda connection, _: repair_rows(connection, rebuild=True))
    embedder, generation = engine.vectors.embedder, engine.vectors.generation()
    if embedder is not None and generation is not None:
        made = embed_missing(engine.store, embedder, generation, progress)
        done += [f"{made} vectors made again"] if made else []
    engine.partitions.clear()
    engine.partitions.problems.clear()
    done.append("the search index dropped, to be rebuilt from the rows")
    return RepairReport(before.problems, tuple(done), check(engine).problems)


def _check_partition(engine: Engine, key: PartitionKey, generation: int | None) -> tuple[int, list[str]]:
    import numpy as np

    whose = f"tenant {key.tenant}, {f'user {key.user}' if key.user else 'no user'}"
    rows = list(engine.store.rows(key, None, generation))
    vectors = {row.id: np.frombuffer(row.vector, "<f4") for row in rows if row.vector and len(row.vector) % 4 == 0}
    odd = [str(i) for i, vector in vectors.items() if not abs(float(np.linalg.norm(vector)) - 1) < _NORM_ERROR]
    wrong = [f"{len(odd)} vectors are not of length 1 ({whose}): {', '.join(odd[:5])}"] if odd else []
    try:
        with engine.partitions.reading(key, generation) as partition:
            indexed = (len(partition), 0 if partition.index is None else len(partition.index))
    except Incompatible as error:
        return len(rows), [*wrong, f"the index cannot be made ({whose}): {error}"]
    if indexed != (len(rows), len(vectors)):
        stored = f"the store {len(rows)} and {len(vectors)} ({whose})"
        wrong.append(f"the index has {indexed[0]} memories and {indexed[1]} vectors, {stored}")
    return len(rows), wrong
