"""What must be known of a model that is run here, without opening it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypeAlias

from memoranda.embedding.base import EmbedderIdentity, Kind

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
    prefixes: Mapping[Kind, str] = field(default_factory=dict)
    baseline: float = 0.0

    @property
    def identity(self) -> EmbedderIdentity:
        return EmbedderIdentity("onnx", self.name, self.dimension, self.sha256, self.baseline)
