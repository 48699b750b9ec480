"""Embeddings from an OpenAI-compatible endpoint, called with the official client."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np
import openai

from memoranda.embedding.base import EmbedderIdentity, InputKind, check_input_texts, normalize
from memoranda.errors import Incompatible, InvalidInput
from memoranda.llm.structured import translate_errors

if TYPE_CHECKING:
    from memoranda.types import FloatArray

_DIMENSIONS: Final = {
    "text-embedding-3-large": 3072,
    "text-embedding-3-small": 1536,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbedder:
    """An `Embedder` that calls an endpoint."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        dimension: int | None = None,
        batch_size: int = 128,
        timeout: float = 60.0,
        max_retries: int = 2,
        use_gpu: bool = False,
    ) -> None:
        """Create the client; nothing is sent.

        Args:
            model: The name of the model.
            base_url: The address; `OPENAI_BASE_URL` or OpenAI's own by default.
            api_key: The key; `OPENAI_API_KEY` by default.
            dimension: The length of the vectors. For a model that is not OpenAI's it is requested from the endpoint
                when it is first needed.
            batch_size: How many texts are sent at a time.
            timeout: Seconds to wait for an answer.
            max_retries: How often the client retries.
            use_gpu: Ignored: the model runs elsewhere.
        """
        del use_gpu
        if model in ("", "openai"):
            raise InvalidInput("say which model: openai:text-embedding-3-small")
        if batch_size < 1:
            raise InvalidInput(f"batch_size must be at least 1, not {batch_size}")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not key:
            raise InvalidInput("an endpoint needs a key: give api_key, or set OPENAI_API_KEY")
        self._client = openai.OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=max_retries)
        self._secrets = (key,)
        self._model = model
        self._batch_size = batch_size
        self._dimension = dimension or _DIMENSIONS.get(model)
        self._dimension_lock = threading.Lock()

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity. The endpoint is called once if the dimension is neither given nor known."""
        with self._dimension_lock:
            if self._dimension is None:
                self._dimension = len(self._request(["dimension"])[0])
            return EmbedderIdentity("openai", self._model, self._dimension)

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:  # noqa: ARG002
        """Return one unit row per text, in order; both kinds of input are sent alike."""
        checked = check_input_texts(texts)
        rows = np.empty((len(checked), self.identity.dimension), np.float32)
        for start in range(0, len(checked), self._batch_size):
            for offset, vector in enumerate(self._request(checked[start : start + self._batch_size])):
                rows[start + offset] = self._check_vector(vector)
        return rows

    def close(self) -> None:
        """Close the connections. Calling it again does nothing."""
        self._client.close()

    def _request(self, texts: list[str]) -> list[list[float]]:
        with translate_errors(openai, self._model, self._secrets, unusable=Incompatible):
            answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
        if len(answer.data) != len(texts):
            raise Incompatible(f"{self._model} gave {len(answer.data)} vectors for {len(texts)} texts")
        return [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]

    def _check_vector(self, vector: list[float]) -> FloatArray:
        if len(vector) != self._dimension:
            raise Incompatible(
                f"{self._model} gives vectors of {len(vector)} numbers where {self._dimension} are expected: "
                "give the right `dimension`"
            )
        return normalize(np.asarray(vector, np.float32))
