"""A vector store by name, in the forms that programs for mem0 have: a name, a dict, or an object with both parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from memoranda import registry
from memoranda.errors import InvalidInput, InvalidType
from memoranda.index.base import VectorEngine

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
        names = ", ".join(registry.known(_KIND))
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
