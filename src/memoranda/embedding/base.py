"""The port of stage 4: text → vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, runtime_checkable

from memoranda.errors import InvalidType
from memoranda.text import clean_text
from memoranda.types import FloatArray

if TYPE_CHECKING:
    from memoranda.types import FloatArray


InputKind: TypeAlias = Literal["query", "passage"]
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

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
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


def check_input_texts(texts: Sequence[str]) -> list[str]:
    """The texts, each of them fit to be embedded, or `InvalidInput` that says which is not."""
    if isinstance(texts, str):
        raise InvalidType("texts must be a list of strings, not one string: put it in a list")
    return [clean_text(text, f"texts[{number}]") for number, text in enumerate(texts)]


def unit(vector: FloatArray) -> FloatArray:
    """The vector at length 1, as float32; one of zeros stays as it is."""

    import numpy as np

    wide = vector.astype(np.float64)
    return (wide / (np.sqrt(np.sum(wide * wide)) or 1.0)).astype(np.float32)


DEFAULT_MODEL: Final = "e5-small-v2"


Pooling: TypeAlias = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One BERT-family encoder: its files, and how it wants to be asked."""

    name: str
    model: Path
    vocabulary: Path
    sha256: str
    """Of the model file."""
    dimension: int
    window: int
    """Tokens it reads of a text, start and end marks included; the rest is cut off."""
    pooling: Pooling = "mean"
    prefixes: Mapping[InputKind, str] = field(default_factory=dict)
    baseline: float = 0.0

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("onnx", self.name, self.dimension, self.sha256, self.baseline)


NEEDED: Final = ("config.json", "model.safetensors", "vocab.txt")


OPTIONAL: Final = (
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)
