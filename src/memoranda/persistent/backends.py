"""The back ends of a `PersistentMemory`, and configurations as mem0 has them: a provider, and its settings.

Those that users pass in become an `Embedder`, an `LLM` and a vector store; or mem0 stores the memories, if that package
is installed.

numpy and asyncio are imported at their first use: a program that passes in no back end starts without them.
"""

from __future__ import annotations

import inspect
import os
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property, partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, urlencode

from memoranda import registry
from memoranda.embedding.base import Embedder, EmbedderIdentity, InputKind
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import Incompatible, InvalidInput, InvalidType, MemorandaError, MissingExtra, Unavailable
from memoranda.index.base import VectorEngine
from memoranda.llm.base import LLM, open_llm
from memoranda.manager.mem0_import import parse_mem0_time
from memoranda.messages.formatting import format_for_openai
from memoranda.messages.message import Message
from memoranda.persistent.base import BackendHit, EarlierWinner, MemoryNames, RecordOptions, SaveToMemoryResult
from memoranda.recall.render import render_context
from memoranda.types import JSON, FloatArray, Hit, Memory, MemoryType, Outcome, Outcomes, Recall, Status
from memoranda.validation import check_integer, check_name

ProviderConfig: TypeAlias = Mapping[str, Any] | object
"""`{"provider": "openai", "config": {"model": …}}`, `{"provider": "openai", "model": …}`, or such an object."""
VectorStoreConfig: TypeAlias = str | ProviderConfig
"""`"qdrant"`, `{"provider": "qdrant", "config": {…}}`, or an object with these two attributes."""

# For vectors of unit length, which ours are, each of mem0's distances gives the same order.
_MEM0_FAISS: Final = ("collection_name", "distance_strategy", "normalize_L2")
_MEM0_PGVECTOR: Final = ("collection_name", "diskann", "hnsw", "minconn")
"""Settings of mem0's own tables and indexes, which say nothing about where the database is."""
_OUR_NAMES: Final = {
    "embedding_dims": "dimension",
    "openai_base_url": "base_url",
    "anthropic_base_url": "base_url",
    "huggingface": "sentence-transformers",
}
"""mem0's names of settings and providers, and ours."""
# The embedder determines the size of vectors; the length of an answer is set for each prompt.
_DIMENSION: Final = "embedding_model_dims"
_NOT_SETTINGS: Final = (_DIMENSION, "max_tokens", "top_p", "top_k")


def open_configured_llm(config: ProviderConfig) -> LLM:
    """Open the language model that a configuration names; `InvalidInput` lists the known names and settings."""
    return cast(LLM, _open("llm", "llm_config", *_parse_config("llm", "llm_config", config)))


def open_configured_embedder(config: ProviderConfig) -> Embedder:
    """Open the embedding model that a configuration names, with a cache."""
    provider, settings = _parse_config("embedder", "embedding_config", config)
    return EmbeddingModel(
        cast(Embedder, _open("embedder", "embedding_config", provider, {"use_gpu": False} | settings))
    )


@dataclass(frozen=True, slots=True)
class OpenedVectorStore:
    """Where vectors are searched: another engine, this package's own index and its file, or a whole database."""

    engine: VectorEngine | None = None
    faiss_path: str | None = None
    db_url: str | None = None
    collection: str | None = None
    """Collections are apart, as in mem0: each is a tenant of its own."""
    dimension: int | None = None
    """How many numbers the vectors have to have."""


def open_vector_store(config: VectorStoreConfig | None) -> OpenedVectorStore:
    """Open the store that a configuration names; `InvalidInput` lists the known names and settings."""
    if config is None:
        return OpenedVectorStore()
    provider, settings = _parse_config("vector_store", "vector_store_config", config)
    own = partial(
        OpenedVectorStore,
        collection=check_name(settings.get("collection_name"), "collection_name"),
        dimension=_given_dimension(config),
    )
    if provider == "faiss":
        _check_settings(provider, settings, {"path", *_MEM0_FAISS})
        return own(faiss_path=_to_faiss_path(settings.get("path"), settings.get("collection_name")))
    if provider == "pgvector":
        _check_settings(provider, settings, {*inspect.signature(database_of_pgvector).parameters, *_MEM0_PGVECTOR})
        named = {name: value for name, value in settings.items() if name not in _MEM0_PGVECTOR}
        return own(db_url=database_of_pgvector(**named))
    factory = registry.resolve("vector_store", provider)
    _check_settings(provider, settings, set(inspect.signature(factory).parameters))
    return own(engine=factory(**settings))


