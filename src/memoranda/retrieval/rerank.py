"""Question and memory read together by one model: dearer than vectors, and better at putting the best first."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np

from memoranda.errors import MissingExtra
from memoranda.neural.session import cores, open_session, translated
from memoranda.neural.wordpiece import WordPiece

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

    from memoranda.types import FloatArray

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
            with translated(self._model):
                return float(session.run(None, feed)[0][0, 0])

        # One pair a run, as with embeddings: beside others, a quantised model reads a pair differently.
        with ThreadPoolExecutor(min(cores(), _MOST_THREADS, len(texts)), "memoranda-rerank") as pool:
            return np.array(list(pool.map(score, texts)), dtype=np.float32)

    def _open(self) -> tuple[WordPiece, InferenceSession]:
        with self._loading:
            if self._opened is None:
                self._opened = WordPiece(self._vocabulary), open_session(self._model)
            return self._opened


def reranked(sums: FloatArray, alone: FloatArray, after: FloatArray) -> FloatArray:
    """The first sums with the reranker's word added; `alone` and `after` are its log-odds for each."""
    return (sums + np.float32(_SHARE) * (_ALONE * alone + (1 - _ALONE) * after)).astype(np.float32)
