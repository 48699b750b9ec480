"""Parts by name: one table, name → "module:Class" and the extra it needs; others join by entry point.

A package adds a part of its own in its metadata, in the group of the kind:

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
"""Makes the part; what it takes is said where the kind is used."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a part is, and the extra that must be installed for it."""

    target: str
    extra: str | None = None


_TABLE: Final[dict[str, dict[str, Entry]]] = {
    "embedder": {
        "all-MiniLM-L6-v2": Entry("memoranda.embedding.onnx:open_model"),
        "e5-small-v2": Entry("memoranda.embedding.onnx:open_model"),
        "fast": Entry("memoranda.embedding.static:StaticEmbedder"),
        "openai": Entry("memoranda.embedding.remote:OpenAIEmbedder", extra="openai"),
        "sentence-transformers": Entry(
            "memoranda.embedding.sentence_transformers:SentenceTransformersEmbedder", extra="sentence-transformers"
        ),
        "static": Entry("memoranda.embedding.static:StaticEmbedder"),
    },
    "llm": {
        "anthropic": Entry("memoranda.llm.anthropic:AnthropicLLM", extra="anthropic"),
        "gguf": Entry("memoranda.llm.gguf:GGUFLLM", extra="gguf"),
        "openai": Entry("memoranda.llm.openai:OpenAILLM", extra="openai"),
        "scripted": Entry("memoranda.llm.scripted:open_script"),
    },
    "store": {
        "sqlite": Entry("memoranda.storage.sqlite.store:open_sqlite"),
    },
    "vector_store": {
        "chroma": Entry("memoranda.index.chroma:ChromaEngine", extra="chroma"),
        "faiss": Entry("memoranda.index.faiss:FAISSIndex"),
        "qdrant": Entry("memoranda.index.qdrant:open_qdrant", extra="qdrant"),
    },
}


def known(kind: str) -> list[str]:
    """The names of a kind, sorted: our own and those of installed packages."""
    return sorted({*_entries(kind), *_joined(kind)})


def resolve(kind: str, name: str) -> Factory:
    """The class or function that makes the part of this name; nothing of it is imported before."""
    entry = _entries(kind).get(name)
    if entry is not None:
        return _load(kind, name, entry)
    joined = _joined(kind).get(name)
    if joined is None:
        raise InvalidInput(f"no {kind} is named {name!r}: known are {', '.join(known(kind))}")
    factory: Factory = joined.load()
    return factory


def _entries(kind: str) -> dict[str, Entry]:
    if kind not in _TABLE:
        raise InvalidInput(f"nothing is registered as {kind!r}: kinds are {', '.join(_TABLE)}")
    return _TABLE[kind]


def _joined(kind: str) -> dict[str, EntryPoint]:
    # Takes longer to import than all of ours, and most programs name only what is in the table.
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
