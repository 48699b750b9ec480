"""Rerank the best hits with a cross-encoder, which reads question and text together: slower and better than vectors."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import numpy as np

from memoranda.embedding.local import WordPiece, available_cores, open_session, translate_errors
from memoranda.errors import MissingExtra
from memoranda.recall.rank import Ranking, to_scores
from memoranda.text import content_hash
from memoranda.types import ArmScore, FloatArray, Hit, Memory, Scope

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from memoranda.storage.base import Store


RERANK_LIMIT: Final = 30
"""How many of the best hits are reranked: each alone and after the turn before it, so at most 60 pairs are scored."""
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
        alone = self._score(scope.tenant, question, [_to_text(hit.memory) for hit in first])
        texts = self._texts_after_previous_turn(scope, ranking, rows, first)
        after = alone.copy()
        after[list(texts)] = self._score(scope.tenant, question, list(texts.values()))
        sums = combine_scores(ranking.sums[rows], alone, after)
        better = sorted(zip(sums.tolist(), first, strict=True), key=lambda pair: -pair[0])
        ordered = [_to_reranked_hit(hit, rank, value) for rank, (value, hit) in enumerate(better, start=1)]
        lowest = ordered[-1].score
        return (*ordered, *(replace(hit, score=min(hit.score, lowest)) for hit in rest))

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

    def _score(self, tenant: str, question: str, texts: Sequence[str]) -> FloatArray:
        """Return the score of each text, from the tenant's part of the cache where it was scored before."""
        keys = [content_hash(f"{tenant}\0{question}\0{text}") for text in texts]
        with self._caching:
            found = {key: self._pairs[key] for key in keys if key in self._pairs}
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        fresh = dict(zip(missing, self._load().scores(question, list(missing.values())).tolist(), strict=True))
        with self._caching:
            self._pairs.update(fresh)
            while len(self._pairs) > _CACHED_PAIRS:
                self._pairs.popitem(last=False)
        found.update(fresh)
        return np.array([found[key] for key in keys], dtype=np.float32)

    def _load(self) -> CrossEncoder:
        with self._loading:
            if self._encoder is None:
                self._encoder = CrossEncoder()
            return self._encoder


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

    def scores(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return how well each text answers, in order: log-odds, higher is better. Long texts are cut."""
        if not texts:
            return np.empty(0, dtype=np.float32)
        tokenizer, session = self._load()
        question_tokens = tokenizer.encode(question, _QUESTION_TOKENS)

        def score(text: str) -> float:
            text_tokens = tokenizer.encode(text, _TEXT_TOKENS)[1:]
            ids = np.array([question_tokens + text_tokens], np.int64)
            segments = np.array([[0] * len(question_tokens) + [1] * len(text_tokens)], np.int64)
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
