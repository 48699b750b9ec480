"""Recall: a question becomes hits. `RecallPipeline.recall` lists the steps; they follow in the same order."""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray

from memoranda.display import shown
from memoranda.embedding.base import STATIC, runs_model
from memoranda.embedding.vectors import Vectors
from memoranda.errors import InvalidInput, Unavailable
from memoranda.index.partition import Partition
from memoranda.index.partitions import Partitions
from memoranda.recall.arms import QueryVector, find_same_question, repeats_question, score_arms, select_candidates
from memoranda.recall.explain import answer_signals, answerable, explain_absence, explain_other_scope, explain_query
from memoranda.recall.later import (
    asks_for_the_present,
    attach_later,
    is_true_at,
    least_share,
    put_ended_first,
    put_latest_first,
    put_newer_first,
)
from memoranda.recall.ledger import AccessCounter
from memoranda.recall.query import (
    MODES,
    Mode,
    ParsedQuery,
    RecallQuery,
    find_aliases,
    find_speakers,
    parse_query,
    widen_useless_windows,
)
from memoranda.recall.rank import Ranking, collect_evidence, order_rows, rank, rank_by_sentences, to_scores
from memoranda.recall.rerank import BEST, DEFAULT, Reranking, RerankPlan
from memoranda.results.recall import WhyNot
from memoranda.storage.base import PartitionKey, PartitionState, RemoteStore
from memoranda.storage.past import as_known_at
from memoranda.storage.read import matching_ids, read_sentences
from memoranda.text.checks import MAX_QUERY, clean_query, storable_text
from memoranda.text.terms import languages_of
from memoranda.text.wishes import WISH_KEY
from memoranda.types import ANY, EVERYTHING, Clock, Filter, FloatArray, Hit, IntArray, Memory, Recall, Scope
from memoranda.validation import check_datetime, check_fraction, check_optional_datetime

if TYPE_CHECKING:
    from memoranda.storage.base import Store

_COMPARED: Final = 5
"""How many of the best hits are put in the order of time, even when fewer are asked for."""
_ASKED_BEFORE: Final = 100
"""How many memories that may repeat the question are read."""
_BY_SENTENCE: Final = 40
"""How many of the best memories are compared sentence by sentence, where people take turns.

They say several things in one turn; the sentences of a note or of a long answer belong together."""
_SPARE: Final = 2
"""How many more hits are loaded, in case some only repeat the question."""


class _Outdated(Exception):
    """The partition that was ranked is not in the latest state."""

    def __init__(self, state: PartitionState) -> None:
        self.state = state


@dataclass(frozen=True, slots=True)
class _Search:
    """A question, and the ranking of what is in its scope, before any hit is read."""

    query: RecallQuery
    parsed: ParsedQuery
    vector: QueryVector | None
    ranking: Ranking
    allowed: NDArray[np.bool_] | None
    """Which candidates pass the filters; None when there are no filters."""


