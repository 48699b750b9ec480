"""Question and memory read together by one model: dearer than vectors, and better at putting the best first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from memoranda.embedding.onnx import available_cores, open_session, translate_errors
from memoranda.embedding.wordpiece import WordPiece
from memoranda.errors import MissingExtra
from memoranda.recall.rank import Ranking, as_score
from memoranda.types import ArmScore, FloatArray, Hit, Memory, Scope

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from memoranda.storage.base import Store


CANDIDATES: Final = 20
"""How many of the best are read once more; each alone and after the turn before it, so twice as many pairs."""
_SHARE: Final = 0.4
"""Of the reranker's log-odds that is added to the first sum: it reads better, and knows less of who and when."""
_ALONE: Final = 0.25
"""Of that, what a text says read alone: after the turn before it, a reply is understood better."""
_MODEL: Final = "ms-marco-MiniLM-L-12-v2.onnx"
_QUESTION_TOKENS: Final = 64
_TEXT_TOKENS: Final = 192
_MOST_THREADS: Final = 8


class CrossEncoder:
    """A `Reranker`. The model is opened by the first question; long texts are read by their beginning."""

    def __init__(self) -> None:
        import memoranda_models

        try:
            import memoranda_reranker
        except ImportError as error:
            raise MissingExtra("the mode 'best'", "best") from error
        self._model = memoranda_reranker.path(_MODEL)
        self._vocabulary = memoranda_models.path("vocab.txt")
        self._loading = threading.Lock()
        self._opened: tuple[WordPiece, InferenceSession] | None = None

    def scores(self, question: str, texts: Sequence[str]) -> FloatArray:
        """How well each text answers, in order; log-odds, higher is better."""
        if not texts:
            return np.empty(0, dtype=np.float32)
        tokens, session = self._open()
        asked = tokens.encode(question, _QUESTION_TOKENS)

        def score(text: str) -> float:
            read = tokens.encode(text, _TEXT_TOKENS)[1:]
            ids = np.array([asked + read], np.int64)
            kinds = np.array([[0] * len(asked) + [1] * len(read)], np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": kinds}
            with translate_errors(self._model):
                return float(session.run(None, feed)[0][0, 0])

        # One pair a run, as with embeddings: beside others, a quantised model reads a pair differently.
        with ThreadPoolExecutor(min(available_cores(), _MOST_THREADS, len(texts)), "memoranda-rerank") as pool:
            return np.array(list(pool.map(score, texts)), dtype=np.float32)

    def _open(self) -> tuple[WordPiece, InferenceSession]:
        with self._loading:
            if self._opened is None:
                self._opened = WordPiece(self._vocabulary), open_session(self._model)
            return self._opened


def reranked(sums: FloatArray, alone: FloatArray, after: FloatArray) -> FloatArray:
    """The first sums with the reranker's word added; `alone` and `after` are its log-odds for each."""
    return (sums + np.float32(_SHARE) * (_ALONE * alone + (1 - _ALONE) * after)).astype(np.float32)


class Rereading:
    """Reorders the first hits by what a reranker says of them; the model is opened at the first question."""

    def __init__(self, store: Store, reranker: Reranker | None = None) -> None:
        self._store = store
        self._reranker = reranker
        self._loading = threading.Lock()

    def reordered(self, question: str, scope: Scope, ranking: Ranking, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """The same hits, the first of them in a better order; scores still fall from first to last."""
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


class Reranker(Protocol):
    """Scores question and text read together. Safe to call from several threads."""

    def scores(self, question: str, texts: Sequence[str]) -> FloatArray:
        """How well each text answers, in order; log-odds, higher is better. `Unavailable` when it cannot run."""
        ...
