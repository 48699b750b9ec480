"""Rerank the best hits with a cross-encoder, which reads question and text together: slower and better than vectors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

import numpy as np

from memoranda.embedding.local import WordPiece, available_cores, open_session, translate_errors
from memoranda.errors import MissingExtra
from memoranda.recall.rank import Ranking, to_scores
from memoranda.text import content_hash
from memoranda.types import ArmScore, FloatArray, Hit, IntArray, Memory, Scope

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from memoranda.storage.base import Store


RERANK_LIMIT: Final = 30
"""How many of the best hits are reranked in mode "best": each alone and after the turn before it, at most 60 pairs."""
FIRST_LIMIT: Final = 8
"""How many are reranked in mode "default", each alone: as many short turns as two cores score in about 50 ms."""
_FIRST_TOKENS: Final = 48
"""How much of a question and of a text is read in mode "default"."""
_CACHED_PAIRS: Final = 20_000
_RERANK_SHARE: Final = 0.4
"""Share of the cross-encoder's log-odds that is added to the sum: it reads better, but knows no speaker and no time."""
_ALONE_SHARE: Final = 0.25
"""Share of the score of a text alone; the rest is its score after the turn before it, where a reply is clearer."""
_MODEL: Final = "reranker-dialogue.onnx"
_QUESTION_TOKENS: Final = 64
_TEXT_TOKENS: Final = 192
_MAX_THREADS: Final = 8