class RecallPipeline:
    """Parses a question, scores the memories in its scope with each arm, ranks them and returns the best."""

    def __init__(
        self, store: Store, vectors: Vectors, partitions: Partitions, clock: Clock, accesses: AccessCounter
    ) -> None:
        self._store = store
        self._remote = store if isinstance(store, RemoteStore) else None
        self._vectors = vectors
        self._partitions = partitions
        self._clock = clock
        self._accesses = accesses
        self._reranking = Reranking(store)

    def recall(
        self,
        text: str,
        scope: Scope,
        where: Filter,
        limit: int,
        *,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        min_score: float | None = None,
        mode: str | None = None,
        explain: bool = False,
    ) -> Recall:
        """Return the memories that fit a question, best first.

        Args:
            text: The question; one without a word finds nothing.
            scope: Whose memories are searched.
            where: The filters that hits must pass.
            limit: The largest number of hits.
            now: The asker's clock; the pipeline's clock when None.
            as_of: Answer with what was true at this time.
            known_at: Answer with what was known at this time.
            min_score: The lowest score of a hit; any when None.
            mode: One of `MODES`; "default" when None.
            explain: Whether to add an explanation to the result.
        """
        started = time.perf_counter()
        query = self._validate(text, scope, where, limit, now, as_of, known_at, mode, min_score)
        known, state = self._known_partition(query), None
        if known is not None:
            try:
                return self._answer(query, known, known.seq, started, explain=explain)
            except _Outdated as outdated:
                state = outdated.state
        return self._answer(query, self._open_partition(query, state), None, started, explain=explain)

    def _answer(
        self, query: RecallQuery, partition: Partition, seq: int | None, started: float, *, explain: bool
    ) -> Recall:
        """Return what a partition answers; `_Outdated` when it was at change `seq`, and there is a later one."""
        if not query.text:
            return Recall((), uuid.uuid4().hex, query.text, answerable=0.0, head=partition.seq)
        degraded = list[str]()
        by_turns = self._search(query, partition, degraded)
        search = self._compare_sentences(by_turns, partition)
        read = self._rerank(search, self._load_hits(search, seq), degraded)
        hits = self._as_known(query, self._add_later(search, self._cut(query, read)))
        self._accesses.record(hit.id for hit in hits)
        parsed, ranking = search.parsed, search.ranking
        best = hits[0] if hits else None
        # A sentence of any text can be close to a question that nothing answers; whole turns tell that apart.
        signals = answer_signals(by_turns.ranking, parsed.speakers, search.allowed, query.text, read, best)
        return Recall(
            hits=hits,
            id=uuid.uuid4().hex,
            query=query.text,
            answerable=answerable(signals, query.mode),
            degraded=tuple(degraded),
            elapsed_ms=(time.perf_counter() - started) * 1000,
            explanation=explain_query(parsed, ranking, signals) if explain else None,
            head=partition.seq,
        )

    def standing_wishes(
        self,
        text: str,
        scope: Scope,
        where: Filter,
        limit: int,
        *,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
    ) -> Recall:
        """Return what the user asked for once and for all, best for this question first; see `memoranda.text.wishes`.

        Only the user's own words count: not those of other people in a dialogue, of an assistant or of documents.

        Args:
            text: The question.
            scope: Whose memories are searched; none are returned for a scope of all users.
            where: The filters that they must pass.
            limit: The largest number of them.
            now, as_of, known_at: As in `recall`.
        """
        query = self._validate(text, scope, where, limit, now, as_of, known_at, None, None)
        partition = self._open_partition(query)
        with partition.lock:
            ids = partition.postings.ids_with(WISH_KEY)
        if scope.user is ANY or not len(ids):
            return Recall((), uuid.uuid4().hex, query.text, 0.0, head=partition.seq)
        search = self._search(query, partition, [])
        ranking, allowed = search.ranking, search.allowed
        rows = [row for row in ranking.candidates.rows_of(ids).tolist() if allowed is None or allowed[row]]
        own = [row for row in rows if not ranking.candidates.dialogue[row]]
        rows = sorted(own, key=lambda row: (-float(ranking.sums[row]), int(ranking.candidates.ids[row])))
        scores = to_scores(ranking.sums[rows]).tolist()
        memories = self._store.get(scope, ranking.candidates.ids[rows].tolist())
        found = [
            Hit(memory, score, ranking.why(row))
            for row, score, memory in zip(rows, scores, memories, strict=True)
            if memory is not None and memory.trust == "user"
        ]
        hits = self._as_known(query, tuple(found[:limit]))
        return Recall(hits, uuid.uuid4().hex, query.text, 1.0, head=partition.seq)

    def why_not(
        self,
        text: str,
        memory_id: int,
        scope: Scope,
        where: Filter,
        limit: int,
        *,
        now: datetime | str | None = None,
        as_of: datetime | str | None = None,
        known_at: datetime | str | None = None,
        min_score: float | None = None,
    ) -> WhyNot:
        """Return which step left out a memory, or its rank.

        Args:
            text: The question.
            memory_id: The memory that was expected.
            scope: Whose memories are searched.
            where: The filters that hits must pass.
            limit: The largest number of hits.
            now: The asker's clock; the pipeline's clock when None.
            as_of, known_at, min_score: As in `recall`.
        """
        question = storable_text(text, "query")[:MAX_QUERY]
        query = self._validate(question, scope, where, limit, now, as_of, known_at, None, min_score)
        memory = self._store.get(scope, [memory_id])[0]
        if memory is None:
            return explain_other_scope(self._store, scope, memory_id)
        partition = self._open_partition(query)
        search = self._compare_sentences(self._search(query, partition, []), partition)
        ranking, allowed = search.ranking, search.allowed
        rows, _ = order_rows(ranking, len(ranking.candidates), allowed, several=search.parsed.asks_for_several)
        hits = self._rerank(search, self._load_hits(search), [])
        shown = self._add_later(search, self._cut(query, hits))
        return explain_absence(self._store, query, partition, ranking, allowed, rows, memory, hits, shown)

    def _validate(
        self,
        text: str,
        scope: Scope,
        where: Filter,
        limit: int,
        now: datetime | str | None,
        as_of: datetime | str | None,
        known_at: datetime | str | None,
        mode: str | None,
        min_score: float | None,
    ) -> RecallQuery:
        return RecallQuery(
            clean_query(text),
            scope,
            where,
            limit,
            now=self._clock() if now is None else check_datetime(now, "now"),
            mode=_check_mode(mode),
            as_of=check_optional_datetime(as_of, "as_of"),
            known_at=check_optional_datetime(known_at, "known_at"),
            min_score=None if min_score is None else check_fraction(min_score, "min_score"),
        )

    def _open_partition(self, query: RecallQuery, state: PartitionState | None = None) -> Partition:
        """Return the index of the memories that the scope can reach, as of the latest commit."""
        key = PartitionKey(query.scope.tenant, query.scope.user)
        state = state or self._store.state(key)
        return self._partitions.get(key, self._vectors.choose(state.generation), state)

    def _known_partition(self, query: RecallQuery) -> Partition | None:
        """Return the partition as this process knows it, if it did not change lately and asking takes a round trip."""
        if self._remote is None or not query.text:
            return None
        key = PartitionKey(query.scope.tenant, query.scope.user)
        return self._partitions.get_settled(key, self._vectors.last_generation)

    def _search(self, query: RecallQuery, partition: Partition, degraded: list[str]) -> _Search:
        parsed = self._parse(query, partition)
        vector = self._embed(query, parsed, degraded)
        ranking = self._rank(query, partition, parsed, vector, degraded)
        return _Search(query, parsed, vector, ranking, self._apply_filters(query, ranking))

    @staticmethod
    def _parse(query: RecallQuery, partition: Partition) -> ParsedQuery:
        with partition.lock:
            speakers, aliases = find_speakers(partition, query), find_aliases(partition, query)
            parsed = parse_query(query.text, query.now, speakers, partition.languages, aliases)
            return widen_useless_windows(partition, query, parsed)

    def _embed(self, query: RecallQuery, parsed: ParsedQuery, degraded: list[str]) -> QueryVector | None:
        """Return the vector of the question; None without an embedder, or with a neural one in mode "fast"."""
        embedder = self._vectors.embedder
        runs = embedder is not None and (query.mode != "fast" or embedder.identity.provider == STATIC)
        if embedder is None or not runs or parsed.embedded is None:
            return None
        try:
            # Without the lock of the partition: a model takes longer than a search.
            vector = self._vectors.embed_query(query.scope.tenant, parsed.embedded)
        except Unavailable as error:
            degraded.append(f"dense: {error}")
            return None
        is_sure = embedder.identity.provider != STATIC and not languages_of(parsed.embedded)
        return None if vector is None else QueryVector(vector, embedder.identity.baseline, is_sure)

    def _rank(
        self,
        query: RecallQuery,
        partition: Partition,
        parsed: ParsedQuery,
        vector: QueryVector | None,
        degraded: list[str],
    ) -> Ranking:
        """Rank the candidates; without the dense arm when the engine that holds the vectors cannot be reached."""
        repeated = self._find_repeated(query, partition, parsed)
        with partition.lock:
            try:
                return self._rank_candidates(query, partition, parsed, vector, repeated)
            except Unavailable as error:
                degraded.append(f"dense: {error}")
                return self._rank_candidates(query, partition, parsed, None, repeated)

    def _find_repeated(self, query: RecallQuery, partition: Partition, parsed: ParsedQuery) -> IntArray:
        """Return the ids of what only repeats the question: beside it, everything else would look unrelated."""
        with partition.lock:
            asked = find_same_question(partition, parsed)[-_ASKED_BEFORE:]
        read = self._store.get(query.scope, asked.tolist()) if len(asked) else []
        found = [memory.id for memory in read if memory and repeats_question(memory.content, query.text)]
        return np.array(found, dtype=np.int64)

    @staticmethod
    def _rank_candidates(
        query: RecallQuery,
        partition: Partition,
        parsed: ParsedQuery,
        vector: QueryVector | None,
        repeated: IntArray,
    ) -> Ranking:
        candidates, sample = select_candidates(partition, query, parsed, vector, repeated)
        arms = score_arms(partition, candidates, sample, parsed, vector)
        return rank(arms, candidates, collect_evidence(partition, parsed))

    def _apply_filters(self, query: RecallQuery, ranking: Ranking) -> NDArray[np.bool_] | None:
        """Return which candidates pass the filters; None when there are no filters."""
        if query.where == EVERYTHING:
            return None
        allowed = np.zeros(len(ranking.candidates), dtype=np.bool_)
        matches = partial(matching_ids, scope=query.scope, where=query.where)
        passing = self._store.read(matches, tenant=query.scope.tenant)
        allowed[ranking.candidates.rows_of(passing)] = True
        return allowed

    def _compare_sentences(self, search: _Search, partition: Partition) -> _Search:
        """Rank again by the best sentences of the first turns, where the model gives their vectors."""
        query, ranking = search.query, search.ranking
        if search.vector is None or not self._vectors.gives_sentences:
            return search
        rows = ranking.best(_BY_SENTENCE, search.allowed)
        ids = ranking.candidates.ids[rows[ranking.candidates.dialogue[rows] > 0]].tolist()
        if not ids:
            return search
        read = partial(read_sentences, scope=query.scope, ids=ids, generation=partition.generation)
        packed = self._store.read(read, tenant=query.scope.tenant)
        return replace(search, ranking=rank_by_sentences(ranking, search.vector.vector, packed))

    def _plan_reranking(self, search: _Search) -> RerankPlan | None:
        """Return how the hits are reranked; None where no model may run, or where it would cost most of the time."""
        mode, vector, embedder = search.query.mode, search.vector, self._vectors.embedder
        if mode == "best":
            return BEST
        if mode == "fast" or vector is None or not vector.is_sure or embedder is None:
            return None
        return DEFAULT if runs_model(embedder) else None

    def _load_hits(self, search: _Search, seq: int | None = None) -> tuple[tuple[Hit, ...], FloatArray]:
        """Return the best hits in their order, and the sums that gave it."""
        query, ranking, plan = search.query, search.ranking, self._plan_reranking(search)
        count = max(query.limit, _COMPARED, plan.limit if plan else 0) + _SPARE
        rows, sums = order_rows(ranking, count, search.allowed, several=search.parsed.asks_for_several)
        # Read from the store inside the scope: a memory that was deleted a moment ago is not returned.
        memories = self._read_hits(query.scope, ranking.candidates.ids[rows].tolist(), seq)
        found = [
            (position, memory)
            for position, memory in enumerate(memories)
            if memory is not None
            if not repeats_question(memory.content, query.text)
            if query.as_of is None or is_true_at(memory, query.as_of)
        ][: count - _SPARE]
        chosen = [position for position, _ in found]
        scores, reasons = to_scores(sums[chosen]).tolist(), ranking.why_each(rows[chosen].tolist())
        return tuple(map(Hit, (memory for _, memory in found), scores, reasons)), sums[chosen]

    def _read_hits(self, scope: Scope, ids: list[int], seq: int | None) -> list[Memory | None]:
        if seq is None or self._remote is None:
            return self._store.get(scope, ids)
        memories, state = self._remote.get_with_state(scope, ids)
        if state.head != seq or not self._vectors.is_last(state.generation):
            raise _Outdated(state)
        return memories

    def _rerank(
        self, search: _Search, ordered: tuple[tuple[Hit, ...], FloatArray], degraded: list[str]
    ) -> tuple[Hit, ...]:
        (hits, sums), plan = ordered, self._plan_reranking(search)
        if plan is None or len(hits) < 2:
            return hits
        try:
            named, scope = search.parsed.named, search.query.scope
            return self._reranking.rerank(plan, named, scope, search.ranking, hits, sums)
        except Unavailable as error:
            degraded.append(f"reranker: {error}")
            return hits

    @staticmethod
    def _cut(query: RecallQuery, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return the hits that score enough, as many as are asked for or are compared by time."""
        kept = [hit for hit in hits if query.min_score is None or hit.score >= query.min_score]
        return tuple(kept[: max(query.limit, _COMPARED)])

    def _add_later(self, search: _Search, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Add to each hit what was said later; put that above the hit where the present is asked for, or one moment.

        Then cut the hits to the limit: the first hit is the same, however many are asked for.
        """
        query, ranking, allowed = search.query, search.ranking, search.allowed
        # "In the last three months" reaches the present; "last month" is over.
        of_the_past = any(window.end <= query.now for window in search.parsed.windows)
        of_the_past = of_the_past or (search.parsed.was is not None and query.as_of is None)
        ordered = put_latest_first(query.text, hits) if query.as_of is None and not of_the_past else hits
        found, weak = attach_later(self._store, query.scope, ordered, query.now, query.known_at, query.as_of)
        asks_for_last = query.as_of is not None or (not of_the_past and asks_for_the_present(query.text))

        def make_hit(memory: Memory, below: Hit) -> Hit | None:
            rows = ranking.candidates.rows_of(np.array([memory.id], dtype=np.int64)).tolist()
            if not rows or (allowed is not None and not allowed[rows[0]]):
                return None
            row, strength = rows[0], weak.get((memory.id, below.id), 1.0)
            least = below.score * least_share(strength, in_dialogue=bool(ranking.candidates.dialogue[row]))
            score = float(to_scores(ranking.sums[rows])[0])
            return Hit(memory, below.score, ranking.why(row)) if score >= least else None

        def make_newer(memory: Memory, below: Hit) -> Hit | None:
            return make_hit(memory, below) if asks_for_last else None

        moment, replies = (query.as_of or query.now) if asks_for_last else None, _replies(ranking, found)
        if of_the_past and query.as_of is None:
            found = put_ended_first(found, query.now)
        shown = put_newer_first(found, make_newer, replies, moment, make_hit)[: query.limit]
        return self._attach_to_made(query, found, shown)

    def _attach_to_made(self, query: RecallQuery, found: Sequence[Hit], shown: Sequence[Hit]) -> tuple[Hit, ...]:
        """Add what was said later, or against it, to the hits that were only put above others."""
        known = {hit.id for hit in found}
        made = [hit for hit in shown if hit.id not in known]
        attached, _ = attach_later(self._store, query.scope, made, query.now, query.known_at, query.as_of)
        by_id = {hit.id: hit for hit in attached}
        return tuple(by_id.get(hit.id, hit) for hit in shown)

    def _as_known(self, query: RecallQuery, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return the hits as they were known at the time that the question names, in the words of that time."""
        known_at = query.known_at
        if known_at is None or not hits:
            return hits
        named = {memory.id: memory for hit in hits for memory in (hit.memory, *hit.later, *hit.disputed)}
        then = self._store.read(lambda tx: as_known_at(tx, list(named.values()), known_at), tenant=query.scope.tenant)
        past = {memory.id: memory for memory in then}
        return tuple(
            replace(
                hit,
                memory=past[hit.id],
                later=tuple(past[memory.id] for memory in hit.later),
                disputed=tuple(past[memory.id] for memory in hit.disputed),
            )
            for hit in hits
        )


def _replies(ranking: Ranking, hits: Sequence[Hit]) -> dict[int, int]:
    """Return which hits come right after another hit where people take turns, by id."""
    candidates = ranking.candidates
    rows = {int(candidates.ids[row]): row for row in candidates.rows_of(np.array([hit.id for hit in hits])).tolist()}
    before = {number: candidates.previous(row) for number, row in rows.items() if candidates.dialogue[row]}
    return {number: int(candidates.ids[row]) for number, row in before.items() if row is not None}


def _check_mode(mode: str | None) -> Mode:
    if mode is None:
        return "default"
    for known in MODES:
        if isinstance(mode, str) and mode == known:
            return known
    raise InvalidInput(f"unknown mode {shown(mode)}: use one of {', '.join(MODES)}")
