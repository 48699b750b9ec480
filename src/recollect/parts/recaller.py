"""Long-term memories, the reading side: a question becomes hits."""

from __future__ import annotations

import time
import uuid
from datetime import datetime
from typing import TYPE_CHECKING

from recollect.arguments import check_moment
from recollect.errors import Unavailable
from recollect.index.partition import Partition
from recollect.index.partitions import Partitions
from recollect.parts.vectors import Vectors
from recollect.retrieval.arms import candidates, dense_arm, lexical_arm
from recollect.retrieval.fuse import Ranked, fuse
from recollect.retrieval.query import Query, lexical_terms
from recollect.storage.base import PartitionKey
from recollect.text import clean_text
from recollect.types import EVERYTHING, Clock, Filter, FloatArray, Hit, IntArray, Recall, Scope

if TYPE_CHECKING:
    from recollect.storage.sqlite import SQLiteStore


class Recaller:
    """Reads the question, lets the arms search inside the scope, and fuses what they found."""

    def __init__(self, store: SQLiteStore, vectors: Vectors, partitions: Partitions, clock: Clock) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions
        self._clock = clock

    def recall(
        self, text: str, scope: Scope, where: Filter, limit: int, *, now: datetime | str | None = None
    ) -> Recall:
        started = time.perf_counter()
        asked = clean_text(text, "query")
        vector, degraded = self._vector(asked)
        embedder = self._vectors.embedder
        query = Query(
            text=asked,
            scope=scope,
            where=where,
            limit=limit,
            now=self._clock() if now is None else check_moment(now, "now"),
            terms=lexical_terms(asked),
            vector=vector,
            baseline=embedder.identity.baseline if embedder else 0.0,
        )
        hits = self._hits(scope, self._ranked(query))
        answerable = hits[0].score if hits else 0.0
        elapsed = (time.perf_counter() - started) * 1000
        return Recall(hits, uuid.uuid4().hex, asked, answerable, degraded, elapsed)

    def _vector(self, text: str) -> tuple[FloatArray | None, tuple[str, ...]]:
        """The question's vector; words alone answer while the embedder cannot be reached, and the answer says so."""
        try:
            return self._vectors.query(text), ()
        except Unavailable as error:
            return None, (f"dense: {error}",)

    def _ranked(self, query: Query) -> list[Ranked]:
        key = PartitionKey(query.scope.tenant, query.scope.user)
        with self._partitions.reading(key, self._vectors.generation()) as partition:
            among = self._among(partition, query)
            if among is not None and not len(among):
                return []
            ids = candidates(query, partition.postings, partition.index, among)
            arms = [lexical_arm(query, partition.postings, ids)]
            if partition.index is not None and query.vector is not None:
                arms.append(dense_arm(query, partition.index, ids))
            return fuse(ids, arms, query.limit)

    def _among(self, partition: Partition, query: Query) -> IntArray | None:
        """The ids that scope, time and filters allow; None when all of the partition are."""
        import numpy as np

        allowed = partition.eligible(query.scope.agent, query.scope.session, query.now.timestamp())
        if query.where == EVERYTHING:
            return allowed
        passing = self._store.matching(query.scope, query.where)
        return passing if allowed is None else np.intersect1d(allowed, passing, assume_unique=True)

    def _hits(self, scope: Scope, ranked: list[Ranked]) -> tuple[Hit, ...]:
        # Read again with the scope inside: a memory deleted a moment ago, by anyone, is not shown.
        memories = self._store.get(scope, [each.id for each in ranked])
        return tuple(Hit(memory, each.score, each.why) for each, memory in zip(ranked, memories, strict=True) if memory)
