"""The `best` mode: the best hits read once more, question and text together."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from memoranda.retrieval.base import Reranker
from memoranda.retrieval.rank import Ranking, as_score
from memoranda.types import ArmScore, FloatArray, Hit, Memory, Scope

if TYPE_CHECKING:
    from memoranda.storage.sqlite import SQLiteStore


class Rereading:
    """Reorders the first hits by what a reranker says of them; the model is opened at the first question."""

    def __init__(self, store: SQLiteStore, reranker: Reranker | None = None) -> None:
        self._store = store
        self._reranker = reranker
        self._loading = threading.Lock()

    def reordered(self, question: str, scope: Scope, ranking: Ranking, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The same hits, the first of them in a better order; scores still fall from first to last."""
        from memoranda.retrieval.rerank import CANDIDATES, reranked

        first, rest = hits[:CANDIDATES], hits[CANDIDATES:]
        if not first:
            return hits
        rows = _rows(ranking, first)
        alone = self._scores(question, [_shown(hit.memory) for hit in first])
        after = self._after(question, scope, ranking, rows, first, alone)
        sums = reranked(ranking.sums[rows], alone, after)
        better = sorted(zip(sums.tolist(), first, strict=True), key=lambda pair: -pair[0])
        ordered = [_noted(hit, rank, value) for rank, (value, hit) in enumerate(better, start=1)]
        least = ordered[-1].score
        return (*ordered, *(replace(hit, score=min(hit.score, least)) for hit in rest))

    def _after(
        self,
        question: str,
        scope: Scope,
        ranking: Ranking,
        rows: Sequence[int],
        hits: Sequence[Hit],
        alone: FloatArray,
    ) -> FloatArray:
        """The log-odds of each hit after the turn before it; as alone where there is none, or texts are long."""
        before = [ranking.field.before(row) for row in rows] if ranking.dialogue else [None] * len(rows)
        asked = {row: int(ranking.field.ids[row]) for row in before if row is not None}
        found = dict(zip(asked, self._store.get(scope, list(asked.values())), strict=True))
        pairs = [(n, memory) for n, row in enumerate(before) if row is not None and (memory := found[row])]
        scores = alone.copy()
        texts = [f"{_shown(memory)} {_shown(hits[n].memory)}" for n, memory in pairs]
        scores[[n for n, _ in pairs]] = self._scores(question, texts)
        return scores

    def _scores(self, question: str, texts: Sequence[str]) -> FloatArray:
        with self._loading:
            if self._reranker is None:
                from memoranda.retrieval.rerank import CrossEncoder

                self._reranker = CrossEncoder()
        return self._reranker.scores(question, texts)


def _rows(ranking: Ranking, hits: Sequence[Hit]) -> list[int]:
    import numpy as np

    rows: list[int] = ranking.field.rows_of(np.array([hit.id for hit in hits], dtype=np.int64)).tolist()
    return rows


def _shown(memory: Memory) -> str:
    return f"{memory.speaker}: {memory.content}" if memory.speaker else memory.content


def _noted(hit: Hit, rank: int, value: float) -> Hit:
    """The hit in its new place, with the reranker among its reasons."""
    import numpy as np

    score = float(as_score(np.array([value], dtype=np.float32))[0])
    return replace(hit, score=score, why=(*hit.why, ArmScore("reranker", rank, score)))