class Reranking:
    """Reorders the best hits of a ranking; the model is loaded at the first call."""

    @staticmethod
    def pays(ranking: Ranking, rows: IntArray) -> bool:
        """Return whether mode "default" reranks these first rows: the turns of people, with the package installed.

        In other texts the gain is small, and they are longer, so that each pair takes longer.
        """
        return len(rows) > 1 and bool(ranking.candidates.dialogue[rows].all()) and _is_installed()

    def __init__(self, store: Store) -> None:
        self._store = store
        self._encoder: CrossEncoder | None = None
        self._loading = threading.Lock()
        self._caching = threading.Lock()
        self._pairs: OrderedDict[bytes, float] = OrderedDict()

    def rerank(self, question: str, scope: Scope, ranking: Ranking, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return the same hits with the first `RERANK_LIMIT` reordered; scores still fall from first to last.

        Args:
            question: The text of the question.
            scope: The scope in which the turns before the hits are read.
            ranking: The ranking that the hits come from.
            hits: The hits, best first.
        """
        first, rest = hits[:RERANK_LIMIT], hits[RERANK_LIMIT:]
        if not first:
            return hits
        rows: list[int] = ranking.candidates.rows_of(np.array([hit.id for hit in first], dtype=np.int64)).tolist()
        alone = self._score(question, [_to_text(hit.memory) for hit in first], scope.tenant)
        texts = self._texts_after_previous_turn(scope, ranking, rows, first)
        after = alone.copy()
        after[list(texts)] = self._score(question, list(texts.values()), scope.tenant)
        sums = combine_scores(ranking.sums[rows], alone, after)
        better = sorted(zip(sums.tolist(), first, strict=True), key=lambda pair: -pair[0])
        ordered = [_to_reranked_hit(hit, rank, value) for rank, (value, hit) in enumerate(better, start=1)]
        lowest = ordered[-1].score
        return (*ordered, *(replace(hit, score=min(hit.score, lowest)) for hit in rest))

    def rerank_first(self, question: str, scope: Scope, ranking: Ranking, hits: tuple[Hit, ...]) -> tuple[Hit, ...]:
        """Return the same hits with the first `FIRST_LIMIT` reordered; the scores stay in their places.

        So scores mean the same whether or not hits were reranked.

        Args:
            question: The text of the question.
            scope: The scope of the question.
            ranking: The ranking that the hits come from.
            hits: The hits, best first.
        """
        first, rest = hits[:FIRST_LIMIT], hits[FIRST_LIMIT:]
        if len(first) < 2:
            return hits
        rows = ranking.candidates.rows_of(np.array([hit.id for hit in first], dtype=np.int64))
        alone = self._score(question, [_to_text(hit.memory) for hit in first], scope.tenant, _FIRST_TOKENS)
        order = np.argsort(-combine_scores(ranking.sums[rows], alone, alone), kind="stable").tolist()
        moved = [
            replace(first[number], score=hit.score, why=(*first[number].why, ArmScore("reranker", rank, hit.score)))
            for rank, (number, hit) in enumerate(zip(order, first, strict=True), start=1)
        ]
        return (*moved, *rest)

    def _texts_after_previous_turn(
        self, scope: Scope, ranking: Ranking, rows: Sequence[int], hits: Sequence[Hit]
    ) -> dict[int, str]:
        """Return by number of hit its text after the turn before it, where people take turns."""
        candidates = ranking.candidates
        previous = [candidates.previous(row) if candidates.dialogue[row] else None for row in rows]
        ids = {row: int(ranking.candidates.ids[row]) for row in previous if row is not None}
        turns = dict(zip(ids, self._store.get(scope, list(ids.values())), strict=True))
        return {
            number: f"{_to_text(turn)} {_to_text(hits[number].memory)}"
            for number, row in enumerate(previous)
            if row is not None and (turn := turns[row])
        }

    def _score(self, question: str, texts: Sequence[str], tenant: str, text_tokens: int = _TEXT_TOKENS) -> FloatArray:
        """Return the score of each text, from the tenant's part of the cache where it was scored before."""
        with self._loading:
            if self._encoder is None:
                self._encoder = CrossEncoder()
        keys = [content_hash(f"{tenant}\0{text_tokens}\0{question}\0{text}") for text in texts]
        with self._caching:
            found = {key: self._pairs[key] for key in keys if key in self._pairs}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        scores = self._encoder.scores(question, list(missing.values()), text_tokens)
        found.update(zip(missing, scores.tolist(), strict=True))
        with self._caching:
            self._pairs.update((key, found[key]) for key in missing)
            while len(self._pairs) > _CACHED_PAIRS:
                self._pairs.popitem(last=False)
        return np.array([found[key] for key in keys], dtype=np.float32)


@lru_cache(maxsize=1)
def _is_installed() -> bool:
    return find_spec("memoranda_reranker") is not None


def combine_scores(sums: FloatArray, alone: FloatArray, after: FloatArray) -> FloatArray:
    """Add the log-odds of each text, alone and after the turn before it, to the sums of the ranking."""
    return (sums + np.float32(_RERANK_SHARE) * (_ALONE_SHARE * alone + (1 - _ALONE_SHARE) * after)).astype(np.float32)


def _to_text(memory: Memory) -> str:
    return f"{memory.speaker}: {memory.content}" if memory.speaker else memory.content


def _to_reranked_hit(hit: Hit, rank: int, value: float) -> Hit:
    """Return the hit with its new score, and the reranker among its reasons."""
    score = float(to_scores(np.array([value], dtype=np.float32))[0])
    return replace(hit, score=score, why=(*hit.why, ArmScore("reranker", rank, score)))


class CrossEncoder:
    """Scores texts against a question. Safe to call from several threads; the model is loaded at the first call."""

    def __init__(self) -> None:
        import memoranda_models

        try:
            import memoranda_reranker
        except ImportError as error:
            raise MissingExtra("the mode 'best'", "best") from error
        self._model = memoranda_reranker.path(_MODEL)
        self._vocabulary = memoranda_models.path("vocab.txt")
        self._loading = threading.Lock()
        self._loaded: tuple[WordPiece, InferenceSession] | None = None

    def scores(self, question: str, texts: Sequence[str], text_tokens: int = _TEXT_TOKENS) -> FloatArray:
        """Return how well each text answers, in order: log-odds, higher is better. Long texts are cut."""
        if not texts:
            return np.empty(0, dtype=np.float32)
        tokenizer, session = self._load()
        question_tokens = tokenizer.encode(question, _QUESTION_TOKENS)

        def score(text: str) -> float:
            tokens = tokenizer.encode(text, text_tokens)[1:]
            ids = np.array([question_tokens + tokens], np.int64)
            segments = np.array([[0] * len(question_tokens) + [1] * len(tokens)], np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": segments}
            with translate_errors(self._model):
                return float(session.run(None, feed)[0][0, 0])

        # One pair per run, as with embeddings: a quantised model scores a pair differently inside a batch.
        with ThreadPoolExecutor(min(available_cores(), _MAX_THREADS, len(texts)), "memoranda-rerank") as pool:
            return np.array(list(pool.map(score, texts)), dtype=np.float32)

    def _load(self) -> tuple[WordPiece, InferenceSession]:
        with self._loading:
            if self._loaded is None:
                self._loaded = WordPiece(self._vocabulary), open_session(self._model)
            return self._loaded
