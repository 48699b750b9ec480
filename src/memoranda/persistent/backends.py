"""Turn the back ends that users pass in into an `Embedder`, an `LLM` and a vector store."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeAlias, cast

from memoranda import registry
from memoranda.embedding.base import Embedder, EmbedderIdentity, InputKind
from memoranda.errors import Incompatible, InvalidInput, InvalidType, MemorandaError, Unavailable
from memoranda.index.base import VectorEngine
from memoranda.llm.base import LLM, open_llm
from memoranda.types import FloatArray

EmbeddingBackend: TypeAlias = object
"""A model's name, an `Embedder`, or an object with `embed_documents` and `embed_query`, `embed`, or `encode`.

These methods take a list of texts (`embed_query` takes one text) and return vectors, directly or awaited.
"""
VectorStoreConfig: TypeAlias = str | Mapping[str, Any] | object
"""`"qdrant"`, `{"provider": "qdrant", "config": {…}}`, or an object with these two attributes."""

_DIMENSION_ATTRIBUTES = ("dimension", "dimensions", "embedding_dims")
_MODEL_ATTRIBUTES = ("model", "model_name", "name")
_REGISTRY_KIND = "vector_store"
# mem0's configurations state the size of the vectors; here the embedder determines it.
_IGNORED_SETTING = "embedding_model_dims"


def to_embedder(backend: EmbeddingBackend | None) -> Embedder | None:
    """Return the back end as an embedder; None stays None and means the built-in model."""
    if backend is None:
        return None
    if isinstance(backend, str):
        from memoranda.embedding.model import EmbeddingModel

        return EmbeddingModel(backend)
    if isinstance(getattr(backend, "identity", None), EmbedderIdentity):
        return cast(Embedder, backend)
    return BackendEmbedder(backend)


def to_llm(backend: object | None) -> LLM | None:
    """Return the back end as a language model; None stays None and means no model."""
    if isinstance(backend, str):
        return open_llm(backend)
    if backend is None or callable(getattr(backend, "complete", None)):
        return cast("LLM | None", backend)
    for name in ("invoke", "generate", "__call__"):
        method = getattr(backend, name, None)
        if callable(method) and not isinstance(backend, type):
            return BackendLLM(method, type(backend).__name__)
    raise InvalidType(
        f"llm_backend is a {type(backend).__name__}: give a model's name, an LLM (complete), an object with invoke or "
        "generate, or a function that takes a prompt and returns the model's text"
    )


class BackendLLM:
    """An `LLM` over a function of another library, which limits the length of its answers itself."""

    def __init__(self, generate: Callable[[str], Any], name: str) -> None:
        self._generate = generate
        self._name = name

    def complete(self, prompt: str, *, max_tokens: int) -> str:  # noqa: ARG002 - the library has its own setting
        try:
            answer = _resolve(self._generate(prompt))
        except MemorandaError:
            raise
        except Exception as error:  # the library can raise anything; the caller gets it as our error
            raise Unavailable(f"the language model {self._name} failed: {error}") from error
        text = getattr(answer, "content", answer)
        if not isinstance(text, str):
            raise Unavailable(f"the language model {self._name} returned a {type(answer).__name__}, not a text")
        return text


class BackendEmbedder:
    """An `Embedder` over an object of another library. Its dimension is found once, by embedding a word."""

    def __init__(self, backend: object) -> None:
        self._methods = _find_methods(backend)
        self._backend = backend

    @cached_property
    def identity(self) -> EmbedderIdentity:
        kind = type(self._backend)
        names = (getattr(self._backend, name, None) for name in _MODEL_ATTRIBUTES)
        model = next((name for name in names if isinstance(name, str) and name), kind.__qualname__)
        return EmbedderIdentity(f"backend:{kind.__module__}.{kind.__qualname__}", model, self._find_dimension())

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """Return one unit vector per text, in order."""
        if not texts:
            import numpy as np

            return np.empty((0, self.identity.dimension), np.float32)
        rows = self._embed(texts, kind)
        if rows.shape != (len(texts), self.identity.dimension):
            raise Incompatible(f"{self.identity} returned vectors of the shape {rows.shape} for {len(texts)} texts")
        return rows

    def _find_dimension(self) -> int:
        values = (getattr(self._backend, name, None) for name in _DIMENSION_ATTRIBUTES)
        known = next((value for value in values if isinstance(value, int) and not isinstance(value, bool)), None)
        return known or int(self._embed(["size"], "query").shape[1])

    def _embed(self, texts: Sequence[str], kind: InputKind) -> FloatArray:
        name = type(self._backend).__name__
        try:
            answer = _resolve(self._methods[kind](list(texts)))
        except MemorandaError:
            raise
        except Exception as error:  # the library can raise anything; the caller gets it as our error
            raise Unavailable(f"the embedding back end {name} failed: {error}") from error
        return _to_unit_rows(answer, name)


def _find_methods(backend: object) -> dict[InputKind, Callable[[list[str]], Any]]:
    documents, query = getattr(backend, "embed_documents", None), getattr(backend, "embed_query", None)
    if callable(documents) and callable(query):
        return {"passage": documents, "query": lambda texts: [_resolve(query(text)) for text in texts]}
    for name in ("embed", "encode"):
        method = getattr(backend, name, None)
        if callable(method):
            return {"passage": method, "query": method}
    raise InvalidType(
        f"embedding_backend is a {type(backend).__name__}: give a model's name, an Embedder, or an object with "
        "embed_documents and embed_query, embed, or encode"
    )


def _resolve(answer: Any) -> Any:
    """Return the answer, or the result of an awaitable. It runs in its own thread, away from a running event loop."""
    if not isinstance(answer, Awaitable):
        return answer
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def wait(pending: Awaitable[Any]) -> Any:
        return await pending

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: asyncio.run(wait(answer))).result()


def _to_unit_rows(answer: Any, backend: str) -> FloatArray:
    import numpy as np

    try:
        rows = np.asarray(answer, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise Incompatible(f"the embedding back end {backend} returned no list of vectors: {error}") from error
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        shape = rows.shape
        raise Incompatible(f"the embedding back end {backend} returned vectors of the shape {shape}, or not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise Incompatible(f"the embedding back end {backend} returned a vector of zeros")
    unit: FloatArray = rows / lengths
    return unit


@dataclass(frozen=True, slots=True)
class OpenedVectorStore:
    """Where vectors are searched: another engine, or this package's own index and its file."""

    engine: VectorEngine | None = None
    faiss_path: str | None = None


