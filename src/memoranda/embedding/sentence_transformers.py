"""Models of the sentence-transformers library, where it is installed."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import sentence_transformers

from memoranda.embedding.base import EmbedderIdentity, InputKind, check_input_texts, normalize
from memoranda.errors import InvalidInput, Unavailable

if TYPE_CHECKING:
    from memoranda.types import FloatArray

_PROMPTS: Final = {"query": ("query",), "passage": ("passage", "document")}


class SentenceTransformersEmbedder:
    """An `Embedder` that runs a sentence-transformers model, with the model's own prompts for queries and texts.

    The model is loaded when it is first used, also for its identity.
    """

    def __init__(self, model: str, *, use_gpu: bool = False) -> None:
        if model in ("", "sentence-transformers"):
            raise InvalidInput("say which model: sentence-transformers:all-mpnet-base-v2")
        self._name = model
        self._device = "cuda" if use_gpu else "cpu"
        self._lock = threading.Lock()
        self._model: sentence_transformers.SentenceTransformer | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        model = self._load()
        # Older releases have only the longer name; newer ones warn about it.
        get_dimension = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
        return EmbedderIdentity("sentence-transformers", self._name, int(get_dimension()))

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """Return one unit row per text, in order."""
        checked = check_input_texts(texts)
        model = self._load()
        prompts = getattr(model, "prompts", None) or {}
        prompt = next((prompts[name] for name in _PROMPTS[kind] if name in prompts), "")
        rows = np.empty((len(checked), self.identity.dimension), np.float32)
        for number, text in enumerate(checked):
            # One at a time: padding changes the last bits of a vector, and equal texts must give equal bytes.
            rows[number] = normalize(np.asarray(model.encode(prompt + text, show_progress_bar=False), np.float32))
        return rows

    def _load(self) -> sentence_transformers.SentenceTransformer:
        with self._lock:
            if self._model is None:
                try:
                    self._model = sentence_transformers.SentenceTransformer(self._name, device=self._device)
                except OSError as error:
                    raise Unavailable(f"sentence-transformers could not load {self._name}: {error}") from error
            return self._model