def _given_dimension(config: VectorStoreConfig) -> int | None:
    """Return the size of vectors that the user has set; an object of mem0's own has a default that nobody chose."""
    nested = config.get("config", config) if isinstance(config, Mapping) else getattr(config, "config", None)
    given = nested if isinstance(nested, Mapping) else {}
    chosen = getattr(nested, "model_fields_set", given)
    value = getattr(nested, _DIMENSION, given.get(_DIMENSION)) if _DIMENSION in chosen else None
    return check_integer(value, _DIMENSION) if value is not None else None


def check_dimension(wanted: int, embedder: Embedder) -> None:
    """Refuse vectors of another size than the configuration says."""
    identity = embedder.identity
    if wanted != identity.dimension:
        raise InvalidInput(
            f"{_DIMENSION} is {wanted}, and the vectors of {identity} have {identity.dimension} numbers: name the "
            "model that you mean, or leave it out"
        )


def database_of_pgvector(
    *,
    connection_string: str | None = None,
    host: str | None = None,
    port: int | str | None = None,
    user: str | None = None,
    password: str | None = None,
    dbname: str | None = None,
    sslmode: str | None = None,
    maxconn: int | None = None,
) -> str:
    """Return the URL of the PostgreSQL database that mem0's settings of pgvector name.

    There everything is stored, not the vectors alone.
    """
    options = {name: str(value) for name, value in (("sslmode", sslmode), ("pool_size", maxconn)) if value is not None}
    if connection_string is not None:
        if not connection_string.lower().startswith(("postgresql://", "postgres://")):
            raise InvalidInput("connection_string of pgvector must look like postgresql://user:password@host/database")
        url = "postgresql://" + connection_string.partition("://")[2]
        return url + ("&" if "?" in url else "?") * bool(options) + urlencode(options)
    if host is None or dbname is None:
        raise InvalidInput("pgvector needs a connection_string, or a host and a dbname")
    secret = "" if password is None else f":{quote(password, safe='')}"
    name = "" if user is None else f"{quote(user, safe='')}{secret}@"
    address = f"[{host}]" if ":" in host else host
    place = f"{address}:{port}" if port is not None else address
    return f"postgresql://{name}{place}/{quote(dbname, safe='')}" + "?" * bool(options) + urlencode(options)


def _open(kind: str, argument: str, provider: str, settings: dict[str, Any]) -> object:
    factory = registry.resolve(kind, provider)
    model = settings.pop("model", None)
    if not isinstance(model, str) or not model.strip():
        raise InvalidInput(f'{argument} names no model: give {{"provider": "{provider}", "model": …}}')
    _check_settings(provider, settings, set(list(inspect.signature(factory).parameters)[1:]))
    return factory(model, **settings)


def _parse_config(kind: str, argument: str, config: object) -> tuple[str, dict[str, Any]]:
    """Return the provider and its settings, under our names and without those that are None."""
    if isinstance(config, str):
        return config, {}
    attributes = {name: getattr(config, name, None) for name in ("provider", "config")}
    fields = dict(config) if isinstance(config, Mapping) else attributes
    provider = fields.pop("provider", None)
    if not isinstance(provider, str):
        names = ", ".join(registry.known_names(kind))
        raise InvalidType(f"{argument} needs a provider (one of {names}) and a config with its settings")
    nested = fields.pop("config", None) or {}
    settings = {**fields, **(nested if isinstance(nested, Mapping) else vars(nested))}
    known = {_OUR_NAMES.get(str(key), str(key)): value for key, value in settings.items() if value is not None}
    for name in _NOT_SETTINGS:
        known.pop(name, None)
    return _OUR_NAMES.get(provider, provider), known


def _check_settings(provider: str, settings: Mapping[str, Any], known: set[str]) -> None:
    if unknown := sorted(settings.keys() - known):
        raise InvalidInput(f"{provider} has no setting {', '.join(unknown)}: known are {', '.join(sorted(known))}")


def _to_faiss_path(path: str | None, collection: str | None) -> str | None:
    """Return the index file: the path itself, or in the folder it names the file of the collection, as mem0 has it."""
    if path is None:
        return None
    is_folder = Path(path).is_dir() or not Path(path).suffix
    return str(Path(path) / f"{collection or 'memories'}.faiss" if is_folder else Path(path))


EmbeddingBackend: TypeAlias = object
"""A model's name, an `Embedder`, or an object with `embed_documents` and `embed_query`, `embed`, or `encode`.

A function is taken too. All take a list of texts (`embed_query` takes one text) and return vectors, or an object with
`embeddings`, directly or awaited.
"""

_DIMENSION_ATTRIBUTES = ("dimension", "dimensions", "embedding_dims")
_MODEL_ATTRIBUTES = ("model", "model_name", "name")


