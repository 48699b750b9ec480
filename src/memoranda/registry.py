"""Components by name. One table maps a name to "module:Class" and to the extra that it needs.

Another package adds a component by an entry point in the group of its kind:

    [project.entry-points."memoranda.embedders"]
    my-embedder = "my_package.embedder:MyEmbedder"
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from memoranda.errors import InvalidInput, MissingExtra

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Factory = Callable[..., Any]
"""Creates a component. Its parameters depend on the kind, and are documented where the kind is used."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The location of a component, and the extra that must be installed for it."""

    target: str
    extra: str | None = None


_TABLE: Final[dict[str, dict[str, Entry]]] = {
    "embedder": {
        "all-MiniLM-L6-v2": Entry("memoranda.embedding.model:open_model"),
        "e5-dialogue": Entry("memoranda.embedding.model:open_model"),
        "fast": Entry("memoranda.embedding.local:StaticEmbedder"),
        "openai": Entry("memoranda.embedding.remote:OpenAIEmbedder", extra="openai"),
        "sentence-transformers": Entry(
            "memoranda.embedding.sentence_transformers:SentenceTransformersEmbedder", extra="sentence-transformers"
        ),
        "static": Entry("memoranda.embedding.local:StaticEmbedder"),
    },
    "llm": {
        "anthropic": Entry("memoranda.llm.anthropic:AnthropicLLM", extra="anthropic"),
        "gguf": Entry("memoranda.llm.gguf:GGUFLLM", extra="gguf"),
        "openai": Entry("memoranda.llm.openai:OpenAILLM", extra="openai"),
        "scripted": Entry("memoranda.llm.scripted:open_script"),
    },
    "store": {
        "postgres": Entry("memoranda.storage.postgres.store:open_postgres", extra="postgres"),
        "postgresql": Entry("memoranda.storage.postgres.store:open_postgres", extra="postgres"),
        "sqlite": Entry("memoranda.storage.sqlite.store:open_sqlite"),
    },
    "vector_store": {
        "chroma": Entry("memoranda.index.chroma:ChromaEngine", extra="chroma"),
        "faiss": Entry("memoranda.index.faiss:FAISSIndex"),
        "pgvector": Entry("memoranda.persistent.backends:database_of_pgvector", extra="postgres"),
        "qdrant": Entry("memoranda.index.qdrant_server:open_qdrant", extra="qdrant"),
    },
}


def known_names(kind: str) -> list[str]:
    """Return the names of a kind, sorted: the built-in ones and those of installed packages."""
    return sorted({*_entries(kind), *_find_entry_points(kind)})


def resolve(kind: str, name: str) -> Factory:
    """Return the class or function that creates the component; its module is imported only now."""
    entry = _entries(kind).get(name)
    if entry is not None:
        return _load(kind, name, entry)
    entry_point = _find_entry_points(kind).get(name)
    if entry_point is None:
        raise InvalidInput(f"no {kind} is named {name!r}: known are {', '.join(known_names(kind))}")
    factory: Factory = entry_point.load()
    return factory


def _entries(kind: str) -> dict[str, Entry]:
    if kind not in _TABLE:
        raise InvalidInput(f"nothing is registered as {kind!r}: kinds are {', '.join(_TABLE)}")
    return _TABLE[kind]


def _find_entry_points(kind: str) -> dict[str, EntryPoint]:
    # Slower to import than the whole package, and most programs use only the names in the table.
    from importlib.metadata import entry_points

    return {point.name: point for point in entry_points(group=f"memoranda.{kind}s")}


def _load(kind: str, name: str, entry: Entry) -> Factory:
    module, _, attribute = entry.target.partition(":")
    try:
        factory: Factory = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        if entry.extra is None:
            raise
        raise MissingExtra(f"the {kind} {name!r}", entry.extra) from error
    return factory
