"""Embeddings from an OpenAI-compatible endpoint, through the official client."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import numpy as np
import openai

from memoranda.embedding.base import EmbedderIdentity, InputKind, check_input_texts, unit
from memoranda.errors import Incompatible, InvalidInput, Unavailable

if TYPE_CHECKING:
    from memoranda.types import FloatArray

_DIMENSIONS: Final = {
    "text-embedding-3-large": 3072,
    "text-embedding-3-small": 1536,
    "text-embedding-ada-002": 1536,
}


class OpenAIEmbedder:
    """An `Embedder` that asks an endpoint.

    The key comes from `api_key` or `OPENAI_API_KEY`, the address from `base_url`, `OPENAI_BASE_URL` or OpenAI's own.
    The `dimension` of a model that is not OpenAI's is learned from the endpoint when it is first asked for.
    """

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
        del use_gpu  # Not ours to decide, for a model that runs elsewhere.
        if model in ("", "openai"):
            raise InvalidInput("say which model: openai:text-embedding-3-small")
        if batch_size < 1:
            raise InvalidInput(f"batch_size must be at least 1, not {batch_size}")
        key = api_key or os.environ.get("OPENAI_API_KEY")
        if not key:
            raise InvalidInput("an endpoint needs a key: give api_key, or set OPENAI_API_KEY")
        self._client = openai.OpenAI(api_key=key, base_url=base_url, timeout=timeout, max_retries=max_retries)
        self._model = model
        self._batch_size = batch_size
        self._dimension = dimension or _DIMENSIONS.get(model)
        self._learning = threading.Lock()

    @property
    def identity(self) -> EmbedderIdentity:
        """Asks the endpoint once, where the dimension is neither given nor known."""
        with self._learning:
            if self._dimension is None:
                self._dimension = len(self._ask(["dimension"])[0])
            return EmbedderIdentity("openai", self._model, self._dimension)

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:  # noqa: ARG002
        """One unit row per text, in order; a question and a stored text are sent alike."""
        checked = check_input_texts(texts)
        rows = np.empty((len(checked), self.identity.dimension), np.float32)
        for start in range(0, len(checked), self._batch_size):
            for offset, vector in enumerate(self._ask(checked[start : start + self._batch_size])):
                rows[start + offset] = self._fitting(vector)
        return rows

    def close(self) -> None:
        """Closes the connections; may be called twice."""
        self._client.close()

    def _ask(self, texts: list[str]) -> list[list[float]]:
        with _translate_errors(self._model):
            answer = self._client.embeddings.create(model=self._model, input=texts, encoding_format="float")
        if len(answer.data) != len(texts):
            raise Incompatible(f"{self._model} gave {len(answer.data)} vectors for {len(texts)} texts")
        return [item.embedding for item in sorted(answer.data, key=lambda item: item.index)]

    def _fitting(self, vector: list[float]) -> FloatArray:
        if len(vector) != self._dimension:
            raise Incompatible(
                f"{self._model} gives vectors of {len(vector)} numbers where {self._dimension} are expected: "
                "give the right `dimension`"
            )
        return unit(np.asarray(vector, np.float32))


@contextmanager
def _translate_errors(model: str) -> Iterator[None]:
    """The client's errors as ours: wait and ask again, or change the call."""
    try:
        yield
    except (openai.RateLimitError, openai.InternalServerError) as error:
        raise Unavailable(f"{model}: {error.message}", retry_after=_retry_after(error)) from error
    except openai.APIConnectionError as error:
        raise Unavailable(f"the endpoint of {model} cannot be reached: {error.message}") from error
    except openai.APIStatusError as error:
        raise InvalidInput(f"the endpoint refused {model} ({error.status_code}): {error.message}") from error
    except openai.APIError as error:
        raise Incompatible(f"the endpoint of {model} gave no usable answer: {error.message}") from error


def _retry_after(error: openai.APIStatusError) -> float | None:
    try:
        return float(error.response.headers["retry-after"])
    except (KeyError, ValueError):
        # The header is missing, or is a date; the caller then chooses.
        return None