def to_embedder(backend: EmbeddingBackend | None) -> Embedder | None:
    """Return the back end as an embedder; None stays None and means the built-in model."""
    if backend is None:
        return None
    if isinstance(backend, str):
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
    for name in ("invoke", "generate", "stream_with_tools", "__call__"):
        method = getattr(backend, name, None)
        if callable(method) and not isinstance(backend, type):
            generate = partial(_join_stream, method) if name == "stream_with_tools" else method
            return BackendLLM(generate, type(backend).__name__)
    raise InvalidType(
        f"llm_backend is a {type(backend).__name__}: give a model's name, an LLM (complete), an object with invoke, "
        "generate or stream_with_tools, or a function that takes a prompt and returns the model's text"
    )


async def _join_stream(stream: Callable[..., AsyncIterator[Any]], prompt: str) -> str:
    """Return the text of a streamed answer: that of its chunks of content, not of reasoning or of logs."""
    chunks = stream(messages=[{"role": "user", "content": prompt}], tools=[])
    text = ""
    async for chunk in chunks:
        if getattr(chunk, "type", "content") == "error":
            raise Unavailable(str(getattr(chunk, "error", None) or "the stream ended with an error"))
        if getattr(chunk, "type", "content") == "content":
            text += getattr(chunk, "content", None) or ""
    return text


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
    """An `Embedder` over an object of another library. A dimension that is not given is found by embedding a word."""

    def __init__(self, backend: object, dimension: int | None = None) -> None:
        self._methods = _find_methods(backend)
        self._backend = backend
        self._dimension = dimension

    @cached_property
    def identity(self) -> EmbedderIdentity:
        kind = type(self._backend)
        names = (getattr(self._backend, name, None) for name in _MODEL_ATTRIBUTES)
        model = next((name for name in names if isinstance(name, str) and name), kind.__qualname__)
        return EmbedderIdentity(f"backend:{kind.__module__}.{kind.__qualname__}", model, self._find_dimension())

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """Return one unit vector per text, in order."""
        import numpy as np

        if not texts:
            return np.empty((0, self.identity.dimension), np.float32)
        rows = self._embed(texts, kind)
        if len(rows) == 1 < len(texts):  # one that embeds a text at a time
            rows = np.concatenate([self._embed([text], kind) for text in texts])
        if rows.shape != (len(texts), self.identity.dimension):
            raise Incompatible(f"{self.identity} returned vectors of the shape {rows.shape} for {len(texts)} texts")
        return rows

    def _find_dimension(self) -> int:
        values = (self._dimension, *(getattr(self._backend, name, None) for name in _DIMENSION_ATTRIBUTES))
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
    for name in ("embed", "encode", "__call__"):
        method = getattr(backend, name, None)
        if callable(method) and not isinstance(backend, type):
            return {"passage": method, "query": method}
    raise InvalidType(
        f"embedding_backend is a {type(backend).__name__}: give a model's name, an Embedder, an object with "
        "embed_documents and embed_query, embed, or encode, or a function that takes a list of texts"
    )


def _resolve(answer: Any) -> Any:
    """Return the answer, or the result of an awaitable. It runs in its own thread, away from a running event loop."""
    if not isinstance(answer, Awaitable):
        return answer
    import asyncio

    async def wait(pending: Awaitable[Any]) -> Any:
        return await pending

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(lambda: asyncio.run(wait(answer))).result()


