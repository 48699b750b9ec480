"""Runs a BERT-family encoder with onnxruntime: one text a run, several runs at once."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

import numpy as np

from memoranda.embedding.arrays import checked_texts, unit
from memoranda.embedding.base import EmbedderIdentity, Kind
from memoranda.embedding.spec import ModelSpec
from memoranda.errors import InvalidInput
from memoranda.neural.session import cores, open_session, translated
from memoranda.neural.wordpiece import WordPiece

if TYPE_CHECKING:
    from memoranda.types import FloatArray, IntArray

_MOST_THREADS: Final = 8


class OnnxEmbedder:
    """An `Embedder` over a model file. The model is opened by the first text.

    Quantised models read a text differently beside others, so each text is a run of its own: the same
    text gives the same bytes, alone or among ten thousand, on one thread or eight. A text longer than
    the model's window is embedded by its beginning.
    """

    def __init__(self, spec: ModelSpec, *, use_gpu: bool = False, threads: int | None = None) -> None:
        if threads is not None and threads < 1:
            raise InvalidInput(f"threads must be at least 1, not {threads}")
        self._spec = spec
        self._use_gpu = use_gpu
        self._threads = threads or min(cores(), _MOST_THREADS)
        # Also bounds memory: however many callers there are, so many runs have their buffers at a time.
        self._running = threading.BoundedSemaphore(self._threads)
        self._loading = threading.Lock()
        self._encoder: _Encoder | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        return self._spec.identity

    def embed(self, texts: Sequence[str], *, kind: Kind) -> FloatArray:
        """One unit row per text, in order. Blank text is `InvalidInput`."""
        prefix = self._spec.prefixes.get(kind, "")
        asked = [prefix + text for text in checked_texts(texts)]
        rows = np.empty((len(asked), self._spec.dimension), np.float32)
        left = deque(enumerate(asked))
        threads = min(self._threads, len(asked))
        if threads < 2:
            self._embed_into(rows, left)
            return rows
        # A pool for this call only: nothing is left running, and a fork later finds no dead threads.
        with ThreadPoolExecutor(threads, "memoranda-embed") as pool:
            for work in [pool.submit(self._embed_into, rows, left) for _ in range(threads)]:
                work.result()
        return rows

    def _embed_into(self, rows: FloatArray, left: deque[tuple[int, str]]) -> None:
        """Takes one text after the other until none is left; a thread that hands over each result alone would take the
        interpreter from others several times a text."""
        while True:
            try:
                number, text = left.popleft()
            except IndexError:
                return
            try:
                rows[number] = self._embed_one(text)
            except BaseException:
                left.clear()  # the call fails, so nobody needs the rest
                raise

    def _embed_one(self, text: str) -> FloatArray:
        encoder = self._loaded()
        with self._running:
            return unit(encoder.pooled(text))

    def _loaded(self) -> _Encoder:
        if self._encoder is None:
            with self._loading:
                if self._encoder is None:
                    self._encoder = _Encoder(self._spec, use_gpu=self._use_gpu)
        return self._encoder


class _Encoder:
    """The opened model and its tokeniser."""

    def __init__(self, spec: ModelSpec, *, use_gpu: bool) -> None:
        self._spec = spec
        self._tokens = WordPiece(spec.vocabulary)
        self._session = open_session(spec.model, use_gpu=use_gpu)
        self._inputs = {put.name for put in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name

    def pooled(self, text: str) -> FloatArray:
        ids = np.array([self._tokens.encode(text, self._spec.window)], np.int64)
        with translated(self._spec.model):
            states: FloatArray = self._session.run([self._output], self._feed(ids))[0][0]
        pooled: FloatArray = states[0] if self._spec.pooling == "cls" else states.mean(axis=0)
        return pooled

    def _feed(self, ids: IntArray) -> dict[str, IntArray]:
        offered = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return {name: offered[name] for name in self._inputs}
