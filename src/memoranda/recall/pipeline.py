"""Long-term memories, the reading side: a question becomes hits."""

from __future__ import annotations

import secrets
import time
import uuid
from datetime import datetime
from typing import TYPE_CHECKING

from memoranda.conversation.window import default_counter
from memoranda.errors import InvalidInput, Unavailable
from memoranda.fence import MARKER_BYTES
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.memories.read import matching_ids
from memoranda.memories.vectors import Vectors
from memoranda.recall.abstain import answerable, signals
from memoranda.recall.accesses import Accesses
from memoranda.recall.candidates import Meaning, ranked, speakers_of
from memoranda.recall.explain import explanation, standing
from memoranda.recall.query import MODES, Mode, Query, Reading, read_query
from memoranda.recall.rank import Ranking, as_score
from memoranda.recall.render import distinct, in_order, packed, rendered
from memoranda.recall.rerank import CANDIDATES, Rereading
from memoranda.results import Context
from memoranda.storage.base import PartitionKey
from memoranda.text import clean_text
from memoranda.types import EVERYTHING, Clock, Filter, Hit, Recall, Scope, WhyNot
from memoranda.validation import check_datetime

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from memoranda.storage.base import Store


_STATIC = "static"


class RecallPipeline:
    """Reads the question, lets the arms search inside the scope, and ranks what they found."""

    def __init__(
        self, store: Store, vectors: Vectors, partitions: Partitions, clock: Clock, accesses: Accesses
    ) -> None:
        self._store = store
        self._vectors = vectors
        self._partitions = partitions
        self._clock = clock
        self._accesses = accesses
        self._rereading = Rereading(store)

    def recall(
        self,
        text: str,
        scope: Scope,
        where: Filter,
        limit: int,
        *,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        mode: str | None = None,
        explain: bool = False,
    ) -> Recall:
        started = time.perf_counter()
        query = self._query(text, scope, where, limit, now, mode, as_of)
        degraded: list[str] = []
        partition = self._partition(query)
        reading, meaning = self._read(query, partition, degraded)
        ranking = self._ranking(query, partition, reading, meaning, degraded)
        allowed = self._allowed(query, ranking)
        hits = self._best(query, ranking, allowed, degraded)
        self._accesses.note(hit.id for hit in hits)
        found = signals(ranking, reading.speakers, allowed)
        return Recall(
            hits=hits,
            id=uuid.uuid4().hex,
            query=query.text,
            answerable=answerable(found),
            degraded=tuple(degraded),
            elapsed_ms=(time.perf_counter() - started) * 1000,
            explanation=explanation(reading, ranking, found) if explain else None,
        )

    def why_not(
        self,
        text: str,
        memory_id: int,
        scope: Scope,
        where: Filter,
        limit: int,
        *,
        now: datetime | str | None = None,
    ) -> WhyNot:
        """Which step left a memory out, or where it stands."""
        query = self._query(text, scope, where, limit, now, None)
        if self._store.get(scope, [memory_id]) == [None]:
            return WhyNot(memory_id, f"there is no memory {memory_id} in {scope}")
        partition = self._partition(query)
        reading, meaning = self._read(query, partition, [])
        ranking = self._ranking(query, partition, reading, meaning, [])
        return standing(ranking, memory_id, limit, self._allowed(query, ranking))

    def _query(
        self,
        text: str,
        scope: Scope,
        where: Filter,
        limit: int,
        now: datetime | str | None,
        mode: str | None,
        as_of: datetime | str | None = None,
    ) -> Query:
        moment = self._clock() if now is None else check_datetime(now, "now")
        then = None if as_of is None else check_datetime(as_of, "as_of")
        return Query(clean_text(text, "query"), scope, where, limit, moment, _checked_mode(mode), then)

    def _partition(self, query: Query) -> Partition:
        """All that the question is asked of, as of the latest commit."""
        return self._partitions.get(PartitionKey(query.scope.tenant, query.scope.user), self._vectors.generation())

    def _read(self, query: Query, partition: Partition, degraded: list[str]) -> tuple[Reading, Meaning | None]:
        """The question as the rules read it, and its vector where meaning is to be looked for."""
        with partition.lock:
            speakers = speakers_of(partition, query)
        reading = read_query(query.text, query.now, speakers)
        embedder = self._vectors.embedder
        spared = query.mode == "fast" and embedder is not None and embedder.identity.provider != _STATIC
        if embedder is None or reading.embedded is None or spared:
            return reading, None
        try:
            # Outside the lock: a model takes longer than a search.
            vector = self._vectors.embed_query(reading.embedded)
        except Unavailable as error:
            degraded.append(f"dense: {error}")
            return reading, None
        return reading, None if vector is None else Meaning(vector, embedder.identity.baseline)

    def _ranking(
        self, query: Query, partition: Partition, reading: Reading, meaning: Meaning | None, degraded: list[str]
    ) -> Ranking:
        with partition.lock:
            try:
                return ranked(partition, query, reading, meaning)
            except Unavailable as error:  # the vectors may be kept by an engine elsewhere
                degraded.append(f"dense: {error}")
                return ranked(partition, query, reading, None)

    def _allowed(self, query: Query, ranking: Ranking) -> NDArray[np.bool_] | None:
        """Which rows pass the filters; None when there are none."""
        import numpy as np

        if query.where == EVERYTHING:
            return None
        allowed = np.zeros(len(ranking.field), dtype=np.bool_)
        allowed[ranking.field.rows_of(self._store.read(lambda tx: matching_ids(tx, query.scope, query.where)))] = True
        return allowed

    def _best(
        self, query: Query, ranking: Ranking, allowed: NDArray[np.bool_] | None, degraded: list[str]
    ) -> tuple[Hit, ...]:
        if query.mode != "best":
            return self._hits(query, ranking, ranking.best(query.limit, allowed))
        hits = self._hits(query, ranking, ranking.best(max(query.limit, CANDIDATES), allowed))
        try:
            hits = self._rereading.reordered(query.text, query.scope, ranking, hits)
        except Unavailable as error:
            degraded.append(f"reranker: {error}")
        return hits[: query.limit]

    def _hits(self, query: Query, ranking: Ranking, rows: NDArray[np.int64]) -> tuple[Hit, ...]:
        # Read again with the scope inside: a memory deleted a moment ago, by anyone, is not shown.
        memories = self._store.get(query.scope, ranking.field.ids[rows].tolist())
        scores = as_score(ranking.sums[rows]).tolist()
        return tuple(
            Hit(memory, score, ranking.why(row))
            for row, score, memory in zip(rows.tolist(), scores, memories, strict=True)
            if memory
        )


def _checked_mode(mode: str | None) -> Mode:
    if mode is None:
        return "default"
    for known in MODES:
        if mode == known:
            return known
    raise InvalidInput(f"unknown mode {mode!r}: use one of {', '.join(MODES)}")


def prompt_context(found: Recall, budget: int, now: datetime) -> Context:
    """The best of what was found, as text of at most `budget` tokens."""
    hits = distinct(found.hits)
    # Drawn anew for each call, so that no text written before it can know how its fence ends.
    marker = secrets.token_hex(MARKER_BYTES)
    count = default_counter()
    shown = packed(hits, marker, now, budget, count)
    text = rendered(shown, marker, now)
    return Context(
        text,
        hits=in_order(shown),
        left_out=len(hits) - len(shown),
        tokens=count(text) if text else 0,
        recall_id=found.id,
        answerable=found.answerable,
        degraded=found.degraded,
    )
