"""The port of stage 4: text → vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, runtime_checkable

from memoranda.types import FloatArray

Kind: TypeAlias = Literal["query", "passage"]
"""A question and a stored text are different inputs to many models."""


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """What made a vector. Vectors of different identities are never mixed."""

    provider: str
    model: str
    dimension: int
    fingerprint: str = ""
    """sha256 of the weights, where there are weights."""
    baseline: float = field(default=0.0, compare=False)
    """The usual cosine of two texts that have nothing to do with each other."""

    def __str__(self) -> str:
        return f"{self.provider}:{self.model} ({self.dimension} dimensions)"


class Embedder(Protocol):
    """Turns texts into unit vectors.

    The same text gives the same vector, whatever stands beside it in the batch. Failure to reach
    a model raises `Unavailable`. Safe to call from several threads.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """Known without loading the model."""
        ...

    def embed(self, texts: Sequence[str], *, kind: Kind) -> FloatArray:
        """One unit row per text, in order; shape (len(texts), dimension)."""
        ...


@runtime_checkable
class Instant(Protocol):
    """An ability of an embedder whose vectors cost next to nothing: made beforehand, or hashed.

    For any other one the store is asked first for a vector of the same text; here that would cost more than it saves.
    """

    @property
    def instant(self) -> bool: ...


def is_instant(embedder: Embedder) -> bool:
    return isinstance(embedder, Instant) and embedder.instant
