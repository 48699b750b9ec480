"""The interface of embedders: text → vectors.

numpy is imported at its first use, since many modules import this one for its types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias, runtime_checkable

from memoranda.errors import InvalidType
from memoranda.text.checks import storable_text

if TYPE_CHECKING:
    from memoranda.types import FloatArray

STATIC: Final = "static"
"""The provider of `fast`, a table of token vectors."""
DEFAULT_MODEL: Final = "e5-dialogue"
WEIGHTS_FILE: Final = "model.safetensors"
ONNX_FILES: Final = ("model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "onnx/model_int8.onnx")
"""Where a model folder has its ONNX file, in the order in which they are looked for."""
VOCABULARY_FILE: Final = "vocab.txt"
TOKENIZER_FILE: Final = "tokenizer.json"
DESCRIPTION_FILES: Final = (
    "config.json",
    VOCABULARY_FILE,
    TOKENIZER_FILE,
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
    "modules.json",
    "sentence_bert_config.json",
    "tokenizer_config.json",
)

InputKind: TypeAlias = Literal["query", "passage"]
"""Many models embed a query and a stored text differently."""
Pooling: TypeAlias = Literal["mean", "cls"]


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """The model that produced a vector. Vectors of different identities are never mixed."""

    provider: str
    model: str
    dimension: int
    fingerprint: str = ""
    """The sha256 of the weights, where there are weights."""
    baseline: float = field(default=0.0, compare=False)
    """The usual cosine of a question and a text that has nothing to do with it."""
    texts_baseline: float | None = field(default=None, compare=False)
    """The same for two texts, where it differs."""

    def __str__(self) -> str:
        return f"{self.provider}:{self.model} ({self.dimension} dimensions)"


class Embedder(Protocol):
    """Turns texts into unit vectors.

    The same text gives the same vector, whatever else is in the batch. Raises `Unavailable` when the model cannot be
    reached. Safe to call from several threads.
    """

    @property
    def identity(self) -> EmbedderIdentity:
        """The identity, known without loading the model."""
        ...

    def embed(self, texts: Sequence[str], *, kind: InputKind) -> FloatArray:
        """Return one unit row per text, in order; shape (len(texts), dimension)."""
        ...


@runtime_checkable
class CachesByTenant(Protocol):
    """An embedder with a cache, a part of which belongs to each tenant.

    A cache that all share would be faster for a text that another tenant has used, and so tell that it has.
    """

    def for_tenant(self, tenant: str) -> Embedder: ...


def is_instant(embedder: Embedder) -> bool:
    """Return whether embedding costs less than looking up a stored vector: a table or a hash, which says `instant`.

    For any other embedder the store is first searched for a vector of the same text.
    """
    # Asked at each recall, where a check against the protocol would take longer than the rest of the question.
    return bool(getattr(embedder, "instant", False))


@runtime_checkable
class SentenceEmbedder(Protocol):
    """An embedder that also gives a vector for each sentence, from the same run of the model as that of the text.

    The vector of a text of several sentences is a mean: what one of them says is found by its own.
    """

    @property
    def gives_sentences(self) -> bool:
        """Whether this model can: a wrapper has the method for any model."""
        ...

    def embed_sentences(self, texts: Sequence[str]) -> Sequence[FloatArray]:
        """Return unit rows for each stored text: its own vector, as `embed` gives it, then those of its sentences.

        A text of one sentence, or of very many, has its own vector only.
        """
        ...


def find_sentence_embedder(embedder: object) -> SentenceEmbedder | None:
    """Return the embedder if it gives the vectors of sentences."""
    gives = getattr(embedder, "gives_sentences", False)  # first, as in `is_instant`
    return embedder if gives and isinstance(embedder, SentenceEmbedder) else None


def pack_sentences(rows: FloatArray) -> bytes:
    """Return unit rows as one byte per number."""
    import numpy as np

    scaled = np.rint(rows * (127 / np.abs(rows).max(axis=1, keepdims=True)))
    return bytes(scaled.astype(np.int8).tobytes())


def unpack_sentences(packed: bytes, dimension: int) -> FloatArray:
    """Return the rows that were packed, at length 1."""
    import numpy as np

    rows = np.frombuffer(packed, np.int8).reshape(-1, dimension).astype(np.float32)
    unit: FloatArray = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1.0)
    return unit


def runs_model(embedder: Embedder) -> bool:
    """Return whether embedding a question runs a neural model, or asks one elsewhere, and so takes milliseconds."""
    return embedder.identity.provider != STATIC and not is_instant(embedder)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A text encoder: its files and how it is used."""

    name: str
    model: Path
    vocabulary: Path
    """The pieces of an uncased WordPiece tokenizer, one per line, or the `tokenizer.json` of any other one."""
    sha256: str
    """The checksum of the model file."""
    dimension: int
    window: int
    """The number of tokens it reads of a text, start and end tokens included; the rest is cut off."""
    pooling: Pooling = "mean"
    prefixes: Mapping[InputKind, str] = field(default_factory=dict)
    """The text to put in front of each kind of input."""
    baseline: float = 0.0
    texts_baseline: float | None = None

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("onnx", self.name, self.dimension, self.sha256, self.baseline, self.texts_baseline)


def check_input_texts(texts: Sequence[str]) -> list[str]:
    """Return the texts if each of them can be embedded; otherwise raise `InvalidInput` that names the bad one."""
    if isinstance(texts, str):
        raise InvalidType("texts must be a list of strings, not one string: put it in a list")
    return [storable_text(text, f"texts[{number}]") for number, text in enumerate(texts)]


def normalize(vector: FloatArray) -> FloatArray:
    """Return the vector at length 1, as float32; a vector of zeros is unchanged."""
    import numpy as np

    wide = vector.astype(np.float64)
    return (wide / (np.sqrt(np.sum(wide * wide)) or 1.0)).astype(np.float32)