def _to_unit_rows(answer: Any, backend: str) -> FloatArray:
    import numpy as np

    try:
        rows = np.asarray(getattr(answer, "embeddings", answer), dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise Incompatible(f"the embedding back end {backend} returned no list of vectors: {error}") from error
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        shape = rows.shape
        raise Incompatible(f"the embedding back end {backend} returned vectors of the shape {shape}, or not finite")
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    lengths[lengths == 0] = 1  # a text without a direction keeps its zeros, and is found by its words
    unit: FloatArray = rows / lengths
    return unit


class Mem0Backend:
    """A `PersistentBackend` over mem0: a `MemoryConfig`, a dict of its settings, or a ready `mem0.Memory`.

    Conversations go through mem0's own extraction, which needs the language model in the configuration. What an agent
    saves is stored as it is. mem0's telemetry is off unless MEM0_TELEMETRY turns it on.
    """

    def __init__(self, config: object, names: MemoryNames) -> None:
        self._memory = _open_memory(config)
        scope = {"agent_id": names.agent, "user_id": names.user, "run_id": names.session}
        self._scope = {key: name for key, name in scope.items() if name is not None}

    def record(self, messages: Sequence[Message], options: RecordOptions) -> Outcomes:
        if not messages:
            return Outcomes()
        given = {
            "metadata": dict(options.metadata) or None,
            "memory_type": None if options.type is None else f"{options.type}_memory",
            "infer": None if options.infer else False,
        }
        named = {name: value for name, value in given.items() if value is not None}
        with _translate_errors():
            rows = _get_results(self._memory.add(format_for_openai(messages), **self._scope, **named))
        # mem0 returns what it stored but not from which message, and nothing if its model could not be reached.
        status: Status = "stored" if rows else "rejected"
        reason = f"mem0 stored {len(rows) or 'no'} memories from these messages"
        return Outcomes(Outcome(status, None, reason, message.message_id) for message in messages)

    def context(self, query: str, limit: int, budget: int, winners: Sequence[EarlierWinner]) -> str:
        rows = [(row, _speaker_of(row)) for row in self._search(query, limit)]
        for winner in winners:
            turn = {} if winner.turn is None else {"turn": winner.turn}
            theirs = self._search(query, limit, {"agent_id": winner.agent, **turn})
            rows += [(row, winner.label(_speaker_of(row))) for row in theirs]
        hits = tuple(Hit(_to_memory(number, *row), _get_score(row[0])) for number, row in enumerate(rows, 1))
        found = Recall(hits, uuid.uuid4().hex, query, hits[0].score if hits else 0.0)
        return render_context(found, budget, datetime.now(UTC))

    def save(self, contents: Sequence[str], metadata: dict[str, JSON]) -> SaveToMemoryResult:
        messages = [{"role": "user", "content": text} for text in contents]
        with _translate_errors():
            rows = _get_results(self._memory.add(messages, **self._scope, metadata=metadata, infer=False))
        ids: list[int | str] = [str(row["id"]) for row in rows]
        missing = len(contents) - len(ids)
        message = f"Saved {len(ids)}" + (f", NOT saved {missing}: mem0 did not store them" if missing else "")
        return SaveToMemoryResult(success=not missing, message=message, memory_ids=ids)

    def search(self, query: str, limit: int) -> list[BackendHit]:
        return [BackendHit(str(row["id"]), _get_score(row), str(row["memory"])) for row in self._search(query, limit)]

    def close(self) -> None:
        self._memory.close()

    def _search(
        self, query: str, limit: int, filters: Mapping[str, object] = MappingProxyType({})
    ) -> list[Mapping[str, Any]]:
        with _translate_errors():
            return _get_results(self._memory.search(query, filters={**self._scope, **filters}, top_k=limit))


def _open_memory(config: object) -> Any:
    if callable(getattr(config, "add", None)) and callable(getattr(config, "search", None)):
        return config
    try:
        mem0 = load_mem0()
    except ModuleNotFoundError as error:
        raise MissingExtra("mem0_config", "mem0") from error
    with _translate_errors():
        if isinstance(config, Mapping):
            return mem0.Memory.from_config(dict(config))
        if hasattr(config, "vector_store") and hasattr(config, "embedder"):
            return mem0.Memory(config)
    raise InvalidType(f"mem0_config must be a mem0 MemoryConfig, a dict or a mem0 Memory, not {type(config).__name__}")


def load_mem0() -> Any:
    """Import mem0 with its telemetry off, unless the program has set MEM0_TELEMETRY itself."""
    wanted = "MEM0_TELEMETRY" in os.environ
    os.environ.setdefault("MEM0_TELEMETRY", "False")
    mem0 = import_module("mem0")
    if not wanted:
        # mem0 reads the variable when it is imported, which may have been before, and its modules copy it.
        telemetry = import_module("mem0.memory.telemetry")
        for name, module in list(sys.modules.items()):
            if name.startswith("mem0.") and hasattr(module, "MEM0_TELEMETRY"):
                module.MEM0_TELEMETRY = False  # type: ignore[attr-defined]
        for client in vars(telemetry).values():
            if isinstance(client, telemetry.AnonymousTelemetry):
                client.posthog = None
    return mem0


def _get_results(answer: object) -> list[Mapping[str, Any]]:
    rows = answer.get("results") if isinstance(answer, Mapping) else answer
    if not isinstance(rows, list):
        raise Unavailable(f"mem0 returned an answer without results: {type(answer).__name__}")
    return rows


def _speaker_of(row: Mapping[str, Any]) -> str | None:
    return row.get("actor_id") or row.get("role")


def _to_memory(number: int, row: Mapping[str, Any], speaker: str | None) -> Memory:
    created_at = parse_mem0_time(row.get("created_at")) or datetime.now(UTC)
    return Memory(
        id=number,
        content=str(row["memory"]),
        type=MemoryType.SEMANTIC,
        importance=0.5,
        recorded_at=created_at,
        valid_from=created_at,
        session=row.get("run_id"),
        source="mem0",
        speaker=speaker,
    )


def _get_score(row: Mapping[str, Any]) -> float:
    return min(1.0, max(0.0, float(row.get("score") or 0.0)))


@contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise errors of mem0, and of the stores and models it uses, as `Unavailable`."""
    try:
        yield
    except MemorandaError:
        raise
    except Exception as error:  # any store or model can raise here; the caller gets it as our error
        raise Unavailable(f"mem0 failed: {error}") from error
