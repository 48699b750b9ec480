"""Cross-encoders, which read a question and a text together: slower than comparing vectors, and better."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import memoranda_models
import numpy as np

from memoranda.embedding.local import WordPiece, open_session, translate_errors
from memoranda.embedding.model_folder import packaged_file
from memoranda.errors import MissingExtra, Unavailable
from memoranda.threads import FairSlots, default_threads, register_fork_handler, run_each
from memoranda.types import FloatArray

if TYPE_CHECKING:
    from onnxruntime import InferenceSession

SMALL: Final = "reranker-small.onnx"
LARGE: Final = "reranker-dialogue.onnx"
_QUESTION_TOKENS: Final = 64
_TEXT_TOKENS: Final = 192
MAX_CHARACTERS: Final = 5 * _TEXT_TOKENS
"""About as much of a text is read at most."""


class CrossEncoder:
    """Scores texts against a question. Safe to call from several threads; the model is loaded at the first call."""

    def __init__(self, model: Path, sha256: str) -> None:
        self._model = model
        self._sha256 = sha256
        self._threads = default_threads()
        self._running = FairSlots(self._threads)
        self._loading = threading.Lock()
        self._loaded: tuple[WordPiece, InferenceSession] | None = None
        register_fork_handler(self)

    def before_fork(self) -> None:
        """Do nothing: the model is only read."""

    def after_fork(self, *, in_child: bool) -> None:
        """Drop a lock that another thread of the parent may have held."""
        if in_child:
            self._loading = threading.Lock()

    def scores(self, question: str, texts: Sequence[str]) -> FloatArray:
        """Return how well each text answers, in order: log-odds, higher is better. Long texts are cut."""
        found = np.empty(len(texts), dtype=np.float32)
        if not texts:
            return found
        tokenizer, session = self._load()
        question_tokens = tokenizer.encode(question, _QUESTION_TOKENS)

        # One pair per run, as with embeddings: a quantised model scores a pair differently inside a batch.
        def score(number: int, text: str) -> None:
            text_tokens = tokenizer.encode(text, _TEXT_TOKENS)[1:]
            ids = np.array([question_tokens + text_tokens], np.int64)
            segments = np.array([[0] * len(question_tokens) + [1] * len(text_tokens)], np.int64)
            feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": segments}
            with self._running, translate_errors(self._model):
                found[number] = session.run(None, feed)[0][0, 0]

        run_each(texts, score, self._threads)
        return found

    def _load(self) -> tuple[WordPiece, InferenceSession]:
        with self._loading:
            if self._loaded is None:
                tokenizer = WordPiece(packaged_file("vocab.txt"))
                self._loaded = tokenizer, open_session(self._model, sha256=self._sha256)
            return self._loaded


@cache
def open_cross_encoder(name: str) -> CrossEncoder:
    """Return the packaged model `SMALL` or `LARGE`, one for the whole process.

    Raises `Unavailable` when the installed models have no `SMALL`, and `MissingExtra` when the package of `LARGE` is
    not installed.
    """
    if name == SMALL:
        if (problem := find_small_problem()) is not None:
            raise Unavailable(problem)
        return CrossEncoder(memoranda_models.path(SMALL), memoranda_models.SHA256[SMALL])
    try:
        import memoranda_reranker
    except ImportError as error:
        raise MissingExtra("the mode 'best'", "best") from error
    return CrossEncoder(memoranda_reranker.path(name), memoranda_reranker.SHA256[name])


def find_small_problem() -> str | None:
    """Return why hits cannot be reranked by default, and what to do; None when they can."""
    try:
        memoranda_models.path(SMALL)
    except (KeyError, FileNotFoundError):
        return f"hits are not reranked, as memoranda-models has no {SMALL}: pip install --upgrade memoranda-models"
    return None
