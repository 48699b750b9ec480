"""Configurations as mem0 has them: a provider and its settings, which name a model or a vector store."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias, cast
from urllib.parse import quote, urlencode

from memoranda import registry
from memoranda.embedding.base import Embedder
from memoranda.embedding.model import EmbeddingModel
from memoranda.errors import InvalidInput, InvalidType
from memoranda.index.base import VectorEngine
from memoranda.llm.base import LLM
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
    """Return the size of vectors that somebody wrote down; an object of mem0's has one that nobody chose."""
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
        if not connection_string.startswith(("postgresql://", "postgres://")):
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