def open_vector_store(config: VectorStoreConfig | None) -> OpenedVectorStore:
    """Open the store that a configuration names; `InvalidInput` lists the known names and settings."""
    if config is None:
        return OpenedVectorStore()
    provider, settings = _parse_config(config)
    if provider == "faiss":
        _check_settings(provider, settings, {"path"})
        return OpenedVectorStore(faiss_path=_to_faiss_path(settings.get("path")))
    factory = registry.resolve(_REGISTRY_KIND, provider)
    _check_settings(provider, settings, set(inspect.signature(factory).parameters))
    return OpenedVectorStore(engine=factory(**settings))


def _parse_config(config: VectorStoreConfig) -> tuple[str, dict[str, Any]]:
    if isinstance(config, str):
        return config, {}
    get = config.get if isinstance(config, Mapping) else lambda name: getattr(config, name, None)
    provider = get("provider")
    if not isinstance(provider, str):
        names = ", ".join(registry.known_names(_REGISTRY_KIND))
        raise InvalidType(f"vector_store_config needs a provider (one of {names}) and a config with its settings")
    settings = get("config") or {}
    if not isinstance(settings, Mapping):
        settings = vars(settings)
    known = {str(key): value for key, value in settings.items() if value is not None}
    known.pop(_IGNORED_SETTING, None)
    return provider, known


def _check_settings(provider: str, settings: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(settings.keys() - known):
        raise InvalidInput(f"{provider} has no setting {', '.join(unknown)}: known are {', '.join(sorted(known))}")


def _to_faiss_path(path: str | None) -> str | None:
    if path is None:
        return None
    return str(Path(path) / "memories.faiss" if Path(path).is_dir() else Path(path))
