"""Back ends as programs have them → an `Embedder`, an `LLM`."""

from __future__ import annotations

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

These take a list of texts (`embed_query` one text) and give a list of vectors, at once or awaited.
"""
_SIZES = ("dimension", "dimensions", "embedding_dims")
_NAMES = ("model", "model_name", "name")


def as_embedder(backend: EmbeddingBackend | None) -> Embedder | None:
    """The back end as an embedder; None stays None, and means the built-in model."""
    if backend is None:
        return None
    if isinstance(backend, str):
        from memoranda.embedding.model import EmbeddingModel

        return EmbeddingModel(backend)
    if isinstance(getattr(backend, "identity", None), EmbedderIdentity):
        return cast(Embedder, backend)
    return BackendEmbedder(backend)


def as_llm(backend: object | None) -> LLM | None:
    """The back end as a language model; None stays None, and means that nothing needs one."""
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
        "generate, or a function that takes a prompt and gives the model's text"
    )


class BackendLLM:
    """An `LLM` over a function of another library, which limits its answers by itself."""

    def __init__(self, ask: Callable[[str], Any], name: str) -> None:
        self._ask = ask
        self._name = name

    def complete(self, prompt: str, *, max_tokens: int) -> str:  # noqa: ARG002 - the library has settings of its own
        try:
            answer = _finished(self._ask(prompt))
        except MemorandaError:
            raise
        except Exception as error:  # any library may stand behind it; the caller is told
            raise Unavailable(f"the language model {self._name} failed: {error}") from error
        text = getattr(answer, "content", answer)
        if not isinstance(text, str):
            raise Unavailable(f"the language model {self._name} gave a {type(answer).__name__}, not a text")
        return text


class BackendEmbedder:
    """An `Embedder` over an object of another library. Its size is asked once, by embedding a word."""

    def __init__(self, backend: object) -> None:
        self._ask = _methods(backend)
        self._backend = backend

    @cached_property
    def identity(self) -> EmbedderIdentity:
        kind = type(self._backend)
        names = (getattr(self._backend, name, None) for name in _NAMES)
        model = next((name for name in names if isinstance(name, str) and name), kind.__qualname__)
        return EmbedderIdentity(f"backend:{kind.__module__}.{kind.__qualname__}", model, self._dimension())

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """One unit row per text, in order."""
        if not texts:
            import numpy as np

            return np.empty((0, self.identity.dimension), np.float32)
        rows = self._vectors(texts, kind)
        if rows.shape != (len(texts), self.identity.dimension):
            raise Incompatible(f"{self.identity} gave vectors of the shape {rows.shape} for {len(texts)} texts")
        return rows

    def _dimension(self) -> int:
        given = (getattr(self._backend, name, None) for name in _SIZES)
        known = next((size for size in given if isinstance(size, int) and not isinstance(size, bool)), None)
        return known or int(self._vectors(["size"], "query").shape[1])

    def _vectors(self, texts: Sequence[str], kind: InputKind) -> FloatArray:
        try:
            answer = _finished(self._ask[kind](list(texts)))
        except MemorandaError:
            raise
        except Exception as error:  # any library may stand behind it; the caller is told
            raise Unavailable(f"the embedding back end {type(self._backend).__name__} failed: {error}") from error
        return _unit_rows(answer, type(self._backend).__name__)


def _methods(backend: object) -> dict[InputKind, Callable[[list[str]], Any]]:
    documents, query = getattr(backend, "embed_documents", None), getattr(backend, "embed_query", None)
    if callable(documents) and callable(query):
        return {"passage": documents, "query": lambda texts: _each(query, texts)}
    for name in ("embed", "encode"):
        method = getattr(backend, name, None)
        if callable(method):
            return {"passage": method, "query": method}
    raise InvalidType(
        f"embedding_backend is a {type(backend).__name__}: give a model's name, an Embedder, or an object with "
        "embed_documents and embed_query, embed, or encode"
    )


def _each(ask: Callable[[str], Any], texts: Sequence[str]) -> list[Any]:
    return [_finished(ask(text)) for text in texts]


def _finished(answer: Any) -> Any:
    """What an awaitable gives; it is run to its end where no event loop is at work."""
    if not isinstance(answer, Awaitable):
        return answer
    import asyncio
    from concurrent.futures import ThreadPoolExecutor

    async def wait(pending: Awaitable[Any]) -> Any:
        return await pending

    with ThreadPoolExecutor(1) as aside:
        return aside.submit(lambda: asyncio.run(wait(answer))).result()


def _unit_rows(answer: Any, backend: str) -> FloatArray:
    import numpy as np

    try:
        rows = np.asarray(answer, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise Incompatible(f"the embedding back end {backend} gave no list of vectors: {error}") from error
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise Incompatible(f"the embedding back end {backend} gave vectors of the shape {rows.shape}, or not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    if not lengths.all():
        raise Incompatible(f"the embedding back end {backend} gave a vector of zeros")
    unit: FloatArray = rows / lengths
    return unit


VectorStoreConfig: TypeAlias = str | Mapping[str, Any] | object
"""`"qdrant"`, `{"provider": "qdrant", "config": {…}}`, or an object with these two attributes."""

_KIND = "vector_store"
_FOLLOWS_THE_EMBEDDER = "embedding_model_dims"  # mem0 asks for the vectors' size; here the embedder says it
_DEFAULT = "faiss"


@dataclass(frozen=True, slots=True)
class VectorStore:
    """Where vectors go: another engine, or this package's own index and its file."""

    engine: VectorEngine | None = None
    faiss_path: str | None = None


def vector_store(config: VectorStoreConfig | None) -> VectorStore:
    """The store that a configuration names; `InvalidInput` lists the names and settings there are."""
    if config is None:
        return VectorStore()
    provider, settings = _parts(config)
    if provider == _DEFAULT:
        return VectorStore(faiss_path=_faiss_path(settings))
    import inspect

    factory = registry.resolve(_KIND, provider)
    known = set(inspect.signature(factory).parameters)
    if unknown := sorted(settings.keys() - known):
        raise InvalidInput(f"{provider} has no setting {', '.join(unknown)}: known are {', '.join(sorted(known))}")
    return VectorStore(engine=factory(**settings))


def _parts(config: VectorStoreConfig) -> tuple[str, dict[str, Any]]:
    if isinstance(config, str):
        return config, {}
    provider = config.get("provider") if isinstance(config, Mapping) else getattr(config, "provider", None)
    if not isinstance(provider, str):
        names = ", ".join(registry.known_names(_KIND))
        raise InvalidType(f"vector_store_config needs a provider (one of {names}) and a config with its settings")
    given = config.get("config") if isinstance(config, Mapping) else getattr(config, "config", None)
    settings = _settings(given)
    return provider, {key: value for key, value in settings.items() if value is not None}


def _settings(given: object) -> dict[str, Any]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        given = dict(vars(given))
    settings = {str(key): value for key, value in given.items()}
    settings.pop(_FOLLOWS_THE_EMBEDDER, None)
    return settings


def _faiss_path(settings: Mapping[str, Any]) -> str | None:
    if unknown := sorted(settings.keys() - {"path"}):
        raise InvalidInput(f"faiss has no setting {', '.join(unknown)}: known is path")
    path = settings.get("path")
    if path is None:
        return None
    place = Path(path)
    return str(place / "memories.faiss" if place.is_dir() else place)
