"""Runs a BERT-family encoder with onnxruntime: one text a run, several runs at once."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import memoranda_models
import numpy as np

from memoranda.embedding import models
from memoranda.embedding.base import DEFAULT_MODEL, EmbedderIdentity, InputKind, ModelSpec, check_input_texts, unit
from memoranda.embedding.wordpiece import WordPiece
from memoranda.errors import Incompatible, InvalidInput, Unavailable

if TYPE_CHECKING:
    import numpy as np
    from onnxruntime import InferenceSession

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
        self._threads = threads or min(available_cores(), _MOST_THREADS)
        # Also bounds memory: however many callers there are, so many runs have their buffers at a time.
        self._running = threading.BoundedSemaphore(self._threads)
        self._loading = threading.Lock()
        self._encoder: _Encoder | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        return self._spec.identity

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """One unit row per text, in order. Blank text is `InvalidInput`."""
        prefix = self._spec.prefixes.get(kind, "")
        asked = [prefix + text for text in check_input_texts(texts)]
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
        with translate_errors(self._spec.model):
            states: FloatArray = self._session.run([self._output], self._feed(ids))[0][0]
        pooled: FloatArray = states[0] if self._spec.pooling == "cls" else states.mean(axis=0)
        return pooled

    def _feed(self, ids: IntArray) -> dict[str, IntArray]:
        offered = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        return {name: offered[name] for name in self._inputs}


_CPU: Final = "CPUExecutionProvider"
_GPU: Final = "CUDAExecutionProvider"


def open_session(model: Path, *, use_gpu: bool = False) -> InferenceSession:
    """The opened model. Runs are to be spread over threads by the caller, one text each."""
    onnxruntime = _load()
    if use_gpu and _GPU not in onnxruntime.get_available_providers():
        raise Unavailable(f"this onnxruntime has no {_GPU}: pip install onnxruntime-gpu in place of onnxruntime")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # With one text a run, the arena stays at the longest text a thread; without it malloc's own heaps grow threefold.
    options.enable_cpu_mem_arena = True
    # A plan of buffers for every length seen would be kept for ever.
    options.enable_mem_pattern = False
    options.log_severity_level = 4  # what goes wrong is raised, not printed
    providers = [_GPU, _CPU] if use_gpu else [_CPU]
    with translate_errors(model):
        session = onnxruntime.InferenceSession(_content(model), options, providers=providers)
    # It keeps what it was opened from, in case the providers were changed; ours never are, and it is 34 MB.
    session._model_bytes = None
    return session


@contextmanager
def translate_errors(model: Path) -> Iterator[None]:
    """onnxruntime's errors as ours: a model that does not fit, or a machine that has no room for it now."""
    _load()
    from onnxruntime.capi import onnxruntime_pybind11_state as state

    try:
        yield
    except (state.Fail, state.InvalidArgument, state.InvalidGraph, state.InvalidProtobuf, state.NoSuchFile) as error:
        raise Incompatible(f"the model file {model} cannot be run ({error}): install it again") from error
    except state.RuntimeException as error:
        raise Unavailable(f"the model {model.stem} cannot be run now: {error}") from error


def available_cores() -> int:
    """How many texts can be read at once: the available_cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _content(model: Path) -> str | bytes:
    """A plain file is opened by its name; a packed one is handed over as what is inside."""
    import memoranda_models

    if model.suffix != memoranda_models.PACKED:
        return str(model)
    try:
        return memoranda_models.unpacked(model)
    except (OSError, ValueError) as error:
        raise Incompatible(f"the model file {model} cannot be read ({error}): install it again") from error


def _load() -> Any:
    # Its telemetry is on by default and starts with the import: it writes to the temporary folder and may send.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    return onnxruntime


def default_spec() -> ModelSpec:
    """The model that comes with the package."""
    return ModelSpec(
        name=DEFAULT_MODEL,
        model=memoranda_models.path("e5-small-v2.onnx"),
        vocabulary=memoranda_models.path("vocab.txt"),
        sha256=memoranda_models.SHA256["e5-small-v2.onnx"],
        dimension=384,
        window=512,
        prefixes={"query": "query: ", "passage": "passage: "},
        baseline=0.72,
    )


def open_model(name: str, *, use_gpu: bool = False) -> OnnxEmbedder:
    """The embedder of this name; a model that must be added first says with which command."""
    spec = default_spec() if name == DEFAULT_MODEL else models.find(name)
    if spec is None:
        raise InvalidInput(f"the model {name!r} is not on this machine yet: run `memoranda models add {name}`")
    return OnnxEmbedder(spec, use_gpu=use_gpu)
